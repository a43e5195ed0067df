//! Opens a store or makes one, and never changes a file that is not a store.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::{
    FileId, PATIENCE, SILENT_WAIT, Store, WaitNotice,
    error::Error,
    schema::{self, Kind},
};
use crate::failure::{Exit, Failure, OrFail, Result};

/// A part of a usual experiment takes 2 kB: so many fit a page that little of it is left over, and a
/// history is read in few pieces.
const PAGE_SIZE: u32 = 32_768;

impl<'a> Store<'a> {
    /// The file that it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store in the file `path`, and the files that `SQLite` puts beside it.
    pub fn files(path: &Path) -> [PathBuf; 4] {
        ["", "-wal", "-shm", "-journal"].map(|suffix| {
            let mut file = path.as_os_str().to_owned();
            file.push(suffix);
            file.into()
        })
    }

    /// Opens the store in the file `path`, and makes it, and the directory it lies in, if there is
    /// none. A new directory has a `.gitignore` of its own; a new file is for its owner alone, as it
    /// tells of code that may be secret. Where nothing can be written, a store can still be read.
    ///
    /// `waiting` is called when another process writes to the store and is waited for.
    ///
    /// Fails, and leaves the file as it is, if it is no store, is damaged, or was written by another
    /// version of rbench with another schema.
    pub fn open(path: &Path, waiting: WaitNotice<'a>) -> Result<Self> {
        if !is_there(path)? {
            if let Some(directory) = path.parent() {
                make_directory(directory)?;
            }
            make_file(path).or_fail(Exit::Usage, || format!("cannot make {}", path.display()))?;
        }
        let store = Self::connect(path, waiting, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|error| error.failure("open", path))?;
        let kind = store.patiently(Kind::of);
        let (store, kind) = match kind {
            // Neither the write-ahead log nor its index can be made.
            Err(error)
                if matches!(error.code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)) =>
            {
                let store = Self::open_unchanging(path, waiting)
                    .map_err(|error| error.failure("open", path))?;
                let kind = store.patiently(Kind::of);
                (store, kind)
            }
            kind => (store, kind),
        };
        let kind = kind.map_err(|error| error.failure("read", path))?;
        if let Some(refusal) = kind.refusal(&path.display().to_string()) {
            return Err(refusal);
        }
        store.set_up(kind).map_err(|error| error.failure("set up", path))?;
        Ok(store)
    }

    /// A store in memory, gone when it is dropped: for tests and studies.
    pub fn in_memory() -> Result<Store<'static>> {
        let path = PathBuf::from("memory");
        let open = || {
            let connection = Connection::open_in_memory()?;
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
        open().map_err(|error: Error| error.failure("open a store in", &path))
    }

    fn connect(path: &Path, waiting: WaitNotice<'a>, flags: OpenFlags) -> Result<Self, Error> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(SILENT_WAIT)?;
        connection.set_prepared_statement_cache_capacity(64);
        let file = FileId::of(path);
        Ok(Self { connection, path: path.to_owned(), file, waiting, patience: PATIENCE })
    }

    /// Opens a store on a medium where nothing can change, and so without locks.
    fn open_unchanging(path: &Path, waiting: WaitNotice<'a>) -> Result<Self, Error> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            return Err(Error::Unwritable(format!(
                "its newest results are in {}, and reading these needs a directory that can be \
                 written to",
                Path::new(&log).display()
            )));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let store = Self::connect(&unchanging_uri(path), waiting, flags)?;
        Ok(Self { path: path.to_owned(), ..store })
    }

    fn set_up(&self, kind: Kind) -> Result<(), Error> {
        if self.connection.is_readonly(MAIN_DB)? {
            return Ok(());
        }
        self.patiently(|connection| {
            // Heeded by a new file alone.
            connection.pragma_update(None, "page_size", PAGE_SIZE)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            if kind == Kind::Empty { schema::create(connection) } else { Ok(()) }
        })
    }
}

impl FileId {
    /// Of the file at a path, if there is one.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// Whether there is a file at `path`; fails if there is something else, which could even block.
fn is_there(path: &Path) -> Result<bool> {
    let refused = |reason| {
        let what = format!("cannot use {} as the store", path.display());
        let hint = "name another file as `path` in [store] of bench.toml";
        Err(Failure::new(Exit::Usage, what).because(reason).hint(hint))
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
    fs::create_dir_all(directory).or_fail(Exit::Usage, what)?;
    fs::write(directory.join(".gitignore"), "*\n").or_fail(Exit::Usage, what)
}

/// Makes an empty file, if no other process has made it since. SQLite gives the files beside it the same
/// mode.
fn make_file(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// The path as a URI by which SQLite neither locks the file nor looks for files beside it.
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
