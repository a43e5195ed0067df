//! The report of `list` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::ListReport;
use crate::{
    error::Result,
    model::{Benchmark, FailedTarget, HarnessKind, Version},
    report::json::document,
};

/// The benchmarks of a version.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct List<'r> {
    version: &'r Version,
    /// In the order of definition.
    benchmarks: Vec<BenchmarkFields<'r>>,
    failed_targets: Vec<&'r FailedTarget>,
}

/// A benchmark. Parts of its name are null if the harness does not report them.
#[derive(Serialize, JsonSchema)]
struct BenchmarkFields<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    harness: HarnessKind,
    group: Option<&'r str>,
    function: Option<&'r str>,
    parameter: Option<&'r str>,
}

impl ListReport {
    pub(super) fn write_json(&self) -> Result<String> {
        let benchmarks = self.targets.iter().flat_map(|(harness, benchmarks)| {
            benchmarks.iter().map(|benchmark| BenchmarkFields::new(*harness, benchmark))
        });
        document(&List {
            version: (&self.version).into(),
            benchmarks: benchmarks.collect(),
            failed_targets: self.failed_targets.iter().collect(),
        })
    }
}

impl<'r> BenchmarkFields<'r> {
    fn new(harness: HarnessKind, benchmark: &'r Benchmark) -> Self {
        let name = &benchmark.name;
        Self {
            id: benchmark.into(),
            harness,
            group: name.group.as_deref(),
            function: name.function.as_deref(),
            parameter: name.parameter.as_deref(),
        }
    }
}
