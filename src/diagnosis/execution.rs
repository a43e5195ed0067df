//! Lists the executions of a benchmark, with the sums over them that several findings share.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::stats::{Estimator, Interval, Measurements, Scratch};

/// The place of an execution in an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Position {
    /// The layout seed of its build.
    pub seed: u64,
    /// The index of its execution within the build, from 0.
    pub round: usize,
}

/// The reason why a question has no answer from these data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsufficientData {
    /// Too few builds.
    Builds {
        /// The required number.
        needed: usize,
        /// The available number.
        found: usize,
    },
    /// Too few executions, of each build where the levels must be distinguished.
    Executions {
        /// The required number.
        needed: usize,
        /// The available number.
        found: usize,
    },
    /// Too few measurements of each execution.
    Measurements {
        /// The required number.
        needed: usize,
        /// The available number, in the shortest execution.
        found: usize,
    },
    /// Nothing varies.
    Variance,
    /// The costs of builds and executions were not given.
    Cost,
}

impl fmt::Display for InsufficientData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builds { needed, found } => {
                write!(f, "needs {needed} builds or more, and there are {found}")
            }
            Self::Executions { needed, found } => {
                write!(f, "needs {needed} executions or more of each build, and there are {found}")
            }
            Self::Measurements { needed, found } => write!(
                f,
                "needs {needed} measurements or more of each execution, and the shortest has {found}"
            ),
            Self::Variance => f.write_str("all measurements are exactly equal"),
            Self::Cost => f.write_str("what a build and an execution cost is not known"),
        }
    }
}

/// One execution with its position.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    pub position: Position,
    /// The index of its build.
    pub build: usize,
    /// The measurements in the order of time.
    pub values: &'a [f64],
}

/// All executions, in the order of builds and rounds.
pub fn executions(data: &Measurements) -> Vec<Execution<'_>> {
    let mut all = vec![];
    for (build, measurements) in data.builds().enumerate() {
        let seed = measurements.seed();
        for (round, values) in measurements.rounds().zip(measurements.executions()) {
            all.push(Execution { position: Position { seed, round }, build, values });
        }
    }
    all
}

/// The number of measurements of the shortest execution, if it is enough.
pub fn shortest(executions: &[Execution<'_>], needed: usize) -> Result<usize, InsufficientData> {
    let found = executions.iter().map(|execution| execution.values.len()).min().unwrap_or(0);
    if found < needed { Err(InsufficientData::Measurements { needed, found }) } else { Ok(found) }
}

/// The executions of at least `needed` measurements, if there are any.
pub fn long_enough<'a>(
    executions: &[Execution<'a>],
    needed: usize,
) -> Result<Vec<Execution<'a>>, InsufficientData> {
    let enough = executions.iter().copied().filter(|execution| execution.values.len() >= needed);
    let enough: Vec<_> = enough.collect();
    if enough.is_empty() {
        let longest = executions.iter().map(|execution| execution.values.len()).max();
        return Err(InsufficientData::Measurements { needed, found: longest.unwrap_or(0) });
    }
    Ok(enough)
}

/// Splits the values into `count` consecutive stretches of nearly equal length; fewer if there are not enough values.
pub fn parts(values: &[f64], count: usize) -> impl Iterator<Item = &[f64]> {
    let (length, count) = (values.len(), count.min(values.len()));
    (0..count).map(move |part| &values[part * length / count..(part + 1) * length / count])
}

pub fn mean(values: &[f64]) -> f64 {
    Estimator::Mean.estimate(values, &mut Scratch::default())
}

/// The quantile of sorted values, with linear interpolation: type 7 of Hyndman & Fan 1996.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index below the number of values"
)]
pub fn quantile(sorted: &[f64], probability: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = probability.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Metric;

    #[test]
    fn executions_have_their_build_and_round() {
        let builds = [(7, vec![vec![1.0, 2.0], vec![], vec![3.0]]), (9, vec![vec![4.0]])];
        let data = Measurements::new(Metric::wall(), builds).unwrap();
        let found: Vec<_> = executions(&data)
            .into_iter()
            .map(|one| (one.position.seed, one.position.round, one.build, one.values.len()))
            .collect();
        assert_eq!(found, [(7, 0, 0, 2), (7, 2, 0, 1), (9, 0, 1, 1)]);
    }

    #[test]
    fn parts_contain_every_value_once_in_order() {
        let values: Vec<f64> = (0..23).map(f64::from).collect();
        for count in [1, 5, 23, 40] {
            assert_eq!(parts(&values, count).collect::<Vec<_>>().concat(), values);
        }
        assert_eq!(parts(&values, 5).map(<[f64]>::len).collect::<Vec<_>>(), [4, 5, 4, 5, 5]);
    }

    #[test]
    fn quantile_interpolates_between_neighbours() {
        let values = [1.0, 2.0, 4.0, 8.0, f64::INFINITY];
        assert_eq!(
            [0.0, 0.25, 0.375, 1.0].map(|p| quantile(&values, p)),
            [1.0, 2.0, 3.0, f64::INFINITY]
        );
        assert!(quantile(&[], 0.5).is_nan());
    }
}
