//! The spread of the log ratio from pair to pair.

use rbench_stats::{Estimator, Moments, Scratch, paired_ratio};

use crate::pair::Pair;

/// The estimate from these values.
pub fn estimate(values: &[f64], estimator: Estimator) -> f64 {
    estimator.estimate(values, &mut Scratch::default())
}

/// The standard deviation over pairs of the log ratio of the estimates of both executions.
pub fn of_estimates(pairs: &[Pair], estimator: Estimator) -> f64 {
    let ratios = pairs.iter().map(|pair| {
        let [base, head] = pair.each_ref().map(|values| estimate(values, estimator).ln());
        head - base
    });
    deviation(ratios)
}

/// The same for the log ratios of paired measurements: measurement i of both.
pub fn of_adjacent(pairs: &[Pair]) -> f64 {
    deviation(pairs.iter().map(|[base, head]| paired_ratio::log_ratio(head, base)))
}

fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    Moments::compute(&values.collect::<Vec<_>>()).standard_deviation().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_noise_of_paired_measurements_cancels() {
        let pair = |noise: f64, ratio: f64| {
            let base = vec![100.0, 100.0 * noise, 100.0 * noise * noise];
            [base.clone(), base.into_iter().map(|value| value * ratio).collect()]
        };
        let pairs = [pair(1.0, 1.01), pair(1.5, 1.01), pair(2.0, 1.01)];
        assert!(of_adjacent(&pairs) < 1e-12);
        assert!(of_adjacent(&[pair(1.0, 1.01), pair(1.0, 1.03)]) > 0.01);
    }
}
