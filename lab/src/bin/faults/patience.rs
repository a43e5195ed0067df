//! How long programs may take on this machine.

use std::{sync::LazyLock, time::Duration};

/// How many times slower than a usual machine this one is: the variable `FAULTS_SLOWER`, or 1. An emulated machine needs
/// ten times as long to start a thread, and benchmarks with faults start thousands.
static SLOWER: LazyLock<u32> = LazyLock::new(|| {
    let slower = std::env::var("FAULTS_SLOWER").ok();
    slower.and_then(|number| number.parse().ok()).unwrap_or(1)
});

/// This time on a usual machine.
pub fn usual(time: Duration) -> Duration {
    time * *SLOWER
}
