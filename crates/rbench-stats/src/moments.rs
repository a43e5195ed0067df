//! Summarises a sample: its mean and squared deviations, in one pass and without cancellation; its median; and its
//! outliers on the slow side. Pure.

/// Sums use this many independent accumulators, so that the processor can add vectors and need not wait for one
/// addition before it starts the next.
const PARALLEL: usize = 8;

/// Number, mean and sum of squared deviations from the mean of some values.
///
/// ```
/// use rbench_stats::Moments;
///
/// let moments = Moments::compute(&[1.0, 2.0, 6.0]);
/// assert_eq!(moments.mean, 3.0);
/// assert_eq!(moments.variance(), Some(7.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    pub count: usize,
    /// Their arithmetic mean, in the unit of the values; NaN if there are none.
    pub mean: f64,
    /// `Σ (x − mean)²`, in the squared unit of the values.
    pub squares: f64,
}

impl Moments {
    /// Computes the moments of `values`, in one pass.
    ///
    /// The pass sums deviations from the first value `s`, and `Σ (x − s)²` exceeds the squares by `n (mean − s)²`. As
    /// `s` is one of the values, the squares are at least `(mean − s)² n / (n − 1)`, so the excess is at most `n − 1`
    /// times what remains: the relative rounding error is that of a sum times `n` at worst, however large the mean, and
    /// even if an outlier comes first.
    pub fn compute(values: &[f64]) -> Self {
        let count = values.len();
        let Some(&first) = values.first() else {
            return Self { count, mean: f64::NAN, squares: 0.0 };
        };
        let (plain, squared) = deviations(values, first);
        let shift = plain / count as f64;
        Self { count, mean: first + shift, squares: (squared - plain * shift).max(0.0) }
    }

    /// The sample variance `squares / (count − 1)`; none for fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count >= 2).then(|| self.squares / (self.count - 1) as f64)
    }

    /// The sample standard deviation; none for fewer than two values.
    pub fn standard_deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }
}

pub(super) fn sum(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<PARALLEL>();
    let mut parallel = [0.0; PARALLEL];
    for chunk in chunks {
        for (lane, value) in parallel.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    fold(parallel) + rest.iter().sum::<f64>()
}

/// `Σ (x − center)` and `Σ (x − center)²`.
fn deviations(values: &[f64], center: f64) -> (f64, f64) {
    let (chunks, rest) = values.as_chunks::<PARALLEL>();
    let mut plain = [0.0; PARALLEL];
    let mut squared = [0.0; PARALLEL];
    for chunk in chunks {
        for lane in 0..PARALLEL {
            let deviation = chunk[lane] - center;
            plain[lane] += deviation;
            squared[lane] += deviation * deviation;
        }
    }
    let mut total = (fold(plain), fold(squared));
    for value in rest {
        let deviation = value - center;
        total.0 += deviation;
        total.1 += deviation * deviation;
    }
    total
}

/// Adds the accumulators pairwise: fewer roundings than from left to right.
fn fold(parallel: [f64; PARALLEL]) -> f64 {
    let [a, b, c, d, e, f, g, h] = parallel;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// The whole part of a number that is not negative, for indices and counts.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates, and NaN gives 0"
)]
pub fn whole(number: f64) -> usize {
    number as usize
}

/// The middle value, or the mean of the two in the middle; NaN if empty. Sorts the values.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
    }
}

/// A value this many robust standard deviations above the median is slow: the limit for modified z-scores of Iglewicz &
/// Hoaglin 1993.
const LIMIT: f64 = 3.5;

/// The median absolute deviation of normal values is their standard deviation divided by this.
const NORMAL: f64 = 1.4826;

/// Marks each build value that lies above the median of all by more than 3.5 robust standard deviations (1.4826 × the
/// median absolute deviation) and by at least the relative `min_effect`.
///
/// A fast or slow mode of fewer than half of the builds does not hide itself, as it would by inflating a standard
/// deviation.
pub fn slow(values: &[f64], min_effect: f64) -> Vec<bool> {
    let center = median(&mut values.to_vec());
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    let spread = NORMAL * median(&mut deviations);
    let limit = center + (LIMIT * spread).max(min_effect * center);
    values.iter().map(|value| *value > limit).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn moments_of_too_few_values_are_undefined() {
        assert!(Moments::compute(&[]).mean.is_nan());
        assert_eq!(Moments::compute(&[]).variance(), None);
        assert_eq!(Moments::compute(&[3.0]), Moments { count: 1, mean: 3.0, squares: 0.0 });
        assert_eq!(Moments::compute(&[3.0]).variance(), None);
    }

    #[test]
    fn moments_include_values_after_the_last_full_chunk() {
        let values: Vec<f64> = (1..=19).map(f64::from).collect();
        let moments = Moments::compute(&values);
        assert_eq!(moments.mean, 10.0);
        // Σ i² − 19·10² = 2470 − 1900
        assert_eq!(moments.squares, 570.0);
    }

    #[test]
    fn small_spread_on_a_large_mean_does_not_cancel() {
        let values: Vec<f64> = (0..1000).map(|i| 1e12 + f64::from(i % 2)).collect();
        let moments = Moments::compute(&values);
        assert_eq!(moments.mean, 1e12 + 0.5);
        assert_eq!(moments.squares, 250.0);
    }

    #[test]
    fn moments_stay_accurate_after_a_first_outlier() {
        let mut values = vec![1.0; 1000];
        values[0] = 1e9;
        let moments = Moments::compute(&values);
        assert!((moments.mean / (1e6 + 0.999) - 1.0).abs() < 1e-12);
        // (10^9 − 1)² · 999/1000
        let exact = 999_999_999.0f64.powi(2) * 0.999;
        // The rounding error of summing 125 values per lane, times the excess of n − 1.
        assert!((moments.squares / exact - 1.0).abs() < 125.0 * f64::EPSILON * 999.0);
    }

    proptest! {
        #[test]
        fn moments_scale_with_the_unit(
            values in prop::collection::vec(1e-3..1e3, 2..40),
            exponent in -30i32..30,
        ) {
            // A power of two scales without rounding, so the results must be exactly equal.
            let c = 2f64.powi(exponent);
            let scaled: Vec<f64> = values.iter().map(|value| value * c).collect();
            let (one, other) = (Moments::compute(&values), Moments::compute(&scaled));
            prop_assert_eq!(other.mean, one.mean * c);
            prop_assert_eq!(other.squares, one.squares * c * c);
        }
    }

    #[test]
    fn median_of_an_even_number_is_the_midpoint() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [f64::INFINITY, 1.0]), f64::INFINITY);
        assert_eq!(median(&mut [7.0]), 7.0);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn slow_marks_a_mode_of_two_builds_in_ten() {
        let values = [100.0, 101.0, 99.0, 130.0, 100.5, 99.5, 131.0, 100.2, 99.8, 100.0];
        let named: Vec<usize> = slow(&values, 0.01)
            .iter()
            .enumerate()
            .filter(|(_, slow)| **slow)
            .map(|(i, _)| i)
            .collect();
        assert_eq!(named, [3, 6]);
    }

    #[test]
    fn slow_ignores_general_spread_and_fast_layouts() {
        assert_eq!(slow(&[90.0, 95.0, 100.0, 105.0, 110.0], 0.01), [false; 5]);
        assert_eq!(slow(&[100.0, 100.0, 100.0, 50.0], 0.01), [false; 4]);
    }

    #[test]
    fn slow_ignores_differences_below_the_min_effect() {
        assert_eq!(slow(&[100.0, 100.0, 100.0, 100.5], 0.01), [false; 4]);
        assert_eq!(slow(&[100.0, 100.0, 100.0, 101.5], 0.01), [false, false, false, true]);
        assert!(slow(&[], 0.01).is_empty());
    }
}
