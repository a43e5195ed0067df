//! Diagnosis: what the measurements of one benchmark in one version are made of.
//!
//! Pure functions from [`Measurements`], whose executions hold their measurements in the order of time, to a
//! [`Diagnosis`]: one typed finding for each question, and the [`Warning`]s that follow from them. None
//! of this is part of a verdict.
//!
//! Every warning needs evidence (p below [`SIGNIFICANT`]) *and* a size that matters, which follows from
//! the smallest change of interest, [`Options::min_effect`]. So a benchmark without faults comes out without
//! warnings, however precisely its harmless peculiarities are known.
//!
//! | question | finding | paper |
//! | --- | --- | --- |
//! | where does the variance come from? | [`Variance`] | Kalibera et al. 2006, (14)-(16) |
//! | how much does the initial state matter? | [`Influence`] | Kalibera et al. 2005, figure 2, section 5.2 |
//! | how many executions of how many measurements? | [`Advice`] | 2005 (8), 2006 (18)-(23) |
//! | does it warm up? | [`Trend`] | Gil et al. 2011, section 2; Page 1963; Friedman 1937 |
//! | one steady state, or several? | [`SteadyStates`] | Gil et al. 2011, sections 3, 4 |
//! | does it leap within one execution? | [`Leaps`] | Gil et al. 2011, section 5; Barrett et al. 2017 |
//! | several states at the same time? | [`Simultaneous`] | Gil et al. 2011, section 5; Hartigan 1985 |
//! | are neighbours in time alike? | [`Neighbours`] | Kalibera et al. 2005, section 4; Bartels 1982 |
//! | which estimator would serve? | [`Candidates`] | Haveraaen & Hundvebakke 2001, table 1 |
//! | does what ran before matter? | [`Prologue`] | Gil et al. 2011, section 6 |
//! | how long must a measurement be? | [`Length`] | Chen & Revels 2016, Algorithm 1 |
//!
//! The last two need measurements of their own, and are computed by [`Prologue::of`] and [`Length::of`].
#![cfg_attr(
    test,
    expect(clippy::float_cmp, reason = "where a test knows the exact result, it asks for that")
)]

use std::fmt;

use execution::executions;
use schemars::JsonSchema;
use serde::Serialize;
use variance::Known;

use crate::stats::{Estimator, Measurements, Refusal, plan::Cost};

mod advice;
mod candidates;
mod changes;
mod control;
mod density;
mod dip;
mod draws;
mod execution;
mod hints;
mod influence;
mod leaps;
mod length;
mod neighbours;
mod prologue;
mod ranks;
mod simultaneous;
mod states;
mod steps;
mod trend;
mod variance;
mod warning;

pub use advice::{Advice, Repetitions};
pub use candidates::{Candidate, Candidates, Precision};
pub use control::Control;
pub use density::{Bandwidth, Densities};
pub use hints::{Hint, hints, two_groups};
pub use influence::Influence;
pub use leaps::{Class, Leaps, Segment, Segments};
pub use length::{Length, LengthPoint};
pub use neighbours::Neighbours;
pub use prologue::Prologue;
pub use simultaneous::{Modes, Simultaneous};
pub use states::{State, SteadyStates};
pub use trend::Trend;
pub use variance::{FTest, Variance};
pub use warning::{Level, Warning};

/// A warning needs a p below this: so many tests are made of one benchmark.
pub const SIGNIFICANT: f64 = 0.001;

/// What a diagnosis needs to know besides the measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// δ₀: the smallest relative difference of interest, .01 for 1 %.
    pub min_effect: f64,
    /// The estimator whose executions are compared where an estimator is in use.
    pub estimator: Estimator,
    /// The confidence of all intervals, .95 for 95 %.
    pub confidence: f64,
    /// For all that is drawn at random: the same seed gives the same diagnosis.
    pub seed: u64,
    /// `K`: how often the bootstrap of an impact factor is repeated.
    pub repetitions: usize,
    /// What builds and executions cost, in measurements. Without it there is no [`Advice`].
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

/// One finding per question. A finding that the shape of the data does not allow says what is lacking.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Where does the variance come from?
    pub variance: Result<Variance, Lacking>,
    /// How much does it matter that the program is started again?
    pub executions: Result<Influence, Lacking>,
    /// How much does it matter that it is built again, in another layout?
    pub builds: Result<Influence, Lacking>,
    /// How many builds, executions and measurements would be best?
    pub advice: Result<Advice, Lacking>,
    /// Does it warm up, or slow down?
    pub trend: Result<Trend, Lacking>,
    /// One steady state, or several, between executions of the same build?
    pub states: Result<SteadyStates, Lacking>,
    /// Does it leap within one execution?
    pub leaps: Result<Leaps, Lacking>,
    /// Several states at the same time?
    pub simultaneous: Result<Simultaneous, Lacking>,
    /// Are neighbours in time alike?
    pub neighbours: Result<Neighbours, Lacking>,
    /// Which estimator would serve?
    pub candidates: Result<Candidates, Lacking>,
    /// What of this should worry anybody, in the order of the questions.
    pub warnings: Vec<Warning>,
}

/// Diagnoses one benchmark in one version.
///
/// Refuses options that make no sense: a `min_effect` that is not a finite number from 0 up, a `confidence` that
/// is not strictly between 0 and 1.
pub fn diagnose(data: &Measurements, options: &Options) -> Result<Diagnosis, Refusal> {
    check(options)?;
    let all = executions(data);
    let (means, estimates) = (Known::of_means(data, options), Known::of_estimates(data, options));
    let (means, estimates) = (means.as_ref().map_err(lacking), estimates.as_ref().map_err(lacking));
    let variance = means.map(|means| Variance::of(means, estimates.ok(), options));
    let states = SteadyStates::of(&all);
    // The test by parts holds also where neighbours in time are alike.
    let of_executions = states.as_ref().map(|states| states.test).ok();
    let of_executions = of_executions.or(variance.ok().and_then(|variance| variance.executions));
    let of_builds = variance.ok().and_then(|variance| variance.layout);
    let leaps = Leaps::of(&all, data.resolution(), options);
    let simultaneous = Simultaneous::of(&all, leaps.as_ref().ok(), data.resolution(), options);
    let mut diagnosis = Diagnosis {
        variance,
        executions: means
            .and_then(|means| Influence::of_executions(data, means, of_executions, options)),
        builds: estimates
            .and_then(|estimates| Influence::of_builds(data, estimates, of_builds, options)),
        advice: means.and_then(|means| Advice::of(data, means, options)),
        trend: Trend::of(&all, options),
        states,
        leaps,
        simultaneous,
        neighbours: Neighbours::of(&all, options),
        candidates: Candidates::of(&all, options),
        warnings: vec![],
    };
    diagnosis.warnings = warning::warnings(&diagnosis, options);
    Ok(diagnosis)
}

fn lacking(lacking: &Lacking) -> Lacking {
    *lacking
}

/// Refuses options that make no sense.
fn check(options: &Options) -> Result<(), Refusal> {
    let Options { min_effect, confidence, .. } = *options;
    if !(min_effect >= 0.0 && min_effect.is_finite()) {
        Err(Refusal::NotAnEffect(min_effect))
    } else if !(confidence > 0.0 && confidence < 1.0) {
        Err(Refusal::NotAProbability(confidence))
    } else {
        Ok(())
    }
}

/// The place of an execution in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Position {
    /// The layout seed of its build.
    pub seed: u64,
    /// The index of its execution within the build, from 0.
    pub round: usize,
}

/// Why a question has no answer from these data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// Too few builds.
    Builds {
        /// As many as it takes.
        needed: usize,
        /// As many as there are.
        found: usize,
    },
    /// Too few executions, of each build where builds have to be told from executions.
    Executions {
        /// As many as it takes.
        needed: usize,
        /// As many as there are.
        found: usize,
    },
    /// Too few measurements of each execution.
    Measurements {
        /// As many as it takes.
        needed: usize,
        /// As many as there are, in the shortest execution.
        found: usize,
    },
    /// Nothing varies.
    Variance,
    /// What builds and executions cost was not given.
    Cost,
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builds { needed, found } => {
                write!(f, "needs {needed} builds or more, and there are {found}")
            }
            Self::Executions { needed, found } => {
                write!(f, "needs {needed} executions or more of each build, and there are {found}")
            }
            Self::Measurements { needed, found } => write!(
                f,
                "needs {needed} measurements or more of each execution, and the shortest has {found}"
            ),
            Self::Variance => f.write_str("all measurements are exactly equal"),
            Self::Cost => f.write_str("what a build and an execution cost is not known"),
        }
    }
}

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
