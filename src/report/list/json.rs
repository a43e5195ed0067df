//! The benchmarks of a version for programs.

use serde::Serialize;

use super::ListReport;
use crate::{
    failure::Result,
    model,
    report::json::{FailedTarget, FullName, Version, document},
};

#[derive(Serialize)]
struct List<'r> {
    version: Version<'r>,
    benchmarks: Vec<Benchmark<'r>>,
    failed_targets: Vec<FailedTarget<'r>>,
}

#[derive(Serialize)]
struct Benchmark<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    harness: &'static str,
    group: Option<&'r str>,
    function: Option<&'r str>,
    parameter: Option<&'r str>,
}

impl ListReport {
    pub(super) fn write_json(&self) -> Result<String> {
        let benchmarks = self.targets.iter().flat_map(|(harness, benchmarks)| {
            benchmarks.iter().map(|benchmark| Benchmark::new(harness.name(), benchmark))
        });
        document(&List {
            version: (&self.version).into(),
            benchmarks: benchmarks.collect(),
            failed_targets: self.failed_targets.iter().map(FailedTarget::from).collect(),
        })
    }
}

impl<'r> Benchmark<'r> {
    fn new(harness: &'static str, benchmark: &'r model::Benchmark) -> Self {
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
