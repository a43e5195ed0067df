//! Lists and runs the benchmarks of an executable, with one module for each harness. It decides nothing about sample
//! sizes or verdicts.

mod allocations;
mod command;
mod command_line;
mod counted;
mod criterion;
mod custom;
mod detect;
mod divan;
mod executable;
mod facts;
mod filter;
mod implementation;
mod libtest;
mod native;
mod renamed;
mod setup;

use std::{fmt, time::Duration};

use self::executable::NOT_ALL;
pub use self::{
    allocations::count_allocations,
    command::Command,
    counted::{counting_request, iterations_needed},
    criterion::Criterion,
    custom::Custom,
    detect::{TargetFacts, detect},
    divan::Divan,
    executable::{Conditions, Executable, library_path, package_variables},
    facts::HarnessFacts,
    filter::{Filter, choose_one},
    implementation::select_implementations,
    libtest::Libtest,
    native::Native,
    renamed::Renamed,
};
use crate::{
    error::{Error, Exit, Result},
    model::{ExecutionRequest, HarnessKind, Metric, Name, Outcome, Series},
};

/// The measurements by clock readings, in order: the whole nanoseconds and the iterations of each, at least one.
fn series_of_readings(measured: &[(i64, u64)]) -> Series {
    let fewest = measured.iter().map(|(_, iterations)| *iterations).min().unwrap_or(1);
    Series {
        metric: Metric::wall(),
        values: measured.iter().map(|(time, count)| *time as f64 / *count as f64).collect(),
        iterations: measured.iter().map(|(_, iterations)| *iterations).collect(),
        resolution: (fewest as f64).recip(),
    }
}

/// Lists and runs the benchmarks of an executable.
///
/// An error concerns one executable or one benchmark, never the whole run. It has the reason, the end of the process's
/// output, and a command to reproduce it.
pub trait Harness: fmt::Debug + Send + Sync {
    fn kind(&self) -> HarnessKind;

    /// What distinguishes it from other harnesses.
    fn facts(&self) -> HarnessFacts {
        HarnessFacts::DEFAULT
    }

    /// The benchmarks of `executable`, in its order. A duplicate id is listed twice; executing it fails.
    fn list(&self, executable: &Executable, conditions: &Conditions<'_>) -> Result<Vec<Name>>;

    /// The same; from an executable that fails after it has listed some, these with its error.
    fn list_partly(
        &self,
        executable: &Executable,
        conditions: &Conditions<'_>,
    ) -> Result<(Vec<Name>, Option<Error>)> {
        Ok((self.list(executable, conditions)?, None))
    }

    /// The benchmarks of `executable` that are marked to be ignored, where they are not listed.
    fn ignored(&self, _: &Executable, _: &Conditions<'_>) -> Result<Vec<Name>> {
        Ok(Vec::new())
    }

    /// Runs `benchmark` once, in a separate process.
    ///
    /// If the benchmark's own settings override the request (see [`ExecutionRequest`]), that is no error: the execution
    /// has both the request and the actual values. Fewer measurements than the harness itself intended, and values that
    /// no clock can give, are errors.
    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        request: &ExecutionRequest,
        conditions: &Conditions<'_>,
    ) -> Result<Outcome>;

    /// Runs `benchmarks` one after the other in a single process, for those that share an expensive set-up; one result
    /// for each. They share one initial state, and each runs with the caches and heap that the previous one left:
    /// prefer [`execute`](Self::execute) where it is affordable.
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
            .hint("execute each in a separate process"))
    }

    /// Runs one iteration of each of `benchmarks`, one after the other in a single process, only to see what they read. The
    /// outcome has no measurements.
    fn observe_together(
        &self,
        _: &Executable,
        _: &[Name],
        _: &ExecutionRequest,
        _: &Conditions<'_>,
    ) -> Result<Outcome> {
        Ok(Outcome::Skipped(NOT_ALL.to_owned()))
    }

    /// Least time of the warm-up and measurements of one execution.
    fn least_time(&self, request: &ExecutionRequest) -> Duration {
        request.least_time()
    }

    /// The reason why an execution, interleaved or alone, cannot have this number of measurements; none if it can.
    fn measurement_limit(
        &self,
        _measurements: usize,
        _is_interleaved: bool,
    ) -> Option<&'static str> {
        None
    }

    /// The number of measurements that an execution has if this number is requested.
    fn measurements(&self, requested: u32) -> u32 {
        requested
    }

    /// The name by which the executable knows a benchmark.
    fn own_name(&self, name: &Name) -> Result<Name> {
        Ok(name.clone())
    }
}
