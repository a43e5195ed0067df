//! The report of `list`: the benchmarks of a version.

use serde::Serialize;

use crate::{
    failure::Failure,
    model::{BenchTarget, Benchmark, HarnessKind, Version},
};

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// The benchmarks of a version.
#[derive(Clone, Debug, Serialize)]
pub struct ListReport {
    schema_version: u32,
    version: Version,
    benchmarks: Vec<Line>,
    /// Bench targets that could not be listed.
    failures: Vec<FailedTarget>,
}

#[derive(Clone, Debug, Serialize)]
struct Line {
    package: String,
    target: String,
    harness: &'static str,
    id: String,
    group: Option<String>,
    function: Option<String>,
    parameter: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct FailedTarget {
    package: String,
    target: String,
    error: String,
}

impl ListReport {
    /// The report of these benchmarks, given for each bench target with its harness.
    pub fn new<'a>(
        version: &Version,
        listed: impl IntoIterator<Item = (HarnessKind, &'a [Benchmark])>,
        failures: &[(BenchTarget, Failure)],
    ) -> Self {
        let lines = listed.into_iter().flat_map(|(harness, benchmarks)| {
            benchmarks.iter().map(move |benchmark| Line {
                package: benchmark.package.clone(),
                target: benchmark.target.clone(),
                harness: harness.name(),
                id: benchmark.name.id.clone(),
                group: benchmark.name.group.clone(),
                function: benchmark.name.function.clone(),
                parameter: benchmark.name.parameter.clone(),
            })
        });
        let failed = |(target, failure): &(BenchTarget, Failure)| FailedTarget {
            package: target.package.clone(),
            target: target.target.clone(),
            error: failure.to_string(),
        };
        Self {
            schema_version: SCHEMA_VERSION,
            version: version.clone(),
            benchmarks: lines.collect(),
            failures: failures.iter().map(failed).collect(),
        }
    }

    /// For programs.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// For people: a heading for each bench target, an id a line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut last = None;
        for line in &self.benchmarks {
            let target = (&line.package, &line.target, line.harness);
            if last != Some(target) {
                text += &format!("{}/{} ({})\n", line.package, line.target, line.harness);
                last = Some(target);
            }
            text += &format!("  {}\n", line.id);
        }
        text
    }
}
