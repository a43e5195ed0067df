//! Two executions that took turns: what is known of their ratio from neighbouring measurements.

use super::estimator::{Estimator, Scratch};

/// The log ratio of an execution to its partner: the interquartile mean, over i, of
/// `ln(own[i] / partner[i])`. Measurement i of both was taken at nearly the same time, so that what
/// disturbed both is not in their ratio.
///
/// Where one has more measurements, its last ones have no neighbours. No values have no ratio: NaN.
pub fn log_ratio(own: &[f64], partner: &[f64]) -> f64 {
    let neighbours = own.iter().zip(partner);
    let mut ratios: Vec<f64> = neighbours.map(|(own, partner)| (own / partner).ln()).collect();
    ratios.sort_by(f64::total_cmp);
    let cut = ratios.len() / 4;
    let middle = &ratios[cut..ratios.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// What the measurements of an execution are multiplied by, so that the trimmed means of both have the
/// [ratio](log_ratio) of neighbours: each goes half of the way. 1 if one of them has no measurement.
pub fn towards_ratio(own: &[f64], partner: &[f64]) -> f64 {
    let mut scratch = Scratch::default();
    let mut log = |values: &[f64]| Estimator::TrimmedMean.estimate(values, &mut scratch).ln();
    let of_each = log(own) - log(partner);
    let factor = ((log_ratio(own, partner) - of_each) / 2.0).exp();
    if factor.is_finite() { factor } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quarter_at_each_end_is_left_out() {
        let own: Vec<f64> = [900.0_f64, 1.0, 3.0, -900.0].map(|log| (log / 1e3).exp()).to_vec();
        assert!((log_ratio(&own, &[1.0; 4]) - 0.002).abs() < 1e-12);
        assert!((log_ratio(&[2.0, 8.0], &[1.0, 1.0]) - 4.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn measurements_without_neighbours_do_not_count() {
        assert!((log_ratio(&[2.0, 2.0, 99.0], &[1.0, 1.0]) - 2.0_f64.ln()).abs() < 1e-12);
        assert!(log_ratio(&[], &[1.0]).is_nan());
        assert!((towards_ratio(&[], &[1.0]) - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn after_both_went_half_of_the_way_their_trimmed_means_have_the_ratio_of_neighbours(
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
        fn what_disturbs_both_alike_does_not_count(
            disturbed in proptest::collection::vec(1.0_f64..1e3, 1..60),
        ) {
            let own: Vec<f64> = disturbed.iter().map(|by| 1.05 * by).collect();
            prop_assert!((log_ratio(&own, &disturbed) - 1.05_f64.ln()).abs() < 1e-9);
        }
    }
}
