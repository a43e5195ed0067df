//! The statistics of regression benchmarking across builds: pure functions from measurements to verdicts.
//!
//! One *version* is built `l` times; each *build* is executed `m` times; each *execution* takes `n` measurements.
//! [`Measurements`] holds them. Nothing here reads a clock, a file, the environment or a global random state: every
//! random routine takes a generator that its caller seeded.
//!
//! From data to verdict: [`Measurements`] are read once into a [`Summary`] of each version; two summaries make an
//! [`Assessment`] (their [`Comparison`], and whether the [`Rule`] flags it); an [`Analysis`] holds one assessment by
//! the estimator and one by the mean; one analysis, and a second one of fresh builds if the first flags a change, make
//! a [`Verdict`]. [`Components`] and [`Interval`] describe one version; [`plan`] and [`impact`] help to choose the
//! sample sizes.
//!
//! Values are in the unit of their [`Metric`], times in nanoseconds per iteration. Changes are relative: 0.01 is 1 %.
//! Comparisons are of logarithms, so that a change and its reverse have equal size. Data that allow no result are a
//! [`StatsError`], or an [`InvalidMeasurement`] when they are taken; nothing here panics on data.
//!
//! `lab/src/bin/validate_statistics` of the repository compares all this with simulated experiments of known truth.
//!
//! ```
//! use rbench_stats::{
//!     Assessment, Criteria, Estimator, Measurements, Metric, Pairing, Summary, Verdict,
//! };
//!
//! // Six builds of one execution each; the head takes about 5 % longer in the same layouts.
//! let version = |builds: [[f64; 3]; 6]| {
//!     Measurements::new(Metric::wall(), (1..).zip(builds.map(|measurements| [measurements])))
//! };
//! let base = version([[100., 101., 102.], [120., 121., 120.], [99., 97., 98.], [111., 110., 113.],
//!     [102., 101., 105.], [95., 97., 94.]])?;
//! let head = version([[106., 105., 107.], [126., 127., 125.], [104., 103., 103.], [115., 116., 118.],
//!     [107., 109., 108.], [100., 101., 99.]])?;
//!
//! let criteria = Criteria { confirm: false, ..Criteria::default() };
//! let [base, head] = [base, head].map(|version| Summary::compute(&version, Estimator::Minimum));
//! let stage = Assessment::new(&base, &head, Pairing::BySeed, &criteria)?;
//! let verdict = Verdict::decide(&stage, None, 1, &criteria);
//! assert_eq!(verdict.name(), "regressed");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(
    test,
    expect(clippy::float_cmp, reason = "where a test knows the exact result, it asks for that")
)]

mod achieved_power;
mod alpha_spending;
mod analysis;
mod assessment;
pub mod bisection;
pub mod changes;
mod comparison;
mod components;
mod counted;
mod criteria;
mod data;
pub mod diagnosis;
pub mod distribution;
mod error;
mod estimator;
pub mod impact;
pub mod interference;
mod matching;
mod metric;
mod moments;
pub mod noise;
pub mod outlook;
pub mod paired_ratio;
pub mod plan;
pub mod power;
mod proportion;
mod random;
mod rule;
mod sample_sizes;
pub mod segmentation;
mod sequential;
mod sessions;
mod summary;
mod verdict;

pub use achieved_power::{ABOVE_MIN_EFFECT, More, Power};
pub use alpha_spending::{AlphaSpending, discoveries};
pub use analysis::{Analysis, Decider, Decision};
pub use assessment::Assessment;
pub use comparison::{Change, Comparison, Direction};
pub use components::{Components, FTest, Interval, Levels, Weights, or_infinite};
pub use counted::{apart_by_chance, counts_needed, decide_counts, times_counted, varies};
pub use criteria::{Criteria, MetricLimits};
pub use data::{BuildMeasurements, InvalidMeasurement, MeasurementPosition, Measurements};
pub use error::StatsError;
pub use estimator::{Estimator, Scratch};
pub use matching::{DifferenceShares, Method, Pairing, Unpaired};
pub use metric::{KnownMetric, Metric, MetricSource, Unit};
pub use moments::{Moments, median, slow, whole};
pub use proportion::Proportion;
pub use random::Random;
pub use rule::Rule;
pub use sample_sizes::{InterimAnalyses, SampleSizes};
pub use sessions::{Repeat, SessionVariance};
pub use summary::{BuildSummary, ExecutionEstimate, Summary};
pub use verdict::{Evidence, InconclusiveReason, Verdict};

#[cfg(test)]
mod properties;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
