//! The warnings of a diagnosis, as numbers from which reports write sentences.
//!
//! Cheap checks of the measurements of a comparison. They only suggest a diagnosis; they do not replace one.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Autocorrelation, Class, Influence, Level, LevelShifts, Modes, Multimodality, Options,
    SIGNIFICANT, Segments, SteadyStates, Trend, execution::executions, values::sorted,
};
use crate::stats::{Measurements, Moments, median};

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

/// A reason to run a diagnosis. Sizes are relative: .01 is 1 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hint {
    /// The first tenth of an execution is slower than its second half by this much; below 0, faster.
    Trend {
        /// The size.
        effect: f64,
    },
    /// Builds fall into two groups.
    TwoGroups {
        /// The distance between the means of the groups.
        distance: f64,
    },
}

/// The hints in these measurements and the values of their builds.
pub fn hints(data: &Measurements, builds: &[f64], options: &Options) -> Vec<Hint> {
    let trend = Trend::test(&executions(data), options).ok();
    let trend = trend.filter(|it| it.is_clear() && it.effect.center.abs() >= options.min_effect);
    let trend = trend.map(|trend| Hint::Trend { effect: trend.effect.center });
    let groups = two_groups(builds, options.min_effect);
    trend.into_iter().chain(groups.map(|distance| Hint::TwoGroups { distance })).collect()
}

/// The distance between the two groups of these values, if there are two, at least `min_effect` apart.
///
/// Uses the division into two groups of two or more values with the least squares within them. There are two groups if
/// the gap between them, in standard deviations within the groups, exceeds 130 divided by the number of values: normal,
/// uniform and exponential values exceed that about once in a thousand times.
pub fn two_groups(values: &[f64], min_effect: f64) -> Option<f64> {
    /// The least number of values for two groups.
    const FEWEST: usize = 8;
    const LIMIT: f64 = 130.0;
    if values.len() < FEWEST {
        return None;
    }
    let sorted = sorted(values.to_vec());
    let divided = (2..=sorted.len() - 2).map(|at| {
        let (low, high) = sorted.split_at(at);
        let (low, high) = (Moments::compute(low), Moments::compute(high));
        (low.squares + high.squares, sorted[at] - sorted[at - 1], low.mean, high.mean)
    });
    let (squares, gap, low, high) = divided.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let count = sorted.len() as f64;
    let sd = (squares / (count - 2.0)).sqrt();
    let distance = high / low - 1.0;
    (gap > LIMIT / count * sd && distance >= min_effect).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Random;

    #[test]
    fn two_groups_finds_two_and_not_one() {
        let mut random = Random::new(11);
        let mut values = |shift: f64| -> Vec<f64> {
            let noise =
                |at: usize| 100.0 + 0.1 * random.normal() + if at < 4 { shift } else { 0.0 };
            (0..10).map(noise).collect()
        };
        let distance = two_groups(&values(5.0), 0.01).unwrap();
        assert!((distance - 0.05).abs() < 0.002, "{distance}");
        assert_eq!(two_groups(&values(5.0), 0.1), None, "it does not matter");
        assert_eq!(two_groups(&[1.0, 1.0, 2.0, 2.0], 0.01), None, "too few");
        let found = (0..2000).filter(|_| two_groups(&values(0.0), 0.0).is_some()).count();
        assert!(found <= 6, "{found} of 2000");
    }
}
