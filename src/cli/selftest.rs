//! The command line of `selftest`.

use clap::Args;

use super::{ExperimentArgs, GivenOptions, ReportArgs};
use crate::{config::values, model::Mode};

/// `cargo rbench selftest`.
#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// The options that were given, for suggested commands.
    #[arg(skip)]
    pub given: GivenOptions,
    /// The version to compare with itself: any git revision, or `.` for the uncommitted tree.
    #[arg(default_value = "HEAD", value_name = "REV")]
    pub revision: String,
    /// Number of comparisons, each with different layouts [default: as often as about 4 minutes
    /// of measuring allow, 20 times at most]
    #[arg(long, value_name = "R", value_parser = values::count, help_heading = "Experiment")]
    pub repeat: Option<u32>,
    /// Mode to test: interleaved or sequential [default: both, side by side]
    #[arg(long, value_name = "HOW", help_heading = "Experiment")]
    pub mode: Option<Mode>,
    /// Settings of the experiment.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// The format and the files of the report.
    #[command(flatten)]
    pub report: ReportArgs,
}
