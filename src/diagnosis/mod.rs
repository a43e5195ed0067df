//! Diagnosis: the sources of noise in the measurements of one benchmark in one version.
//!
//! Pure functions from [`Measurements`](crate::stats::Measurements), whose executions hold their measurements in the
//! order of time, to a [`Diagnosis`]: one typed finding for each question, and the [`Warning`]s that follow from them.
//! Diagnoses never take part in a verdict.
//!
//! Every warning needs evidence (p below [`SIGNIFICANT`]) *and* a size that matters, which follows from the smallest
//! change of interest, [`Options::min_effect`]. So a benchmark without faults has no warnings, however precisely its
//! harmless peculiarities are known.
//!
//! | question | finding | paper |
//! | --- | --- | --- |
//! | where does the variance come from? | [`Variance`] | Kalibera et al. 2006, (14)-(16) |
//! | how much does the initial state matter? | [`Influence`] | Kalibera et al. 2005, figure 2, section 5.2 |
//! | how many executions of how many measurements? | [`Advice`] | 2005 (8), 2006 (18)-(23) |
//! | does it warm up? | [`Trend`] | Gil et al. 2011, section 2; Page 1963; Friedman 1937 |
//! | one steady state, or several? | [`SteadyStates`] | Gil et al. 2011, sections 3, 4 |
//! | does its level shift within one execution? | [`LevelShifts`] | Gil et al. 2011, section 5; Barrett et al. 2017 |
//! | several states at the same time? | [`Multimodality`] | Gil et al. 2011, section 5; Hartigan 1985 |
//! | are neighbours in time alike? | [`Autocorrelation`] | Kalibera et al. 2005, section 4; Bartels 1982 |
//! | which estimator is the most precise? | [`Candidates`] | Haveraaen & Hundvebakke 2001, table 1 |
//! | does what ran before matter? | [`OrderEffect`] | Gil et al. 2011, section 6 |
//! | how long must a measurement be? | [`Length`] | Chen & Revels 2016, Algorithm 1 |
//!
//! The last two need separate measurements, and are computed by [`OrderEffect::estimate`] and
//! [`Length::from_measurements`].
#![cfg_attr(
    test,
    expect(clippy::float_cmp, reason = "where a test knows the exact result, it asks for that")
)]

mod advice;
mod autocorrelation;
mod candidates;
mod changes;
mod control;
mod density;
mod dip;
mod draws;
mod execution;
mod findings;
mod hints;
mod influence;
mod length;
mod level_shifts;
mod multimodality;
mod options;
mod order_effect;
mod ranks;
mod states;
mod steps;
mod trend;
mod variance;
mod warning;

pub use advice::{Advice, Repetitions};
pub use autocorrelation::Autocorrelation;
pub use candidates::{Candidate, Candidates, Precision};
pub use control::Control;
pub use density::{Bandwidth, Densities};
pub use execution::{InsufficientData, Position};
pub use findings::{Diagnosis, diagnose};
pub use hints::{Hint, hints, two_groups};
pub use influence::Influence;
pub use length::{Length, LengthPoint};
pub use level_shifts::{Class, LevelShifts, Segment, Segments};
pub use multimodality::{Modes, Multimodality};
pub use options::{Options, SIGNIFICANT};
pub use order_effect::OrderEffect;
pub use states::{State, SteadyStates};
pub use trend::Trend;
pub use variance::{FTest, Variance};
pub use warning::{Level, Warning};

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
