//! The command line of `find`.

use std::time::Duration;

use clap::Args;

use super::{CriteriaOptions, ExperimentArgs, GivenOptions, ReportArgs, values};
use crate::model::Interleave;

/// `cargo rbench find`.
#[derive(Debug, Args)]
pub struct FindArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The commits to search: A..B, those of B's own line of first parents that A does not have; `A..` ends at HEAD.
    #[arg(value_name = "A..B")]
    pub range: String,
    /// Only benchmarks whose id matches one of these regular expressions, as with --filter [default: all that changed
    /// between A and B]
    #[arg(value_name = "BENCH")]
    positional: Vec<String>,
    /// Begin no further comparison after measuring for this long, and tell how far the search came; the same command
    /// then goes on. Compiling is not counted.
    #[arg(long, value_name = "TIME", value_parser = values::deadline, help_heading = "Experiment")]
    pub budget: Option<Duration>,
    /// How the executions of both versions are interleaved [default: turns]
    #[arg(long, value_name = "HOW", help_heading = "Experiment")]
    pub interleave: Option<Interleave>,
    /// What is measured, and how.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// How benchmarks are judged.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// How results are printed.
    #[command(flatten)]
    pub report: ReportArgs,
}

impl FindArgs {
    /// All filters.
    pub fn patterns(&self) -> Vec<String> {
        self.positional.iter().chain(&self.experiment.patterns).cloned().collect()
    }
}
