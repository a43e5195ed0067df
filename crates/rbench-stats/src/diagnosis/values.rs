//! What several findings compute from plain values: quantiles, ranks, intervals and tests of a mean.

use crate::{
    Estimator, Interval, Moments, Random, Scratch,
    distribution::{t_quantile, t_survival},
    whole,
};

pub fn mean(values: &[f64]) -> f64 {
    Estimator::Mean.estimate(values, &mut Scratch::default())
}

/// The quantile of sorted values, with linear interpolation: type 7 of Hyndman & Fan 1996.
pub fn quantile(sorted: &[f64], probability: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = probability.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (whole(at), whole(at.ceil()));
    if sorted[below].total_cmp(&sorted[above]).is_eq() {
        // Both may be infinite.
        return sorted[below];
    }
    sorted[below] + (sorted[above] - sorted[below]) * (at - at.floor())
}

/// Sorts the values ascending.
pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The interval about an estimate, from draws of its distribution.
pub fn interval_of_draws(center: f64, draws: Vec<f64>, confidence: f64) -> Interval {
    let draws = sorted(draws);
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = (quantile(&draws, tail), quantile(&draws, 1.0 - tail));
    Interval { center, low: low.min(center), high: high.max(center) }
}

/// The mean of values with its interval by Student's t, and the two-sided p value of "the expectation is 0".
pub fn mean_interval(values: &[f64], confidence: f64) -> (Interval, f64) {
    let Moments { count, mean, squares } = Moments::compute(values);
    let freedom = count as f64 - 1.0;
    let error = (squares / freedom / count as f64).sqrt();
    let interval =
        Interval::around(mean, t_quantile(f64::midpoint(1.0, confidence), freedom) * error);
    let p = if error > 0.0 {
        (2.0 * t_survival((mean / error).abs(), freedom)).min(1.0)
    } else {
        f64::from(mean == 0.0)
    };
    (interval, p)
}

pub struct Ranks {
    /// The ranks from 1, in the order of the values; tied values share the mean of their ranks.
    pub ranks: Vec<f64>,
    /// `Σ (R_i − R̄)² = (n³ − n − Σ (t³ − t)) / 12` over groups of `t` tied values.
    pub squares: f64,
}

impl Ranks {
    pub fn new(values: &[f64]) -> Self {
        let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let cube = |count: usize| (count as f64).powi(3) - count as f64;
        let mut ranks = vec![0.0; values.len()];
        let (mut before, mut squares) = (0, cube(values.len()));
        for tied in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            let rank = before as f64 + (tied.len() + 1) as f64 / 2.0;
            for &(_, index) in tied {
                ranks[index] = rank;
            }
            before += tied.len();
            squares -= cube(tied.len());
        }
        Self { ranks, squares: squares / 12.0 }
    }
}

/// Moves each value at random by up to half a step if most are equal to others, so that distributions and differences
/// show the benchmark, not the clock. If the step is unknown (0), it is the smallest difference.
pub fn without_steps(values: &[f64], resolution: f64, random: &mut Random) -> Vec<f64> {
    let sorted = sorted(values.to_vec());
    let differences = || sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0);
    let smallest = differences().fold(f64::INFINITY, f64::min);
    let step = if resolution > 0.0 { resolution } else { smallest };
    if differences().count() > values.len() / 2 || !step.is_finite() {
        return values.to_vec();
    }
    values.iter().map(|value| value + (random.unit() - 0.5) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_interpolates_between_neighbours() {
        let values = [1.0, 2.0, 4.0, 8.0, f64::INFINITY];
        assert_eq!(
            [0.0, 0.25, 0.375, 1.0].map(|p| quantile(&values, p)),
            [1.0, 2.0, 3.0, f64::INFINITY]
        );
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn ranks_of_tied_values_are_their_mean() {
        let Ranks { ranks, squares } = Ranks::new(&[3.0, 1.0, 3.0, 2.0, 3.0]);
        assert_eq!(ranks, [4.0, 1.0, 4.0, 2.0, 4.0]);
        let expected: f64 = ranks.iter().map(|rank| (rank - 3.0).powi(2)).sum();
        assert_eq!(squares, expected);
    }

    #[test]
    fn without_steps_moves_only_stepped_values_by_half_a_step() {
        let mut random = Random::new(1);
        let fine: Vec<f64> = (0..50).map(|_| 100.0 + random.normal()).collect();
        assert_eq!(without_steps(&fine, 0.0, &mut random), fine);
        assert_eq!(without_steps(&[7.0; 9], 0.0, &mut random), [7.0; 9]);
        let coarse: Vec<f64> = fine.iter().map(|value| (value / 2.0).round() * 2.0).collect();
        for (resolution, most) in [(0.0, 1.0), (0.5, 0.25)] {
            let moved = without_steps(&coarse, resolution, &mut random);
            let furthest =
                moved.iter().zip(&coarse).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(furthest <= most && furthest > 0.8 * most, "{furthest}");
        }
    }
}
