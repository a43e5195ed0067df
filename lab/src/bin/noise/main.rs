//! The table of docs/research/noise.md, "Three tools": makes noise on this machine at named levels, and compares what three
//! tools call changed meanwhile.
//!
//! `cargo run --release -p lab --bin noise study` is that study: level × tool, with a commit that adds
//! a function which nothing calls, and one that gives two of ten functions 5 % more work. `--quick` is one such round of
//! rbench at the level of hosted runners; `.ci/run` ends with it. `noise make LEVEL` only makes the noise, until it is
//! interrupted: at the priority that it has, so begin it with `chrt --fifo 1`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

mod level;
mod make;
mod study;
mod tools;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use level::Level;

#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes the noise of a level until it is interrupted
    Make {
        /// The level
        level: Level,
    },
    /// Compares versions by several tools at several levels
    Study(StudyOptions),
}

/// The extent of a study.
#[derive(clap::Args)]
struct StudyOptions {
    /// The levels, one after the other in each round
    #[arg(long, value_delimiter = ',', default_value = "quiet,ordinary,hosted,bad,throttled")]
    levels: Vec<Level>,
    /// Comparisons of each pair of versions by each tool at each level
    #[arg(long, default_value_t = 10)]
    rounds: u32,
    /// Only rbench
    #[arg(long)]
    only_rbench: bool,
    /// One round of rbench at the level hosted, with the benchmarks of a harness that compiles fast
    #[arg(long)]
    quick: bool,
    /// Keeps the measurements and reports in this directory
    #[arg(long)]
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    lab::end(match Options::parse().command {
        Command::Make { level } => make::forever(level).map(|()| true),
        Command::Study(options) => study::run(&options),
    })
}
