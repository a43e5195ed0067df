//! Errors of the store, and their messages.

use std::path::Path;

use rusqlite::ErrorCode;

use super::ExperimentId;
use crate::{
    failure::{Exit, Failure},
    model::Benchmark,
};

/// An error in the middle of an operation on the store.
#[derive(Debug)]
pub(super) enum Error {
    /// SQLite's.
    Sql(rusqlite::Error),
    /// What is stored is not what was stored.
    Damaged(String),
    /// What is to be stored does not fit what is there, or itself.
    Unusable(String),
    /// The store lies where nothing can be written.
    Unwritable(String),
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
    pub(super) fn of(self, benchmark: &Benchmark, experiment: ExperimentId) -> Self {
        let reason = self.0;
        Self(format!(
            "executions of {benchmark} in experiment {experiment} cannot be read: {reason}"
        ))
    }
}

impl From<Damage> for Error {
    fn from(Damage(reason): Damage) -> Self {
        Self::Damaged(reason)
    }
}

impl From<String> for Error {
    fn from(reason: String) -> Self {
        Self::Unusable(reason)
    }
}

impl From<&str> for Error {
    fn from(reason: &str) -> Self {
        Self::Unusable(reason.to_owned())
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Error {
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

    /// The error as the user reads it: the operation `what`, which ends in a preposition if it needs one,
    /// failed on the store at `path`.
    pub(super) fn failure(self, what: &str, path: &Path) -> Failure {
        let shown = path.display();
        let failed = |exit| Failure::new(exit, format!("cannot {what} {shown}"));
        let code = self.code();
        match self {
            Self::Damaged(reason) => damaged(failed(Exit::Usage).because(reason), path),
            Self::Unusable(reason) => failed(Exit::Internal).because(reason),
            Self::Unwritable(reason) => failed(Exit::Usage).because(reason).hint(
                "copy it, with the files beside it that begin with its name, and use the copy",
            ),
            Self::Line { number, reason } => failed(Exit::Usage)
                .because(format!("line {number}: {}", printable(&reason)))
                .hint("nothing was imported; export the results again"),
            Self::Sql(error) if is_damage(&error) => {
                damaged(failed(Exit::Usage).because(error.to_string()), path)
            }
            Self::Sql(error) => {
                let (exit, hint) = advice(code);
                let failure = failed(exit).because(error.to_string());
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
        _ => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        ),
    }
}

/// A file that cannot be used, or a full disk, is the user's to change; anything else is a defect.
fn advice(code: Option<ErrorCode>) -> (Exit, Option<&'static str>) {
    match code {
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => (
            Exit::Usage,
            Some(
                "free some disk space; stored results are kept, and the same command resumes from \
                 there",
            ),
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            Exit::Usage,
            Some("another process keeps writing to it; find it with: fuser results.sqlite"),
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            (Exit::Usage, Some("make sure that you can write to the directory and the file"))
        }
        _ => (Exit::Internal, None),
    }
}

/// The text with control characters, which an imported file may hold, as they are escaped.
fn printable(text: &str) -> String {
    let escape =
        |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

fn damaged(failure: Failure, path: &Path) -> Failure {
    let shown = path.display();
    failure.hint(format!(
        "nothing was changed; move {shown} and the files beside it that begin with its name out \
         of the way to start over, or save what can be read with: sqlite3 {shown} .recover"
    ))
}
