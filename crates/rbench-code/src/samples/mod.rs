//! Finds where time is spent: pure functions from sampled stacks to the difference between two versions.
//!
//! A [`TimeProfile`] has the stacks that were sampled while a benchmark was measured, one execution for each pair of
//! builds. [`explain`] pairs the functions of two profiles, estimates the change in the time of each over the pairs, and
//! separates it from noise; [`folded`] gives the stacks of both versions for a flame graph.

mod explanation;
mod fold;
mod inlining;
mod mapped;
mod measured;
mod profile;
mod tally;
#[cfg(test)]
#[expect(clippy::float_cmp, reason = "where a test knows the exact result, it asks for that")]
mod tests;
mod unwind;

pub use explanation::{
    Caller, Change, Explanation, FunctionTime, Selection, Side, Spent, Threads, explain,
};
pub use fold::{FoldedStack, folded};
pub use inlining::Inlined;
pub use mapped::{Mapped, mapped_files};
pub use measured::stretches_of_time;
pub use profile::{
    Frame, SampledExecution, SampledStack, SampledState, SampledThread, TimeProfile,
};
pub use unwind::{Code, CodeFiles, Interrupted};

pub use crate::matching::FunctionTable;
