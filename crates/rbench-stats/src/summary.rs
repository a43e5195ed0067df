//! Summarises measurements as one small record per build, so that later steps never read the measurements again. Pure.

use super::{
    data::{BuildMeasurements, Measurements},
    estimator::{Estimator, Scratch},
    moments::Moments,
};
use crate::Metric;

/// One benchmark of one version, by one estimator, without its measurements.
///
/// Components, intervals and comparisons all start here, so the measurements are read once. The builds are in the order
/// of their seeds, whatever the order of the measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    metric: Metric,
    estimator: Estimator,
    resolution: f64,
    builds: Vec<BuildSummary>,
}

/// One build, reduced to the numbers that the three levels need.
///
/// `y[j][i]` is measurement `i` of execution `j`; `n_j` and `m` count them.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildSummary {
    pub seed: u64,
    /// The start of its first execution, in seconds since a moment common to all builds, if known.
    pub start: Option<f64>,
    /// `b[k]`: the mean of the estimates of the executions, in the metric's unit.
    pub value: f64,
    /// The mean of the executions' values for [comparison](ExecutionEstimate::compared).
    pub compared: f64,
    /// The mean of the means of the executions, in the metric's unit: `value` if the estimator is the
    /// mean.
    pub mean: f64,
    /// `m`: the number of executions with measurements; at least 1.
    pub executions: usize,
    /// `Σ_j n_j`: the number of measurements.
    pub measurements: usize,
    /// `mean_j (1 / n_j)`.
    pub inverse_measurements: f64,
    /// `Σ_j Σ_i (y[j][i] − mean_i y[j][i])²`, in the squared unit.
    pub squares_within_executions: f64,
    /// `Σ_j (mean_i y[j][i] − mean)²`, in the squared unit.
    pub squares_between_executions: f64,
    /// The executions, in the order of their rounds.
    pub estimates: Vec<ExecutionEstimate>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExecutionEstimate {
    /// Its round, from 0: executions of one build and round of both versions ran next to each other.
    pub round: usize,
    /// `f[j]`: the estimate over its measurements, in the metric's unit.
    pub value: f64,
    /// Its value in comparisons with its partner: if both were interleaved, the estimate moved half of the way towards
    /// the ratio of neighbouring measurements (see [`paired_ratio`](super::paired_ratio)); else the estimate itself.
    pub compared: f64,
}

impl Summary {
    /// Reads all measurements once.
    pub fn compute(data: &Measurements, estimator: Estimator) -> Self {
        let mut workspace = Workspace::default();
        let mut builds: Vec<BuildSummary> =
            data.builds().map(|build| workspace.summarise(&build, estimator)).collect();
        builds.sort_by_key(|build| build.seed);
        let (metric, resolution) = (data.metric().clone(), data.resolution());
        Self { metric, estimator, resolution, builds }
    }

    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    pub fn estimator(&self) -> Estimator {
        self.estimator
    }

    /// The smallest step of a measurement, in the metric's unit; 0 if it is unknown.
    pub fn resolution(&self) -> f64 {
        self.resolution
    }

    /// The builds, in the order of their seeds.
    pub fn builds(&self) -> &[BuildSummary] {
        &self.builds
    }

    /// The same summary without pairs of executions, for versions of two experiments: each is compared by its own
    /// estimates.
    #[must_use]
    pub fn by_itself(&self) -> Self {
        let mut alone = self.clone();
        for build in &mut alone.builds {
            build.compared = build.value;
            for estimate in &mut build.estimates {
                estimate.compared = estimate.value;
            }
        }
        alone
    }

    /// Number, mean (`g`) and spread of the build values `b[k]`.
    pub fn values(&self) -> Moments {
        self.moments_of(|build| build.value)
    }

    /// Number, mean and spread of the build means, which are the papers' `Ȳ_k••`.
    pub fn means(&self) -> Moments {
        self.moments_of(|build| build.mean)
    }

    pub fn measurements_per_execution(&self) -> f64 {
        let measurements: usize = self.builds.iter().map(|build| build.measurements).sum();
        let executions: usize = self.builds.iter().map(|build| build.executions).sum();
        measurements as f64 / executions as f64
    }

    fn moments_of(&self, value: impl Fn(&BuildSummary) -> f64) -> Moments {
        Moments::compute(&self.builds.iter().map(value).collect::<Vec<_>>())
    }
}

/// Memory reused from build to build.
#[derive(Default)]
struct Workspace {
    scratch: Scratch,
    means: Vec<f64>,
}

impl Workspace {
    /// The hot loop: reads every measurement of the build, once.
    fn summarise(&mut self, build: &BuildMeasurements<'_>, estimator: Estimator) -> BuildSummary {
        self.means.clear();
        let mut estimates = Vec::with_capacity(build.executions().len());
        let (mut measurements, mut inverses, mut squares) = (0, 0.0, 0.0);
        for (round, values) in build.rounds().zip(build.executions()) {
            let moments = Moments::compute(values);
            measurements += moments.count;
            inverses += 1.0 / moments.count as f64;
            squares += moments.squares;
            self.means.push(moments.mean);
            let value = match estimator {
                Estimator::Mean => moments.mean,
                other => other.estimate(values, &mut self.scratch),
            };
            let compared = value * build.factor(round);
            estimates.push(ExecutionEstimate { round, value, compared });
        }
        let between = Moments::compute(&self.means);
        let mean_of = |part: fn(&ExecutionEstimate) -> f64| {
            estimates.iter().map(part).sum::<f64>() / estimates.len() as f64
        };
        BuildSummary {
            seed: build.seed(),
            start: build.start(),
            value: mean_of(|estimate| estimate.value),
            compared: mean_of(|estimate| estimate.compared),
            mean: between.mean,
            executions: between.count,
            measurements,
            inverse_measurements: inverses / between.count as f64,
            squares_within_executions: squares,
            squares_between_executions: between.squares,
            estimates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(estimator: Estimator) -> Summary {
        let builds = [
            (8, vec![vec![5.0, 7.0], vec![1.0, 2.0, 2.0, 7.0]]),
            (2, vec![vec![1.0], vec![2.0], vec![6.0]]),
        ];
        Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), estimator)
    }

    #[test]
    fn summary_of_a_ragged_build_matches_sums_by_hand() {
        assert_eq!(
            summary(Estimator::Median).builds()[1],
            BuildSummary {
                seed: 8,
                start: None,
                value: 4.0, // (6 + 2) / 2
                compared: 4.0,
                mean: 4.5, // (6 + 3) / 2
                executions: 2,
                measurements: 6,
                inverse_measurements: 0.375, // (1/2 + 1/4) / 2
                squares_within_executions: 2.0 + 22.0,
                squares_between_executions: 4.5, // 2 · 1.5²
                estimates: vec![
                    ExecutionEstimate { round: 0, value: 6.0, compared: 6.0 },
                    ExecutionEstimate { round: 1, value: 2.0, compared: 2.0 },
                ],
            }
        );
    }

    #[test]
    fn summary_orders_builds_by_seed() {
        let seeds: Vec<u64> = summary(Estimator::Mean).builds().iter().map(|b| b.seed).collect();
        assert_eq!(seeds, [2, 8]);
    }

    #[test]
    fn summary_by_the_mean_has_the_mean_as_value() {
        for build in summary(Estimator::Mean).builds() {
            assert_eq!(build.value, build.mean);
        }
    }

    #[test]
    fn measurements_per_execution_average_over_executions() {
        assert_eq!(summary(Estimator::Mean).measurements_per_execution(), 9.0 / 5.0);
    }
}
