//! The statistics of regression benchmarking across builds: pure functions from measurements to
//! verdicts.
//!
//! One *version* is built `l` times; each *build* is executed `m` times; each *execution* takes `n`
//! measurements. [`Measurements`] holds them. Nothing here reads a clock, a file, the environment or
//! a global random state: every random routine takes a generator that its caller seeded.
#![cfg_attr(
    test,
    expect(clippy::float_cmp, reason = "where a test knows the exact result, it asks for that")
)]

mod components;
mod data;
pub mod distribution;
mod estimator;
pub mod impact;
mod interval;
mod moments;
pub mod multiplicity;
pub mod plan;
pub mod power;
mod random;
mod refusal;
pub mod simulation;
mod summary;
pub mod tuning;

pub use components::{Components, LayoutTest, Levels};
pub use data::{Build, Measurements, Misfit, Place};
pub use estimator::{Estimator, Scratch, UnknownEstimator};
pub use interval::Interval;
pub use moments::Moments;
pub use random::Random;
pub use refusal::Refusal;
pub use summary::{BuildSummary, Summary};
