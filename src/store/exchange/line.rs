//! The lines of an export, a public interface. Values of the model use the names that the model gives them.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{
    model::{
        AbsentBenchmark, Benchmark, Execution, ExperimentPlan, Machine, PlannedBenchmark,
        PlannedVersion, SampleSizes, SkipReason, Slot, Version, nanoseconds,
    },
    store::{RecordedBuild, StoredExperiment, tuning::Tuning},
};

/// The most iterations per nanosecond of minimum time: each takes at least a tenth of a nanosecond, and measurements
/// longer than four times the minimum time are tuned again.
const MOST_PER_NANOSECOND: u64 = 40;

/// The most iterations that the resolution of the clock alone can require.
const MOST_WITHOUT_FLOOR: u64 = 1000;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    Header {
        format: String,
        schema_version: u32,
        rbench: String,
    },
    Experiment(Box<ExperimentLine>),
    Build(RecordedBuild),
    Unmeasured {
        benchmark: Benchmark,
        verdict: SkipReason,
    },
    Absent(AbsentBenchmark),
    Execution(Box<ExecutionLine>),
    Error {
        benchmark: Benchmark,
        slot: Slot,
        reason: String,
    },
    Skip {
        benchmark: Benchmark,
        slot: Slot,
        reason: String,
    },
    Tuning(TuningLine),
    End {
        lines: usize,
        /// The CRC-32 of all bytes before this line, in hex. Other programs may leave it out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checksum: Option<String>,
    },
}

/// A checksum as the end line has it.
pub(super) fn shown(checksum: &crc32fast::Hasher) -> String {
    format!("{:08x}", checksum.clone().finalize())
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentLine {
    pub(super) identity: String,
    started_ns: i64,
    finished_ns: Option<i64>,
    machine: Machine,
    rbench: String,
    settings: String,
    settings_key: String,
    sample_sizes: SampleSizes,
    seed: u64,
    versions: Vec<VersionLine>,
    benchmarks: Vec<PlannedBenchmark>,
    environment: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionLine {
    version: Version,
    toolchain: String,
    /// The error message, if it could not be built.
    failure: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExecutionLine {
    pub(super) benchmark: Benchmark,
    pub(super) slot: Slot,
    #[serde(flatten)]
    pub(super) execution: Execution,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TuningLine {
    benchmark: Benchmark,
    machine: Machine,
    min_time_ns: u64,
    iterations: u64,
}

/// An experiment from another store.
pub(super) struct ImportedExperiment {
    pub(super) identity: String,
    pub(super) plan: ExperimentPlan,
    /// For each version of the plan, the error message if it could not be built.
    pub(super) unbuildable: Vec<Option<String>>,
    pub(super) started: SystemTime,
    pub(super) finished: Option<SystemTime>,
    pub(super) environment: Option<String>,
}

impl From<StoredExperiment> for ExperimentLine {
    fn from(stored: StoredExperiment) -> Self {
        let StoredExperiment { plan, unbuildable, .. } = stored;
        let versions = plan.versions.into_iter().zip(unbuildable);
        let version = |(PlannedVersion { version, toolchain }, failure)| VersionLine {
            version,
            toolchain,
            failure,
        };
        Self {
            identity: stored.identity,
            started_ns: nanoseconds::from_time(stored.begun),
            finished_ns: stored.finished.map(nanoseconds::from_time),
            machine: (*plan.machine).clone(),
            rbench: plan.rbench,
            settings: plan.settings.to_string(),
            settings_key: plan.settings_key.to_string(),
            sample_sizes: plan.sample_sizes,
            seed: plan.seed,
            versions: versions.map(version).collect(),
            benchmarks: plan.benchmarks,
            environment: stored.machine_state,
        }
    }
}

impl From<ExperimentLine> for ImportedExperiment {
    fn from(line: ExperimentLine) -> Self {
        let version = |VersionLine { version, toolchain, failure }| {
            (PlannedVersion { version, toolchain }, failure)
        };
        let (versions, unbuildable) = line.versions.into_iter().map(version).unzip();
        Self {
            identity: line.identity,
            plan: ExperimentPlan {
                versions,
                benchmarks: line.benchmarks,
                machine: line.machine.into(),
                rbench: line.rbench,
                settings: line.settings.into(),
                settings_key: line.settings_key.into(),
                sample_sizes: line.sample_sizes,
                seed: line.seed,
            },
            unbuildable,
            started: nanoseconds::system_time(line.started_ns),
            finished: line.finished_ns.map(nanoseconds::system_time),
            environment: line.environment,
        }
    }
}

impl From<Tuning> for TuningLine {
    fn from(Tuning { benchmark, machine, floor, iterations }: Tuning) -> Self {
        Self { benchmark, machine, min_time_ns: nanoseconds::from_duration(floor), iterations }
    }
}

impl TuningLine {
    /// The tuning of this line; `None` if these iterations would last far longer than the minimum time requires,
    /// because a benchmark that used them would not end.
    pub(super) fn tuning(self) -> Option<Tuning> {
        let Self { benchmark, machine, min_time_ns, iterations } = self;
        let most = min_time_ns.saturating_mul(MOST_PER_NANOSECOND).max(MOST_WITHOUT_FLOOR);
        let floor = Duration::from_nanos(min_time_ns);
        (iterations <= most).then_some(Tuning { benchmark, machine, floor, iterations })
    }
}
