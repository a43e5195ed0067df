//! What of a diagnosis should worry anybody, as numbers from which reports write sentences.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Autocorrelation, Class, Influence, LevelShifts, Multimodality, Options, SIGNIFICANT, Segments,
    SteadyStates, Trend,
};
use crate::stats::median;

/// A level of the experiment whose initial state matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Executions of one build.
    Executions,
    /// Builds, each in its own layout.
    Builds,
}

/// A phenomenon with its size. Each has p below .001 and a size that matters; the sizes are relative, .01 is 1 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// The initial state matters: an impact factor above 1.1 at a level whose standard deviation is `min_effect`
    /// or more.
    Influence {
        /// Of executions or of builds.
        level: Level,
        /// The impact factor; in JSON, one that is infinite is null.
        #[schemars(with = "Option<f64>")]
        factor: f64,
        /// The standard deviation that the level adds.
        relative_sd: f64,
        /// Of the F test of the level.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// It warms up: the first tenth of an execution is slower than its second half by `min_effect / 2` or more; or most
    /// executions start with a segment that is, and end in their fastest one.
    WarmUp {
        /// By how much.
        effect: f64,
        /// How many measurements at the start are slower by `min_effect / 2` or more.
        measurements: usize,
        /// Of the trend.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// It slows down: the first tenth of an execution is faster than its second half by `min_effect / 2` or more.
    SlowDown {
        /// By how much, as a positive number.
        effect: f64,
        /// Of the trend.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// Executions of one build settle in states that are `min_effect` or more apart.
    SeveralSteadyStates {
        /// From the 10 % to the 90 % quantile of states.
        spread: f64,
        /// From the lowest to the highest.
        range: f64,
        /// Of the F test of executions.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// One execution in ten or more leaps by `min_effect / 2` or more. Executions that only warm up do not count where
    /// there is a warning of warm-up.
    LevelShifts {
        /// Executions that leap.
        leaping: usize,
        /// All executions that were looked at.
        executions: usize,
        /// Of those that leap, how many only warm up.
        warm_up: usize,
        /// Of those that leap, how many end in a state that is not their fastest.
        slow_down: usize,
        /// Of those that leap, how many have no steady state.
        no_steady_state: usize,
        /// The largest distance between two segments, the median over executions that leap.
        distance: f64,
        /// The largest p of those that leap.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// One execution in ten or more has several states at the same time, `min_effect` or more apart.
    SimultaneousStates {
        /// Executions that have.
        executions: usize,
        /// All executions that were tested.
        of: usize,
        /// The distance between the states of the typical one.
        distance: f64,
        /// The share of slower measurements in the typical one.
        slower: f64,
        /// The largest p of those that have.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// Neighbours in time are so alike that an execution's value is less sure by `min_effect / 2` or more than
    /// the number of its measurements suggests.
    Autocorrelation {
        /// The correlation of the ranks of neighbours.
        correlation: f64,
        /// The relative standard error of an execution's trimmed mean.
        error: f64,
        /// The same as if measurements were independent.
        error_if_independent: f64,
        /// Of the rank von Neumann test.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// What ran before matters by `min_effect` or more.
    OrderEffect {
        /// By how much slower after others; below 0: faster.
        change: f64,
        /// Of no change.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
}

/// Of an impact factor.
const FACTOR: f64 = 1.1;
/// What only fewer executions show is as likely to be the machine's.
const SHARE: f64 = 0.1;

pub(super) fn influence_warning(
    influence: &Influence,
    level: Level,
    options: &Options,
) -> Option<Warning> {
    let Influence { impact, relative_sd, p, .. } = *influence;
    let factor = impact.factor;
    (factor > FACTOR && p < SIGNIFICANT && relative_sd >= options.min_effect)
        .then_some(Warning::Influence { level, factor, relative_sd, p })
}

pub(super) fn trend_warning(trend: &Trend, options: &Options) -> Option<Warning> {
    let p = trend.p.max(trend.p_page);
    let effect = trend.effect.center;
    // Ranks and means may disagree about the direction where a few measurements are far out.
    let agree = trend.correlation * effect < 0.0;
    if p >= SIGNIFICANT || !agree || effect.abs() < options.min_effect / 2.0 {
        None
    } else if effect > 0.0 {
        Some(Warning::WarmUp { effect, measurements: trend.warm_up, p })
    } else {
        Some(Warning::SlowDown { effect: -effect, p })
    }
}

/// A warm-up that is too short for ranks, but long enough to be a segment of most executions.
pub(super) fn class_warning(leaps: &LevelShifts) -> Option<Warning> {
    let warming_up = |execution: &&Segments| execution.has_shifts() && execution.warms_up();
    let warming_up: Vec<&Segments> = leaps.executions.iter().filter(warming_up).collect();
    let last_start = |execution: &&Segments| execution.segments.last().map(|last| last.start);
    let mut starts: Vec<usize> = warming_up.iter().filter_map(last_start).collect();
    starts.sort_unstable();
    let mut distances: Vec<f64> = warming_up.iter().map(|one| one.distance()).collect();
    (2 * warming_up.len() > leaps.executions.len()).then(|| Warning::WarmUp {
        effect: median(&mut distances),
        measurements: starts[starts.len() / 2],
        p: warming_up.iter().map(|execution| execution.p).fold(0.0, f64::max),
    })
}

pub(super) fn state_warning(states: &SteadyStates, options: &Options) -> Option<Warning> {
    let SteadyStates { spread, range, test, .. } = *states;
    (test.p < SIGNIFICANT && spread >= options.min_effect).then_some(Warning::SeveralSteadyStates {
        spread,
        range,
        p: test.p,
    })
}

pub(super) fn level_shift_warning(leaps: &LevelShifts, warms_up: bool) -> Option<Warning> {
    let counts = |execution: &&Segments| !(warms_up && execution.warms_up());
    let leaping = leaps.executions.iter().filter(|execution| execution.has_shifts()).filter(counts);
    let leaping: Vec<&Segments> = leaping.collect();
    let executions = leaps.executions.len();
    if leaping.is_empty() || (leaping.len() as f64) < SHARE * executions as f64 {
        return None;
    }
    let count = |class| leaping.iter().filter(|execution| execution.class == class).count();
    let mut distances: Vec<f64> = leaping.iter().map(|execution| execution.distance()).collect();
    Some(Warning::LevelShifts {
        leaping: leaping.len(),
        executions,
        warm_up: count(Class::WarmUp),
        slow_down: count(Class::SlowDown),
        no_steady_state: count(Class::NoSteadyState),
        distance: median(&mut distances),
        p: leaping.iter().map(|execution| execution.p).fold(0.0, f64::max),
    })
}

pub(super) fn multimodality_warning(modes: &Multimodality) -> Option<Warning> {
    let typical = modes.executions.get(modes.typical?)?;
    let of = modes.executions.len();
    (modes.several as f64 >= SHARE * of as f64).then_some(Warning::SimultaneousStates {
        executions: modes.several,
        of,
        distance: typical.distance,
        slower: typical.slower,
        p: modes.p,
    })
}

pub(super) fn autocorrelation_warning(
    alike: &Autocorrelation,
    options: &Options,
) -> Option<Warning> {
    let Autocorrelation { correlation, error, error_if_independent, p, .. } = *alike;
    (p < SIGNIFICANT && error - error_if_independent >= options.min_effect / 2.0).then_some(
        Warning::Autocorrelation {
            correlation: correlation.center,
            error,
            error_if_independent,
            p,
        },
    )
}
