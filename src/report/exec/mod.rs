//! The report of `exec`: the measurements of one process.

mod document;
mod json;

use super::{
    Report,
    document::{Document, Medium},
};
use crate::{
    failure::Result,
    harness::Outcome,
    model::{BenchTarget, Benchmark, Execution, ExecutionRequest, HarnessKind, Resources, Version},
};

/// One execution: a process, with one benchmark or, on request, several of one bench target.
#[derive(Clone, Debug)]
pub struct ExecReport {
    /// The version.
    pub version: Version,
    /// The bench target.
    pub target: BenchTarget,
    /// What ran its benchmarks.
    pub harness: HarnessKind,
    /// What was requested.
    pub request: ExecutionRequest,
    /// Why the harness never takes as many measurements as were requested, if so.
    pub limit: Option<&'static str>,
    /// The benchmarks that the process executed, and what came of each.
    pub benchmarks: Vec<(Benchmark, Result<Outcome>)>,
}

impl ExecReport {
    fn measured(&self) -> impl Iterator<Item = (&Benchmark, &Execution)> {
        self.benchmarks.iter().filter_map(|(benchmark, result)| match result {
            Ok(Outcome::Measured(execution)) => Some((benchmark, execution)),
            _ => None,
        })
    }

    /// What the process took; absent where nothing was measured.
    fn resources(&self) -> Option<&Resources> {
        self.measured().next().map(|(_, execution)| &execution.resources)
    }

    /// Why another number of measurements came than was requested, if so.
    fn difference(&self, execution: &Execution) -> Option<&'static str> {
        let own = || self.limit.unwrap_or("the benchmark has settings of its own");
        (execution.measurements() != self.request.measurements).then(own)
    }
}

impl Report for ExecReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        self.write_json()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::{
        failure::{Exit, Failure},
        model::{Incident, Metric, Series, Throughput, Turns},
        report::{
            style,
            testing::{HOSTILE, assert_harmless, assert_keeps, benchmark, memory, target, version},
        },
    };

    fn report(id: &str) -> ExecReport {
        let request = ExecutionRequest {
            measurements: 3,
            warm_up: Duration::from_millis(100),
            floor: Duration::from_millis(5),
            iterations: None,
            seed: 7,
        };
        let series = |metric, values: &[f64], iterations: &[u64]| Series {
            metric,
            values: values.to_vec(),
            iterations: iterations.to_vec(),
            resolution: 0.0,
        };
        let execution = Execution {
            asked: request.clone(),
            series: vec![
                series(Metric::wall(), &[4384.0, 4399.5], &[1000, 1000]),
                series(memory(), &[3.2e6, 3.2e6], &[]),
            ],
            throughput: vec![Throughput::Bytes(4096)],
            warm_up: Some(Duration::from_millis(101)),
            turns: Turns::NotAsked,
            incidents: vec![Incident::LeftBehind(vec!["sleep".to_owned()])],
            resources: Resources {
                start: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
                wall: Duration::from_millis(250),
                user: Duration::from_millis(200),
                system: Duration::from_millis(10),
                peak_memory: Some(3 << 20),
                voluntary_switches: 4,
                involuntary_switches: 1,
            },
        };
        let failed = Failure::new(Exit::Benchmark, format!("cannot execute `{id}`"));
        ExecReport {
            version: version("HEAD", 'a'),
            target: target("work"),
            harness: HarnessKind::Native,
            request,
            limit: None,
            benchmarks: vec![
                (benchmark(id), Ok(Outcome::Measured(execution))),
                (benchmark("gpu"), Ok(Outcome::Skipped("no GPU here".to_owned()))),
                (benchmark("broken"), Err(failed)),
            ],
        }
    }

    #[test]
    fn every_measurement_is_a_line() {
        insta::assert_snapshot!(style::plain(&report("parse/1").text(80)));
    }

    #[test]
    fn a_program_reads_what_the_schema_says() {
        assert_keeps(include_str!("../../../schemas/exec.json"), &report("parse/1"));
    }

    #[test]
    fn nothing_from_elsewhere_steers_the_terminal() {
        assert_harmless(&report(HOSTILE));
    }
}
