//! Tests whether neighbours in time are alike, with the rank version of von Neumann's ratio (Bartels 1982). Kalibera et
//! al. 2005, section 4, assume that they are independent.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    InsufficientData, Options,
    execution::{Execution, long_enough},
    states::estimate_parts,
    values::{Ranks, mean, quantile, sorted},
};
use crate::{
    Estimator, Interval, Moments,
    distribution::{normal_quantile, normal_two_sided, t_quantile},
};

/// Bartels' normal approximation needs about ten measurements.
const FEWEST: usize = 10;
/// The share that the trimmed mean cuts at each end.
const CUT: f64 = 0.2;

/// The autocorrelation of measurements within executions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Autocorrelation {
    /// `N`: the number of tested executions.
    pub executions: usize,
    /// The mean over executions of `Σ (R_i − R_{i+1})² / Σ (R_i − R̄)²`: 2 for independent measurements, less
    /// where neighbours are alike, up to 4 where they alternate.
    pub ratio: f64,
    /// The two-sided p value of the mean ratio, by the normal distribution with Bartels' variance.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
    /// `1 − ratio / 2` with its interval: approximately the correlation of the ranks of neighbours.
    pub correlation: Interval,
    /// The relative standard error of one execution's trimmed mean, from parts of the execution: valid for any
    /// correlation of neighbours.
    #[schemars(with = "Option<f64>")]
    pub error: f64,
    /// The relative standard error that independent measurements would have.
    #[schemars(with = "Option<f64>")]
    pub error_if_independent: f64,
}

impl Autocorrelation {
    pub(super) fn compute(
        executions: &[Execution<'_>],
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let executions = long_enough(executions, FEWEST)?;
        let ratios: Vec<(f64, f64)> = executions
            .iter()
            .filter_map(|one| Some((ratio(&Ranks::new(one.values))?, variance(one.values.len()))))
            .collect();
        if ratios.is_empty() {
            return Err(InsufficientData::Variance);
        }
        let count = ratios.len() as f64;
        let moments = Moments::compute(&ratios.iter().map(|(ratio, _)| *ratio).collect::<Vec<_>>());
        // The standard error of the mean ratio, if neighbours are independent.
        let expected_error =
            ratios.iter().map(|(_, variance)| variance).sum::<f64>().sqrt() / count;
        let tail = f64::midpoint(1.0, options.confidence);
        let half_width = match moments.standard_deviation() {
            Some(sd) => t_quantile(tail, count - 1.0) * sd / count.sqrt(),
            None => normal_quantile(tail) * expected_error,
        };
        Ok(Self {
            executions: ratios.len(),
            ratio: moments.mean,
            p: normal_two_sided((moments.mean - 2.0) / expected_error),
            correlation: Interval::around(1.0 - moments.mean / 2.0, half_width / 2.0),
            error: root_mean_square(&executions, error_by_parts),
            error_if_independent: root_mean_square(&executions, error_if_independent),
        })
    }
}

/// `Σ (R_i − R_{i+1})² / Σ (R_i − R̄)²`. None where all values are equal.
pub(super) fn ratio(ranks: &Ranks) -> Option<f64> {
    let steps = ranks.ranks.windows(2).map(|pair| (pair[0] - pair[1]).powi(2)).sum::<f64>();
    (ranks.squares > 0.0).then(|| steps / ranks.squares)
}

/// `4 (n−2)(5n²−2n−9) / (5n(n+1)(n−1)²)`, of the ratio of `n` independent measurements (Bartels 1982).
fn variance(count: usize) -> f64 {
    let n = count as f64;
    4.0 * (n - 2.0) * (5.0 * n * n - 2.0 * n - 9.0) / (5.0 * n * (n + 1.0) * (n - 1.0).powi(2))
}

fn root_mean_square(executions: &[Execution<'_>], number: fn(&[f64]) -> f64) -> f64 {
    let squares: Vec<f64> = executions.iter().map(|one| number(one.values).powi(2)).collect();
    mean(&squares).sqrt()
}

/// The relative standard error of the trimmed mean, from the differences between its parts.
fn error_by_parts(values: &[f64]) -> f64 {
    let (mean, error) = estimate_parts(values, Estimator::TrimmedMean);
    error / mean
}

/// The relative standard error for independent measurements, from winsorized values (Tukey and others 1963).
fn error_if_independent(values: &[f64]) -> f64 {
    let values = sorted(values.to_vec());
    let (low, high) = (quantile(&values, CUT), quantile(&values, 1.0 - CUT));
    let clipped: Vec<f64> = values.iter().map(|value| value.clamp(low, high)).collect();
    let moments = Moments::compute(&clipped);
    let sd = moments.standard_deviation().unwrap_or(0.0);
    sd / (1.0 - 2.0 * CUT) / (values.len() as f64).sqrt() / moments.mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Random,
        diagnosis::testing::{autoregressive, executions_of},
    };

    /// The ratio of every order of 1, …, n.
    fn ratios(prefix: &mut Vec<f64>, rest: &[f64], found: &mut Vec<f64>) {
        if rest.is_empty() {
            found.extend(ratio(&Ranks::new(prefix)));
        }
        for index in 0..rest.len() {
            let mut rest = rest.to_vec();
            prefix.push(rest.remove(index));
            ratios(prefix, &rest, found);
            prefix.pop();
        }
    }

    #[test]
    fn ratio_over_all_orders_has_bartels_mean_and_variance() {
        for count in [4, 6, 7] {
            let mut found = vec![];
            let ranks: Vec<f64> = (1..=u32::try_from(count).unwrap()).map(f64::from).collect();
            ratios(&mut vec![], &ranks, &mut found);
            let moments = Moments::compute(&found);
            assert!((moments.mean - 2.0).abs() < 1e-9);
            let exact = moments.squares / moments.count as f64;
            assert!((exact / variance(count) - 1.0).abs() < 1e-9, "{count} {exact}");
        }
    }

    fn neighbours(execution: impl Fn(&mut Random) -> Vec<f64>) -> Autocorrelation {
        let mut random = Random::new(5);
        let all: Vec<Vec<f64>> = (0..20).map(|_| execution(&mut random)).collect();
        Autocorrelation::compute(&executions_of(&all), &Options::default()).unwrap()
    }

    #[test]
    fn independent_measurements_have_equal_standard_errors() {
        let found = neighbours(|random| (0..400).map(|_| 100.0 + random.normal()).collect());
        assert!(found.p > 0.001 && found.correlation.low < 0.0 && found.correlation.high > 0.0);
        assert!((found.error / found.error_if_independent - 1.0).abs() < 0.25, "{found:?}");
    }

    #[test]
    fn correlated_neighbours_increase_the_standard_error() {
        let found = neighbours(|random| {
            autoregressive(0.8, random).take(1000).map(|noise| 100.0 + noise).collect()
        });
        assert!(found.p < 1e-9 && (found.correlation.center - 0.78).abs() < 0.05, "{found:?}");
        // sqrt((1 + .8) / (1 − .8))
        assert!((found.error / found.error_if_independent - 3.0).abs() < 0.6, "{found:?}");
        let alternating = neighbours(|random| {
            (0..100).map(|i| 100.0 + f64::from(i % 2) + 0.1 * random.normal()).collect()
        });
        assert!(alternating.correlation.center < -0.4 && alternating.p < 1e-9);
    }
}
