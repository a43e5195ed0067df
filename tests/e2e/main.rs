//! End-to-end tests: the real program, the real cargo, real repositories.
//!
//! Each test copies a fixture into a repository of its own and gives commands in an environment that
//! holds nothing of whoever runs it.

mod bad_input;
mod cache;
mod diff;
mod distinct;
mod exec;
mod harness;
mod honoured;
mod identical;
mod killed;
mod linker;
mod list;
mod matched;
mod paths;
mod reproducibility;
mod right_code;
mod support;
mod untouched;
