//! The measurements of one process for programs.

use serde::Serialize;

use super::ExecReport;
use crate::{
    failure::Result,
    harness::Outcome,
    model::{self, BenchTarget},
    report::json::{MetricFields, Throughput, Version, document, seconds},
};

#[derive(Serialize)]
struct Exec<'r> {
    version: Version<'r>,
    #[serde(flatten)]
    target: &'r BenchTarget,
    harness: &'static str,
    request: Request,
    benchmarks: Vec<Benchmark<'r>>,
    skipped: Vec<Skipped<'r>>,
    failures: Vec<Failed<'r>>,
    resources: Option<Resources>,
}

#[derive(Serialize)]
struct Request {
    measurements: usize,
    warm_up_seconds: f64,
    floor_seconds: f64,
    iterations: Option<u64>,
    seed: u64,
}

#[derive(Serialize)]
struct Benchmark<'r> {
    id: &'r str,
    /// The warm-up that was spent, if the harness reports it.
    warm_up_seconds: Option<f64>,
    throughput: Vec<Throughput>,
    metrics: Vec<Series<'r>>,
    /// Why another number of measurements came than was requested, if so.
    difference: Option<&'static str>,
    /// What else a user should know about the execution.
    incidents: Vec<String>,
}

#[derive(Serialize)]
struct Series<'r> {
    #[serde(flatten)]
    metric: MetricFields<'r>,
    /// The metric's value per iteration, for each measurement in the order taken.
    measurements: &'r [f64],
    /// The iterations of each measurement; empty if the harness does not report them.
    iterations: &'r [u64],
}

#[derive(Serialize)]
struct Skipped<'r> {
    id: &'r str,
    reason: &'r str,
}

#[derive(Serialize)]
struct Failed<'r> {
    id: &'r str,
    error: String,
}

#[derive(Serialize)]
struct Resources {
    start_seconds: f64,
    wall_seconds: f64,
    user_seconds: f64,
    system_seconds: f64,
    peak_memory_bytes: Option<u64>,
    voluntary_switches: u64,
    involuntary_switches: u64,
}

impl ExecReport {
    pub(super) fn write_json(&self) -> Result<String> {
        let failures = self.benchmarks.iter().filter_map(|(benchmark, result)| {
            let error = result.as_ref().err()?.to_string();
            Some(Failed { id: &benchmark.name.id, error })
        });
        let skipped = self.benchmarks.iter().filter_map(|(benchmark, result)| match result {
            Ok(Outcome::Skipped(reason)) => Some(Skipped { id: &benchmark.name.id, reason }),
            _ => None,
        });
        let benchmarks = self.measured().map(|(benchmark, execution)| Benchmark {
            id: &benchmark.name.id,
            warm_up_seconds: execution.warm_up.map(|time| time.as_secs_f64()),
            throughput: execution.throughput.iter().map(|one| Throughput::from(*one)).collect(),
            metrics: execution.series.iter().map(Series::from).collect(),
            difference: self.difference(execution),
            incidents: execution.incidents.iter().map(ToString::to_string).collect(),
        });
        document(&Exec {
            version: (&self.version).into(),
            target: &self.target,
            harness: self.harness.name(),
            request: (&self.request).into(),
            benchmarks: benchmarks.collect(),
            skipped: skipped.collect(),
            failures: failures.collect(),
            resources: self.resources().map(Resources::from),
        })
    }
}

impl From<&model::ExecutionRequest> for Request {
    fn from(request: &model::ExecutionRequest) -> Self {
        Self {
            measurements: request.measurements,
            warm_up_seconds: request.warm_up.as_secs_f64(),
            floor_seconds: request.floor.as_secs_f64(),
            iterations: request.iterations,
            seed: request.seed,
        }
    }
}

impl<'r> From<&'r model::Series> for Series<'r> {
    fn from(model::Series { metric, values, iterations, .. }: &'r model::Series) -> Self {
        Self { metric: Some(metric).into(), measurements: values, iterations }
    }
}

impl From<&model::Resources> for Resources {
    fn from(resources: &model::Resources) -> Self {
        Self {
            start_seconds: seconds(resources.start),
            wall_seconds: resources.wall.as_secs_f64(),
            user_seconds: resources.user.as_secs_f64(),
            system_seconds: resources.system.as_secs_f64(),
            peak_memory_bytes: resources.peak_memory,
            voluntary_switches: resources.voluntary_switches,
            involuntary_switches: resources.involuntary_switches,
        }
    }
}
