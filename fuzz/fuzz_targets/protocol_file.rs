//! The answer of a bench target of rbench-harness.
#![no_main]
#![allow(dead_code, reason = "modules of the program, of which a target uses a part")]

#[path = "../../src/model/mod.rs"]
mod model;
#[path = "../../src/harness/native/protocol.rs"]
mod protocol;

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
