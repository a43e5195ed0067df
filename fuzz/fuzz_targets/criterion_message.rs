//! A message of Criterion.rs.
#![no_main]
#![allow(dead_code, reason = "modules of the program, of which a target uses a part")]

#[path = "../../src/harness/criterion/message.rs"]
mod message;
#[path = "../../src/model/mod.rs"]
mod model;

use message::{Message, decode};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = decode(bytes) else { return };
    // Everything that is kept was there, however much the message claims.
    if let Message::Complete(complete) = message {
        assert!(complete.iterations.len() + complete.values.len() <= bytes.len());
    }
});
