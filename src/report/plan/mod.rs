//! The report of `plan`: the sources of a project's variance, the costs of repetition, and the
//! sample sizes that follow.

mod benchmark;
mod document;
pub(super) mod json;
mod suggestion;
mod toml;

pub use benchmark::{Costs, Expected, LevelsFound, PlanBasis, PlannedBenchmark};
pub use suggestion::Suggestion;

use super::{
    Report,
    document::{Document, Medium},
    json as of_json,
};
use crate::{
    error::Result,
    model::{Benchmark, FailedTarget, Mode, Version},
    stats::Criteria,
};

/// The numbers of builds for which the report shows the smallest detectable change.
pub const BUILDS: [usize; 4] = [5, 10, 20, 40];

/// The maximum number of builds ever suggested: beyond it, the benchmark itself should be changed.
pub const MOST_BUILDS: usize = 100;

/// The maximum number of executions of a build ever suggested, even if builds seem not to vary:
/// that is never certain.
pub const MOST_EXECUTIONS: usize = 4;

/// The variance of the benchmarks of a version, and the sample sizes that follow.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// The version whose results were analysed.
    pub version: Version,
    /// The criteria of the verdicts.
    pub criteria: Criteria,
    /// The requested half-width of the intervals of changes: 0.005 is half a percent. `None` to
    /// detect changes of the min-effect.
    pub half_width: Option<f64>,
    /// The mode of the project's comparisons.
    pub compared: Mode,
    /// The benchmarks, in the order of definition.
    pub benchmarks: Vec<PlannedBenchmark>,
    /// The sample sizes to write into `bench.toml`.
    pub suggestion: Suggestion,
    /// The benchmarks without data.
    pub unknown: Unknown,
}

/// The benchmarks without data, and the reasons.
#[derive(Clone, Debug, Default)]
pub struct Unknown {
    /// Benchmarks that gave no measurements.
    pub benchmarks: Vec<(Benchmark, String)>,
    /// Bench targets whose benchmarks could not be listed.
    pub targets: Vec<FailedTarget>,
}

impl PlanReport {
    /// Plans these benchmarks.
    pub fn new(
        version: Version,
        criteria: Criteria,
        (half_width, compared): (Option<f64>, Mode),
        benchmarks: Vec<PlannedBenchmark>,
        unknown: Unknown,
    ) -> Self {
        let suggestion = Suggestion::new(&benchmarks, half_width);
        Self { version, criteria, half_width, compared, benchmarks, suggestion, unknown }
    }

    /// True if something is missing because it failed.
    pub fn has_failures(&self) -> bool {
        !self.unknown.benchmarks.is_empty() || !self.unknown.targets.is_empty()
    }
}

impl Report for PlanReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        of_json::document(&self.fields())
    }
}

#[cfg(test)]
mod tests;
