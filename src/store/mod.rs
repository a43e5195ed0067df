//! What was measured, kept in one SQLite file for as long as the user wants.
//!
//! The only place that holds SQL, and one that knows no statistics: it takes and gives plain values of
//! [`model`](crate::model). Every `record_…` has committed when it returns, and commits reach the disk
//! (write-ahead log, `synchronous = FULL`): a killed rbench, or a lost power supply, loses at most the
//! execution in flight. That costs one `fsync` for an execution, between executions.

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

pub use self::{
    columns::ExperimentId,
    exchange::Imported,
    experiment::{StoredExperiment, UnfinishedExperiment},
    open::{Observer, Store, WaitNotice},
    read::{MeasuredBenchmark, MeasuredVersion, RecordedBuild, StoredExecution},
};

#[cfg(test)]
mod tests;
