//! Finds where time is spent: pure functions from sampled stacks to the difference between two versions.
//!
//! A [`TimeProfile`] has the stacks that were sampled while a benchmark was measured, one execution for each pair of
//! builds.

mod mapped;
mod measured;
mod profile;
mod unwind;

pub use mapped::{Mapped, mapped_files};
pub use measured::stretches_of_time;
pub use profile::{
    Frame, SampledExecution, SampledStack, SampledState, SampledThread, TimeProfile,
};
pub use unwind::{Code, FunctionTable, Interrupted};
