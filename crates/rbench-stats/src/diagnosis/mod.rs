//! Diagnosis: the sources of noise in the measurements of one benchmark in one version.
//!
//! Pure functions from [`Measurements`](crate::Measurements), whose executions hold their measurements in the
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
//! | which estimator is the most precise? | [`Estimators`] | Haveraaen & Hundvebakke 2001, table 1 |
//! | do previous benchmarks matter? | [`OrderEffects`] | Gil et al. 2011, section 6 |
//! | how long must a measurement be? | [`Length`] | Chen & Revels 2016, Algorithm 1 |
//!
//! The last two need separate measurements, and are computed by [`OrderEffect::estimate`] and
//! [`Length::from_measurements`].
#![cfg_attr(
    test,
    expect(clippy::float_cmp, reason = "where a test knows the exact result, it asks for that")
)]

mod advice;
mod answer;
mod autocorrelation;
mod changes;
mod control;
mod density;
mod dip;
mod estimators;
mod execution;
mod findings;
mod hints;
mod influence;
mod length;
mod level_shifts;
mod multimodality;
mod order_effect;
mod states;
mod trend;
mod values;
mod variance;
mod warning;

use crate::{Estimator, StatsError, plan::Cost};

pub use crate::FTest;
pub use advice::{Advice, MOST_BUILDS, Repetitions};
pub use answer::{Answer, InsufficientData, serialize_answer};
pub use autocorrelation::Autocorrelation;
pub use control::Control;
pub use density::Densities;
pub use estimators::{EstimatorPrecision, Estimators};
pub use execution::{Position, parts};
pub use findings::{Diagnosis, diagnose};
pub use hints::{Hint, hints, two_groups};
pub use influence::{Influence, Level};
pub use length::{Length, LengthPoint};
pub use level_shifts::{Class, LevelShifts, Segment, Segments};
pub use multimodality::{Modes, Multimodality};
pub use order_effect::{AfterOne, OrderEffect, OrderEffects};
pub use states::{State, SteadyStates};
pub use trend::Trend;
pub use variance::{Shares, Variance};
pub use warning::Warning;

/// A warning needs a p value below this, because one benchmark undergoes many tests.
pub const SIGNIFICANT: f64 = 0.001;

/// The parameters of a diagnosis besides the measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// δ₀: the smallest relative difference of interest, .01 for 1 %.
    pub min_effect: f64,
    /// The estimator of executions, for comparisons that use one.
    pub estimator: Estimator,
    /// The confidence of all intervals, .95 for 95 %.
    pub confidence: f64,
    /// The seed of all random choices: the same seed gives the same diagnosis.
    pub seed: u64,
    /// `K`: the number of repetitions of the bootstrap of an impact factor.
    pub repetitions: usize,
    /// The costs of builds and executions, in measurements. Without them there is no [`Advice`].
    pub cost: Option<Cost>,
}

impl Default for Options {
    /// 1 %, the minimum, 95 %, seed 0, 10,000 repetitions as in the paper of 2005, and no costs.
    fn default() -> Self {
        Self {
            min_effect: 0.01,
            estimator: Estimator::default(),
            confidence: 0.95,
            seed: 0,
            repetitions: 10_000,
            cost: None,
        }
    }
}

impl Options {
    /// Refuses invalid options.
    fn check(&self) -> Result<(), StatsError> {
        let Self { min_effect, confidence, .. } = *self;
        if !(min_effect >= 0.0 && min_effect.is_finite()) {
            Err(StatsError::NotAnEffect(min_effect))
        } else if !(confidence > 0.0 && confidence < 1.0) {
            Err(StatsError::NotAProbability(confidence))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
