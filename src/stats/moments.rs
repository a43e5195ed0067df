//! Mean and squared deviations of a slice, at memory speed and without cancellation.

/// Sums run in this many independent accumulators, so that the processor can add vectors and need
/// not wait for one addition before it starts the next.
const LANES: usize = 8;

/// Number, mean and sum of squared deviations from the mean of some values.
///
/// ```
/// use cargo_rbench::stats::Moments;
///
/// let moments = Moments::of(&[1.0, 2.0, 6.0]);
/// assert_eq!(moments.mean, 3.0);
/// assert_eq!(moments.variance(), Some(7.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// How many values there are.
    pub count: usize,
    /// Their arithmetic mean, in the unit of the values; NaN if there are none.
    pub mean: f64,
    /// `Σ (x − mean)²`, in the squared unit of the values.
    pub squares: f64,
}

impl Moments {
    /// Takes the moments of `values`.
    ///
    /// The corrected two-pass algorithm (Chan et al. 1983): the second pass also sums the
    /// plain deviations, which would be zero in exact arithmetic and so measure the rounding error of
    /// the first. The second pass finds the values of an execution still in the first-level cache.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len();
        let rough = sum(values) / count as f64;
        let (deviations, squares) = deviations(values, rough);
        let correction = deviations / count as f64;
        Self {
            count,
            mean: rough + correction,
            squares: (squares - deviations * correction).max(0.0),
        }
    }

    /// The sample variance `squares / (count − 1)`; none of fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count >= 2).then(|| self.squares / (self.count - 1) as f64)
    }

    /// The sample standard deviation; none of fewer than two values.
    pub fn standard_deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }
}

/// The sum of `values`.
pub(super) fn sum(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    fold(lanes) + rest.iter().sum::<f64>()
}

/// `Σ (x − center)` and `Σ (x − center)²`.
fn deviations(values: &[f64], center: f64) -> (f64, f64) {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut plain = [0.0; LANES];
    let mut squared = [0.0; LANES];
    for chunk in chunks {
        for lane in 0..LANES {
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

/// Adds the lanes pairwise: fewer roundings than from left to right.
fn fold(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_has_no_mean_and_one_value_has_no_variance() {
        assert!(Moments::of(&[]).mean.is_nan());
        assert_eq!(Moments::of(&[]).variance(), None);
        assert_eq!(Moments::of(&[3.0]), Moments { count: 1, mean: 3.0, squares: 0.0 });
        assert_eq!(Moments::of(&[3.0]).variance(), None);
    }

    #[test]
    fn values_beyond_the_last_full_chunk_count_too() {
        let values: Vec<f64> = (1..=19).map(f64::from).collect();
        let moments = Moments::of(&values);
        assert_eq!(moments.mean, 10.0);
        // Σ i² − 19·10² = 2470 − 1900
        assert_eq!(moments.squares, 570.0);
    }

    #[test]
    fn a_small_spread_on_a_large_value_is_not_cancelled_away() {
        let values: Vec<f64> = (0..1000).map(|i| 1e12 + f64::from(i % 2)).collect();
        let moments = Moments::of(&values);
        assert_eq!(moments.mean, 1e12 + 0.5);
        assert_eq!(moments.squares, 250.0);
    }

    proptest! {
        #[test]
        fn scaling_by_c_scales_the_mean_by_c_and_the_squares_by_c_squared(
            values in prop::collection::vec(1e-3..1e3, 2..40),
            exponent in -30i32..30,
        ) {
            // A power of two scales without rounding, so the results must be exactly equal.
            let c = 2f64.powi(exponent);
            let scaled: Vec<f64> = values.iter().map(|value| value * c).collect();
            let (one, other) = (Moments::of(&values), Moments::of(&scaled));
            prop_assert_eq!(other.mean, one.mean * c);
            prop_assert_eq!(other.squares, one.squares * c * c);
        }
    }
}
