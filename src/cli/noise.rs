//! The command lines of commands that examine noise: `diagnose` and `selftest`.

use std::time::Duration;

use clap::Args;
use rbench_stats::Estimator;

use super::{ExperimentArgs, FilterArgs, GivenOptions, LayoutArgs, ReportArgs, TargetArgs};
use crate::{
    config::{BuildOptions, SamplingOptions, values},
    model::{InterimAnalyses, Mode},
};

/// The maximum number of busy processes: more are certainly a mistake.
const MOST_LOAD: i64 = 1024;

#[derive(Debug, Args)]
pub struct DiagnoseArgs {
    #[arg(skip)]
    pub given: GivenOptions,
    /// The version: any git revision, or `.` for the uncommitted tree.
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub revision: String,
    /// Filters of benchmarks: one or a few, since each takes up to a minute.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Use stored results instead of measuring, and report the questions that they cannot answer.
    #[arg(long, help_heading = "Stored results", conflicts_with_all = [
        "long", "load", "builds", "executions", "measurements", "warm_up", "min_time", "cpu", "deadline",
        "layout", "profile", "features", "all_features", "no_default_features", "cargo_args", "commands",
    ])]
    pub from_stored: bool,
    /// Print only lines for bench.toml, with the recommended sample sizes of each benchmark: for an interval of ± half
    /// the smallest change that matters, in the least time.
    #[arg(long, help_heading = "Output")]
    pub plan: bool,
    /// Show all causes with their evidence, and the answer to every question with its figures; with --plan, why.
    #[arg(long, help_heading = "Output")]
    pub reasons: bool,
    #[command(flatten)]
    pub effort: DiagnosisSampling,
    #[command(flatten)]
    pub criteria: DiagnosisCriteria,
    #[command(flatten)]
    pub layout: LayoutArgs,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub compile: BuildOptions,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// The sample sizes of a diagnosis. Those of `bench.toml` are for comparisons and do not apply here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Experiment")]
pub struct DiagnosisSampling {
    /// Take thousands of measurements in each execution, which takes about ten times as long.
    #[arg(long)]
    pub long: bool,
    /// Keep N processes busy while measuring.
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
    /// Duration of a warm-up before the first measurement, which hides the benchmark's own warm-up
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

/// The limits for warnings of a diagnosis.
#[derive(Debug, Args)]
#[command(next_help_heading = "Warnings")]
pub struct DiagnosisCriteria {
    /// Smallest change that matters to you: there are no warnings about much smaller effects [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub min_effect: Option<f64>,
    /// Estimator whose variance is split into levels: mean, trimmed-mean, median, lower-quartile or minimum
    /// [default: minimum]
    #[arg(long, value_name = "NAME")]
    pub estimator: Option<Estimator>,
}

impl DiagnosisSampling {
    /// The given sample sizes and times.
    pub fn typed(&self) -> SamplingOptions {
        SamplingOptions {
            builds: self.builds,
            executions: self.executions,
            measurements: self.measurements,
            warm_up: self.warm_up,
            min_time: self.min_time,
            deadline: self.deadline,
            ..SamplingOptions::default()
        }
    }
}

#[derive(Debug, Args)]
pub struct SelftestArgs {
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
    #[command(flatten)]
    pub experiment: ExperimentArgs,
    #[command(flatten)]
    pub report: ReportArgs,
}
