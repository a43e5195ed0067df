//! Density curves of the executions: a Gaussian kernel, as in the figures of Gil et al. 2011.

use super::{
    execution::Execution,
    values::{quantile, sorted},
};
use crate::Moments;

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
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index that has been compared with the number of points"
)]
fn binned(values: &[f64], low: f64, step: f64) -> Vec<f64> {
    let mut weights = vec![0.0; POINTS];
    for value in values {
        let at = (value - low) / step;
        if (0.0..=(POINTS - 1) as f64).contains(&at) {
            let point = (at.floor() as usize).min(POINTS - 2);
            weights[point] += 1.0 - (at - point as f64);
            weights[point + 1] += at - point as f64;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, diagnosis::testing::executions_of};

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
