//! The report of `show` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ImpactFactors, ShowReport, ShownBenchmark, ShownBuild, ShownExperiment};
use crate::stats::Criteria;
use crate::{
    elf::Digest,
    model::{Benchmark, Layout, Machine, SampleSizes, SkipReason, Stage, Version},
    report::{
        date,
        json::{Estimate, Measured, MetricFields, Throughput},
        shares::Shares,
    },
    stats::{Components, LayoutTest, Summary},
};

/// The stored results of a version.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Shown<'r> {
    version: &'r Version,
    criteria: Criteria,
    /// Oldest first.
    experiments: Vec<Experiment<'r>>,
    /// The newest results of each, one for each metric.
    benchmarks: Vec<BenchmarkFields<'r>>,
}

/// An experiment that the version was part of.
#[derive(Serialize, JsonSchema)]
struct Experiment<'r> {
    identity: &'r str,
    /// In UTC.
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
    /// In UTC; null if unfinished.
    #[schemars(extend("format" = "date-time"))]
    finished_at: Option<String>,
    /// The version of rbench.
    rbench: &'r str,
    machine: &'r Machine,
    /// The output of `rustc -vV`.
    toolchain: &'r str,
    /// All settings.
    settings: &'r serde_json::Value,
    sample_sizes: SampleSizes,
    seed: u64,
    /// The other versions of the experiment.
    others: Vec<&'r Version>,
    /// The reason why it could not be built; null if it could.
    failure: Option<&'r str>,
}

/// A benchmark in one metric.
#[derive(Serialize, JsonSchema)]
struct BenchmarkFields<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    /// The index of its experiment.
    experiment: usize,
    /// The deciding stage: `result`, `variance`, `layout_test` and `impact` are of its builds.
    stage: Stage,
    #[serde(flatten)]
    measured: Measured,
    result: Option<Estimate>,
    variance: Option<Shares>,
    layout_test: Option<LayoutTestFields>,
    throughput: Vec<Throughput>,
    /// The peak resident memory over all executions.
    peak_memory_bytes: Option<u64>,
    /// The reasons why executions failed.
    failures: &'r [String],
    /// The reason why the benchmark chose not to run; null if it did run.
    skipped: Option<&'r str>,
    /// The reason why it was not measured in this version; null: it was.
    unmeasured: Option<SkipReason>,
    impact: ImpactFactors,
    /// Empty unless requested.
    builds: Vec<Build>,
}

/// The F test of no effect of layouts.
#[derive(Serialize, JsonSchema)]
struct LayoutTestFields {
    /// null if infinite.
    #[schemars(with = "Option<f64>")]
    f: f64,
    degrees_of_freedom: [f64; 2],
    #[schemars(range(min = 0, max = 1))]
    p: f64,
}

/// A build and its values.
#[derive(Serialize, JsonSchema)]
struct Build {
    #[schemars(range(min = 1))]
    seed: u32,
    stage: Stage,
    layout: Option<Layout>,
    /// Of its loadable sections.
    digest: Option<Digest>,
    /// In the unit of the metric.
    value: f64,
    /// True if it is an outlier on the slow side.
    slow: bool,
    /// The estimate of each, in the order of rounds.
    executions: Vec<f64>,
    /// The peak resident memory over its executions.
    peak_memory_bytes: Option<u64>,
    cpu_seconds: f64,
}

impl ShowReport {
    pub(super) fn fields(&self) -> Shown<'_> {
        Shown {
            version: (&self.version).into(),
            criteria: self.criteria,
            experiments: self.experiments.iter().map(Experiment::from).collect(),
            benchmarks: self.benchmarks.iter().map(|shown| self.benchmark(shown)).collect(),
        }
    }

    fn benchmark<'r>(&self, shown: &'r ShownBenchmark) -> BenchmarkFields<'r> {
        let summary = shown.summary.as_ref();
        let components = summary.map(Components::estimate);
        BenchmarkFields {
            id: (&shown.benchmark).into(),
            metric: summary.map(Summary::metric).into(),
            experiment: shown.experiment,
            stage: shown.stage,
            measured: Measured::new(shown.interleaving, summary),
            result: summary.map(|summary| Estimate::new(summary, self.criteria.confidence)),
            variance: summary.and_then(Shares::version_shares),
            layout_test: components.and_then(|of| of.layout).map(LayoutTestFields::from),
            throughput: shown.throughput.iter().map(|one| Throughput::from(*one)).collect(),
            peak_memory_bytes: shown.peak_memory,
            failures: &shown.failures,
            skipped: shown.skipped.as_deref(),
            unmeasured: shown.unmeasured,
            impact: shown.impact,
            builds: shown.builds.iter().map(Build::from).collect(),
        }
    }
}

impl<'r> From<&'r ShownExperiment> for Experiment<'r> {
    fn from(shown: &'r ShownExperiment) -> Self {
        Self {
            identity: &shown.identity,
            started_at: date::rfc3339(shown.started),
            finished_at: shown.finished.map(date::rfc3339),
            rbench: &shown.rbench,
            machine: (&shown.machine).into(),
            toolchain: &shown.toolchain,
            settings: &shown.settings,
            sample_sizes: shown.sample_sizes,
            seed: shown.seed,
            others: shown.others.iter().collect(),
            failure: shown.failure.as_deref(),
        }
    }
}

impl From<LayoutTest> for LayoutTestFields {
    fn from(LayoutTest { f, freedom, p }: LayoutTest) -> Self {
        Self { f, degrees_of_freedom: freedom, p }
    }
}

impl From<&ShownBuild> for Build {
    fn from(build: &ShownBuild) -> Self {
        Self {
            seed: build.seed.get(),
            stage: build.stage,
            layout: build.layout,
            digest: build.digest,
            value: build.value,
            slow: build.slow,
            executions: build.executions.clone(),
            peak_memory_bytes: build.peak_memory,
            cpu_seconds: build.cpu_time.as_secs_f64(),
        }
    }
}
