//! A benchmark that is known to be steady: integer arithmetic in registers. `diagnose` measures it beside others, to
//! tell their peculiarities from those of the machine. This program itself is its executable.

use std::{hint::black_box, process::ExitCode};

use rbench_harness::{Suite, run};

/// The beginning of the first argument that selects the benchmark: that of a harness's request to measure. No command
/// line of a user begins with it.
pub const CONTROL_ARGUMENT: &str = "--rbench-";

/// Main function of the benchmark `control`: rbench-harness reads the arguments.
pub fn run_as_control() -> ExitCode {
    run(|suite: &mut Suite<'_>| {
        suite.bench("control", |bencher| bencher.iter(|| steps(black_box(1))));
    })
}

/// Each step needs the one before, and none needs memory.
fn steps(seed: u64) -> u64 {
    let mut state = seed;
    for _ in 0..1000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}
