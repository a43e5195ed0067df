//! The report of `plan`: where a project's variance comes from, what repetitions cost, and what follows for the
//! size of its experiments.

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
    error::{Error, Result},
    model::{BenchTarget, Benchmark, Mode, Version},
    stats::Criteria,
};

/// Numbers of builds for which the report says what they detect.
pub const BUILDS: [usize; 4] = [5, 10, 20, 40];

/// No more builds than this are ever suggested: beyond, another benchmark is needed.
pub const MOST_BUILDS: usize = 100;

/// No more executions of a build than this are suggested, even where builds seem not to vary: that they do not is
/// never sure.
pub const MOST_EXECUTIONS: usize = 4;

/// How the benchmarks of a version vary, and what to measure.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// The version that was looked at.
    pub version: Version,
    /// How benchmarks are judged.
    pub criteria: Criteria,
    /// The half-width that is wanted of changes' intervals: 0.005 is half a percent. Absent where changes of the
    /// min-effect are to be seen.
    pub half_width: Option<f64>,
    /// How the project's comparisons are interleaved.
    pub compared: Mode,
    /// The benchmarks, in the order of definition.
    pub benchmarks: Vec<PlannedBenchmark>,
    /// What to write into `bench.toml`.
    pub suggestion: Suggestion,
    /// What nothing is known about.
    pub unknown: Unknown,
}

/// What nothing is known about, and why.
#[derive(Clone, Debug, Default)]
pub struct Unknown {
    /// Benchmarks that gave no measurements.
    pub benchmarks: Vec<(Benchmark, String)>,
    /// Bench targets whose benchmarks could not be listed.
    pub targets: Vec<(BenchTarget, Error)>,
}

impl PlanReport {
    /// The plan for these benchmarks.
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

    /// Whether something is missing because it failed.
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
