//! The types that all parts share. Pure: no IO, no clock, no environment.

mod acceptance;
mod benchmark;
mod counting;
mod diagnosis;
mod execution;
mod experiment;
mod finding;
mod format;
mod implementation;
mod interleaving;
mod layout;
mod machine;
mod metric;
pub mod nanoseconds;
mod partition;
mod queue;
pub mod secret;
mod settings;
mod setup;
mod skip_reason;
mod target;
#[cfg(test)]
pub(crate) mod testing;
mod version;
mod web_address;

pub use acceptance::{Acceptance, AcceptedChange, Idle, IdleAcceptance};
pub use benchmark::{Benchmark, ClockReadings, HarnessKind, Name, Throughput};
pub use counting::{COUNTED_KEY, COUNTING_KEY, COUNTING_RULES};
pub use diagnosis::{DiagnosisPart, DiagnosisSettings};
pub use execution::{
    AtEnd, Execution, ExecutionRequest, Incident, Outcome, Resources, Series, Unmeasured,
};
pub use experiment::{
    ExperimentPlan, InterimAnalyses, PlannedBenchmark, PlannedVersion, SampleSizes, Slot, Stage,
};
pub use finding::{Finding, Severity, findings_summary};
pub use format::Format;
pub use implementation::{Implementation, Implementations};
pub use interleaving::{
    InterleavingUnavailable, MOST_PARALLEL, Mode, SLOWER_THAN_ALONE, Schedule, Threads,
};
pub use layout::{Layout, LayoutSeed, Strategy, derive_seed, first_stage_seed};
pub use machine::{Disturbance, MANY_SWITCHES, Machine};
pub use metric::{Metric, Unit, UnknownMetric};
pub use partition::Partition;
pub use queue::{Job, JobState, Priority, Worker, short_versions};
pub use settings::{CompileSettings, settings_words};
pub use setup::{Setup, SetupRule, Setups};
pub use skip_reason::{Absence, AbsentBenchmark, RemovedBenchmark, SkipReason};
pub use target::{BenchTarget, FailedTarget, Member, Members, TargetFilter};
pub use version::{
    CommitRange, CommitTitle, DependencyChange, MOST_LISTED, OBJECT_ID, PlacedCommit, Variant,
    Version, VersionChanges, rfc3339_of_seconds,
};
pub use web_address::is_plain_web_address;
