//! The report of `selftest`: whether verdicts of this machine can be trusted, and the kind of its
//! noise.

mod document;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    Report,
    compare::WarningFields,
    date,
    document::{Document, Medium},
    json as of_json,
};
use crate::{
    compare::Warning,
    error::{Exit, Result},
    model::{BenchTarget, Benchmark, FailedTarget, Machine, Mode, SampleSizes, Version},
    stats::Criteria,
    verdict::fitness::Fitness,
};

/// The evaluation of a machine by comparisons of a version with itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SelftestReport {
    /// The version that was compared with itself.
    pub version: Version,
    /// The machine that measured.
    pub machine: Machine,
    /// The criteria of the verdicts.
    pub criteria: Criteria,
    /// The number of comparisons in each mode.
    pub repetitions: usize,
    /// The benchmarks that were measured.
    pub benchmarks: Vec<Benchmark>,
    /// Benchmarks that were not measured, because the compiler generates different code for
    /// something that they execute in the two versions.
    pub left_out: Vec<Benchmark>,
    /// Bench targets that are the same programs in both versions, because the linker removes the
    /// function in which they differ.
    pub same_programs: Vec<BenchTarget>,
    /// Reasons why the results are less certain.
    #[serde(serialize_with = "as_fields")]
    #[schemars(with = "Vec<WarningFields>")]
    pub warnings: Vec<Warning>,
    /// The results by mode; the first is the mode that `compare` uses.
    pub modes: Vec<ModeResult>,
    /// Bench targets whose benchmarks could not be listed.
    pub failed_targets: Vec<FailedTarget>,
}

/// The results of one mode of measuring.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeResult {
    /// The mode of the executions.
    pub mode: Mode,
    /// The sample sizes of each comparison, for benchmarks without their own.
    pub sample_sizes: SampleSizes,
    /// The duration, linking included.
    #[serde(rename = "duration_seconds", serialize_with = "date::seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub duration: Duration,
    /// The evaluation of the machine in this mode.
    #[serde(flatten)]
    pub fitness: Fitness,
}

/// Comparisons of a version with itself.
#[derive(Serialize, JsonSchema)]
pub(super) struct View<'r> {
    /// The version of rbench.
    rbench: &'static str,
    /// True if the first mode is fit. The exit code is 1 if not.
    fit: bool,
    #[serde(flatten)]
    report: &'r SelftestReport,
}

fn as_fields<S: Serializer>(warnings: &[Warning], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(warnings.iter().map(WarningFields::from))
}

impl SelftestReport {
    fn is_fit(&self) -> bool {
        self.modes.first().is_some_and(|first| first.fitness.fit)
    }

    /// The exit code: a regression if the first mode is not fit.
    pub fn exit(&self) -> Exit {
        if self.is_fit() { Exit::Success } else { Exit::Regression }
    }
}

/// The name of a mode for people.
pub const fn name_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Interleaved => "interleaved",
        Mode::Sequential => "sequential",
    }
}

impl Report for SelftestReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        let (rbench, fit) = (env!("CARGO_PKG_VERSION"), self.is_fit());
        of_json::document(&View { rbench, fit, report: self })
    }
}

#[cfg(test)]
mod tests;
