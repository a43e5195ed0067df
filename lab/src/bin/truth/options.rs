//! The command line of the study.

use std::path::PathBuf;

use clap::Parser;

/// Compares versions whose true difference is known, by `cargo rbench compare` with its defaults,
/// and counts the verdicts of every row.
#[derive(Debug, Parser)]
pub struct Options {
    /// The number of comparisons with a version that only has more unrelated code.
    #[arg(long, value_name = "N", default_value_t = 14)]
    pub unrelated: usize,
    /// The number with a version in which every benchmark has 5 % more work.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub five: usize,
    /// The number with a version in which every benchmark has 2 % more work.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub two: usize,
    /// The number with a version in which every benchmark has 1 % more work, with a smaller
    /// `--min-effect` and a `--budget`.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub one: usize,
    /// How many of the first comparisons with unrelated code are repeated by a fixed plan.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub fixed: usize,
    /// How many of those are repeated sequentially by the fixed plan.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub alone: usize,
    /// How many of the first comparisons with unrelated code criterion repeats; if any, also those
    /// of 5 % and 2 % more work.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub criterion: usize,
    /// Keep everything in this directory, and do not repeat measurements that it already has.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Only print the tables of the results in this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "keep")]
    pub from: Option<PathBuf>,
}
