//! Reasons why valid data allow no result.

use std::fmt;

use super::estimator::Estimator;
use crate::model::Metric;

/// The reason why an interval, comparison or verdict is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum StatsError {
    /// A version has fewer than two builds, so the variance between builds is unknown.
    TooFewBuilds {
        /// The number of builds; two are needed.
        builds: usize,
    },
    /// The two versions were measured in different metrics.
    Metrics(Box<[Metric; 2]>),
    /// The executions of the two versions were estimated differently.
    Estimators([Estimator; 2]),
    /// The two versions have different numbers of measurements per execution, on average, which biases every estimator
    /// but the mean: the minimum of 30 lies below the minimum of 10.
    UnequalMeasurements([f64; 2]),
    /// The times do not vary at all and their resolution is unknown, so their precision is unknown.
    NoVariance,
    /// A rate or confidence does not lie strictly between 0 and 1.
    NotAProbability(f64),
    /// The smallest change of interest is not a finite number of at least 0.
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

impl fmt::Display for StatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewBuilds { builds } => {
                write!(f, "at least 2 builds of each version are needed, and one has {builds}")
            }
            Self::Metrics(metrics) => {
                let [base, head] = &**metrics;
                write!(f, "{base} cannot be compared with {head}")
            }
            Self::Estimators([base, head]) => {
                write!(f, "executions estimated by {base} cannot be compared with those by {head}")
            }
            Self::UnequalMeasurements([base, head]) => write!(
                f,
                "executions of {base:.1} measurements on average cannot be compared with those of \
                 {head:.1} unless by the mean"
            ),
            Self::NoVariance => f.write_str(
                "the times of all builds are exactly equal, so their precision is unknown: let \
                 the benchmark report more digits",
            ),
            Self::NotAProbability(value) => {
                write!(f, "{value} is not a rate strictly between 0 and 1")
            }
            Self::NotAnEffect(value) => {
                write!(f, "{value} is not a smallest change of interest: a finite number from 0 up")
            }
        }
    }
}

impl std::error::Error for StatsError {}
