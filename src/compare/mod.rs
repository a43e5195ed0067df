//! The main job: compares two versions, by new measurements or by stored results.
//!
//! [`compare`] finds the benchmarks on which the changes between two versions have an impact,
//! measures these stage by stage, and decides; [`compare_stored`] decides by stored results. Both
//! take plain values and return an [`Outcome`]; they never print.

mod accepted;
pub mod archive;
mod audit;
mod by_target;
mod compiled;
mod counts;
mod decide;
mod earlier;
mod event;
mod explained_time;
mod explanations;
mod functions;
mod measured;
mod outcome;
mod request;
mod selection;
mod session;
mod sizes;
mod stages;
mod stored;
mod warning;

pub use accepted::Acceptances;
pub use archive::Archive;
pub use by_target::compare_needed;
pub use compiled::{CompiledRequest, compare_compilations};
pub use counts::count_version;
pub use earlier::{KnownBroken, passed_over};
pub use event::{Event, Observer};
pub use explained_time::{ExplainedTime, explain_time};
pub use explanations::{ExplainedBenchmark, explain};
pub use functions::Functions;
pub use measured::{compare, compare_all};
pub use outcome::{Audited, ComparedExperiment, Outcome, UnlistedTarget};
pub use request::{Benchmarks, ExplainedRows, Request, with_release};
pub use selection::{Selection, common_benchmarks};
pub use session::Session;
pub use sizes::{NamedSizes, TargetSizes};
pub use stored::{StoredRequest, compare_experiment, compare_stored};
pub use warning::{ChangedWork, Warning};
