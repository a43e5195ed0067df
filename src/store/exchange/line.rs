//! The lines, which are a public interface: structs of their own, and how they become model values.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{
    code::Digest,
    model::{
        Benchmark, Dimensions, Execution, ExecutionRequest, Layout, LayoutSeed, Machine, Metric,
        Name, Resources, Series, Stage, Throughput, Turn, Unit, Version,
    },
    store::experiment::{nanoseconds, time},
};

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    Header { format: String, schema_version: u32, rbench: String },
    Experiment(ExperimentLine),
    Build(BuildLine),
    Execution(Box<ExecutionLine>),
    Failure(FailureLine),
    Tuning(TuningLine),
    End { lines: usize },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentLine {
    pub(super) identity: String,
    pub(super) begun: i64,
    pub(super) finished: Option<i64>,
    pub(super) machine: Machine,
    pub(super) rbench: String,
    pub(super) settings: String,
    pub(super) settings_key: String,
    pub(super) dimensions: Dimensions,
    pub(super) seed: u64,
    pub(super) versions: Vec<VersionLine>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionLine {
    pub(super) version: Version,
    pub(super) toolchain: String,
    /// Why it could not be built.
    pub(super) failure: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BuildLine {
    /// The index of the version in the experiment.
    pub(super) version: usize,
    pub(super) package: String,
    pub(super) target: String,
    pub(super) seed: u32,
    pub(super) layout: Layout,
    pub(super) digest: Digest,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecutionLine {
    pub(super) benchmark: BenchmarkLine,
    pub(super) turn: TurnLine,
    asked: AskedLine,
    metrics: Vec<MetricLine>,
    throughput: Vec<ThroughputLine>,
    warm_up: Option<u64>,
    resources: ResourcesLine,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailureLine {
    pub(super) benchmark: BenchmarkLine,
    pub(super) turn: TurnLine,
    pub(super) reason: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TuningLine {
    pub(super) benchmark: BenchmarkLine,
    pub(super) machine: Machine,
    pub(super) iterations: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BenchmarkLine {
    package: String,
    target: String,
    id: String,
    group: Option<String>,
    function: Option<String>,
    parameter: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnLine {
    /// The index of the version in the experiment.
    version: usize,
    stage: Stage,
    round: u32,
    seed: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedLine {
    measurements: usize,
    warm_up: u64,
    floor: u64,
    iterations: Option<u64>,
    seed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricLine {
    name: String,
    unit: String,
    measurements: Vec<f64>,
    iterations: Vec<u64>,
}

/// How much one iteration processes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ThroughputLine {
    Bytes(u64),
    BytesDecimal(u64),
    Bits(u64),
    Elements(u64),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourcesLine {
    start: i64,
    wall: u64,
    user: u64,
    system: u64,
    peak_memory: Option<u64>,
    voluntary_switches: u64,
    involuntary_switches: u64,
    instructions: Option<u64>,
    cycles: Option<u64>,
}

/// A duration in nanoseconds, of at most 584 years.
fn duration(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A number as a layout seed, or why it is none.
pub(super) fn layout_seed(number: u32) -> Result<LayoutSeed, String> {
    LayoutSeed::new(number).ok_or_else(|| format!("{number} is no layout seed"))
}

impl From<&Benchmark> for BenchmarkLine {
    fn from(Benchmark { package, target, name }: &Benchmark) -> Self {
        let Name { id, group, function, parameter } = name.clone();
        Self { package: package.clone(), target: target.clone(), id, group, function, parameter }
    }
}

impl From<BenchmarkLine> for Benchmark {
    fn from(line: BenchmarkLine) -> Self {
        let BenchmarkLine { package, target, id, group, function, parameter } = line;
        Self { package, target, name: Name { id, group, function, parameter } }
    }
}

impl From<Turn> for TurnLine {
    fn from(Turn { version, stage, round, seed }: Turn) -> Self {
        Self { version, stage, round, seed: seed.get() }
    }
}

impl TryFrom<TurnLine> for Turn {
    type Error = String;

    fn try_from(TurnLine { version, stage, round, seed }: TurnLine) -> Result<Self, String> {
        Ok(Self { version, stage, round, seed: layout_seed(seed)? })
    }
}

impl ExecutionLine {
    pub(super) fn new(benchmark: &Benchmark, turn: Turn, execution: &Execution) -> Self {
        let Execution { asked, series, throughput, warm_up, resources } = execution;
        Self {
            benchmark: benchmark.into(),
            turn: turn.into(),
            asked: AskedLine {
                measurements: asked.measurements,
                warm_up: duration(asked.warm_up),
                floor: duration(asked.floor),
                iterations: asked.iterations,
                seed: asked.seed,
            },
            metrics: series.iter().map(MetricLine::new).collect(),
            throughput: throughput.iter().map(|throughput| (*throughput).into()).collect(),
            warm_up: warm_up.map(duration),
            resources: ResourcesLine::new(resources),
        }
    }

    /// The parts, or why they cannot be used.
    pub(super) fn parts(self) -> Result<(Benchmark, Turn, Execution), String> {
        let asked = self.asked;
        let execution = Execution {
            asked: ExecutionRequest {
                measurements: asked.measurements,
                warm_up: Duration::from_nanos(asked.warm_up),
                floor: Duration::from_nanos(asked.floor),
                iterations: asked.iterations,
                seed: asked.seed,
            },
            series: self.metrics.into_iter().map(MetricLine::series).collect::<Result<_, _>>()?,
            throughput: self.throughput.into_iter().map(Into::into).collect(),
            warm_up: self.warm_up.map(Duration::from_nanos),
            resources: self.resources.resources(),
        };
        Ok((self.benchmark.into(), self.turn.try_into()?, execution))
    }
}

impl MetricLine {
    fn new(Series { metric, values, iterations }: &Series) -> Self {
        let (name, unit) = (metric.name.clone(), metric.unit.symbol().to_owned());
        Self { name, unit, measurements: values.clone(), iterations: iterations.clone() }
    }

    fn series(self) -> Result<Series, String> {
        let unit = Unit::from_symbol(&self.unit)
            .ok_or_else(|| format!("there is no unit `{}`", self.unit))?;
        let metric = Metric { name: self.name, unit };
        Ok(Series { metric, values: self.measurements, iterations: self.iterations })
    }
}

impl From<Throughput> for ThroughputLine {
    fn from(throughput: Throughput) -> Self {
        match throughput {
            Throughput::Bytes(amount) => Self::Bytes(amount),
            Throughput::BytesDecimal(amount) => Self::BytesDecimal(amount),
            Throughput::Bits(amount) => Self::Bits(amount),
            Throughput::Elements(amount) => Self::Elements(amount),
        }
    }
}

impl From<ThroughputLine> for Throughput {
    fn from(line: ThroughputLine) -> Self {
        match line {
            ThroughputLine::Bytes(amount) => Self::Bytes(amount),
            ThroughputLine::BytesDecimal(amount) => Self::BytesDecimal(amount),
            ThroughputLine::Bits(amount) => Self::Bits(amount),
            ThroughputLine::Elements(amount) => Self::Elements(amount),
        }
    }
}

impl ResourcesLine {
    fn new(resources: &Resources) -> Self {
        Self {
            start: nanoseconds(resources.start),
            wall: duration(resources.wall),
            user: duration(resources.user),
            system: duration(resources.system),
            peak_memory: resources.peak_memory,
            voluntary_switches: resources.voluntary_switches,
            involuntary_switches: resources.involuntary_switches,
            instructions: resources.instructions,
            cycles: resources.cycles,
        }
    }

    fn resources(self) -> Resources {
        let start: SystemTime = time(self.start);
        Resources {
            start,
            wall: Duration::from_nanos(self.wall),
            user: Duration::from_nanos(self.user),
            system: Duration::from_nanos(self.system),
            peak_memory: self.peak_memory,
            voluntary_switches: self.voluntary_switches,
            involuntary_switches: self.involuntary_switches,
            instructions: self.instructions,
            cycles: self.cycles,
        }
    }
}
