//! What was measured, kept in one SQLite file for as long as the user wants.
//!
//! The only place that holds SQL, and one that knows no statistics: it takes and gives plain values of
//! [`model`](crate::model). Every `record_…` has committed when it returns, and commits reach the disk
//! (write-ahead log, `synchronous = FULL`): a killed rbench, or a lost power supply, loses at most the
//! execution in flight. That costs one `fsync` for an execution, between executions.

mod check;
mod columns;
mod encoding;
mod error;
mod exchange;
mod experiment;
mod intern;
mod open;
mod read;
mod record;
mod schema;
mod tuning;
mod unmeasured;

use std::{
    fmt,
    path::PathBuf,
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde::{Deserialize, Serialize};

use crate::failure::Result;
use error::Error;
pub use exchange::Imported;
pub use experiment::{StoredExperiment, Unfinished};
pub use read::{MeasuredBenchmark, MeasuredVersion, RecordedBuild, Row};

/// How long SQLite itself waits for another process before the user is notified.
const SILENT_WAIT: Duration = Duration::from_millis(500);

/// How long to wait in all. Others write for moments only, an import for seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Is notified once when another process writes and is waited for.
pub trait Observer {
    /// Another process writes to the store and is waited for.
    fn store_waits(&self);
}

impl<F: Fn()> Observer for F {
    fn store_waits(&self) {
        self();
    }
}

/// Who is notified of waiting.
pub type WaitNotice<'a> = &'a dyn Observer;

/// An open store.
pub struct Store<'a> {
    connection: Connection,
    path: PathBuf,
    /// The file that was opened; `None`: it is in memory, or cannot change.
    file: Option<FileId>,
    waiting: WaitNotice<'a>,
    patience: Duration,
}

/// Which file it is, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl fmt::Debug for Store<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

/// An experiment of one store; another store has it under another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExperimentId(i64);

impl fmt::Display for ExperimentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Store<'_> {
    /// Reads; all that `work` reads is of one moment.
    fn read<T>(&self, what: &str, work: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T> {
        let attempt = || {
            let transaction = self.patiently(|connection| {
                Ok(Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?)
            })?;
            work(&transaction)
        };
        attempt().map_err(|error| error.failure(what, &self.path))
    }

    /// Writes all that `work` writes, or nothing of it; it is on the disk when this returns.
    fn write<T>(
        &self,
        what: &str,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T> {
        let attempt = || {
            let transaction = self.patiently(|connection| {
                Ok(Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?)
            })?;
            let done = work(&transaction)?;
            transaction.commit()?;
            // SQLite goes on writing to a file that was removed.
            if self.file.is_some() && self.file != FileId::of(&self.path) {
                return Err(Error::Gone);
            }
            Ok(done)
        };
        attempt().map_err(|error: Error| error.failure(what, &self.path))
    }

    /// Tries again while another process writes, after notifying the user.
    fn patiently<'s, T>(
        &'s self,
        mut attempt: impl FnMut(&'s Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
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

#[cfg(test)]
mod tests;
