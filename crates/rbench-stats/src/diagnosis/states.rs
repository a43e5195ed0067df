//! Distinguishes one steady state from several between executions: Gil et al. 2011, sections 3 and 4.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Densities, FTest, InsufficientData, Position,
    execution::{Execution, parts, shortest},
    values::{quantile, sorted},
};
use crate::{Estimator, Moments, Scratch};

/// The number of parts of an execution: few, so that parts are longer than the correlation of consecutive measurements.
const PARTS: usize = 5;
/// The least number of measurements to divide into parts.
const FEWEST: usize = 10;

/// The steady states of the executions of each build.
///
/// The state of an execution is the mean of the lower quartiles of five consecutive parts of it. Occasional slow
/// measurements do not move it (Haveraaen & Hundvebakke 2001), and the differences of the parts give its standard
/// error, even if neighbours in time are alike. The effects of builds are removed: other layouts are other programs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SteadyStates {
    /// Each execution of a build with several executions, in the order of builds and rounds.
    #[serde(rename = "executions")]
    pub states: Vec<State>,
    /// The variance between executions of one build, against that between the parts of one execution.
    pub test: FTest,
    /// The relative distance of the states of executions of one build: from the 10 % to the 90 % quantile of their
    /// deviations, without the part that the errors of the states explain.
    pub spread: f64,
    /// The lowest and the highest state without the effects of builds, as indices into `states`.
    #[serde(skip)]
    pub extremes: [usize; 2],
    /// The distance of the lowest and the highest state, without the effects of builds, relative to the mean.
    pub range: f64,
    /// Density curves with a common width.
    #[serde(skip)]
    pub common: Densities,
    /// Density curves with a separate width each.
    #[serde(skip)]
    pub own: Densities,
}

/// The steady state of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct State {
    /// The execution.
    #[serde(flatten)]
    pub position: Position,
    /// Its state, in the metric's unit, as measured.
    pub value: f64,
    /// The standard error of `value`, from the parts of the execution.
    #[schemars(with = "Option<f64>")]
    pub error: f64,
    /// Its relative distance from the mean of its build, times `sqrt(m / (m − 1))`, which undoes the shrinkage from
    /// estimating that mean from `m` executions.
    pub deviation: f64,
}

impl SteadyStates {
    pub(super) fn detect(executions: &[Execution<'_>]) -> Result<Self, InsufficientData> {
        shortest(executions, FEWEST)?;
        let states = states(executions);
        if states.is_empty() {
            return Err(InsufficientData::Executions { needed: 2, found: 1 });
        }
        let test = test(&states).ok_or(InsufficientData::Variance)?;
        // Errors cause 1 / F of their variance.
        let true_share = (1.0 - 1.0 / test.f).max(0.0).sqrt();
        let deviations = sorted(states.iter().map(|state| state.deviation).collect());
        let spread = quantile(&deviations, 0.9) - quantile(&deviations, 0.1);
        let by_deviation =
            |a: &usize, b: &usize| states[*a].deviation.total_cmp(&states[*b].deviation);
        let lowest = (0..states.len()).min_by(by_deviation).unwrap_or(0);
        let highest = (0..states.len()).max_by(by_deviation).unwrap_or(0);
        let range = states[highest].deviation - states[lowest].deviation;
        let [common, own] = Densities::estimate(executions);
        let (spread, extremes) = (spread * true_share, [lowest, highest]);
        Ok(Self { states, test, spread, extremes, range, common, own })
    }
}

/// The state of each execution of a build with several executions.
fn states(executions: &[Execution<'_>]) -> Vec<State> {
    let mut states = Vec::with_capacity(executions.len());
    let builds = executions.chunk_by(|a, b| a.build == b.build);
    for build in builds.filter(|build| build.len() > 1) {
        let settled: Vec<(f64, f64)> = build
            .iter()
            .map(|execution| estimate_parts(execution.values, Estimator::LowerQuartile))
            .collect();
        let m = settled.len() as f64;
        let center = settled.iter().map(|(value, _)| value).sum::<f64>() / m;
        let stretch = (m / (m - 1.0)).sqrt();
        states.extend(build.iter().zip(settled).map(|(execution, (value, error))| State {
            position: execution.position,
            value,
            error,
            deviation: (value / center - 1.0) * stretch,
        }));
    }
    states
}

/// The mean of the estimates of the parts of an execution, with its standard error.
pub(super) fn estimate_parts(values: &[f64], estimator: Estimator) -> (f64, f64) {
    let mut scratch = Scratch::default();
    let estimate = |part: &[f64]| estimator.estimate(part, &mut scratch);
    let moments = Moments::compute(&parts(values, PARTS).map(estimate).collect::<Vec<_>>());
    (moments.mean, (moments.squares / (PARTS * (PARTS - 1)) as f64).sqrt())
}

/// Deviations of executions within builds, against their errors. A stretched square is `m / (m − 1)` times the
/// square, so their mean is the variance within a build.
fn test(states: &[State]) -> Option<FTest> {
    let count = states.len() as f64;
    let between: f64 = states.iter().map(|state| state.deviation.powi(2)).sum::<f64>() / count;
    let within: f64 =
        states.iter().map(|state| (state.error / state.value).powi(2)).sum::<f64>() / count;
    let builds = states.chunk_by(|a, b| a.position.seed == b.position.seed).count();
    let freedom = [count - builds as f64, count * (PARTS - 1) as f64];
    FTest::new(between / within, freedom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, diagnosis::testing::executions_of};

    /// One build whose executions have these means and standard deviations.
    fn detect_in(executions: &[(f64, f64)], measurements: usize) -> SteadyStates {
        let mut random = Random::new(2011);
        let values: Vec<Vec<f64>> = executions
            .iter()
            .map(|(mean, sd)| (0..measurements).map(|_| mean + sd * random.normal()).collect())
            .collect();
        SteadyStates::detect(&executions_of(&values)).unwrap()
    }

    /// Table 1 of Gil et al. 2011: means and standard deviations in ns per operation, 20,000 measurements each.
    const TABLE_1: [(f64, f64); 7] = [
        (15.27, 0.0802),
        (15.17, 0.0768),
        (15.24, 0.0726),
        (15.38, 0.0727),
        (15.29, 0.0867),
        (15.10, 0.0722),
        (15.24, 0.0929),
    ];

    #[test]
    fn steady_states_are_several_in_the_papers_first_table() {
        let found = detect_in(&TABLE_1, 2_000);
        // The variance of the means is .0079, that of one mean .0064 / n.
        let variance = found.states.iter().map(|state| state.value).collect::<Vec<_>>();
        let variance = Moments::compute(&variance).variance().unwrap();
        assert!((variance - 0.0079).abs() < 0.0004, "{variance}");
        assert!(found.test.f > 1000.0 && found.test.p < 1e-9);
        assert_eq!(found.extremes, [5, 3]);
        // .28 of 15.24, plus a correction for seven estimated means.
        assert!((found.range - 0.0198).abs() < 0.001, "{}", found.range);
        assert!(found.spread > 0.01 && found.spread < found.range);
    }

    #[test]
    fn steady_states_of_equal_executions_have_no_spread() {
        let found = detect_in(&[(100.0, 1.0); 30], 200);
        assert!(found.test.p > 0.001 && found.spread < 0.003, "{:?} {}", found.test, found.spread);
        assert!((found.states[0].error - 0.075).abs() < 0.05);
    }

    #[test]
    fn steady_states_need_several_executions_of_a_build() {
        let values = vec![1.0; 20];
        let execution = |build| Execution {
            position: Position { seed: build as u64, round: 0 },
            build,
            values: &values,
        };
        let lacking = SteadyStates::detect(&[execution(0), execution(1)]).unwrap_err();
        assert_eq!(lacking, InsufficientData::Executions { needed: 2, found: 1 });
    }
}
