//! The schema: created in a new file, recognised in an existing one.
//!
//! # Damage
//!
//! SQLite itself does not notice if a disk returns other bytes than were written. Each row has a checksum of its columns, which SQLite computes with a function of the schema when it writes the row.
//! Together with SQLite's check of its own structure, and the text of the schema, they cover all bytes on which an answer
//! depends. Executions are checked when they are read, so that those of other benchmarks remain readable.

use std::{fs, path::Path};

use rusqlite::{
    Connection, Row, Transaction, TransactionBehavior,
    functions::{Context, FunctionFlags},
    types::ValueRef,
};

use super::{
    columns,
    error::{StoreError, another_file},
};
use crate::error::{Error, Exit};

const SCHEMA: &str = include_str!("schema.sql");

/// The version of the schema; raised with every change.
pub(super) const VERSION: i64 = 1;

/// Marks a file as a store of rbench, in SQLite's own header: `rbch`.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"rbch");

pub(super) fn provide_checksum(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("rbench_checksum", -1, flags, |row| Ok(checksum(row)))
}

/// The CRC-32 of the values, with their types and lengths.
fn checksum(row: &Context<'_>) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    for column in 0..row.len() {
        let value = row.get_raw(column);
        let number;
        let bytes = match value {
            ValueRef::Null => &[],
            ValueRef::Integer(integer) => {
                number = integer.to_le_bytes();
                &number[..]
            }
            ValueRef::Real(real) => {
                number = real.to_le_bytes();
                &number[..]
            }
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        };
        sum.update(&[value.data_type() as u8]);
        sum.update(&bytes.len().to_le_bytes());
        sum.update(bytes);
    }
    sum.finalize()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Empty,
    Store(i64),
    /// A database of another program.
    Foreign,
}

impl Kind {
    /// Detects the kind of a file. Only reads, in one transaction: another process may be creating the store.
    pub(super) fn detect(connection: &Connection) -> Result<Self, StoreError> {
        let moment = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
        let application: i32 =
            moment.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version = version(&moment)?;
        let tables: u32 =
            moment.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
        Ok(match (application, version, tables) {
            (APPLICATION_ID, version, _) => Self::Store(version),
            (0, 0, 0) => Self::Empty,
            _ => Self::Foreign,
        })
    }

    /// The reason why this rbench cannot use such a file; `None` if it can. `shown` names the file.
    pub(super) fn error(self, shown: &str) -> Option<Error> {
        let error = Error::new(Exit::Usage, format!("cannot use {shown} as the store"));
        match self {
            Self::Empty | Self::Store(VERSION) => None,
            Self::Foreign => Some(
                error
                    .cause("it is an SQLite database of another program")
                    .hint(another_file() + ", or move this one"),
            ),
            Self::Store(other) => {
                let error = error.cause(format!(
                    "another version of rbench wrote it: its schema is {other}, this rbench uses {VERSION}"
                ));
                let error = if other > VERSION {
                    error.hint(
                        "update rbench from its repository: git pull && cargo install --path .",
                    )
                } else {
                    error
                };
                Some(error.hint(format!(
                    "to measure again, move {shown} away; nothing in it was changed"
                )))
            }
        }
    }
}

/// True if the file has exactly the tables and indices that [`create`] makes.
pub(super) fn is_current(connection: &Connection) -> Result<bool, StoreError> {
    let definitions = |connection: &Connection| -> rusqlite::Result<Vec<[Option<String>; 4]>> {
        let select = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
        let row = |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]);
        columns::query(connection, select, (), row)
    };
    let own = Connection::open_in_memory()?;
    provide_checksum(&own)?;
    own.execute_batch(SCHEMA)?;
    Ok(definitions(connection)? == definitions(&own)?)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Creates the schema, unless another process has created it meanwhile.
pub(super) fn create(connection: &Connection) -> Result<(), StoreError> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if version(&transaction)? == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(transaction.commit()?)
}

/// The size in bytes from which the structure of a file is not checked when it is opened: SQLite reads a gigabyte in
/// some seconds.
const LARGE: u64 = 64 << 20;

/// The table whose rows are checked when they are read.
pub(super) const READ_LATER: &str = "executions";

/// An expression that is true for a sound row of the table of executions.
pub(super) const SOUND_EXECUTIONS: &str =
    "checksum IS rbench_checksum(benchmark, experiment, version, stage, part, bytes)";

/// Fails if the file is damaged, apart from the bytes of executions.
pub(super) fn refuse_damage(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let is_large = fs::metadata(path).is_ok_and(|file| file.len() > LARGE);
    let findings = findings(connection, !is_large)?;
    findings.into_iter().next().map_or(Ok(()), |finding| Err(StoreError::Damaged(finding)))
}

/// Everything that is wrong with the file, apart from the bytes of executions. `everywhere` includes the structure of
/// their table.
pub(super) fn findings(
    connection: &Connection,
    everywhere: bool,
) -> Result<Vec<String>, StoreError> {
    if !is_current(connection)? {
        return Ok(vec!["its tables are not those of this version of rbench".to_owned()]);
    }
    let texts = |query: &str| -> Result<Vec<String>, StoreError> {
        Ok(columns::query(connection, query, (), |row| row.get(0))?)
    };
    let mut tables = texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    tables.retain(|table| table != READ_LATER);
    let mut findings = Vec::new();
    if everywhere {
        findings.extend(texts("PRAGMA integrity_check")?);
    } else {
        for table in &tables {
            findings.extend(texts(&format!("PRAGMA integrity_check('{table}')"))?);
        }
    }
    findings.retain(|finding| finding != "ok");
    for table in &tables {
        // 0 are the columns that are not generated.
        let columns = texts(&format!(
            "SELECT group_concat('\"' || name || '\"') FROM pragma_table_xinfo('{table}') WHERE hidden = 0"
        ))?;
        let damaged: usize = connection.query_row(
            &format!(
                "SELECT count(*) FROM {table} WHERE checksum IS NOT rbench_checksum({})",
                columns.concat()
            ),
            (),
            |row| row.get(0),
        )?;
        if damaged > 0 {
            findings.push(format!("{damaged} rows of {table} have a wrong checksum"));
        }
        findings.extend(dangling(connection, table)?);
    }
    Ok(findings)
}

/// The rows of a table that name a row that is not there.
pub(super) fn dangling(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    let check = format!("PRAGMA foreign_key_check('{table}')");
    Ok(columns::query(connection, &check, (), |row| {
        let parent: String = row.get(2)?;
        Ok(format!("a row of {table} names a row of {parent} that is not there"))
    })?)
}
