//! The command line of `bisect`.

use std::time::Duration;

use clap::Args;

use super::{ExperimentArgs, GivenOptions, ReportArgs};
use crate::{
    config::{CriteriaOptions, values},
    model::Mode,
};

/// `cargo rbench bisect`.
#[derive(Debug, Default, Args)]
pub struct BisectArgs {
    /// The options that were given, for suggested commands.
    #[arg(skip)]
    pub given: GivenOptions,
    /// The commits to search: A..B, the first-parent line of B without the commits of A; `A..` ends at HEAD.
    #[arg(value_name = "A..B")]
    pub range: String,
    /// Only benchmarks whose id matches one of these regular expressions, like --filter [default: all that changed
    /// between A and B]
    #[arg(value_name = "BENCH")]
    positional: Vec<String>,
    /// Start no further comparison after measuring for this long, and report the progress; the same command then
    /// continues the search. Compiling does not count.
    #[arg(long, value_name = "TIME", value_parser = values::deadline, help_heading = "Experiment")]
    pub budget: Option<Duration>,
    /// Mode of both versions: interleaved on one CPU, or sequential [default: interleaved]
    #[arg(long, value_name = "HOW", help_heading = "Experiment")]
    pub mode: Option<Mode>,
    /// Settings of the experiment.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// The criteria of verdicts.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// The format and the files of the report.
    #[command(flatten)]
    pub report: ReportArgs,
}

impl BisectArgs {
    /// The filters with and without `--filter`.
    pub fn patterns(&self) -> Vec<String> {
        self.positional.iter().chain(&self.experiment.patterns).cloned().collect()
    }
}
