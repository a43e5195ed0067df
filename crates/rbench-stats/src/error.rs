//! Reasons why valid data allow no result.

use super::estimator::Estimator;
use crate::Metric;

/// The reason why an interval, comparison or verdict is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// A version has fewer than two builds, so the variance between builds is unknown.
    #[error("at least 2 builds of each version are needed, and one has {builds}")]
    TooFewBuilds {
        /// The number of builds; two are needed.
        builds: usize,
    },
    /// The two versions were measured in different metrics.
    #[error("{} cannot be compared with {}", .0[0], .0[1])]
    Metrics(Box<[Metric; 2]>),
    /// The executions of the two versions were estimated differently.
    #[error("executions estimated by {} cannot be compared with those by {}", .0[0], .0[1])]
    Estimators([Estimator; 2]),
    /// The two versions have different numbers of measurements per execution, on average, which biases every estimator
    /// but the mean: the minimum of 30 lies below the minimum of 10.
    #[error(
        "executions of {:.1} measurements on average cannot be compared with those of {:.1} unless by the mean",
        .0[0],
        .0[1]
    )]
    UnequalMeasurements([f64; 2]),
    /// The times do not vary at all and their resolution is unknown, so their precision is unknown.
    #[error(
        "the times of all builds are exactly equal, so their precision is unknown: let the benchmark report more digits"
    )]
    NoVariance,
    /// A rate or confidence does not lie strictly between 0 and 1.
    #[error("{0} is not a rate strictly between 0 and 1")]
    NotAProbability(f64),
    /// The smallest change of interest is not a finite number of at least 0.
    #[error("{0} is not a smallest change of interest: a finite number from 0 up")]
    NotAnEffect(f64),
}

impl StatsError {
    /// Returns `value` if it lies strictly between 0 and 1.
    pub(super) fn unless_probability(value: f64) -> Result<f64, Self> {
        if value > 0.0 && value < 1.0 { Ok(value) } else { Err(Self::NotAProbability(value)) }
    }

    /// Returns `builds` if there are at least two, so that their variance is defined.
    pub(super) fn unless_two<T>(builds: &[T]) -> Result<&[T], Self> {
        match builds.len() {
            builds @ (0 | 1) => Err(Self::TooFewBuilds { builds }),
            _ => Ok(builds),
        }
    }
}
