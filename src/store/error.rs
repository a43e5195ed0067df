//! What can go wrong with the store, and what the user is told.

use std::path::Path;

use rusqlite::ErrorCode;

use super::block::Damage;
use crate::failure::{Exit, Failure};

/// An error in the middle of an operation on the store.
#[derive(Debug)]
pub(super) enum Error {
    /// SQLite's.
    Sql(rusqlite::Error),
    /// What is stored is not what was stored.
    Damaged(String),
    /// What is to be stored does not fit what is there.
    Unusable(String),
    /// A line of a file that is imported cannot be used.
    Line { number: usize, reason: String },
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Damage> for Error {
    fn from(Damage(reason): Damage) -> Self {
        Self::Damaged(format!("a block of executions cannot be read: {reason}"))
    }
}

impl Error {
    /// Whether another process is writing.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::Sql(error) if matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        ))
    }

    /// The error as the user reads it: `what` could not be done in the store at `path`.
    pub(super) fn failure(self, what: &str, path: &Path) -> Failure {
        let shown = path.display();
        let failure = Failure::new(self.exit(), format!("cannot {what} in {shown}"));
        match self {
            Self::Damaged(reason) => damaged(failure.because(reason), path),
            Self::Unusable(reason) => failure.because(reason),
            Self::Line { number, reason } => failure
                .because(format!("line {number}: {reason}"))
                .hint("nothing was imported; export again where the results come from"),
            Self::Sql(error) => {
                let code = error.sqlite_error_code();
                let failure = failure.because(error.to_string());
                match code {
                    Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => failure.hint(
                        "see that the disk has room; what was stored before is kept, and the same \
                         command goes on from there",
                    ),
                    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => failure.hint(
                        "another process writes there without end; see which one with: \
                         fuser results.sqlite",
                    ),
                    Some(
                        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied,
                    ) => failure.hint("see that you may write to the directory and the file"),
                    Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                        damaged(failure, path)
                    }
                    _ => failure,
                }
            }
        }
    }

    /// A file that cannot be used, or a full disk, is the user's to change; anything else is not to be expected.
    fn exit(&self) -> Exit {
        match self {
            Self::Sql(error) => match error.sqlite_error_code() {
                Some(
                    ErrorCode::ReadOnly
                    | ErrorCode::CannotOpen
                    | ErrorCode::PermissionDenied
                    | ErrorCode::DatabaseBusy
                    | ErrorCode::NotADatabase
                    | ErrorCode::DiskFull
                    | ErrorCode::SystemIoFailure,
                ) => Exit::Usage,
                _ => Exit::Internal,
            },
            Self::Line { .. } => Exit::Usage,
            Self::Damaged(_) | Self::Unusable(_) => Exit::Internal,
        }
    }
}

fn damaged(failure: Failure, path: &Path) -> Failure {
    let shown = path.display();
    failure.hint(format!(
        "nothing was changed; move {shown} and the files beside it that begin with its name out of \
         the way to start anew, or save what can be read with: sqlite3 {shown} .recover"
    ))
}
