//! The report of `exec`: the measurements of one execution.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::model::{Benchmark, Execution, HarnessKind, Resources, Series, Version};

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// One execution of one benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct ExecReport {
    schema_version: u32,
    version: Version,
    package: String,
    target: String,
    harness: &'static str,
    id: String,
    asked: AskedReport,
    /// The warm-up that was spent, in seconds, if the harness tells.
    warm_up_seconds: Option<f64>,
    metrics: Vec<MetricReport>,
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
struct MetricReport {
    name: String,
    unit: &'static str,
    /// The metric's value per iteration, for each measurement in the order taken.
    measurements: Vec<f64>,
    /// The iterations of each measurement.
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
    /// The report of an execution.
    pub fn new(
        version: &Version,
        harness: HarnessKind,
        benchmark: &Benchmark,
        execution: &Execution,
    ) -> Self {
        let asked = &execution.asked;
        Self {
            schema_version: SCHEMA_VERSION,
            version: version.clone(),
            package: benchmark.package.clone(),
            target: benchmark.target.clone(),
            harness: harness.name(),
            id: benchmark.name.id.clone(),
            asked: AskedReport {
                measurements: asked.measurements,
                warm_up_seconds: asked.warm_up.as_secs_f64(),
                floor_seconds: asked.floor.as_secs_f64(),
                iterations: asked.iterations,
                seed: asked.seed,
            },
            warm_up_seconds: execution.warm_up.map(|time| time.as_secs_f64()),
            metrics: execution.series.iter().map(MetricReport::new).collect(),
            resources: ResourceReport::new(&execution.resources),
        }
    }

    /// For programs.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} {} {} ({}) of {}\n",
            self.package, self.target, self.id, self.harness, self.version
        );
        for metric in &self.metrics {
            metric.write(&mut text);
        }
        let came = self.metrics.iter().map(|metric| metric.measurements.len()).min().unwrap_or(0);
        if came != self.asked.measurements {
            let asked = self.asked.measurements;
            text += &format!(
                "{came} measurements came where {asked} were asked: the benchmark's own settings\n"
            );
        }
        self.resources.write(&mut text);
        text
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
        for (value, iterations) in self.measurements.iter().zip(&self.iterations) {
            *text += &format!("  {value:>18.3}  ({iterations} iterations)\n");
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
