//! The noise floor: the smallest change that an experiment finds.

use crate::stats::power::smallest_flagged;

/// The smallest relative increase that a comparison of so many pairs of builds flags with a power of 80 %, where
/// the differences of pairs have this standard deviation on the log scale. NaN for fewer than 2 builds.
pub fn smallest_detectable(deviation: f64, builds: usize, false_alarm_rate: f64) -> f64 {
    let error = deviation / (builds as f64).sqrt();
    smallest_flagged(builds as f64 - 1.0, error, false_alarm_rate)
}

/// The standard deviation of which several samples of equal size have these; `None` of none.
pub fn pooled(deviations: &[f64]) -> Option<f64> {
    let squares: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
    (!deviations.is_empty()).then(|| (squares / deviations.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::power::{POWER, two_sided_power};

    #[test]
    fn ten_pairs_find_about_one_standard_deviation() {
        // The effect that ten pairs find with 80 %, as tables of the paired t test have it: 1.00.
        let deviation = 1e-4;
        let found = smallest_detectable(deviation, 10, 0.05) / deviation;
        assert!((found - 1.0).abs() < 0.005, "{found}");
        assert!(smallest_detectable(deviation, 1, 0.05).is_nan());
    }

    #[test]
    fn deviations_are_pooled_by_their_squares() {
        assert!((pooled(&[1.0, 7.0]).unwrap() - 5.0).abs() < 1e-12);
        assert_eq!(pooled(&[]), None);
    }

    proptest! {
        #[test]
        fn the_change_is_found_with_the_power_that_is_told(
            deviation in 1e-5..0.1_f64, builds in 3..60_usize, rate in 0.001..0.2_f64,
        ) {
            let log_change = smallest_detectable(deviation, builds, rate).ln_1p();
            let noncentrality = log_change / deviation * (builds as f64).sqrt();
            let power = two_sided_power(builds as f64 - 1.0, noncentrality, rate);
            prop_assert!((power - POWER).abs() < 1e-6);
        }
    }
}
