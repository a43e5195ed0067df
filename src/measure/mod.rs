//! Experiments: versions are compiled, listed and built with the same layouts, and their benchmarks
//! are measured interleaved, stage by stage. Every execution is stored before the next one starts,
//! so that an interrupted run can be resumed.

mod builds;
mod counting;
mod diagnosis;
mod failing;
mod guard;
mod impact;
mod interleaved;
mod interleaving_support;
mod listing;
mod missing_files;
mod outside;
mod packing;
mod plan;
mod preloaded;
mod probe;
mod profile;
mod program_use;
mod programs;
mod resume;
mod run;
mod runner;
mod sampling;
pub mod schedule;
mod selftest;
mod separate;
mod settings;
mod slices;
mod subject;
mod trace;
mod tune;
mod version;

pub use builds::Builds;
pub use counting::{COUNTED_LAYOUTS, Counter};
pub use diagnosis::{ControlRun, DiagnosedBenchmark, OrderEffectPair, Probe};
pub use impact::Impacts;
pub use listing::{ListedTarget, Listing};
pub use plan::Outline;
pub use probe::Trial;
pub use resume::StartedExperiment;
pub use run::{Extent, WentFirst};
pub use runner::{Observer, Runner};
pub use sampling::TimeProfiles;
pub use settings::ExperimentSettings;
pub use version::{ListedVersion, benchmarks_only_in};
