//! What was typed.

use std::path::PathBuf;

use clap::Parser;

/// Compares versions whose true difference is known, by `cargo rbench compare` with its defaults, and counts what
/// it says of every row.
#[derive(Debug, Parser)]
pub struct Options {
    /// How many comparisons with a version that only has more unrelated code.
    #[arg(long, value_name = "N", default_value_t = 14)]
    pub unrelated: usize,
    /// How many with a version in which every benchmark has 5 % more work.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub five: usize,
    /// How many with a version in which every benchmark has 2 % more work.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub two: usize,
    /// How many with a version in which every benchmark has 1 % more work, with a smaller `--min-effect` and a
    /// `--budget`.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub one: usize,
    /// How many of the first comparisons with unrelated code are done by a fixed plan, too.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub fixed: usize,
    /// How many of those are done by the fixed plan one execution after the other, too.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub alone: usize,
    /// How many of the first comparisons with unrelated code criterion does as well; with any, also those of 5 %
    /// and 2 % more work.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub criterion: usize,
    /// Keep everything in this directory; what is there already is not measured again.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Only print the tables of what is kept in this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "keep")]
    pub from: Option<PathBuf>,
}
