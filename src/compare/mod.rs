//! The main job: compares two versions, by measuring them or by what is stored.

mod accepted;
pub mod archive;
mod budget;
pub mod counts;
mod earlier;
mod event;
pub mod explanations;
mod functions;
mod measured;
mod outcome;
pub mod release;
mod request;
mod selection;
mod session;
mod stages;
mod stored;
pub mod suspicious_builds;
mod unbuildable;
mod warning;

pub use accepted::Acceptances;
pub use counts::Counts;
pub use earlier::Earlier;
pub use event::{Event, Observer};
pub use explanations::{ExplainedBenchmark, explain};
pub use functions::Functions;
pub use measured::compare;
pub use outcome::{ComparedExperiment, Outcome};
pub use request::{Benchmarks, Request};
pub use selection::{Selection, benchmarks_only_in, common_benchmarks};
pub use session::Session;
pub use stages::Stages;
pub use stored::{Archive, StoredRequest, compare_stored};
pub use unbuildable::{Before, passed_over};
pub use warning::Warning;
