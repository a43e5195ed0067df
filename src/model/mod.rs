//! The types that all parts share. Pure: no IO, no clock, no environment.

/// Gives each value of an enumeration its name on the command line, in configuration, in the store and in reports.
macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal,)* }) => {
        impl $type {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Parses a [name](Self::name); `None` for any other text.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use names;

mod acceptance;
mod benchmark;
mod command_line;
mod execution;
mod experiment;
mod experiment_kind;
mod format;
mod interleaving;
mod layout;
mod machine;
pub mod nanoseconds;
mod partition;
mod sandbox;
pub mod secret;
mod settings;
mod setup;
mod skip_reason;
mod target;
#[cfg(test)]
pub(crate) mod testing;
pub mod variables;
mod version;

pub use acceptance::{Acceptance, AcceptedChange, Idle, IdleAcceptance};
pub use benchmark::{Benchmark, ClockReadings, HarnessKind, Name, Throughput, relative_to};
pub use command_line::CommandLineReader;
pub use execution::{
    AtEnd, Execution, ExecutionRequest, Incident, Outcome, Resources, Series, Unmeasured,
    WITHOUT_ARGUMENTS,
};
pub use experiment::{ExperimentPlan, PlannedBenchmark, PlannedVersion, Slot, Stage};
pub use experiment_kind::{
    COUNTED_KEY, COUNTING_KEY, COUNTING_RULES, DiagnosisPart, DiagnosisSettings,
};
pub use format::{Format, is_plain_web_address};
pub use interleaving::{InterleavingUnavailable, MOST_PARALLEL, Mode, Schedule, Threads};
pub use layout::{Layout, LayoutSeed, Strategy, derive_seed, first_stage_seed};
pub use machine::{Disturbance, Finding, MANY_SWITCHES, Machine, Severity, findings_summary};
pub use partition::Partition;
pub use rbench_stats::{InterimAnalyses, KnownMetric, Metric, MetricSource, SampleSizes, Unit};
pub use sandbox::{OF_BASE, REFUSED, SandboxExceptions, SandboxOff, SandboxState};
pub use settings::{CompileSettings, settings_words};
pub use setup::{Setup, SetupRule, Setups};
pub use skip_reason::{Absence, AbsentBenchmark, RemovedBenchmark, SkipReason};
pub use target::{BenchTarget, FailedTarget, Member, Members, TargetFilter};
pub use version::{
    CommitRange, CommitTitle, DependencyChange, Implementation, Implementations, MOST_LISTED,
    OBJECT_ID, PlacedCommit, Variant, Version, VersionChanges, rfc3339_of_seconds,
};
