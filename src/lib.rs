//! Regression benchmarking across builds.
//!
//! A tool that measures one binary of a commit reports where the linker happened to put a function
//! as if the programmer had made it slower. rbench builds each version several times with different
//! code layouts, executes each build several times, and says *regressed* only when the intervals of
//! two versions fail to overlap, and do so again on fresh builds.
//!
//! Data moves one way: [`cli`] says what was typed, [`command`] holds one recipe per subcommand,
//! [`model`] has the words that all others share, [`stats`] and [`code`] are pure, and the modules at
//! the edges ([`source`], [`build`]) each own one part of the world.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "cargo-rbench runs on Linux only: it arranges the functions of ELF executables and measures \
     through interfaces of the Linux kernel"
);

pub mod build;
pub mod cli;
pub mod code;
pub mod command;
pub mod console;
pub mod demo;
pub mod experiment;
pub mod failure;
pub mod harness;
pub mod judge;
pub mod machine;
pub mod model;
pub mod process;
pub mod project;
pub mod report;
pub mod settings;
pub mod shell;
pub mod source;
pub mod stats;
pub mod store;
