//! Opens a store, or makes one, and never touches a file that is something else.

use std::{fs, path::Path};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::{PATIENCE, SILENT_WAIT, Store, WaitNotice, error::Error, migrations};
use crate::failure::{Exit, Failure, OrFail, Result};

/// A block of a usual experiment takes 2 kB: so many fit a page that little of it is left over, and a
/// history is read in few pieces.
const PAGE_SIZE: u32 = 32_768;

impl<'a> Store<'a> {
    /// Opens the store in the file `path`, and makes it, and the directory it lies in, if there is
    /// none. A new directory tells git to ignore it.
    ///
    /// `waiting` is told when another process writes to the store and is waited for.
    ///
    /// Fails, and leaves the file as it is, if it is no store, is damaged, or was written by a newer
    /// rbench.
    pub fn open(path: &Path, waiting: WaitNotice<'a>) -> Result<Self> {
        if let Some(directory) = path.parent() {
            make_directory(directory)?;
        }
        let opened = Self::connect(path, waiting);
        let store = opened.map_err(|error| error.failure("open the store", path))?;
        store.refuse_what_is_no_store()?;
        store.set_up().map_err(|error| error.failure("set up the store", path))?;
        Ok(store)
    }

    fn connect(path: &Path, waiting: WaitNotice<'a>) -> Result<Self, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(SILENT_WAIT)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Self { connection, path: path.to_owned(), waiting, patience: PATIENCE })
    }

    /// Only reads, and all of one moment: another process may be making the store.
    fn refuse_what_is_no_store(&self) -> Result<()> {
        let look = self.patiently(|connection| {
            let moment = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
            let application: i32 =
                moment.pragma_query_value(None, "application_id", |row| row.get(0))?;
            let tables: u32 =
                moment.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
            Ok((application, tables, migrations::version(&moment)?))
        });
        let (application, tables, version) =
            look.map_err(|error| error.failure("read the store", &self.path))?;
        let shown = self.path.display();
        let refusal = Failure::new(Exit::Usage, format!("cannot use {shown} as the store"));
        let new = application == 0 && tables == 0 && version == 0;
        if !new && application != migrations::APPLICATION_ID {
            return Err(refusal.because("it is an SQLite database of another program").hint(
                "name another file as `path` in [store] of bench.toml, or move this one away",
            ));
        }
        let newest = migrations::newest();
        if version > newest {
            return Err(refusal
                .because(format!(
                    "a newer rbench wrote it: its schema is {version}, this rbench knows up to \
                     {newest}"
                ))
                .hint("update with: cargo install cargo-rbench"));
        }
        Ok(())
    }

    fn set_up(&self) -> Result<(), Error> {
        self.patiently(|connection| {
            // Heeded by a new file alone.
            connection.pragma_update(None, "page_size", PAGE_SIZE)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            migrations::migrate(connection)
        })
    }

    /// Reads everything, and tells what is wrong with it; nothing if all is well.
    pub fn check(&self) -> Result<Vec<String>> {
        self.read("check the store", |connection| {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            let findings = statement.query_map((), |row| row.get(0))?;
            let mut findings: Vec<String> = findings.collect::<rusqlite::Result<_>>()?;
            findings.retain(|finding| finding != "ok");
            let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
            let dangling = statement.query_map((), |row| {
                let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
                Ok(format!("a row of {table} names a row of {parent} that is not there"))
            })?;
            findings.extend(dangling.collect::<rusqlite::Result<Vec<_>>>()?);
            findings.extend(super::rows::unreadable_blocks(connection)?);
            Ok(findings)
        })
    }
}

fn make_directory(directory: &Path) -> Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let what = || format!("cannot make the directory {}", directory.display());
    fs::create_dir_all(directory).or_fail(Exit::Usage, what)?;
    fs::write(directory.join(".gitignore"), "*\n").or_fail(Exit::Usage, what)
}
