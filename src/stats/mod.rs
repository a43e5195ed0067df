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

pub mod comparison;
pub mod components;
pub mod criteria;
pub mod data;
pub mod distribution;
pub mod estimator;
pub mod false_alarms;
pub mod impact;
pub mod interval;
pub mod matching;
pub mod moments;
pub mod multiplicity;
pub mod permutation;
pub mod plan;
pub mod power;
pub mod random;
pub mod refusal;
pub mod rule;
pub mod simulation;
pub mod stage;
pub mod summary;
pub mod tuning;
pub mod validation;
pub mod verdict;

pub use comparison::{Change, Comparison, Direction};
pub use components::{Components, LayoutTest, Levels};
pub use criteria::Criteria;
pub use data::{Build, Measurements, Misfit, Place};
pub use estimator::{Estimator, Scratch, UnknownEstimator};
pub use interval::Interval;
pub use matching::{Method, Pairing, Unpaired};
pub use moments::Moments;
pub use permutation::Permutation;
pub use random::Random;
pub use refusal::Refusal;
pub use rule::{Rule, UnknownRule};
pub use stage::Stage;
pub use summary::{BuildSummary, Summary};
pub use verdict::{Basis, Doubt, Verdict};

#[cfg(test)]
mod properties;
