//! The report of `exec`: the measurements of one process.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::{
    failure::Result,
    model::{
        Benchmark, Execution, ExecutionRequest, HarnessKind, Resources, Series, Throughput, Version,
    },
};

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// One execution: a process, with one benchmark or, on request, several.
#[derive(Clone, Debug, Serialize)]
pub struct ExecReport {
    schema_version: u32,
    version: Version,
    package: String,
    target: String,
    harness: &'static str,
    asked: AskedReport,
    benchmarks: Vec<BenchmarkReport>,
    /// Benchmarks that failed.
    failures: Vec<FailedBenchmark>,
    resources: ResourceReport,
}

#[derive(Clone, Debug, Serialize)]
struct AskedReport {
    measurements: usize,
    warm_up_seconds: f64,
    floor_seconds: f64,
    iterations: Option<u64>,
    seed: u64,
}

#[derive(Clone, Debug, Serialize)]
struct BenchmarkReport {
    id: String,
    /// The warm-up that was spent, in seconds, if the harness tells.
    warm_up_seconds: Option<f64>,
    throughput: Vec<ThroughputReport>,
    metrics: Vec<MetricReport>,
    /// Why another number of measurements came than was asked, if so.
    difference: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
struct FailedBenchmark {
    id: String,
    error: String,
}

/// How much one iteration processes.
#[derive(Clone, Debug, Serialize)]
struct ThroughputReport {
    unit: &'static str,
    amount: u64,
}

#[derive(Clone, Debug, Serialize)]
struct MetricReport {
    name: String,
    unit: &'static str,
    /// The metric's value per iteration, for each measurement in the order taken.
    measurements: Vec<f64>,
    /// The iterations of each measurement; empty if the harness does not tell.
    iterations: Vec<u64>,
}

#[derive(Clone, Debug, Serialize)]
struct ResourceReport {
    /// When the process was started, in seconds since 1970-01-01 UTC.
    start: f64,
    wall_seconds: f64,
    user_seconds: f64,
    system_seconds: f64,
    peak_memory_bytes: Option<u64>,
    voluntary_switches: u64,
    involuntary_switches: u64,
    instructions: Option<u64>,
    cycles: Option<u64>,
}

impl ExecReport {
    /// The report of the process that executed `benchmarks`, which are all of one bench target.
    /// `objection` is what the harness has against the number of measurements asked. None if every
    /// benchmark failed.
    pub fn new(
        version: &Version,
        harness: HarnessKind,
        objection: Option<&'static str>,
        benchmarks: &[(&Benchmark, Result<Execution>)],
    ) -> Option<Self> {
        let executed = || {
            benchmarks.iter().filter_map(|(benchmark, result)| {
                result.as_ref().ok().map(|execution| (*benchmark, execution))
            })
        };
        let failed = benchmarks.iter().filter_map(|(benchmark, result)| {
            let error = result.as_ref().err()?.to_string();
            Some(FailedBenchmark { id: benchmark.name.id.clone(), error })
        });
        let (first, execution) = executed().next()?;
        Some(Self {
            schema_version: SCHEMA_VERSION,
            version: version.clone(),
            package: first.package.clone(),
            target: first.target.clone(),
            harness: harness.name(),
            asked: AskedReport::new(&execution.asked),
            benchmarks: executed()
                .map(|(benchmark, execution)| BenchmarkReport::new(benchmark, objection, execution))
                .collect(),
            failures: failed.collect(),
            resources: ResourceReport::new(&execution.resources),
        })
    }

    /// For programs.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for benchmark in &self.benchmarks {
            text += &format!(
                "{} {} {} ({}) of {}\n",
                self.package, self.target, benchmark.id, self.harness, self.version
            );
            benchmark.write(&self.asked, &mut text);
        }
        self.resources.write(&mut text);
        text
    }
}

impl AskedReport {
    fn new(asked: &ExecutionRequest) -> Self {
        Self {
            measurements: asked.measurements,
            warm_up_seconds: asked.warm_up.as_secs_f64(),
            floor_seconds: asked.floor.as_secs_f64(),
            iterations: asked.iterations,
            seed: asked.seed,
        }
    }
}

impl BenchmarkReport {
    fn new(benchmark: &Benchmark, objection: Option<&'static str>, execution: &Execution) -> Self {
        let came = execution.measurements();
        let own = || objection.unwrap_or("the benchmark has settings of its own");
        Self {
            id: benchmark.name.id.clone(),
            warm_up_seconds: execution.warm_up.map(|time| time.as_secs_f64()),
            throughput: execution.throughput.iter().copied().map(ThroughputReport::new).collect(),
            metrics: execution.series.iter().map(MetricReport::new).collect(),
            difference: (came != execution.asked.measurements).then(own),
        }
    }

    fn write(&self, asked: &AskedReport, text: &mut String) {
        for metric in &self.metrics {
            metric.write(text);
        }
        if let Some(reason) = self.difference {
            let came = self.metrics.iter().map(|metric| metric.measurements.len()).min();
            let (came, asked) = (came.unwrap_or(0), asked.measurements);
            *text += &format!("{came} came where {asked} measurements were asked: {reason}\n");
        }
    }
}

impl ThroughputReport {
    const fn new(throughput: Throughput) -> Self {
        let (unit, amount) = match throughput {
            Throughput::Bytes(amount) | Throughput::BytesDecimal(amount) => ("bytes", amount),
            Throughput::Bits(amount) => ("bits", amount),
            Throughput::Elements(amount) => ("elements", amount),
        };
        Self { unit, amount }
    }
}

impl MetricReport {
    fn new(series: &Series) -> Self {
        Self {
            name: series.metric.name.clone(),
            unit: series.metric.unit.symbol(),
            measurements: series.values.clone(),
            iterations: series.iterations.clone(),
        }
    }

    fn write(&self, text: &mut String) {
        *text += &format!("{} in {} per iteration\n", self.name, self.unit);
        for (index, value) in self.measurements.iter().enumerate() {
            *text += &format!("  {value:>18.3}");
            if let Some(iterations) = self.iterations.get(index) {
                *text += &format!("  ({iterations} iterations)");
            }
            text.push('\n');
        }
    }
}

impl ResourceReport {
    fn new(resources: &Resources) -> Self {
        let since = resources.start.duration_since(SystemTime::UNIX_EPOCH);
        Self {
            start: since.map_or(0.0, |since| since.as_secs_f64()),
            wall_seconds: resources.wall.as_secs_f64(),
            user_seconds: resources.user.as_secs_f64(),
            system_seconds: resources.system.as_secs_f64(),
            peak_memory_bytes: resources.peak_memory,
            voluntary_switches: resources.voluntary_switches,
            involuntary_switches: resources.involuntary_switches,
            instructions: resources.instructions,
            cycles: resources.cycles,
        }
    }

    fn write(&self, text: &mut String) {
        let time = |seconds: f64| super::quantity::duration(Duration::from_secs_f64(seconds));
        *text += &format!(
            "process: {} wall, {} user, {} system",
            time(self.wall_seconds),
            time(self.user_seconds),
            time(self.system_seconds)
        );
        if let Some(bytes) = self.peak_memory_bytes {
            *text += &format!(", {} peak memory", super::quantity::bytes(bytes));
        }
        *text += &format!(
            ", {} + {} context switches\n",
            self.voluntary_switches, self.involuntary_switches
        );
    }
}
