//! Errors of the store, and their messages.

use std::path::Path;

use rusqlite::ErrorCode;

use super::columns::ExperimentId;
use crate::{
    error::{Error, Exit},
    model::Benchmark,
    shell::quoted,
};

/// An error in the middle of an operation on the store.
#[derive(Debug)]
pub(super) enum StoreError {
    /// SQLite's.
    Sql(rusqlite::Error),
    /// What is stored is not what was stored.
    Damaged(String),
    /// What is to be stored does not fit what is there, or itself.
    Unusable(String),
    /// The store lies where nothing can be written.
    Unwritable(String),
    /// The file of the store is no longer where it was opened.
    Missing,
    /// A line of a file that is imported cannot be used.
    Line { number: usize, reason: String },
}

/// Why bytes are not those of executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Damage(pub(super) String);

impl From<&str> for Damage {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl From<postcard::Error> for Damage {
    fn from(error: postcard::Error) -> Self {
        Self(error.to_string())
    }
}

impl Damage {
    /// The same, with whose executions these are.
    pub(super) fn into_error(self, benchmark: &Benchmark, experiment: ExperimentId) -> Self {
        let reason = self.0;
        Self(format!(
            "executions of {benchmark} in experiment {experiment} cannot be read: {reason}"
        ))
    }
}

impl From<Damage> for StoreError {
    fn from(Damage(reason): Damage) -> Self {
        Self::Damaged(reason)
    }
}

impl From<String> for StoreError {
    fn from(reason: String) -> Self {
        Self::Unusable(reason)
    }
}

impl From<&str> for StoreError {
    fn from(reason: &str) -> Self {
        Self::Unusable(reason.to_owned())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl StoreError {
    /// SQLite's code for it.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            _ => None,
        }
    }

    /// Whether another process is writing.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// The error, if it is about what is imported, as one of a line of the file.
    pub(super) fn at_line(self, number: usize) -> Self {
        match self {
            Self::Unusable(reason) => Self::Line { number, reason },
            // A number of the file that no column takes.
            Self::Sql(error @ rusqlite::Error::ToSqlConversionFailure(_)) => {
                Self::Line { number, reason: error.to_string() }
            }
            error => error,
        }
    }

    /// The error as the user reads it: the operation `what`, which ends in a preposition if it needs one,
    /// failed on the store at `path`.
    pub(super) fn failure(self, what: &str, path: &Path) -> Error {
        let shown = path.display();
        let failed = |exit| Error::new(exit, format!("cannot {what} {shown}"));
        let code = self.code();
        match self {
            Self::Damaged(reason) => damaged(failed(Exit::Usage).cause(reason), path),
            Self::Unusable(reason) => failed(Exit::Internal).cause(reason),
            Self::Unwritable(reason) => failed(Exit::Usage).cause(reason).hint(
                "copy it, with the files beside it that begin with its name, and use the copy",
            ),
            Self::Missing => failed(Exit::Usage)
                .cause("the file was removed, or replaced by another one, while it was in use")
                .hint("run the same command again, and keep the file, also from `git clean -x`"),
            Self::Line { number, reason } => failed(Exit::Usage)
                .cause(format!("line {number}: {}", printable(&reason)))
                .hint("nothing was imported; export the results again"),
            Self::Sql(error) if code == Some(ErrorCode::NotADatabase) => {
                failed(Exit::Usage).cause(error.to_string()).hint(
                    "nothing was changed; name another file as `path` in [store] of bench.toml, or, \
                     if this one was a store, move it away to start over",
                )
            }
            Self::Sql(error) if is_damage(&error) => {
                damaged(failed(Exit::Usage).cause(error.to_string()), path)
            }
            Self::Sql(error) => {
                let (exit, hint) = advice(code, path);
                let failure = failed(exit).cause(error.to_string());
                if let Some(hint) = hint { failure.hint(hint) } else { failure }
            }
        }
    }
}

/// Whether a file that is no sound store explains the error: besides what SQLite calls corrupt, a table
/// that is missing, or a value that rbench never wrote.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    match error {
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::Utf8Error(..) => true,
        E::SqlInputError { msg, .. } | E::SqliteFailure(_, Some(msg))
            if msg.starts_with("no such") =>
        {
            true
        }
        _ => error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt),
    }
}

/// A file that cannot be used, or a full disk, is the user's to change; anything else is a defect.
fn advice(code: Option<ErrorCode>, path: &Path) -> (Exit, Option<String>) {
    let advice = match code {
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => {
            "free some disk space; stored results are kept, and the same command resumes from there"
                .to_owned()
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let find = format!("fuser {}", quoted(path));
            format!("another process keeps writing to it; find it with: {find}")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "make sure that you can write to the directory and the file".to_owned()
        }
        _ => return (Exit::Internal, None),
    };
    (Exit::Usage, Some(advice))
}

/// The text with control characters, which an imported file may hold, as they are escaped.
fn printable(text: &str) -> String {
    let escape =
        |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

fn damaged(failure: Error, path: &Path) -> Error {
    let shown = path.display();
    failure.hint(format!(
        "nothing was changed; move {shown} and the files beside it that begin with its name out \
         of the way to start over, or save what can be read with: sqlite3 {shown} .recover"
    ))
}
