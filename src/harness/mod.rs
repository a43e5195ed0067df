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

use std::fmt;

pub use self::{
    command::Command,
    criterion::Criterion,
    detect::{BenchTarget, detect},
    divan::Divan,
    executable::{Conditions, Executable},
    filter::Filter,
    libtest::Libtest,
    native::Native,
    variables::{library_path, package_variables},
};
use crate::{
    failure::Result,
    model::{Asked, Execution, HarnessKind, Name},
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
    /// What the benchmark's own settings override (see [`Asked`]) is no failure: the execution says
    /// what was asked and what came. Fewer measurements than the harness itself meant to take, and
    /// values that no clock can give, are.
    fn execute(
        &self,
        executable: &Executable,
        benchmark: &Name,
        asked: &Asked,
        conditions: &Conditions<'_>,
    ) -> Result<Execution>;
}
