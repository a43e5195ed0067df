//! End-to-end tests: real crates, built with the real Cargo and run.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, in its helpers too"
)]

mod fixture;
mod harness;
