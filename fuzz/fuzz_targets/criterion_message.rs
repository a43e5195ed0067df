//! A message of Criterion.rs.
#![no_main]
#![allow(dead_code, reason = "files of the program, of which this uses a part")]

#[path = "../../src/model/benchmark.rs"]
mod benchmark;
#[path = "../../src/harness/criterion/message.rs"]
mod message;

/// Of the model, what the reader gives.
mod model {
    pub use crate::benchmark::*;
}

use message::{Message, decode};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = decode(bytes) else { return };
    // Everything that is kept was there, however much the message claims.
    if let Message::Complete(complete) = message {
        assert!(complete.iterations.len() + complete.values.len() <= bytes.len());
    }
});
