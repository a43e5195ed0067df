//! Distinguishes one steady state from several between executions: Gil et al. 2011, sections 3 and 4.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    FTest, InsufficientData, Position,
    values::{Execution, parts, quantile, shortest, sorted},
};
use crate::stats::{Estimator, Moments, Scratch, whole};

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

/// The number of points of the grid.
const POINTS: usize = 256;
/// A kernel is cut off beyond this many widths, where it is invisible.
const REACH: f64 = 4.0;
/// The curves span these quantiles of the widest execution: a few slow measurements must not compress the rest into a
/// single spike.
const SHOWN: [f64; 2] = [0.001, 0.98];

/// One curve for each execution, over one grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Densities {
    /// `h` of each curve, in the metric's unit.
    pub widths: Vec<f64>,
    /// The points at which the curves are given, ascending in equal steps, in the metric's unit. The slowest
    /// measurements may lie beyond its end.
    pub grid: Vec<f64>,
    /// The density of each execution at the grid's points, per unit of the metric, in the order of builds and rounds.
    pub curves: Vec<Vec<f64>>,
}

/// The data behind the curve of one execution.
struct Sample {
    sorted: Vec<f64>,
    /// The best width for normal data.
    width: f64,
}

impl Sample {
    fn from_execution(execution: &Execution<'_>) -> Self {
        let sorted = sorted(execution.values.to_vec());
        let r = sorted.len() as f64;
        let width = spread(&sorted) * (4.0 / (3.0 * r)).powf(0.2);
        Self { sorted, width }
    }
}

/// σ, or its estimate from the middle half where that is smaller: outliers must not blur a curve (Silverman 1986,
/// 3.31).
fn spread(sorted: &[f64]) -> f64 {
    let sd = Moments::compute(sorted).standard_deviation().unwrap_or(0.0);
    let middle = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.349;
    if middle > 0.0 { sd.min(middle) } else { sd }
}

impl Densities {
    /// The curves of all executions, of which there must be at least one, with both widths of section 3 of the paper:
    /// one for all, as in its figures, `h = min_i σ_i (4 / (3 r))^{1/5}`; and a separate one for each curve, the best for
    /// normal data, `h_i = σ_i (4 / (3 r_i))^{1/5}`.
    pub(super) fn estimate(executions: &[Execution<'_>]) -> [Self; 2] {
        let samples: Vec<Sample> = executions.iter().map(Sample::from_execution).collect();
        let common = samples.iter().map(|sample| sample.width).fold(f64::INFINITY, f64::min);
        [Self::with(&samples, |_| common), Self::with(&samples, |sample| sample.width)]
    }

    fn with(samples: &[Sample], width: impl Fn(&Sample) -> f64) -> Self {
        let end = |probability: f64, sign: f64| {
            let end = move |sample: &Sample| quantile(&sample.sorted, probability) * sign;
            samples.iter().map(move |sample| end(sample) + 3.0 * sample.width)
        };
        let low = -end(SHOWN[0], -1.0).fold(f64::NEG_INFINITY, f64::max);
        let high = end(SHOWN[1], 1.0).fold(f64::NEG_INFINITY, f64::max);
        // If nothing varies, a grid about the only value.
        let step = ((high - low) / (POINTS - 1) as f64).max(low.abs() * 1e-9);
        let grid: Vec<f64> = (0..POINTS).map(|point| low + step * point as f64).collect();
        // A kernel that falls between two points would vanish.
        let widths: Vec<f64> = samples.iter().map(|sample| width(sample).max(step)).collect();
        let curve = |(sample, width): (&Sample, &f64)| curve(&sample.sorted, *width, low, step);
        let curves = samples.iter().zip(&widths).map(curve).collect();
        Self { widths, grid, curves }
    }
}

/// The density at the points of the grid from `low` in steps of `step`. Values are first spread over the two
/// neighbouring points, so that the cost does not depend on the width.
fn curve(values: &[f64], width: f64, low: f64, step: f64) -> Vec<f64> {
    let weights = binned(values, low, step);
    let share = 1.0 / (values.len() as f64 * width * std::f64::consts::TAU.sqrt());
    let kernel: Vec<f64> = (0..POINTS)
        .map(|distance| distance as f64 * step / width)
        .take_while(|distance| *distance <= REACH)
        .map(|distance| share * (-distance * distance / 2.0).exp())
        .collect();
    let at = |point: usize| {
        let (from, to) =
            (point.saturating_sub(kernel.len() - 1), (point + kernel.len()).min(POINTS));
        (from..to).map(|other| weights[other] * kernel[other.abs_diff(point)]).sum()
    };
    (0..POINTS).map(at).collect()
}

/// The number of values at each point; a value between two points counts for both by its distance. Values beyond the
/// grid are left out.
fn binned(values: &[f64], low: f64, step: f64) -> Vec<f64> {
    let mut weights = vec![0.0; POINTS];
    for value in values {
        let at = (value - low) / step;
        if (0.0..=(POINTS - 1) as f64).contains(&at) {
            let point = whole(at).min(POINTS - 2);
            weights[point] += 1.0 - (at - point as f64);
            weights[point + 1] += at - point as f64;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnosis::testing::executions_of, stats::Random};

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

    fn densities(all: &[Vec<f64>]) -> [Densities; 2] {
        Densities::estimate(&executions_of(all))
    }

    fn normal(center: f64, sd: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..2000).map(|_| center + sd * random.normal()).collect()
    }

    #[test]
    fn densities_peak_at_their_executions() {
        let [common, own] = densities(&[normal(100.0, 1.0, 1), normal(110.0, 2.0, 2)]);
        let factor = (4.0 / 6000.0_f64).powf(0.2);
        assert!(
            (common.widths[0] / factor - 1.0).abs() < 0.06 && common.widths[0] == common.widths[1]
        );
        assert!((own.widths[1] / (2.0 * factor) - 1.0).abs() < 0.06);
        for densities in [common, own] {
            let step = densities.grid[1] - densities.grid[0];
            for (curve, center) in densities.curves.iter().zip([100.0, 110.0]) {
                let area = curve.iter().sum::<f64>() * step;
                assert!((0.97..1.001).contains(&area), "{area}");
                let peak = (0..curve.len()).max_by(|&a, &b| curve[a].total_cmp(&curve[b])).unwrap();
                assert!((densities.grid[peak] - center).abs() < 0.8);
            }
        }
    }

    #[test]
    fn densities_ignore_a_few_slow_measurements_in_the_grid() {
        let mut values = normal(100.0, 1.0, 3);
        values[..10].fill(1e6);
        let [common, _] = densities(&[values]);
        assert!(common.grid[255] < 110.0);
        assert!(common.widths[0] < 0.4, "{:?}", common.widths);
    }

    #[test]
    fn densities_of_equal_measurements_are_finite() {
        let [common, own] = densities(&[vec![5.0; 20], vec![5.0; 10]]);
        for densities in [common, own] {
            assert!(densities.curves.concat().iter().all(|density| density.is_finite()));
        }
    }
}
