//! The command line of `diagnose`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    CompileArgs, FilterArgs, GivenOptions, LayoutArgs, ReportArgs, SamplingOptions, TargetArgs,
    values,
};
use crate::{model::InterimAnalyses, stats::Estimator};

/// How many busy processes there may be: more are certainly a mistake.
const MOST_LOAD: i64 = 1024;

/// `cargo rbench diagnose`.
#[derive(Debug, Args)]
pub struct DiagnoseArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The version: anything git understands, or `.` for the uncommitted tree.
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub revision: String,
    /// Which benchmarks: one or a few, since each takes up to a minute.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Report on what is stored instead of measuring, and tell what cannot be answered from it.
    #[arg(long, help_heading = "Stored results", conflicts_with_all = [
        "long", "load", "builds", "executions", "measurements", "warm_up", "min_time", "cpu", "deadline",
        "layout", "profile", "features", "all_features", "no_default_features", "cargo_args", "commands",
    ])]
    pub from_stored: bool,
    /// Write plots as SVG files into this directory, which is made if it is not there.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
    /// How much is measured.
    #[command(flatten)]
    pub effort: DiagnosisSampling,
    /// What sizes matter.
    #[command(flatten)]
    pub criteria: DiagnosisCriteria,
    /// How builds are laid out.
    #[command(flatten)]
    pub layout: LayoutArgs,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How cargo compiles.
    #[command(flatten)]
    pub compile: CompileArgs,
    /// How results are printed.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// How much a diagnosis measures. The numbers of `bench.toml` are about comparisons, and mean nothing here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Experiment")]
pub struct DiagnosisSampling {
    /// Take thousands of measurements in each execution; takes about ten times as long.
    #[arg(long)]
    pub long: bool,
    /// Keep this many processes busy beside what is measured.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=MOST_LOAD))]
    pub load: u32,
    /// Number of builds, each with a different code layout [default: 10]
    #[arg(short = 'l', long, value_name = "L", value_parser = values::builds)]
    pub builds: Option<InterimAnalyses>,
    /// Number of executions of each build [default: 10, fewer of slow benchmarks]
    #[arg(short = 'm', long, value_name = "M", value_parser = values::count)]
    pub executions: Option<u32>,
    /// Number of measurements in each execution [default: 200, fewer of slow benchmarks; 2000 with --long]
    #[arg(short = 'n', long, value_name = "N", value_parser = values::count)]
    pub measurements: Option<u32>,
    /// Duration of a warm-up before the first measurement, which hides how the benchmark begins
    /// [default: 0ms]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub warm_up: Option<Duration>,
    /// Minimum duration of each measurement [default: 1ms]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub min_time: Option<Duration>,
    /// Maximum duration of one execution [default: 5min plus ten times the expected duration]
    #[arg(long, value_name = "TIME", value_parser = values::deadline)]
    pub deadline: Option<Duration>,
    /// Pin benchmarks to this CPU.
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
}

/// What a diagnosis warns of.
#[derive(Debug, Args)]
#[command(next_help_heading = "Warnings")]
pub struct DiagnosisCriteria {
    /// Smallest change that matters to you: nothing much smaller is warned of [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub min_effect: Option<f64>,
    /// Estimator that the variance is divided by: mean, trimmed-mean, median, lower-quartile or minimum
    /// [default: minimum]
    #[arg(long, value_name = "NAME")]
    pub estimator: Option<Estimator>,
}

impl DiagnosisSampling {
    /// What was typed of how much is measured.
    pub fn typed(&self) -> SamplingOptions {
        SamplingOptions {
            builds: self.builds,
            executions: self.executions,
            measurements: self.measurements,
            warm_up: self.warm_up,
            min_time: self.min_time,
            deadline: self.deadline,
            parallel: None,
            mode: None,
        }
    }
}
