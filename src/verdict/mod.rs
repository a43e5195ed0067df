//! Turns rows of the store into verdicts, for all commands.
//!
//! [`Results`] reads the results of experiments, [`Relation`] decides which results of two versions
//! can be compared, and [`Verdicts`] decides each metric. Reports need only the resulting
//! [`DecidedRow`]s. [`timeline`](fn@timeline) puts stored versions in the order of the repository.

mod benchmark;
mod benchmark_verdict;
pub mod fitness;
mod interim;
mod interleaving;
mod policy;
mod provisional;
mod relation;
mod results;
mod row;
mod skip_reason;
#[cfg(test)]
pub(crate) mod testing;
mod timeline;
mod verdicts;

pub use benchmark::{BenchmarkResults, BuildSelection};
pub use benchmark_verdict::Verdict;
pub use interim::Progress;
pub use interleaving::{Interleaving, Mixed};
pub use policy::{Counts, ExitPolicy};
pub use provisional::ProvisionalRow;
pub use relation::{Relation, VersionRef, obstacles, share_history};
pub use results::{Results, are_identical, count_builds};
pub use row::{Advice, ByMean, DecidedRow, DecidedStage, Repetition, UnmeasuredIn, VerdictKind};
pub use timeline::{TimelineEntry, timeline};
pub use verdicts::{AUDIT_ERROR_RATE, DecisionOptions, MIXED, Verdicts};
