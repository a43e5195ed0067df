//! Groups of flags that several subcommands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::model::{Layout, Strategy};

/// Which benchmarks are meant.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// Only benchmarks whose id matches one of these regular expressions.
    #[arg(value_name = "FILTER")]
    pub patterns: Vec<String>,
    /// Take the filters for whole ids.
    #[arg(long)]
    pub exact: bool,
}

/// Which bench targets are meant.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bench targets")]
pub struct TargetArgs {
    /// Only bench targets of this package.
    #[arg(short, long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only bench targets with this name.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// No bench target of this package.
    #[arg(long, value_name = "NAME")]
    pub exclude: Vec<String>,
    /// The manifest of the workspace.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// What cargo is told.
#[derive(Debug, Args)]
#[command(next_help_heading = "Compilation")]
pub struct CompileArgs {
    /// The cargo profile.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Features to turn on, separated by commas.
    #[arg(short = 'F', long, value_name = "FEATURES", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Turn all features on.
    #[arg(long)]
    pub all_features: bool,
    /// Turn the default feature off.
    #[arg(long)]
    pub no_default_features: bool,
    /// Refuse to change Cargo.lock.
    #[arg(long)]
    pub locked: bool,
    /// Do not use the network.
    #[arg(long)]
    pub offline: bool,
    /// How many jobs cargo and the linking may run at a time.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
}

/// How builds are laid out.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Layouts")]
pub struct LayoutArgs {
    /// How functions are arranged.
    #[arg(long)]
    pub layout: Option<Layout>,
    /// Where builds come from.
    #[arg(long)]
    pub strategy: Option<Strategy>,
    /// The seed that layouts, order and initial states are drawn from.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
}

/// How versions are measured.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Experiment")]
pub struct MeasureArgs {
    /// A first look: 5 builds, 1 execution, 5 measurements.
    #[arg(long)]
    pub quick: bool,
    /// How many builds each version gets.
    #[arg(short = 'l', long, value_name = "L", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub builds: Option<u32>,
    /// How many times each build is executed.
    #[arg(short = 'm', long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub executions: Option<u32>,
    /// How many measurements each execution takes.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub measurements: Option<u32>,
    /// How long to run before the first measurement, in milliseconds.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    pub warm_up: Option<u64>,
    /// How long one measurement lasts at least, in milliseconds.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    pub floor: Option<u64>,
    /// The CPU to run benchmarks on.
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
    /// How long one execution may take, in seconds; derived from what is asked if absent.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub deadline: Option<u64>,
}

/// What an experiment measures, and how.
#[derive(Debug, Args)]
pub struct ExperimentArgs {
    /// Only benchmarks whose id matches this regular expression.
    #[arg(long = "filter", value_name = "REGEX")]
    pub patterns: Vec<String>,
    /// Take the filters for whole ids.
    #[arg(long)]
    pub exact: bool,
    /// Only say what would be measured, and how long that takes at least.
    #[arg(long)]
    pub dry_run: bool,
    /// How versions are measured.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// How builds are laid out.
    #[command(flatten)]
    pub layout: LayoutArgs,
    /// Which bench targets.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What cargo is told.
    #[command(flatten)]
    pub compile: CompileArgs,
}

/// How benchmarks are judged.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Verdict")]
pub struct CriteriaArgs {
    /// What stands for one execution: mean, trimmed-mean, median, lower-quartile, minimum.
    #[arg(long, value_name = "NAME")]
    pub estimator: Option<String>,
    /// What flags a benchmark: overlap, overlap-95, paper, permutation.
    #[arg(long, value_name = "NAME")]
    pub rule: Option<String>,
    /// How often a benchmark without change may be flagged by one stage.
    #[arg(long, value_name = "P")]
    pub false_alarm_rate: Option<f64>,
    /// The confidence of the intervals of one version.
    #[arg(long, value_name = "P")]
    pub confidence: Option<f64>,
    /// The smallest change of interest: 0.01 is 1 %.
    #[arg(long, value_name = "X")]
    pub min_effect: Option<f64>,
    /// Do not measure again on fresh builds what is flagged.
    #[arg(long)]
    pub no_confirm: bool,
}

/// How benchmarks are judged, and what the caller makes of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictArgs {
    /// The criteria.
    #[command(flatten)]
    pub criteria: CriteriaArgs,
    /// What else than a failure ends with an exit code other than 0.
    #[arg(long, value_name = "WHAT", default_value = "regression")]
    pub fail_on: FailOn,
    /// Exit with 0 whatever the verdicts are; a benchmark that fails still counts.
    #[arg(long, conflicts_with = "fail_on")]
    pub advisory: bool,
}

/// Verdicts that a caller wants to be stopped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A regression: 1.
    Regression,
    /// A regression, or without one a verdict that is inconclusive: 5.
    Inconclusive,
}

/// How results are printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// The format of the result on standard output.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// Show the exact commands of cargo and the linker.
    #[arg(short, long)]
    pub verbose: bool,
}

/// How comparisons are reported.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct ReportArgs {
    /// The format of the report on standard output.
    #[arg(long, default_value = "text")]
    pub format: ReportFormat,
    /// Write the report to this file too; its ending chooses the format: .json, .md, else text.
    #[arg(long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Show the exact commands of cargo and the linker.
    #[arg(short, long)]
    pub verbose: bool,
}

/// The formats of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people; may change at any time.
    Text,
    /// For programs; has a schema.
    Json,
}

/// The formats of a comparison's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people; may change at any time.
    Text,
    /// For programs; has a schema.
    Json,
    /// For pull requests.
    Markdown,
}
