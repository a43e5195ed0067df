//! The errors of the store and the messages that users read.

use std::path::Path;

use rusqlite::ErrorCode;

use super::columns::ExperimentId;
use crate::{
    error::{Error, Exit},
    model::Benchmark,
    secrets,
    shell::quoted,
};

pub(super) fn another_file() -> String {
    format!("name another file as `path` in [store] of bench.toml{}", secrets::of_base())
}

/// An error within a store operation, before it gets the operation's name and the path.
#[derive(Debug)]
pub(super) enum StoreError {
    Sql(rusqlite::Error),
    /// Stored data differs from the data that was written.
    Damaged(String),
    /// The data to store contradicts itself or the stored data.
    Unusable(String),
    /// The store is on a medium where nothing can be written.
    Unwritable(String),
    /// The file is no longer where the store was opened.
    Missing,
    /// A line of an imported file is invalid.
    Line {
        number: usize,
        reason: String,
    },
}

/// The reason why bytes are no valid executions.
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
    /// Adds the benchmark and experiment that the executions belong to.
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
    /// SQLite's error code, if it is an SQLite error.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            _ => None,
        }
    }

    /// True if another process is writing.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// Adds the line number if the error concerns imported data.
    pub(super) fn at_line(self, number: usize) -> Self {
        match self {
            Self::Unusable(reason) => Self::Line { number, reason },
            // A number in the file that no column can hold.
            Self::Sql(error @ rusqlite::Error::ToSqlConversionFailure(_)) => {
                Self::Line { number, reason: error.to_string() }
            }
            error => error,
        }
    }

    /// The error for the user: cannot `what` the store at `path`. `what` is the operation; it ends in a preposition if
    /// it needs one.
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
                .hint("nothing of it was imported; write it again where the results are"),
            Self::Sql(error) if code == Some(ErrorCode::NotADatabase) => {
                failed(Exit::Usage).cause(error.to_string()).hint(                    format!(
                    "nothing was changed; {}, or, if this one was a store, move it away to start over",
                    another_file()
                ))
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

/// True if a damaged file explains the error: besides SQLite's own corruption codes, a missing table, or a value that
/// rbench never writes.
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

/// The exit code and hint. An unusable file or a full disk is for the user to fix; anything else is a defect of
/// rbench.
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

/// Escapes control characters, which an imported file may contain.
fn printable(text: &str) -> String {
    let escape =
        |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

fn damaged(error: Error, path: &Path) -> Error {
    let shown = path.display();
    error.hint(format!(
        "nothing was changed; move {shown} and the files beside it that begin with its name out \
         of the way to start over, or save what can be read with: sqlite3 {shown} .recover"
    ))
}
