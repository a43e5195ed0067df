//! Estimates the ratio of two interleaved executions from neighbouring measurements, in which shared disturbances
//! cancel. Pure.

use super::{
    estimator::{Estimator, Scratch},
    moments::median,
};

/// The log ratio of an execution to its partner: the median, over neighbours i, of `ln(own[i] / partner[i])`.
///
/// Measurement i of both was taken at nearly the same time, so disturbances of both cancel in their ratio, and one that
/// only one of them had is an outlier. A factor between both is part of every ratio, and swapping both only changes the
/// sign. docs/research/noise.md has the other estimators that were tried.
///
/// If one has more measurements, its last ones have no neighbours. NaN without values.
pub fn log_ratio(own: &[f64], partner: &[f64]) -> f64 {
    let mut ratios: Vec<f64> =
        own.iter().zip(partner).map(|(own, partner)| (own / partner).ln()).collect();
    median(&mut ratios)
}

/// The factor for the measurements of an execution that gives the medians of both the [ratio](log_ratio) of
/// neighbours: each moves half of the way. 1 if one of them has no measurement.
pub fn towards_ratio(own: &[f64], partner: &[f64]) -> f64 {
    let mut scratch = Scratch::default();
    let mut log = |values: &[f64]| Estimator::Median.estimate(values, &mut scratch).ln();
    let of_each = log(own) - log(partner);
    let factor = ((log_ratio(own, partner) - of_each) / 2.0).exp();
    if factor.is_finite() { factor } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn log_ratio_is_the_median_of_the_log_ratios() {
        let slow = [1.0, 30.0, 2.0, 1.0, 5.0];
        let own: Vec<f64> =
            slow.iter().zip([0.9, 1.01, 1.01, 7.0, 1.2]).map(|(one, by)| one * by).collect();
        assert!((log_ratio(&own, &slow) - 1.01_f64.ln()).abs() < 1e-12);
        assert!((log_ratio(&[2.0, 8.0], &[1.0, 1.0]) - 4.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn log_ratio_ignores_disturbances_of_one_execution() {
        let own = [1.02, 1.9, 1.02, 1.9, 1.02].repeat(10);
        assert!((log_ratio(&own, &[1.0; 50]) - 1.02_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn log_ratio_ignores_measurements_without_neighbours() {
        assert!((log_ratio(&[2.0, 2.0, 99.0], &[1.0, 1.0]) - 2.0_f64.ln()).abs() < 1e-12);
        assert!(log_ratio(&[], &[1.0]).is_nan());
        assert!((towards_ratio(&[], &[1.0]) - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn towards_ratio_gives_medians_the_log_ratio(
            pairs in proptest::collection::vec((1.0_f64..1e6, 1.0_f64..1e6), 1..60),
        ) {
            let (own, partner): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let mut scratch = Scratch::default();
            let mut value = |own: &[f64], partner: &[f64]| {
                let factor = towards_ratio(own, partner);
                Estimator::Pairwise.estimate(own, &mut scratch) * factor
            };
            let (one, other) = (value(&own, &partner), value(&partner, &own));
            prop_assert!(((one / other).ln() - log_ratio(&own, &partner)).abs() < 1e-9);
        }

        #[test]
        fn log_ratio_includes_a_constant_factor_exactly(
            pairs in proptest::collection::vec((1.0_f64..1e3, 1.0_f64..1e3), 1..60),
            factor in 0.5_f64..2.0,
        ) {
            let (own, partner): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let scaled: Vec<f64> = own.iter().map(|value| factor * value).collect();
            let ratio = log_ratio(&own, &partner);
            prop_assert!((log_ratio(&scaled, &partner) - factor.ln() - ratio).abs() < 1e-9);
            prop_assert!((log_ratio(&partner, &own) + ratio).abs() < 1e-9);
        }

        #[test]
        fn log_ratio_cancels_shared_disturbances(
            disturbed in proptest::collection::vec(1.0_f64..1e3, 1..60),
        ) {
            let own: Vec<f64> = disturbed.iter().map(|by| 1.05 * by).collect();
            prop_assert!((log_ratio(&own, &disturbed) - 1.05_f64.ln()).abs() < 1e-9);
        }
    }
}
