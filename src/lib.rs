//! Regression benchmarking across builds.
//!
//! A tool that measures one binary per commit cannot distinguish a slower function from an unlucky
//! address. rbench builds each version several times with different code layouts, executes each
//! build several times, and reports a regression only if a test that treats layouts as random finds
//! a difference, and finds it again on fresh builds.
//!
//! Data flows one way: [`cli`] parses the command line, [`command`] has one file per subcommand, and
//! most of these run [`mod@compare`]. [`model`] has the shared types. The crates `rbench-stats` and
//! `rbench-code` are pure: no files, no clock, no processes. Modules such as [`git`] and [`builds`] each
//! handle one part of the outside world.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "cargo-rbench runs on Linux only: it arranges the functions of ELF executables and measures \
     through interfaces of the Linux kernel"
);

pub mod builds;
pub mod ci;
pub mod cli;
pub mod command;
pub mod compare;
pub mod config;
pub mod console;
pub mod demo;
pub mod error;
pub mod escape;
pub mod forge;
pub mod git;
pub mod harness;
pub mod log;
pub mod machine;
pub mod measure;
pub mod model;
pub mod pack;
pub mod process;
pub mod project;
pub mod report;
pub mod secrets;
pub mod shared;
pub mod shell;
pub mod store;
pub mod verdict;
