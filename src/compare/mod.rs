//! The main job: compares two versions, by new measurements or by stored results.
//!
//! [`compare`] finds the benchmarks on which the changes between two versions have an impact,
//! measures these stage by stage, and decides; [`compare_stored`] decides by stored results. Both
//! take plain values and return an [`Outcome`]; they never print.

mod accepted;
pub mod archive;
mod budget;
mod compile_times;
mod compiled;
mod counts;
mod decide;
mod earlier;
mod event;
mod explanations;
mod functions;
mod measured;
mod outcome;
mod release;
mod request;
mod selection;
mod session;
mod sizes;
mod stages;
mod stored;
mod suspicious_builds;
mod unbuildable;
mod warning;

pub use accepted::Acceptances;
pub use compiled::{CompilationsRequest, compare_compilations};
pub use counts::count_version;
pub use event::{Event, Observer};
pub use explanations::{ExplainedBenchmark, explain};
pub use functions::Functions;
pub use measured::{compare, compare_all};
pub use outcome::{ComparedExperiment, Outcome};
pub use release::AlsoAgainst;
pub use request::{Benchmarks, Request};
pub use selection::{Selection, common_benchmarks};
pub use session::Session;
pub use sizes::{NamedSizes, TargetSizes};
pub use stored::{Archive, StoredRequest, compare_experiment, compare_stored};
pub use unbuildable::{KnownBroken, passed_over};
pub use warning::{ChangedWork, Warning};
