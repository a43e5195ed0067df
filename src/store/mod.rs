//! Stored results: one SQLite file, kept as long as the user wants.
//!
//! The only module with SQL. It knows no statistics: it takes and returns plain values of [`model`](crate::model).
//! Every `record_…` has committed when it returns, and commits reach the disk (write-ahead log, `synchronous = FULL`):
//! if rbench is killed or the power fails, at most the current execution is lost. This costs one `fsync` per
//! execution, between executions.

mod columns;
mod document;
mod encoding;
mod error;
mod experiment;
mod open;
mod read;
mod record;
mod schema;

pub use self::{
    columns::ExperimentId,
    document::{Imported, LARGEST_DOCUMENT, Selection, is_identity},
    experiment::{StoredExperiment, UnfinishedExperiment},
    open::{Observer, Store},
    read::{MeasuredBenchmark, MeasuredVersion, RecordedBuild, StoredExecution},
};

#[cfg(test)]
mod tests;
