//! The report of `show`: everything that is stored of one version.

mod raw;
mod text;

use std::time::SystemTime;

use serde::Serialize;

use crate::{
    code::Digest,
    model::{Benchmark, Dimensions, Layout, Machine, Stage, Throughput, Unit, Version},
    stats::{
        Components, Criteria, Estimator, Interval, Measurements, Random, Scratch, Summary,
        impact::{Bootstrap, Impact},
        slow::slow,
    },
    store::{Experiment, RecordedBuild, RecordedExecution},
};
pub use raw::RawMeasurements;

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// One version and what is stored of it.
#[derive(Clone, Debug, Serialize)]
pub struct StoredVersionReport {
    schema_version: u32,
    version: Version,
    /// The experiments that it was part of, oldest first.
    experiments: Vec<ExperimentReport>,
    benchmarks: Vec<StoredBenchmark>,
    #[serde(skip)]
    detailed: bool,
}

#[derive(Clone, Debug, Serialize)]
struct ExperimentReport {
    identity: String,
    /// In seconds since 1970.
    begun: u64,
    /// In seconds since 1970; absent while it is not finished.
    finished: Option<u64>,
    rbench: String,
    machine: Machine,
    toolchain: String,
    settings: String,
    dimensions: Dimensions,
    seed: u64,
    /// The versions that were measured with it.
    others: Vec<String>,
    /// Why it could not be built, if it could not.
    failure: Option<String>,
    #[serde(skip)]
    when: Option<SystemTime>,
}

/// The newest results of a benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct StoredBenchmark {
    package: String,
    target: String,
    id: String,
    /// The index of the experiment.
    experiment: usize,
    measured: Option<Measured>,
    /// As the user was told them.
    failures: Vec<String>,
    impact: Option<ImpactReport>,
    builds: Vec<StoredBuild>,
}

#[derive(Clone, Debug, Serialize)]
struct Measured {
    metric: String,
    unit: &'static str,
    value: f64,
    /// The three-level interval; absent with less than two builds.
    interval: Option<[f64; 2]>,
    /// l, m and n, the last two on average.
    dimensions: [f64; 3],
    variance: Option<Shares>,
    layout_test: Option<LayoutTestReport>,
    throughput: Vec<ThroughputReport>,
    /// The most that any execution had resident.
    peak_memory_bytes: Option<u64>,
    #[serde(skip)]
    in_unit: Unit,
    #[serde(skip)]
    shown: Option<Interval>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Shares {
    builds: f64,
    executions: f64,
    measurements: f64,
}

/// The F test of "layout has no effect".
#[derive(Clone, Copy, Debug, Serialize)]
struct LayoutTestReport {
    /// Absent where it is infinite.
    f: Option<f64>,
    degrees_of_freedom: [f64; 2],
    p: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct ThroughputReport {
    unit: &'static str,
    amount: u64,
}

/// Impact factors; absent where the shape of the data does not allow them.
#[derive(Clone, Copy, Debug, Serialize)]
struct ImpactReport {
    executions: Option<Factors>,
    builds: Option<Factors>,
}

/// The factor, and what is left of it without shift; absent where infinite.
#[derive(Clone, Copy, Debug, Serialize)]
struct Factors {
    factor: Option<f64>,
    without_shift: Option<f64>,
}

/// One build of a version.
#[derive(Clone, Debug, Serialize)]
pub struct StoredBuild {
    seed: u32,
    stage: Stage,
    layout: Option<Layout>,
    digest: Option<Digest>,
    value: f64,
    /// By more than 3.5 robust standard deviations and the smallest change of interest above the median.
    slow: bool,
    /// The estimate of each execution, in the order of rounds.
    executions: Vec<f64>,
    peak_memory_bytes: Option<u64>,
    cpu_seconds: f64,
}

impl StoredVersionReport {
    /// A report without experiments and benchmarks yet.
    pub fn new(version: &Version, detailed: bool) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            version: version.clone(),
            experiments: Vec::new(),
            benchmarks: Vec::new(),
            detailed,
        }
    }

    /// Adds an experiment in which the version has this index.
    pub fn experiment(&mut self, experiment: &Experiment, index: usize) {
        let plan = &experiment.plan;
        let others = plan.versions.iter().enumerate().filter(|(other, _)| *other != index);
        self.experiments.push(ExperimentReport {
            identity: experiment.identity.clone(),
            begun: seconds(experiment.begun),
            finished: experiment.finished.map(seconds),
            rbench: plan.rbench.clone(),
            machine: plan.machine.clone(),
            toolchain: plan.versions[index].toolchain.clone(),
            settings: plan.settings.clone(),
            dimensions: plan.dimensions,
            seed: plan.seed,
            others: others.map(|(_, planned)| planned.version.short()).collect(),
            failure: experiment.unbuildable[index].clone(),
            when: Some(experiment.begun),
        });
    }

    /// Adds a benchmark.
    pub fn benchmark(&mut self, benchmark: StoredBenchmark) {
        self.benchmarks.push(benchmark);
    }

    /// For programs.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl StoredBenchmark {
    /// A benchmark of the experiment with this index.
    pub fn new(benchmark: &Benchmark, experiment: usize, failures: Vec<String>) -> Self {
        Self {
            package: benchmark.package.clone(),
            target: benchmark.target.clone(),
            id: benchmark.name.id.clone(),
            experiment,
            measured: None,
            failures,
            impact: None,
            builds: Vec::new(),
        }
    }

    /// Adds what was measured.
    pub fn measured(
        &mut self,
        summary: &Summary,
        recorded: &[RecordedExecution],
        criteria: &Criteria,
    ) {
        let components = Components::of(summary);
        let shown = Interval::three_level(summary, criteria.confidence).ok();
        let l = summary.builds().len() as f64;
        let executions: usize = summary.builds().iter().map(|build| build.executions).sum();
        let last = recorded.last().map(|recorded| recorded.execution.throughput.clone());
        self.measured = Some(Measured {
            metric: summary.metric().name.clone(),
            unit: summary.metric().unit.symbol(),
            value: summary.values().mean,
            interval: shown.map(|interval| [interval.low, interval.high]),
            dimensions: [l, executions as f64 / l, summary.measurements_per_execution()],
            variance: components.shares().map(|shares| Shares {
                builds: shares.version,
                executions: shares.build,
                measurements: shares.execution,
            }),
            layout_test: components.layout.map(|test| LayoutTestReport {
                f: finite(test.f),
                degrees_of_freedom: test.freedom,
                p: test.p,
            }),
            throughput: last.unwrap_or_default().into_iter().map(ThroughputReport::of).collect(),
            peak_memory_bytes: peak(recorded.iter()),
            in_unit: summary.metric().unit,
            shown,
        });
    }

    /// Adds impact factors at both levels.
    pub fn impact(&mut self, data: &Measurements, criteria: &Criteria) {
        let mut random = Random::new(criteria.seed);
        let bootstrap = Bootstrap::default();
        let factors = |impact: Impact| Factors {
            factor: finite(impact.factor),
            without_shift: finite(impact.without_shift),
        };
        let executions = Impact::of_executions(data, &bootstrap, &mut random);
        let builds = Impact::of_builds(data, criteria.estimator, &bootstrap, &mut random);
        self.impact = Some(ImpactReport {
            executions: executions.ok().map(factors),
            builds: builds.ok().map(factors),
        });
    }

    /// Adds every build.
    pub fn builds(&mut self, builds: Vec<StoredBuild>) {
        self.builds = builds;
    }
}

impl StoredBuild {
    /// The builds that were executed, of the first stage and then of the second, in the order of seeds;
    /// slow ones are told apart within their stage.
    pub fn all(
        recorded: &[RecordedExecution],
        builds: &[RecordedBuild],
        criteria: &Criteria,
    ) -> Vec<Self> {
        let mut all = Vec::new();
        for stage in [Stage::First, Stage::Second] {
            let mut of_stage = Self::of_stage(recorded, builds, stage, criteria.estimator);
            let values: Vec<f64> = of_stage.iter().map(|build| build.value).collect();
            for (build, slow) in of_stage.iter_mut().zip(slow(&values, criteria.min_effect)) {
                build.slow = slow;
            }
            all.extend(of_stage);
        }
        all
    }

    fn of_stage(
        recorded: &[RecordedExecution],
        builds: &[RecordedBuild],
        stage: Stage,
        estimator: Estimator,
    ) -> Vec<Self> {
        let of_stage = || recorded.iter().filter(|recorded| recorded.turn.stage == stage);
        let mut seeds: Vec<_> = of_stage().map(|recorded| recorded.turn.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let mut scratch = Scratch::default();
        let mut build = |seed| {
            let own = || of_stage().filter(move |recorded| recorded.turn.seed == seed);
            let first = own().filter_map(|recorded| recorded.execution.series.first());
            let executions: Vec<f64> =
                first.map(|series| estimator.estimate(&series.values, &mut scratch)).collect();
            let linked = builds.iter().find(|build| build.seed == seed);
            let cpu = |recorded: &RecordedExecution| {
                let resources = &recorded.execution.resources;
                (resources.user + resources.system).as_secs_f64()
            };
            Self {
                seed: seed.get(),
                stage,
                layout: linked.map(|build| build.layout),
                digest: linked.map(|build| build.digest),
                value: executions.iter().sum::<f64>() / executions.len() as f64,
                slow: false,
                peak_memory_bytes: peak(own()),
                cpu_seconds: own().map(cpu).sum(),
                executions,
            }
        };
        seeds.into_iter().map(&mut build).collect()
    }
}

impl ThroughputReport {
    const fn of(throughput: Throughput) -> Self {
        let (unit, amount) = match throughput {
            Throughput::Bytes(amount) | Throughput::BytesDecimal(amount) => ("bytes", amount),
            Throughput::Bits(amount) => ("bits", amount),
            Throughput::Elements(amount) => ("elements", amount),
        };
        Self { unit, amount }
    }
}

fn peak<'r>(recorded: impl Iterator<Item = &'r RecordedExecution>) -> Option<u64> {
    recorded.filter_map(|recorded| recorded.execution.resources.peak_memory).max()
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
