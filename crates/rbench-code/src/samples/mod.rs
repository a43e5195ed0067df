//! Finds where time is spent: pure functions from sampled stacks to the difference between two versions.
//!
//! A [`TimeProfile`] has the stacks that were sampled while a benchmark was measured, one execution for each pair of
//! builds.

mod profile;

pub use profile::{
    Frame, SampledExecution, SampledStack, SampledState, SampledThread, TimeProfile,
};
