//! A stored version for programs.

use serde::Serialize;

use super::{ShowReport, ShownBenchmark, ShownBuild, ShownExperiment};
use crate::{
    code::Digest,
    model::{Dimensions, Layout, Sameness, Stage},
    report::{
        json::{
            self, Criteria, Estimate, FullName, Machine, Measured, MetricFields, Throughput,
            Version,
        },
        shares::Shares,
    },
    stats::{Components, LayoutTest, Summary, impact::Impact},
};

/// A version.
#[derive(Serialize)]
pub(super) struct Shown<'r> {
    version: Version<'r>,
    criteria: Criteria,
    experiments: Vec<Experiment<'r>>,
    benchmarks: Vec<Benchmark<'r>>,
}

#[derive(Serialize)]
struct Experiment<'r> {
    identity: &'r str,
    begun_seconds: f64,
    finished_seconds: Option<f64>,
    rbench: &'r str,
    machine: Machine<'r>,
    toolchain: &'r str,
    settings: &'r serde_json::Value,
    dimensions: Dimensions,
    seed: u64,
    others: Vec<Version<'r>>,
    failure: Option<&'r str>,
}

#[derive(Serialize)]
struct Benchmark<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    /// The index of the experiment.
    experiment: usize,
    /// What the result, the variance and the impact factors are of.
    stage: Stage,
    #[serde(flatten)]
    measured: Measured,
    result: Option<Estimate>,
    variance: Option<Shares>,
    layout_test: Option<LayoutTestFields>,
    throughput: Vec<Throughput>,
    peak_memory_bytes: Option<u64>,
    failures: &'r [String],
    skipped: Option<&'r str>,
    unmeasured: Option<Sameness>,
    impact: ImpactFields,
    builds: Vec<Build>,
}

/// The F test of "layouts have no effect".
#[derive(Serialize)]
struct LayoutTestFields {
    f: f64,
    degrees_of_freedom: [f64; 2],
    p: f64,
}

#[derive(Serialize)]
struct ImpactFields {
    executions: Option<Factors>,
    builds: Option<Factors>,
}

#[derive(Serialize)]
struct Factors {
    factor: f64,
    without_shift: f64,
}

#[derive(Serialize)]
struct Build {
    seed: u32,
    stage: Stage,
    layout: Option<Layout>,
    digest: Option<Digest>,
    value: f64,
    slow: bool,
    executions: Vec<f64>,
    peak_memory_bytes: Option<u64>,
    cpu_seconds: f64,
}

impl ShowReport {
    pub(super) fn fields(&self) -> Shown<'_> {
        Shown {
            version: (&self.version).into(),
            criteria: (&self.criteria).into(),
            experiments: self.experiments.iter().map(Experiment::from).collect(),
            benchmarks: self.benchmarks.iter().map(|shown| self.benchmark(shown)).collect(),
        }
    }

    fn benchmark<'r>(&self, shown: &'r ShownBenchmark) -> Benchmark<'r> {
        let summary = shown.summary.as_ref();
        let components = summary.map(Components::of);
        Benchmark {
            id: (&shown.benchmark).into(),
            metric: summary.map(Summary::metric).into(),
            experiment: shown.experiment,
            stage: shown.stage,
            measured: Measured::of(shown.interleaving, summary),
            result: summary.map(|summary| Estimate::of(summary, self.criteria.confidence)),
            variance: summary.and_then(Shares::of_version),
            layout_test: components.and_then(|of| of.layout).map(LayoutTestFields::from),
            throughput: shown.throughput.iter().map(|one| Throughput::from(*one)).collect(),
            peak_memory_bytes: shown.peak_memory,
            failures: &shown.failures,
            skipped: shown.skipped.as_deref(),
            unmeasured: shown.unmeasured,
            impact: ImpactFields {
                executions: shown.impact.executions.as_ref().map(Factors::from),
                builds: shown.impact.builds.as_ref().map(Factors::from),
            },
            builds: shown.builds.iter().map(Build::from).collect(),
        }
    }
}

impl<'r> From<&'r ShownExperiment> for Experiment<'r> {
    fn from(shown: &'r ShownExperiment) -> Self {
        Self {
            identity: &shown.identity,
            begun_seconds: json::seconds(shown.begun),
            finished_seconds: shown.finished.map(json::seconds),
            rbench: &shown.rbench,
            machine: (&shown.machine).into(),
            toolchain: &shown.toolchain,
            settings: &shown.settings,
            dimensions: shown.dimensions,
            seed: shown.seed,
            others: shown.others.iter().map(Version::from).collect(),
            failure: shown.failure.as_deref(),
        }
    }
}

impl From<LayoutTest> for LayoutTestFields {
    fn from(LayoutTest { f, freedom, p }: LayoutTest) -> Self {
        Self { f, degrees_of_freedom: freedom, p }
    }
}

impl From<&Impact> for Factors {
    fn from(Impact { factor, without_shift, .. }: &Impact) -> Self {
        Self { factor: *factor, without_shift: *without_shift }
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
