//! Suggests one sample size for all benchmarks of a project, and more builds for those that need
//! them.

use std::time::Duration;

use super::PlannedBenchmark;
use crate::model::SampleSizes;

/// The share of the benchmarks for which the common number of builds must be enough.
const MOST: f64 = 0.75;

/// The sample sizes to write into `bench.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// The builds of every benchmark not in `individual`; `None` without data.
    pub builds: Option<usize>,
    /// The executions of each build.
    pub executions: Option<usize>,
    /// The measurements of each execution that runs alone.
    pub measurements: Option<usize>,
    /// Benchmarks that need more builds than most: their index and number of builds.
    pub individual: Vec<(usize, usize)>,
    /// Benchmarks for which no number of builds is enough, by index.
    pub excess: Vec<usize>,
    /// The approximate duration of linking and measuring one version.
    pub time: Duration,
}

impl Suggestion {
    /// Takes the median of the best sample sizes, and the builds that each benchmark then needs.
    pub fn new(benchmarks: &[PlannedBenchmark], half_width: Option<f64>) -> Self {
        let executions = median(benchmarks.iter().filter_map(|one| one.executions));
        let measurements = median(benchmarks.iter().filter_map(|one| one.measurements));
        let each = executions.unwrap_or(1);
        let needed: Vec<Option<usize>> =
            benchmarks.iter().map(|one| one.builds_for(half_width, each)).collect();
        let mut sorted: Vec<usize> = needed.iter().flatten().copied().collect();
        sorted.sort_unstable();
        let builds = quantile(&sorted, MOST);
        let numbered = || needed.iter().enumerate();
        let own: Vec<(usize, usize)> = numbered()
            .filter_map(|(index, needed)| Some((index, (*needed)?)))
            .filter(|(_, needed)| builds.is_some_and(|builds| *needed > builds))
            .collect();
        let beyond = numbered().filter(|(_, needed)| needed.is_none()).map(|(index, _)| index);
        let beyond: Vec<usize> = beyond.collect();
        let time = benchmarks.iter().zip(&needed).map(|(benchmark, needed)| {
            let common = builds.unwrap_or_default();
            let taken = benchmark.summary.measurements_per_execution().round();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a number of measurements, rounded"
            )]
            let taken = measurements.unwrap_or(taken as usize);
            let builds = needed.map_or(common, |needed| needed.max(common));
            let sample_sizes =
                SampleSizes { first_analysis: None, builds, executions: each, measurements: taken };
            benchmark.costs.duration(sample_sizes)
        });
        let time = time.fold(Duration::ZERO, Duration::saturating_add);
        Self { builds, executions, measurements, individual: own, excess: beyond, time }
    }
}

/// The lower median.
fn median(numbers: impl Iterator<Item = usize>) -> Option<usize> {
    let mut sorted: Vec<usize> = numbers.collect();
    sorted.sort_unstable();
    quantile(&sorted, 0.5)
}

/// The smallest number that this share of all does not exceed.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into a short list"
)]
fn quantile(sorted: &[usize], share: f64) -> Option<usize> {
    let index = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(index.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_is_one_of_the_numbers() {
        assert_eq!(median([7, 1, 3].into_iter()), Some(3));
        assert_eq!(median([4, 1].into_iter()), Some(1));
        assert_eq!(median(std::iter::empty()), None);
        assert_eq!(quantile(&[5, 6, 20, 80], MOST), Some(20));
        assert_eq!(quantile(&[5], MOST), Some(5));
    }
}
