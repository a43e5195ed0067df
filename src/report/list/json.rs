//! The report of `list` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::ListReport;
use crate::{
    error::Result,
    model::{self, HarnessKind},
    report::json::{FailedTarget, FullName, Version, document},
};

/// The benchmarks of a version.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct List<'r> {
    version: Version<'r>,
    /// In the order of definition.
    benchmarks: Vec<Benchmark<'r>>,
    failed_targets: Vec<FailedTarget<'r>>,
}

/// A benchmark. Parts of its name are null if the harness does not report them.
#[derive(Serialize, JsonSchema)]
struct Benchmark<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    harness: HarnessKind,
    group: Option<&'r str>,
    function: Option<&'r str>,
    parameter: Option<&'r str>,
}

impl ListReport {
    pub(super) fn write_json(&self) -> Result<String> {
        let benchmarks = self.targets.iter().flat_map(|(harness, benchmarks)| {
            benchmarks.iter().map(|benchmark| Benchmark::new(*harness, benchmark))
        });
        document(&List {
            version: (&self.version).into(),
            benchmarks: benchmarks.collect(),
            failed_targets: self.failed_targets.iter().map(FailedTarget::from).collect(),
        })
    }
}

impl<'r> Benchmark<'r> {
    fn new(harness: HarnessKind, benchmark: &'r model::Benchmark) -> Self {
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
