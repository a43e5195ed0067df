//! The main job: compares two versions, by measuring them or by what is stored.

mod accepted;
mod budget;
pub mod counts;
mod earlier;
mod event;
pub mod explanations;
mod functions;
mod outcome;
pub mod release;
mod selection;
mod stages;
pub mod suspicious_builds;
mod unbuildable;
mod warning;

pub use accepted::Acceptances;
pub use counts::Counts;
pub use earlier::Earlier;
pub use event::{Event, Observer};
pub use explanations::{ExplainedBenchmark, explain};
pub use functions::Functions;
pub use outcome::{ComparedExperiment, Outcome};
pub use selection::{Selection, benchmarks_only_in, common_benchmarks};
pub use stages::Stages;
pub use unbuildable::{Before, passed_over};
pub use warning::Warning;
