//! The command line of `accept`.

use clap::Args;

use super::{CriteriaOptions, GivenOptions, StoredTargetArgs, values};

/// `cargo rbench accept`.
#[derive(Debug, Args)]
pub struct AcceptArgs {
    /// The options that were given, for suggested commands.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The commit that made the benchmark slower: the head of a stored comparison.
    #[arg(value_name = "REV")]
    pub revision: String,
    /// The id of the benchmark, as reports show it.
    #[arg(value_name = "BENCH")]
    pub benchmark: String,
    /// The reason for accepting the slowdown, in a few words; reports repeat it.
    #[arg(long, value_name = "TEXT", value_parser = values::reason)]
    pub reason: String,
    /// The largest change to accept, for example 8% [default: the upper end of the measured interval]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub ceiling: Option<f64>,
    /// The criteria of verdicts.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// The bench targets to use.
    #[command(flatten)]
    pub target: StoredTargetArgs,
}
