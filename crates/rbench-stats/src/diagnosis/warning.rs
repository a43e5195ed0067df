//! The warnings of a diagnosis, as numbers from which reports write sentences.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Autocorrelation, Class, Influence, Level, LevelShifts, Modes, Multimodality, Options,
    SIGNIFICANT, Segments, SteadyStates, Trend,
};
use crate::median;

/// An effect with its size. Each has p below .001 and a relevant size; sizes are relative, .01 is 1 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// The initial state matters: an impact factor above 1.1 at a level whose standard deviation is `min_effect`
    /// or more.
    Influence {
        /// The level: executions or builds.
        level: Level,
        /// The impact factor; in JSON, one that is infinite is null.
        #[schemars(with = "Option<f64>")]
        factor: f64,
        /// The standard deviation that the level adds.
        relative_sd: f64,
        /// The number of executions, or of builds, that were compared.
        compared: usize,
        /// The p value of the F test of the level.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// It warms up: the first tenth of an execution is slower than its second half by `min_effect / 2` or more; or most
    /// executions start with such a segment and end in their fastest one.
    WarmUp {
        /// The size.
        effect: f64,
        /// The number of measurements at the start that are slower by `min_effect / 2` or more.
        measurements: usize,
        /// The number of examined executions.
        executions: usize,
        /// The p value of the trend.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// It slows down: the first tenth of an execution is faster than its second half by `min_effect / 2` or more.
    SlowDown {
        /// The size, as a positive number.
        effect: f64,
        /// The number of examined executions.
        executions: usize,
        /// The p value of the trend.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// Executions of one build settle in states that are `min_effect` or more apart.
    SeveralSteadyStates {
        /// The distance from the 10 % to the 90 % quantile of states.
        spread: f64,
        /// The distance from the lowest to the highest state.
        range: f64,
        /// The number of examined executions.
        executions: usize,
        /// The p value of the F test of executions.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// One execution in ten or more has level shifts of `min_effect / 2` or more. Executions that only warm up do not
    /// count if there is a warning of warm-up.
    LevelShifts {
        /// The number of executions with level shifts.
        leaping: usize,
        /// The number of examined executions.
        executions: usize,
        /// The number of executions with level shifts that only warm up.
        warm_up: usize,
        /// The number of executions with level shifts that end in a segment that is not their fastest.
        slow_down: usize,
        /// The number of executions with level shifts that have no steady state.
        no_steady_state: usize,
        /// The largest distance between two segments, as the median over executions with level shifts.
        distance: f64,
        /// The largest p value of executions with level shifts.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// One execution in ten or more has several states at the same time, `min_effect` or more apart.
    SimultaneousStates {
        /// The number of executions with several states.
        executions: usize,
        /// The number of tested executions.
        of: usize,
        /// The distance between the states of the typical execution.
        distance: f64,
        /// The share of slower measurements in the typical execution.
        slower: f64,
        /// The largest p value of executions with several states.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// Neighbours in time are so alike that the standard error of an execution's value exceeds that of independent
    /// measurements by `min_effect / 2` or more.
    Autocorrelation {
        /// The correlation of the ranks of neighbours.
        correlation: f64,
        /// The relative standard error of an execution's trimmed mean.
        error: f64,
        /// The relative standard error that independent measurements would have.
        error_if_independent: f64,
        /// The number of examined executions.
        executions: usize,
        /// The p value of the rank von Neumann test.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
    /// Earlier benchmarks in the same process change the result by `min_effect` or more.
    OrderEffect {
        /// The slowdown after others; below 0, a speedup.
        change: f64,
        /// The number of pairs, each of a fresh process and of one that runs others before.
        pairs: usize,
        /// The p value of "no change".
        #[schemars(range(min = 0, max = 1))]
        p: f64,
    },
}

/// The least impact factor of a warning.
const FACTOR: f64 = 1.1;
/// The least share of executions for a warning: the machine may cause effects in fewer.
const SHARE: f64 = 0.1;

pub(super) fn influence_warning(
    level: Level,
    influence: &Influence,
    options: &Options,
) -> Option<Warning> {
    let Influence { compared, impact, relative_sd, p, .. } = *influence;
    let factor = impact.factor;
    (factor > FACTOR && p < SIGNIFICANT && relative_sd >= options.min_effect)
        .then_some(Warning::Influence { level, factor, relative_sd, compared, p })
}

pub(super) fn trend_warning(trend: &Trend, options: &Options) -> Option<Warning> {
    let (p, executions) = (trend.p.max(trend.p_page), trend.executions);
    let effect = trend.effect.center;
    if !trend.is_clear() || effect.abs() < options.min_effect / 2.0 {
        None
    } else if effect > 0.0 {
        Some(Warning::WarmUp { effect, measurements: trend.warm_up, executions, p })
    } else {
        Some(Warning::SlowDown { effect: -effect, executions, p })
    }
}

/// A warm-up that is too short for ranks, but long enough to be a segment of most executions.
pub(super) fn class_warning(shifts: &LevelShifts) -> Option<Warning> {
    let warming_up = |execution: &&Segments| execution.has_shifts() && execution.warms_up();
    let warming_up: Vec<&Segments> = shifts.executions.iter().filter(warming_up).collect();
    let last_start = |execution: &&Segments| execution.segments.last().map(|last| last.start);
    let mut starts: Vec<usize> = warming_up.iter().filter_map(last_start).collect();
    starts.sort_unstable();
    let executions = shifts.executions.len();
    let (effect, p) = typical_shift(&warming_up);
    (2 * warming_up.len() > executions).then(|| {
        let measurements = starts[starts.len() / 2];
        Warning::WarmUp { effect, measurements, executions, p }
    })
}

/// The median distance of the segments of these executions, and their largest p value.
fn typical_shift(executions: &[&Segments]) -> (f64, f64) {
    let mut distances: Vec<f64> = executions.iter().map(|one| one.distance()).collect();
    (median(&mut distances), executions.iter().map(|one| one.p).fold(0.0, f64::max))
}

pub(super) fn state_warning(states: &SteadyStates, options: &Options) -> Option<Warning> {
    let SteadyStates { spread, range, test, .. } = *states;
    let (executions, p) = (states.states.len(), test.p);
    (p < SIGNIFICANT && spread >= options.min_effect).then_some(Warning::SeveralSteadyStates {
        spread,
        range,
        executions,
        p,
    })
}

pub(super) fn level_shift_warning(shifts: &LevelShifts, warms_up: bool) -> Option<Warning> {
    let counts = |one: &&Segments| one.has_shifts() && !(warms_up && one.warms_up());
    let shifting: Vec<&Segments> = shifts.executions.iter().filter(counts).collect();
    let (leaping, executions) = (shifting.len(), shifts.executions.len());
    if leaping == 0 || (leaping as f64) < SHARE * executions as f64 {
        return None;
    }
    let count = |class| shifting.iter().filter(|one| one.class == class).count();
    let [warm_up, slow_down, no_steady_state] =
        [Class::WarmUp, Class::SlowDown, Class::NoSteadyState].map(count);
    let (distance, p) = typical_shift(&shifting);
    Some(Warning::LevelShifts {
        leaping,
        executions,
        warm_up,
        slow_down,
        no_steady_state,
        distance,
        p,
    })
}

pub(super) fn multimodality_warning(found: &Multimodality) -> Option<Warning> {
    let Modes { distance, slower, .. } = found.typical?;
    let (executions, of, p) = (found.several, found.executions.len(), found.p);
    (executions as f64 >= SHARE * of as f64).then_some(Warning::SimultaneousStates {
        executions,
        of,
        distance,
        slower,
        p,
    })
}

pub(super) fn autocorrelation_warning(
    found: &Autocorrelation,
    options: &Options,
) -> Option<Warning> {
    let Autocorrelation { executions, correlation, error, error_if_independent, p, .. } = *found;
    let correlation = correlation.center;
    (p < SIGNIFICANT && error - error_if_independent >= options.min_effect / 2.0).then_some(
        Warning::Autocorrelation { correlation, error, error_if_independent, executions, p },
    )
}
