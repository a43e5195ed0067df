//! Harnesses list and run the benchmarks of an executable: one module per harness.

mod allocations;
mod command;
mod counted;
mod criterion;
mod detect;
mod divan;
mod executable;
mod filter;
mod libtest;
mod native;

use std::{fmt, time::Duration};

pub use self::{
    allocations::{AllocationCounter, allocations_request, count_allocations},
    command::Command,
    counted::{counting_request, iterations_needed},
    criterion::{Baseline, Criterion, Said, criterion_by_itself},
    detect::{TargetFacts, detect},
    divan::{Divan, has_threads},
    executable::{Conditions, Executable, library_path, package_variables},
    filter::Filter,
    libtest::Libtest,
    native::Native,
};
use crate::{
    error::{Error, Exit, Result},
    model::{Execution, ExecutionRequest, HarnessKind, Name},
};

/// Lists and runs the benchmarks of an executable.
///
/// A failure is that of one executable or one benchmark, never of the whole run. It has the reason,
/// the end of what the process printed, and the command to see it again.
pub trait Harness: fmt::Debug + Send + Sync {
    /// Which harness this is.
    fn kind(&self) -> HarnessKind;

    /// The benchmarks of `executable`, in its own order. An id that occurs twice is listed twice;
    /// executing it fails.
    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>>;

    /// Runs `benchmark`, once, in a process of its own.
    ///
    /// What the benchmark's own settings override (see [`ExecutionRequest`]) is no failure: the execution
    /// has both the request and what came of it. Fewer measurements than the harness itself meant to
    /// take, and values that no clock can give, are.
    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome>;

    /// Runs `benchmarks` one after the other in a single process, for those that share an expensive
    /// set-up; one result for each. They share one initial state, and what one leaves behind in
    /// caches and heap meets the next: prefer [`execute`](Self::execute) where it is affordable.
    fn execute_together(
        &self,
        executable: &Executable,
        benchmarks: &[Name],
        _: &ExecutionRequest,
        _: &Conditions<'_>,
    ) -> Result<Vec<Result<Outcome>>> {
        let count = benchmarks.len();
        let what = format!("cannot execute {count} benchmarks of {} together", executable.target);
        Err(Error::new(Exit::Usage, what)
            .cause(format!(
                "rbench supports that for criterion and rbench-harness, not for {}",
                self.kind()
            ))
            .hint("execute each in a process of its own"))
    }

    /// The time that the warm-up and measurements of one execution take at least.
    fn least_time(&self, request: &ExecutionRequest) -> Duration {
        request.least_time()
    }

    /// Why an execution, by turns with another one or alone, cannot have this number of measurements, if this harness
    /// never takes so many.
    fn measurement_limit(&self, _measurements: usize, _in_turns: bool) -> Option<&'static str> {
        None
    }

    /// What a user should know before benchmarks of this harness are executed as requested, with what
    /// to do about it: a sentence.
    fn note(&self, _request: &ExecutionRequest) -> Option<String> {
        None
    }
}

/// What came of an execution that did not fail.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are the large one")]
pub enum Outcome {
    /// The benchmark was measured.
    Measured(Execution),
    /// The benchmark cannot run here, for the reason that it gave: there is no GPU.
    Skipped(String),
}
