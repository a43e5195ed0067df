//! The command line of `selftest`.

use clap::{Args, ValueEnum};

use super::{ExperimentArgs, GivenOptions, ReportArgs, values};
use crate::model::Mode;

/// `cargo rbench selftest`.
#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The version that is compared with itself: anything git understands, or `.` for the uncommitted tree.
    #[arg(default_value = "HEAD", value_name = "REV")]
    pub revision: String,
    /// How often everything is compared, each time with other layouts [default: as often as about 4 minutes
    /// of measuring allow, 20 times at most]
    #[arg(long, value_name = "R", value_parser = values::count, help_heading = "Experiment")]
    pub repeat: Option<u32>,
    /// How the executions are interleaved [default: both ways, one beside the other]
    #[arg(long, value_name = "HOW", help_heading = "Experiment")]
    pub mode: Option<Mode>,
    /// Also let this tool compare the same version with itself, as often.
    #[arg(long, value_name = "TOOL", help_heading = "Experiment")]
    pub against: Option<OtherTool>,
    /// What is measured, and how.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    /// How results are printed.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// A tool that compares as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OtherTool {
    /// The project's own benchmarks by Criterion.rs, with its own baselines and verdicts.
    Criterion,
}
