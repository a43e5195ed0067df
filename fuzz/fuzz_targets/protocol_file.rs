//! The answer of a bench target of rbench-harness.
#![no_main]
#![allow(dead_code, reason = "files of the program, of which this uses a part")]

#[path = "../../src/model/benchmark.rs"]
mod benchmark;
#[path = "../../src/harness/native/protocol.rs"]
mod protocol;

/// Of the model, what the reader gives.
mod model {
    pub use crate::benchmark::*;
}

use protocol::{Outcome, parse};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(answer) = parse(bytes) else { return };
    // Everything that is kept was there, however much the file claims.
    let ids: usize = answer.records.iter().map(|record| record.id.len()).sum();
    let times = answer.records.iter().map(|record| match &record.outcome {
        Outcome::Measured(measured) => measured.times.len(),
        _ => 0,
    });
    assert!(ids + times.sum::<usize>() <= bytes.len());
});
