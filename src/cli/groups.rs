//! Groups of flags that several subcommands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CriteriaOptions, EffortOptions};
use crate::model::{Layout, Strategy};

/// Which benchmarks are meant, for commands with room for filters after what else they name.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// Only benchmarks whose id matches one of these regular expressions, as with --filter.
    #[arg(value_name = "FILTER")]
    positional: Vec<String>,
    /// Only benchmarks whose id matches this regular expression; may be repeated.
    #[arg(long, value_name = "REGEX")]
    filter: Vec<String>,
    /// Take each filter as the whole id of a benchmark, not as a regular expression.
    #[arg(long)]
    pub exact: bool,
}

impl FilterArgs {
    /// All filters.
    pub fn patterns(&self) -> Vec<String> {
        self.positional.iter().chain(&self.filter).cloned().collect()
    }
}

/// Which bench targets are meant.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bench targets")]
pub struct TargetArgs {
    /// Only bench targets of this package; may be repeated.
    #[arg(short, long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only bench targets with this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// No bench target of this package; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub exclude: Vec<String>,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// How cargo compiles.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Compilation")]
pub struct CompileArgs {
    /// The cargo profile [default: bench]
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
    /// How many jobs cargo and the linking may run at a time [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Pass this argument to cargo, for instance --cargo-arg=--ignore-rust-version; may be repeated.
    #[arg(long = "cargo-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub cargo_args: Vec<String>,
}

/// How builds are laid out.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Layouts")]
pub struct LayoutArgs {
    /// How functions are arranged [default: matched]
    #[arg(long)]
    pub layout: Option<Layout>,
    /// Where builds come from [default: auto]
    #[arg(long)]
    pub strategy: Option<Strategy>,
    /// The seed that layouts, order and initial states are drawn from [default: 1]
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
    /// How much is measured.
    #[command(flatten)]
    pub effort: EffortOptions,
    /// The CPU to run benchmarks on.
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
}

/// What an experiment measures, and how.
#[derive(Debug, Args)]
pub struct ExperimentArgs {
    /// Only benchmarks whose id matches this regular expression; may be repeated.
    #[arg(long = "filter", value_name = "REGEX")]
    pub patterns: Vec<String>,
    /// Take each filter as the whole id of a benchmark, not as a regular expression.
    #[arg(long)]
    pub exact: bool,
    /// Show what would be measured and the least time it would take, and measure nothing.
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

/// How benchmarks are judged, and what the caller makes of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Verdict")]
pub struct VerdictArgs {
    /// The criteria.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// Which verdicts end the command with an exit code other than 0, as a failure always does.
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
    /// Write the report to this file too, in the format of its ending: .json, .md or .txt; may be
    /// repeated.
    #[arg(long, value_name = "FILE", value_parser = OutputFile::parse)]
    pub output: Vec<OutputFile>,
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

impl ReportFormat {
    /// The endings of files in each format.
    const ENDINGS: [(&str, Self); 3] =
        [("json", Self::Json), ("md", Self::Markdown), ("txt", Self::Text)];
}

/// A file that a report is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Where it is.
    pub path: PathBuf,
    /// The format that its ending means.
    pub format: ReportFormat,
}

impl OutputFile {
    fn parse(path: &str) -> Result<Self, String> {
        let path = PathBuf::from(path);
        let ending = path.extension().and_then(|ending| ending.to_str());
        let known = ReportFormat::ENDINGS.iter().find(|(known, _)| ending == Some(known));
        let (_, format) = *known.ok_or_else(|| {
            let known = ReportFormat::ENDINGS.map(|(ending, _)| format!(".{ending}")).join(", ");
            format!("the ending chooses the format; known are {known}")
        })?;
        Ok(Self { path, format })
    }
}
