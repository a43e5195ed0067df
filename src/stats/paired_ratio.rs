//! Estimates the ratio of two interleaved executions from neighbouring measurements, in which shared disturbances
//! cancel. Pure.

use super::estimator::{Estimator, Scratch};

/// One in this many neighbours counts: those that were fastest in both executions.
const OF_EACH: usize = 5;
/// The least number of neighbours to use, if there are as many.
const LEAST: usize = 3;

/// The log ratio of an execution to its partner: the interquartile mean, over the fastest neighbours i, of `ln(own[i] /
/// partner[i])`.
///
/// Measurement i of both was taken at nearly the same time, so disturbances of both cancel in their ratio. A
/// disturbance of only one of them is seldom among the fastest: neighbours are ordered by the larger of their two
/// ranks, each within its own execution, so that a factor between both changes no order and swapping both only changes
/// the sign.
///
/// If one has more measurements, its last ones have no neighbours. NaN without values.
pub fn log_ratio(own: &[f64], partner: &[f64]) -> f64 {
    let count = own.len().min(partner.len());
    let (own, partner) = (&own[..count], &partner[..count]);
    let ranks: Vec<usize> =
        ranks(own).zip(ranks(partner)).map(|(own, partner)| own.max(partner)).collect();
    let mut sorted = ranks.clone();
    sorted.sort_unstable();
    let counted = (count / OF_EACH).max(LEAST).min(count);
    let Some(&slowest) = sorted[..counted].last() else { return f64::NAN };
    let fastest = own.iter().zip(partner).zip(ranks).filter(|&(_, rank)| rank <= slowest);
    let mut ratios: Vec<f64> = fastest.map(|((own, partner), _)| (own / partner).ln()).collect();
    ratios.sort_by(f64::total_cmp);
    let cut = ratios.len() / 4;
    let middle = &ratios[cut..ratios.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// For each value, the number of smaller ones.
fn ranks(values: &[f64]) -> impl Iterator<Item = usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    values.iter().map(move |value| sorted.partition_point(|other| other < value))
}

/// The factor for the measurements of an execution that gives the trimmed means of both the [ratio](log_ratio) of
/// neighbours: each moves half of the way. 1 if one of them has no measurement.
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
    fn log_ratio_trims_a_quarter_of_the_fastest_at_each_end() {
        let ratios = [0.9, 1.01, 1.01, 1.2].repeat(5);
        let slow = [30.0; 80];
        let (own, partner) = ([&*ratios, &slow].concat(), [&[1.0; 20][..], &slow].concat());
        assert!((log_ratio(&own, &partner) - 1.01_f64.ln()).abs() < 1e-12);
        assert!((log_ratio(&[2.0, 8.0], &[1.0, 1.0]) - 4.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn log_ratio_ignores_disturbances_of_one_execution() {
        let own = [1.02, 1.9, 1.9, 1.9, 1.9].repeat(10);
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
        fn towards_ratio_gives_trimmed_means_the_log_ratio(
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
