//! Starts programs for rbench, which finds it beside itself: see `src/process/launcher.rs`. It is a
//! program of its own because what a child is charged with begins with the memory of its maker.

use std::process::ExitCode;

use cargo_rbench::process;

fn main() -> ExitCode {
    process::run_as_launcher()
}
