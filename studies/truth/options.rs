//! What was typed.

use std::path::PathBuf;

use clap::Parser;

/// Proves on this machine that the verdicts of `cargo rbench compare` are true: versions of which one
/// knows the truth are compared, and everything that was said is counted.
#[derive(Debug, Parser)]
pub struct Options {
    /// How many comparisons with a version that only has more unrelated code.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub layout: usize,
    /// How many comparisons with a version in which one function has 10 % more work.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub ten: usize,
    /// How many comparisons with a version in which one function has 5 % more work.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub five: usize,
    /// How many comparisons with a version in which every function has 5 % more work: the estimators'
    /// power is read from these too.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub every: usize,
    /// In how many of the first layout comparisons criterion is asked about all benchmarks too.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub criterion: usize,
    /// Do not ask criterion.
    #[arg(long)]
    pub skip_criterion: bool,
    /// Keep everything in this directory; what is there already is not measured again.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Only print the tables of what is kept in this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "keep")]
    pub from: Option<PathBuf>,
}
