//! What rbench tells its programs in between about the sandbox.

use std::{io, path::PathBuf, process::Command};

use serde::{Deserialize, Serialize};

/// The name by which this program is started to run another one in the sandbox.
pub const SANDBOX: &str = "cargo-rbench-sandbox";

/// Passes a [`Confinement`] to the program that starts the code of a commit.
pub(super) const VARIABLE: &str = "RBENCH_CONFINEMENT";

/// The way to process ids and a `/proc` of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Namespaces {
    None,
    Privileged,
    /// In a user namespace, which the kernel gives without privileges.
    Unprivileged,
}

/// What the program in between has to do before it starts the code of a commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Confinement {
    pub(super) namespaces: Namespaces,
    /// True if it may read about its own process alone, and not about others.
    pub(super) own_processes: bool,
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    pub(super) unix_sockets: bool,
    pub(super) temporary: PathBuf,
}

impl Confinement {
    /// Tells the program of `command`. Fails if a path cannot be told: without the variable, the code would not be
    /// confined.
    pub(super) fn pass(&self, command: &mut Command) -> io::Result<()> {
        command.env(VARIABLE, serde_json::to_string(self)?);
        Ok(())
    }
}
