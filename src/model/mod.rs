//! The shared types: no IO, no clock, no environment.

mod acceptance;
mod benchmark;
mod counting;
mod diagnosis;
mod execution;
mod experiment;
mod layout;
mod looks;
mod machine;
mod metric;
pub mod nanoseconds;
mod partition;
mod sameness;
pub mod secret;
mod settings;
mod target;
#[cfg(test)]
pub(crate) mod testing;
mod turns;
mod version;

pub use acceptance::{Acceptance, AcceptedChange, Idle, IdleAcceptance};
pub use benchmark::{Benchmark, HarnessKind, Name, Throughput};
pub use counting::{COUNTED_KEY, COUNTING_KEY, COUNTING_RULES};
pub use diagnosis::{DiagnosisPart, DiagnosisSettings};
pub use execution::{Execution, ExecutionRequest, Incident, Resources, Series, Unmeasured};
pub use experiment::{Dimensions, ExperimentPlan, PlannedBenchmark, PlannedVersion, Slot, Stage};
pub use layout::{Layout, LayoutSeed, Strategy, derive_seed, first_stage_seed};
pub use looks::Looks;
pub use machine::Machine;
pub use metric::{Metric, Unit, UnknownMetric};
pub use partition::Partition;
pub use sameness::Sameness;
pub use settings::{CompileSettings, settings_words};
pub use target::{BenchTarget, TargetFilter};
pub use turns::{Interleave, MOST_LANES, Obstacle, Turns};
pub use version::{DependencyChange, Version};
