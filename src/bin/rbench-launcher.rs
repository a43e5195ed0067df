//! Starts programs for rbench: see `src/process/launcher.rs`. It is a separate program because the
//! kernel starts a child's peak memory with that of its parent.

use std::process::ExitCode;

use cargo_rbench::process;

fn main() -> ExitCode {
    process::run_as_launcher()
}
