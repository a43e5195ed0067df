//! The observer of an experiment's progress.

use crate::{
    build,
    model::{Benchmark, Incident, Version},
    store,
};

/// Observes an experiment: its builds, its waiting for other processes, and its progress.
pub trait Observer: build::Observer + store::Observer {
    /// So many executions are done, of so many. Called before the first and after each, never during one.
    fn executed(&self, done: usize, of: usize);

    /// So many benchmarks of a version are traced, of so many. Called before the first and after each.
    fn traced(&self, version: &Version, done: usize, of: usize);

    /// Something happened in an execution of a benchmark that its numbers do not show.
    fn incident(&self, benchmark: &Benchmark, incident: &Incident);

    /// A benchmark's own harness cannot do all that is requested, as this explains.
    fn note(&self, note: &str);
}
