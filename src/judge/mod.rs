//! From rows of the store to verdicts: the one way there is.
//!
//! [`Results`] reads what experiments stored, [`Relation`] says which results of two versions can be set
//! against each other, and [`Judge`] judges them, in each metric. What comes out, [`JudgedRow`]s, is all that
//! reports need. [`timeline`](fn@timeline) puts stored versions in the order of the repository.

mod advice;
mod benchmark;
mod pairing;
mod programs;
mod relation;
mod results;
mod row;
#[cfg(test)]
mod testing;
mod timeline;
mod verdicts;

pub use benchmark::BenchmarkResults;
pub use programs::are_identical;
pub use relation::{Relation, VersionRef, obstacles};
pub use results::{Results, nothing_stored};
pub use row::{Advice, JudgedRow, JudgedStage, Repetition};
pub use timeline::{KnownCommit, TimelineEntry, timeline};
pub use verdicts::{Judge, JudgeOptions};
