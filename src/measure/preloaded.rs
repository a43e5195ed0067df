//! The library that is preloaded into the processes of benchmarks: two of them are interleaved by it, and of one alone it
//! knows the time without interruptions and the readings of the clock.

use std::path::PathBuf;

use crate::{
    error::Result,
    harness::{Conditions, Executable},
    process::interleaving::InterleavedProcess,
};

pub(super) struct PreloadedLibrary {
    pub(super) path: PathBuf,
    /// The CPUs on which executions may run.
    pub(super) cpus: Vec<usize>,
}

/// Executes alone under these conditions. With the library, the time excludes interruptions, and the readings of the clock
/// are known.
pub(super) fn alone<T>(
    library: Option<&PreloadedLibrary>,
    executable: &Executable,
    conditions: &Conditions<'_>,
    execute: impl FnOnce(&Conditions<'_>) -> Result<T>,
) -> Result<T> {
    let Some(library) = library else { return execute(conditions) };
    let member = InterleavedProcess::alone(&library.path, &library.cpus, &executable.directory)?;
    execute(&Conditions { member: Some(&member), ..*conditions })
}
