//! The report of `show`: the stored results of one version.

mod document;
pub(super) mod range;

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

pub use range::{RangeComparison, RangeReport};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    date,
    json::{self, Estimate, Measured},
    shares::Shares,
};
use crate::{
    diagnosis::Hint,
    elf::Digest,
    model::{
        Benchmark, Layout, LayoutSeed, Machine, SampleSizes, SkipReason, Stage, Throughput, Unit,
        Version,
    },
    shell::CommandLine,
    stats::{
        Components, Criteria, Estimator, FTest, Measurements, Random, Summary,
        impact::{Bootstrap, ImpactFactor},
    },
    verdict::Interleaving,
};

/// One version and its stored results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShowReport {
    /// The version shown.
    pub version: Version,
    /// The criteria of the estimates.
    pub criteria: Criteria,
    /// The experiments that it was part of, oldest first.
    pub experiments: Vec<ShownExperiment>,
    /// The newest results of each benchmark, one for each metric.
    pub benchmarks: Vec<ShownBenchmark>,
    /// True to show every build instead of one line for each benchmark.
    #[serde(skip)]
    pub detailed: bool,
    /// Writes the suggested commands.
    #[serde(skip)]
    pub command_line: Rc<dyn CommandLine>,
}

/// An experiment that a version was part of.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownExperiment {
    /// Its identity, which is the same in every store.
    pub identity: String,
    /// The start of the experiment, in UTC.
    #[serde(rename = "started_at", serialize_with = "date::time")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started: SystemTime,
    /// The end of the experiment, in UTC; null if it is unfinished.
    #[serde(rename = "finished_at", serialize_with = "date::optional_time")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub finished: Option<SystemTime>,
    /// The version of rbench that made it.
    pub rbench: String,
    /// The machine that measured.
    pub machine: Machine,
    /// The compiler, from `rustc -vV`.
    pub toolchain: String,
    /// All settings.
    pub settings: serde_json::Value,
    /// The requested sample sizes, for benchmarks without their own.
    pub sample_sizes: SampleSizes,
    /// The seed from which all others are drawn.
    pub seed: u64,
    /// The other versions of the experiment.
    pub others: Vec<Version>,
    /// The reason why the version could not be built; null if it could.
    pub failure: Option<String>,
}

/// The newest results of a benchmark in one metric.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownBenchmark {
    /// The benchmark measured.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The index of the experiment in [`ShowReport::experiments`].
    pub experiment: usize,
    /// The deciding stage: `result`, `variance`, `layout_test` and `impact` are of its builds.
    pub stage: Stage,
    /// The value of that stage.
    #[serde(flatten)]
    pub(super) value: ShownValue,
    /// The values of the builds of that stage; `None` if every execution failed.
    #[serde(skip)]
    pub summary: Option<Summary>,
    /// The errors of failed executions, as reported.
    pub failures: Vec<String>,
    /// The reason why the benchmark chose not to run; null if it did run.
    pub skipped: Option<String>,
    /// The reason why it was not measured, if it behaves the same in all versions of the
    /// experiment.
    pub unmeasured: Option<SkipReason>,
    /// The amount of work of one iteration.
    #[serde(serialize_with = "amounts")]
    #[schemars(with = "Vec<json::Throughput>")]
    pub throughput: Vec<Throughput>,
    /// The peak resident memory over all executions.
    #[serde(rename = "peak_memory_bytes")]
    pub peak_memory: Option<u64>,
    /// Impact factors, if requested.
    pub impact: ImpactFactors,
    /// Reasons to examine it.
    #[serde(skip)]
    pub hints: Vec<Hint>,
    /// Every build, of the first stage and then of the second, if requested.
    pub builds: Vec<ShownBuild>,
}

/// The value of a benchmark in one metric. Everything is null if every execution failed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ShownValue {
    /// The name, such as `wall`; null if the entry is about the benchmark as a whole.
    metric: Option<String>,
    /// The unit of all values.
    unit: Option<Unit>,
    #[serde(flatten)]
    measured: Measured,
    result: Option<Estimate>,
    /// The shares of builds and executions in the variance of `result`.
    variance: Option<Shares>,
    layout_test: Option<FTest>,
}

/// The impact of starting and of building the program on measurements; null if not requested, or
/// the shape of the data does not allow it.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct ImpactFactors {
    /// The impact of starting the program again.
    pub executions: Option<ImpactFactor>,
    /// The impact of building it again.
    pub builds: Option<ImpactFactor>,
}

/// One build of a version.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownBuild {
    /// The layout seed.
    #[schemars(with = "u32", range(min = 1))]
    pub seed: LayoutSeed,
    /// The stage of the build.
    pub stage: Stage,
    /// The layout, if it is stored.
    pub layout: Option<Layout>,
    /// The digest of its loadable sections, if it is stored.
    pub digest: Option<Digest>,
    /// The mean of the estimates of its executions, in the metric's unit.
    pub value: f64,
    /// The estimate of each execution, in the order of rounds.
    pub executions: Vec<f64>,
    /// True if it is [slow](crate::stats::slow), beyond the spread of the other builds.
    pub slow: bool,
    /// The peak resident memory over its executions.
    #[serde(rename = "peak_memory_bytes")]
    pub peak_memory: Option<u64>,
    /// The CPU time of its executions.
    #[serde(rename = "cpu_seconds", serialize_with = "date::seconds")]
    #[schemars(with = "f64")]
    pub cpu_time: Duration,
}

fn amounts<S: Serializer>(throughput: &[Throughput], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(throughput.iter().map(|one| json::Throughput::from(*one)))
}

impl ImpactFactors {
    /// Estimates the factors by the bootstrap of the paper, drawn from this seed.
    pub fn estimate(data: &Measurements, estimator: Estimator, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let bootstrap = Bootstrap::default();
        Self {
            executions: ImpactFactor::execution_impact(data, &bootstrap, &mut random).ok(),
            builds: ImpactFactor::build_impact(data, estimator, &bootstrap, &mut random).ok(),
        }
    }
}

impl Default for ShownValue {
    fn default() -> Self {
        Self {
            metric: None,
            unit: None,
            measured: Measured::new(None, None),
            result: None,
            variance: None,
            layout_test: None,
        }
    }
}

impl ShownValue {
    /// The value of this summary. `interleaving` is that of its executions, if all share one.
    pub fn new(summary: &Summary, interleaving: Option<Interleaving>, confidence: f64) -> Self {
        Self {
            metric: Some(summary.metric().name.clone()),
            unit: Some(summary.metric().unit),
            measured: Measured::new(interleaving, Some(summary)),
            result: Some(Estimate::new(summary, confidence)),
            variance: Shares::version_shares(summary),
            layout_test: Components::estimate(summary).layout,
        }
    }
}

impl ShownBenchmark {
    /// A benchmark of the experiment with this index, without a value.
    pub fn new(benchmark: &Benchmark, experiment: usize, stage: Stage) -> Self {
        Self {
            benchmark: benchmark.clone(),
            experiment,
            stage,
            value: ShownValue::default(),
            summary: None,
            failures: Vec::new(),
            skipped: None,
            unmeasured: None,
            throughput: Vec::new(),
            peak_memory: None,
            impact: ImpactFactors::default(),
            hints: Vec::new(),
            builds: Vec::new(),
        }
    }

    /// Sets the value. `interleaving` is that of its executions, if all share one.
    #[must_use]
    pub fn with_value(
        self,
        summary: Summary,
        interleaving: Option<Interleaving>,
        criteria: &Criteria,
    ) -> Self {
        let value = ShownValue::new(&summary, interleaving, criteria.confidence);
        Self { value, summary: Some(summary), ..self }
    }

    /// True if any execution of the benchmark failed.
    fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }
}

impl ShowReport {
    /// Adds a report of the same version in another kind of metrics. The rows of a benchmark stand
    /// together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        let known = self.experiments.len();
        self.experiments.extend(other.experiments);
        for mut row in other.benchmarks {
            row.experiment += known;
            let of_it = |one: &ShownBenchmark| one.benchmark == row.benchmark;
            let place = self.benchmarks.iter().rposition(of_it);
            if row.unmeasured.is_none() || place.is_none() {
                let place = place.map_or(self.benchmarks.len(), |place| place + 1);
                self.benchmarks.insert(place, row);
            }
        }
        self
    }

    /// True if the newest results of any benchmark are failures.
    pub fn has_failures(&self) -> bool {
        self.benchmarks.iter().any(ShownBenchmark::has_failed)
    }
}

#[cfg(test)]
mod tests;
