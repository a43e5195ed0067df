//! What code of commits may do besides what the sandbox allows all code.

use std::path::PathBuf;

/// The beginning of a line that says what the sandbox refused, and what to do.
pub const REFUSED: &str = "the sandbox refused to";

/// `[sandbox]` of bench.toml: what the benchmarks of a project need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxExceptions {
    /// Files and directories that they may read.
    pub read: Vec<PathBuf>,
    /// Files and directories that they may read and write.
    pub write: Vec<PathBuf>,
    /// True if they may use Unix sockets: agents of ssh and gpg, and services of the machine, answer there.
    pub unix_sockets: bool,
}
