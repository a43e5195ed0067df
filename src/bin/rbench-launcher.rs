//! Starts programs for rbench: see `src/process/launcher.rs`. It is a separate program because the
//! kernel starts a child's peak memory with what it copies of its parent. Started by the program
//! `cargo-rbench` in this role, `true` seemed to take 7.7 MB instead of 1.05 MB.

use std::process::ExitCode;

use cargo_rbench::process;

fn main() -> ExitCode {
    process::run_as_launcher()
}
