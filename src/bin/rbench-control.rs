//! A benchmark that is known to be steady: integer arithmetic in registers. `diagnose` measures it beside others, to
//! tell their peculiarities from those of the machine.

use std::hint::black_box;

use rbench_harness::{Suite, main};

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

fn control(suite: &mut Suite<'_>) {
    suite.bench("control", |bencher| bencher.iter(|| steps(black_box(1))));
}

main!(control);
