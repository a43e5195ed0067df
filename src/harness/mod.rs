//! What knows how to list and run the benchmarks of an executable: one file per harness.

mod command;
mod criterion;
mod detect;
mod divan;
mod executable;
mod filter;
mod libtest;
mod native;
mod text;
mod variables;

use std::{fmt, time::Duration};

pub use self::{
    command::Command,
    criterion::Criterion,
    detect::{TargetFacts, detect},
    divan::Divan,
    executable::{Conditions, Executable},
    filter::Filter,
    libtest::Libtest,
    native::Native,
    variables::{library_path, package_variables},
};
use crate::{
    failure::{Exit, Failure, Result},
    model::{Execution, ExecutionRequest, HarnessKind, Name},
};

/// Lists and runs the benchmarks of an executable.
///
/// A failure is that of one executable or one benchmark, never of the whole run. It says the
/// reason, the end of what the process printed, and the command to see it again.
pub trait Harness: fmt::Debug + Send + Sync {
    /// Which harness this is.
    fn kind(&self) -> HarnessKind;

    /// The benchmarks of `executable`, in its own order. An id that occurs twice is listed twice;
    /// executing it fails.
    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>>;

    /// Runs `benchmark`, once, in a process of its own.
    ///
    /// What the benchmark's own settings override (see [`ExecutionRequest`]) is no failure: the execution says
    /// what was asked and what came. Fewer measurements than the harness itself meant to take, and
    /// values that no clock can give, are.
    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        asked: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Execution>;

    /// Runs `benchmarks` one after the other in a single process, for those that share an expensive
    /// set-up; one result for each. They share one initial state, and what one leaves behind in
    /// caches and heap meets the next: prefer [`execute`](Self::execute) where it is affordable.
    fn execute_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        _: &ExecutionRequest,
        _: &Conditions<'_>,
    ) -> Result<Vec<Result<Execution>>> {
        let count = benchmarks.len();
        let what = format!("cannot execute {count} benchmarks of {} together", executable.target);
        Err(Failure::new(Exit::Usage, what)
            .because(format!("rbench does that for native and criterion, not for {}", self.kind()))
            .hint("execute each in a process of its own"))
    }

    /// The time that the warm-up and measurements of one execution take at least.
    fn least_time(&self, asked: &ExecutionRequest) -> Duration {
        asked.least_time()
    }

    /// Why an execution cannot have `measurements`, if this harness never gives that many.
    fn objection(&self, _measurements: usize) -> Option<&'static str> {
        None
    }
}
