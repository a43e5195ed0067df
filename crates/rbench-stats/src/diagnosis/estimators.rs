//! Compares estimators for the user's benchmark, as in the tables of Haveraaen & Hundvebakke 2001.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    InsufficientData, Options,
    execution::{Execution, shortest},
    values::{mean, sorted},
};
use crate::{Estimator, Interval, Moments, Scratch, distribution::chi_squared_quantile};

/// The most groups of measurements of one execution to use: more add no information.
const GROUPS: usize = 8;

/// The precision of estimators at growing numbers of measurements.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimators {
    /// The numbers of measurements, ascending: the paper's odd numbers up to 19, then about doubling, and n.
    pub counts: Vec<usize>,
    /// Those that rbench offers, and others.
    pub estimators: Vec<EstimatorPrecision>,
}

/// The precision of one estimator.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EstimatorPrecision {
    /// Its name, as on the command line if it is there.
    pub estimator: &'static str,
    /// The mean of its values at each of the counts, in the metric's unit.
    pub values: Vec<f64>,
    /// The standard deviation between executions of one build at each of the counts, relative to the value (.01 is
    /// 1 %), with its interval for normal values.
    pub relative_sds: Vec<Interval>,
}

/// A function from the measurements of an execution to one value.
#[derive(Clone, Copy, Debug)]
enum Candidate {
    Of(Estimator),
    /// The mean without a quarter at each end.
    InterquartileMean,
    /// The slope of the least-squares line through the time elapsed after i measurements, against i (Chen & Revels
    /// 2016, section III-B): one-off costs are in its intercept.
    Slope,
}

impl Candidate {
    const ALL: [Self; 7] = [
        Self::Of(Estimator::Mean),
        Self::Of(Estimator::TrimmedMean),
        Self::Of(Estimator::Median),
        Self::Of(Estimator::LowerQuartile),
        Self::Of(Estimator::Minimum),
        Self::InterquartileMean,
        Self::Slope,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Of(estimator) => estimator.name(),
            Self::InterquartileMean => "interquartile-mean",
            Self::Slope => "slope",
        }
    }

    /// Estimates one value from measurements in the order of time, in their unit; NaN without any.
    fn estimate(self, values: &[f64], scratch: &mut Scratch) -> f64 {
        match self {
            Self::Of(estimator) => estimator.estimate(values, scratch),
            Self::InterquartileMean => interquartile_mean(values),
            Self::Slope => slope(values),
        }
    }
}

fn interquartile_mean(values: &[f64]) -> f64 {
    let sorted = sorted(values.to_vec());
    let cut = sorted.len() / 4;
    mean(&sorted[cut..sorted.len() - cut])
}

/// The slope of `t_i = x_1 + … + x_i` against i: `Σ (i − ī)(t_i − t̄) / Σ (i − ī)²`, which is `6 Σ_i i (k − i) x_{i+1}
/// / (k (k² − 1))` over i from 1 to k − 1; the first measurement drops out.
fn slope(values: &[f64]) -> f64 {
    let k = values.len() as f64;
    if values.len() < 2 {
        return mean(values);
    }
    let weighted = |(index, value): (usize, &f64)| index as f64 * (k - index as f64) * value;
    let total: f64 = values.iter().enumerate().map(weighted).sum();
    6.0 * total / (k * (k * k - 1.0))
}

impl Estimators {
    pub(super) fn compare(
        executions: &[Execution<'_>],
        options: &Options,
    ) -> Result<Self, InsufficientData> {
        let measurements = shortest(executions, 1)?;
        let builds = executions.chunk_by(|a, b| a.build == b.build);
        let freedom: usize = builds.map(|build| build.len() - 1).sum();
        if freedom == 0 {
            return Err(InsufficientData::Executions { needed: 2, found: 1 });
        }
        let counts = counts(measurements);
        let mut scratch = Scratch::default();
        let mut row = |candidate: Candidate| {
            let precision = |&count: &usize| {
                let value = |values: &[f64]| candidate.estimate(values, &mut scratch);
                precision(executions, measurements, count, options.confidence, value)
            };
            let (values, relative_sds) = counts.iter().map(precision).unzip();
            EstimatorPrecision { estimator: candidate.name(), values, relative_sds }
        };
        let estimators = Candidate::ALL.into_iter().map(&mut row).collect();
        Ok(Self { counts, estimators })
    }
}

/// The odd numbers up to 19 of the paper, then doubling, and the number of all.
fn counts(measurements: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(25), |count| Some(count * 2));
    let smaller = (1..20).step_by(2).chain(doubled).take_while(|count| *count < measurements);
    smaller.chain([measurements]).collect()
}

/// The value and the relative standard deviation of an estimator at `count` of the first `measurements` of each
/// execution.
///
/// As in the paper, consecutive measurements make a group, here without overlap. The variance between executions of one
/// build is that of the first groups of each, of the second ones, and so on, averaged.
fn precision(
    executions: &[Execution<'_>],
    measurements: usize,
    count: usize,
    confidence: f64,
    mut value: impl FnMut(&[f64]) -> f64,
) -> (f64, Interval) {
    let groups = (measurements / count).min(GROUPS);
    let (mut squares, mut total, mut freedom) = (0.0, 0.0, 0);
    for build in executions.chunk_by(|a, b| a.build == b.build) {
        freedom += build.len() - 1;
        for group in 0..groups {
            // Groups are spread over the execution.
            let start = group * (measurements / groups);
            let values: Vec<f64> =
                build.iter().map(|one| value(&one.values[start..start + count])).collect();
            let moments = Moments::compute(&values);
            squares += moments.squares;
            total += values.iter().sum::<f64>();
        }
    }
    let freedom = freedom as f64;
    let mean = total / (executions.len() * groups) as f64;
    let sd = (squares / (freedom * groups as f64)).sqrt() / mean;
    let end = |probability: f64| sd * (freedom / chi_squared_quantile(probability, freedom)).sqrt();
    let tail = (1.0 - confidence) / 2.0;
    (mean, Interval { center: sd, low: end(1.0 - tail), high: end(tail) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, diagnosis::Position};

    fn variance(candidate: Candidate, count: usize, draw: impl Fn(&mut Random) -> f64) -> f64 {
        let mut random = Random::new(2001);
        let mut scratch = Scratch::default();
        let mut value = || {
            let values: Vec<f64> = (0..count).map(|_| 100.0 + draw(&mut random)).collect();
            candidate.estimate(&values, &mut scratch)
        };
        Moments::compute(&(0..20_000).map(|_| value()).collect::<Vec<_>>()).variance().unwrap()
    }

    #[test]
    fn precision_agrees_with_theory_of_order_statistics() {
        let exponential = |random: &mut Random| -f64::ln_1p(-random.unit());
        for (candidate, expected) in [
            (Candidate::Of(Estimator::Minimum), 0.008_26),
            (Candidate::Of(Estimator::LowerQuartile), 0.030_61),
            (Candidate::Of(Estimator::Mean), 0.090_9),
        ] {
            let obtained = variance(candidate, 11, exponential);
            assert!((obtained / expected - 1.0).abs() < 0.06, "{} {obtained}", candidate.name());
        }
        let minimum = variance(Candidate::Of(Estimator::Minimum), 10, Random::normal);
        assert!((minimum / 0.3443 - 1.0).abs() < 0.04, "{minimum}");
    }

    #[test]
    fn slope_is_that_of_the_least_squares_line() {
        let values = [9.0, 1.0, 4.0, 2.0, 6.0];
        let elapsed = [9.0, 10.0, 14.0, 16.0, 22.0];
        let expected: f64 =
            [-2.0, -1.0, 0.0, 1.0, 2.0].iter().zip(elapsed).map(|(i, t)| i * t).sum::<f64>() / 10.0;
        assert!((slope(&values) - expected).abs() < 1e-12, "{}", slope(&values));
        assert!((slope(&[3.0; 7]) - 3.0).abs() < 1e-12);
        assert_eq!(slope(&[3.0]), 3.0);
        assert_eq!(interquartile_mean(&[9.0, 1.0, 4.0, 2.0]), 3.0);
    }

    #[test]
    fn counts_follow_the_paper_and_then_double() {
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(6), [1, 3, 5, 6]);
        assert_eq!(counts(120), [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 25, 50, 100, 120]);
    }

    #[test]
    fn precision_within_builds_improves_with_the_count() {
        let mut random = Random::new(4);
        let values: Vec<(usize, Vec<f64>)> = (0..30)
            .map(|index| {
                let build = index / 3;
                // Builds differ widely, which must not count.
                let center = 1000.0 + 100.0 * build as f64;
                (build, (0..100).map(|_| center * (1.0 + 0.01 * random.normal())).collect())
            })
            .collect();
        let position = Position { seed: 0, round: 0 };
        let executions: Vec<Execution<'_>> = values
            .iter()
            .map(|(build, values)| Execution { position, build: *build, values })
            .collect();
        let found = Estimators::compare(&executions, &Options::default()).unwrap();
        let mean = &found.estimators[0];
        for (count, sd) in found.counts.iter().zip(&mean.relative_sds) {
            let expected = 0.01 / (*count as f64).sqrt();
            let Interval { center, low, high } = *sd;
            assert!(low < center && center < high);
            assert!((center / expected - 1.0).abs() < 0.5, "{count} {center}");
        }
        let alone = Estimators::compare(&executions[..1], &Options::default()).unwrap_err();
        assert_eq!(alone, InsufficientData::Executions { needed: 2, found: 1 });
    }
}
