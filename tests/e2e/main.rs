//! End-to-end tests: the real program, the real cargo, real repositories.
//!
//! Each test copies a fixture into a new repository and runs commands in an environment without the
//! settings of the user who runs the tests.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy takes only functions with #[test] for tests, not what they call"
)]

mod accept;
mod allocations;
mod audit;
mod bad_input;
mod bad_results;
mod bisect;
mod cache;
mod ci;
mod command_line;
mod compare;
mod compare_report;
mod conditions;
mod counts;
mod demo;
mod diagnose;
mod diff;
mod directions;
mod distinct;
mod docs;
mod exec;
mod explain;
mod first_use;
mod harness;
mod held;
mod history;
mod honoured;
mod identical;
mod impact;
mod interim_analyses;
mod interleaved;
mod killed;
mod linker;
mod list;
mod log;
mod once;
mod own_git;
mod packs;
mod paths;
mod programs;
mod ratchet;
mod real_size;
mod reproducibility;
mod right_code;
mod run;
mod run_time;
mod same_address;
mod sandbox;
mod secrets;
mod selftest;
mod setup;
mod shared;
mod size;
mod support;
mod tidy;
mod trace;
mod unaffected;
mod variants;
mod versus;
mod watch;
