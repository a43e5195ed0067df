//! The words of the product as types: no IO, no clock, no environment.

mod benchmark;
mod compile;
mod execution;
mod experiment;
mod layout;
mod machine;
mod metric;
mod settings;
mod target;
mod timeline;
mod version;

pub use benchmark::{Benchmark, HarnessKind, Name, Throughput};
pub use compile::CompileSettings;
pub use execution::{Execution, ExecutionRequest, Resources, Series};
pub use experiment::{BuildValues, Dimensions, ExperimentPlan, PlannedVersion, Stage, Turn};
pub use layout::{Layout, LayoutSeed, Strategy};
pub use machine::Machine;
pub use metric::{Metric, Unit};
pub use settings::settings_words;
pub use target::{BenchTarget, TargetFilter};
pub use timeline::{KnownCommit, Moment, Part, Relation, timeline};
pub use version::Version;
