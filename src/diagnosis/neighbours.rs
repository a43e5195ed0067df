//! Are neighbours in time alike? The rank version of von Neumann's ratio, Bartels 1982, for the independence
//! that Kalibera et al. 2005, section 4, assume.

use super::{
    Lacking, Options,
    execution::{Execution, long_enough, mean, quantile, sorted},
    ranks::Ranks,
    states::{PARTS, settled},
};
use crate::stats::{
    Interval, Moments,
    distribution::{normal_quantile, normal_two_sided, t_quantile},
};

/// Bartels' normal approximation holds from about ten on.
const FEWEST: usize = 10;
/// What the trimmed mean cuts at each end.
const CUT: f64 = 0.2;

/// How alike neighbouring measurements of one execution are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// `N`: executions that were tested.
    pub executions: usize,
    /// The mean over executions of `Σ (R_i − R_{i+1})² / Σ (R_i − R̄)²`: 2 for independent measurements, less
    /// where neighbours are alike, up to 4 where they alternate.
    pub ratio: f64,
    /// Two-sided, of the mean ratio, by the normal distribution with Bartels' variance.
    pub p: f64,
    /// `1 − ratio / 2`, with its interval: about the correlation of the ranks of neighbours.
    pub correlation: Interval,
    /// The standard error of one execution's trimmed mean, relative, from parts of the execution: right however
    /// neighbours are alike.
    pub error: f64,
    /// The same as if measurements were independent.
    pub error_if_independent: f64,
}

impl Neighbours {
    pub(super) fn of(executions: &[Execution<'_>], options: &Options) -> Result<Self, Lacking> {
        let executions = long_enough(executions, FEWEST)?;
        let ratios: Vec<(f64, f64)> = executions
            .iter()
            .filter_map(|one| Some((ratio(&Ranks::of(one.values))?, variance(one.values.len()))))
            .collect();
        if ratios.is_empty() {
            return Err(Lacking::Variance);
        }
        let count = ratios.len() as f64;
        let moments = Moments::of(&ratios.iter().map(|(ratio, _)| *ratio).collect::<Vec<_>>());
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
            correlation: Interval::about(1.0 - moments.mean / 2.0, half_width / 2.0),
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

/// Of a number for each execution.
fn root_mean_square(executions: &[Execution<'_>], number: fn(&[f64]) -> f64) -> f64 {
    let squares: Vec<f64> = executions.iter().map(|one| number(one.values).powi(2)).collect();
    mean(&squares).sqrt()
}

/// The relative standard error of the trimmed mean, from how its parts differ.
fn error_by_parts(values: &[f64]) -> f64 {
    let moments = settled(values);
    (moments.squares / (PARTS * (PARTS - 1)) as f64).sqrt() / moments.mean
}

/// The same for independent measurements, from the values brought in to the ends of what is kept (Tukey &
/// McLaughlin 1963).
fn error_if_independent(values: &[f64]) -> f64 {
    let values = sorted(values.to_vec());
    let (low, high) = (quantile(&values, CUT), quantile(&values, 1.0 - CUT));
    let clipped: Vec<f64> = values.iter().map(|value| value.clamp(low, high)).collect();
    let moments = Moments::of(&clipped);
    let sd = moments.standard_deviation().unwrap_or(0.0);
    sd / (1.0 - 2.0 * CUT) / (values.len() as f64).sqrt() / moments.mean
}
