//! An open store: opened or created, then read or written in transactions. Never changes a file that is not a store.

use std::{
    ffi::OsString,
    fmt,
    fs::{self, OpenOptions},
    io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};

use super::{
    error::{StoreError, another_file},
    schema::{self, Kind, provide_checksum, refuse_damage},
};
use crate::error::{Context, Error, Exit, Result};

/// A part of a typical experiment takes 2 kB. This page size fits many parts with little space left over, and reads a
/// history in few pieces.
const PAGE_SIZE: u32 = 32_768;

/// The time for which SQLite itself waits for another process before the user is notified.
pub(super) const SILENT_WAIT: Duration = Duration::from_millis(500);

/// The total waiting time. Other processes write for moments only, an import for seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Gets one notification when the store waits for another process that writes.
pub trait Observer {
    /// Called when the store waits for another process that writes.
    fn store_waits(&self);
}

impl<F: Fn()> Observer for F {
    fn store_waits(&self) {
        self();
    }
}

pub struct Store<'a> {
    pub(super) connection: Connection,
    path: PathBuf,
    /// The identity of the file that was opened; `None` for a store that is in memory or cannot change.
    file: Option<[u64; 2]>,
    waiting: &'a dyn Observer,
    pub(super) patience: Duration,
}

impl fmt::Debug for Store<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'a> Store<'a> {
    /// The path of the store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store in the file `path`, and the files that SQLite puts beside it.
    pub fn files(path: &Path) -> [PathBuf; 4] {
        ["", "-wal", "-shm", "-journal"].map(|suffix| {
            let mut file = path.as_os_str().to_owned();
            file.push(suffix);
            file.into()
        })
    }

    /// Opens the store in the file `path`; creates the file and its directory if they do not exist. A new directory
    /// gets its own `.gitignore`; a new file is readable only by its owner, because results reveal code that may be
    /// secret. Where nothing can be written, a store can still be read.
    ///
    /// `waiting` is notified when another process writes to the store.
    ///
    /// Fails without changing the file if it is not a store, is damaged, or has the schema of another version of
    /// rbench.
    pub fn open(path: &Path, waiting: &'a dyn Observer) -> Result<Self> {
        if !is_there(path)? {
            if let Some(directory) = path.parent() {
                make_directory(directory)?;
            }
            make_file(path).context(Exit::Usage, || format!("cannot make {}", path.display()))?;
        }
        let store = Self::connect(path, waiting, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|error| error.failure("open", path))?;
        let kind = store.patiently(Kind::detect);
        let (store, kind) = match kind {
            // Neither the write-ahead log nor its index can be created.
            Err(error)
                if matches!(error.code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)) =>
            {
                let store = Self::open_unchanging(path, waiting)
                    .map_err(|error| error.failure("open", path))?;
                let kind = store.patiently(Kind::detect);
                (store, kind)
            }
            kind => (store, kind),
        };
        let kind = kind.map_err(|error| error.failure("read", path))?;
        if let Some(refusal) = kind.error(&path.display().to_string()) {
            return Err(refusal);
        }
        store.set_up(kind).map_err(|error| error.failure("set up", path))?;
        store.read("read", |connection| refuse_damage(connection, path))?;
        Ok(store)
    }

    /// A store in memory, for tests and simulations; its content is lost when it is dropped.
    pub fn in_memory() -> Result<Store<'static>> {
        let path = PathBuf::from("memory");
        let open = || {
            let connection = Connection::open_in_memory()?;
            provide_checksum(&connection)?;
            let store = Store {
                connection,
                path: path.clone(),
                file: None,
                waiting: &|| {},
                patience: PATIENCE,
            };
            store.set_up(Kind::Empty)?;
            Ok(store)
        };
        open().map_err(|error: StoreError| error.failure("open a store in", &path))
    }

    fn connect(
        path: &Path,
        waiting: &'a dyn Observer,
        flags: OpenFlags,
    ) -> Result<Self, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(SILENT_WAIT)?;
        provide_checksum(&connection)?;
        // Its temporary files are small, and a full directory for them would look like a full store.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.set_prepared_statement_cache_capacity(64);
        let file = file_id(path);
        Ok(Self { connection, path: path.to_owned(), file, waiting, patience: PATIENCE })
    }

    /// Opens a store on a read-only medium, where nothing can change, and so without locks.
    fn open_unchanging(path: &Path, waiting: &'a dyn Observer) -> Result<Self, StoreError> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            return Err(StoreError::Unwritable(format!(
                "its newest results are in {}, and reading these needs a directory that can be \
                 written to",
                Path::new(&log).display()
            )));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let store = Self::connect(&unchanging_uri(path), waiting, flags)?;
        Ok(Self { path: path.to_owned(), ..store })
    }

    fn set_up(&self, kind: Kind) -> Result<(), StoreError> {
        if self.connection.is_readonly(MAIN_DB)? {
            return Ok(());
        }
        self.patiently(|connection| {
            // SQLite applies it only to a new file.
            connection.pragma_update(None, "page_size", PAGE_SIZE)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            if kind == Kind::Empty { schema::create(connection) } else { Ok(()) }
        })
    }
}

impl Store<'_> {
    /// Runs `work` in one read transaction, so that all its queries see the same state.
    pub(super) fn read<T>(
        &self,
        what: &str,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T> {
        let attempt = || {
            let transaction = self.patiently(|connection| {
                Ok(Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?)
            })?;
            work(&transaction)
        };
        attempt().map_err(|error| error.failure(what, &self.path))
    }

    /// Runs `work` in one write transaction: all or nothing is stored, and it is on disk when this returns.
    pub(super) fn write<T>(
        &self,
        what: &str,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T> {
        let attempt = || {
            let transaction = self.patiently(|connection| {
                Ok(Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?)
            })?;
            let done = work(&transaction)?;
            transaction.commit()?;
            // SQLite keeps writing to a file that was removed.
            if self.file.is_some() && self.file != file_id(&self.path) {
                return Err(StoreError::Missing);
            }
            Ok(done)
        };
        attempt().map_err(|error: StoreError| error.failure(what, &self.path))
    }

    /// Retries while another process writes, after notifying the user.
    fn patiently<'s, T>(
        &'s self,
        mut attempt: impl FnMut(&'s Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        let mut notified = false;
        loop {
            match attempt(&self.connection) {
                Err(error) if error.is_busy() && start.elapsed() < self.patience => {
                    if !notified {
                        self.waiting.store_waits();
                        notified = true;
                    }
                }
                done => return done,
            }
        }
    }
}

/// The device and the inode of the file at a path, if it exists: its identity, independent of its name.
fn file_id(path: &Path) -> Option<[u64; 2]> {
    let metadata = fs::metadata(path).ok()?;
    Some([metadata.dev(), metadata.ino()])
}

/// True if `path` is a regular file. Fails for anything else, which could even block.
fn is_there(path: &Path) -> Result<bool> {
    let refused = |reason| {
        let what = format!("cannot use {} as the store", path.display());
        Err(Error::new(Exit::Usage, what).cause(reason).hint(another_file()))
    };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(_) => refused("it is not a regular file"),
        Err(_) if path.is_symlink() => refused("it is a symbolic link to nothing"),
        Err(_) => Ok(false),
    }
}

fn make_directory(directory: &Path) -> Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let what = || format!("cannot make the directory {}", directory.display());
    fs::create_dir_all(directory).context(Exit::Usage, what)?;
    fs::write(directory.join(".gitignore"), "*\n").context(Exit::Usage, what)
}

/// Creates an empty file, unless another process has created it meanwhile. SQLite gives the files beside it the same
/// mode.
fn make_file(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// The path as a URI for which SQLite neither locks the file nor looks for files beside it.
fn unchanging_uri(path: &Path) -> PathBuf {
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut uri = b"file:".to_vec();
    for byte in absolute.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02x}").bytes()),
            byte => uri.push(*byte),
        }
    }
    uri.extend(b"?immutable=1");
    OsString::from_vec(uri).into()
}
