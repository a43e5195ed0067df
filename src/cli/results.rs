//! The command lines of commands that read or write stored results.

use std::path::PathBuf;

use clap::Args;

use super::{
    CriteriaOptions, FilterArgs, Format, GivenOptions, OutputFileArgs, ProjectArgs, ReportFormat,
};

/// Filters of bench targets, for commands that compile nothing.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bench targets")]
pub struct StoredTargetArgs {
    /// Only bench targets of this package; may be repeated.
    #[arg(short, long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only bench targets with this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// The project.
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// `cargo rbench history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The options that were given, for suggested commands.
    #[command(flatten)]
    pub given: GivenOptions,
    /// Filters of benchmarks to show commit by commit; without a filter, an overview of all.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Show only this revision and later ones.
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    /// Show only changes at commits that changed this file, or a file below this directory; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub path: Vec<PathBuf>,
    /// Show only the newest N stored versions [default: 20, 200 with --changes-only, --top or --path, or all with
    /// --since]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: Option<u32>,
    /// Show only suspected changes, and their first commits.
    #[arg(long)]
    pub changes_only: bool,
    /// Show only the N benchmarks with the largest suspected slowdowns, the worst first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Also compare results from different machines, compilers or settings.
    #[arg(long)]
    pub ignore_environment: bool,
    /// Then search the commits of each suspected change by measuring, like `bisect`.
    #[arg(long, conflicts_with = "format")]
    pub bisect: bool,
    /// The format of the report on standard output.
    #[arg(long, default_value = "text")]
    pub format: ReportFormat,
    /// Files for the report.
    #[command(flatten)]
    pub output: OutputFileArgs,
    /// The criteria of verdicts on consecutive versions.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// The bench targets to use.
    #[command(flatten)]
    pub target: StoredTargetArgs,
}

impl HistoryArgs {
    /// The values of `--path`.
    pub fn paths(&self) -> Vec<String> {
        self.path.iter().map(|path| path.display().to_string()).collect()
    }
}

/// `cargo rbench show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The options that were given, for suggested commands.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The version: any git revision, or `.` for the uncommitted tree.
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub revision: String,
    /// Filters of benchmarks to show with every build and execution; without a filter, one line for each.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// The format of the report on standard output.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// Files for the report.
    #[command(flatten)]
    pub output: OutputFileArgs,
    /// The estimator, and the metrics.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// The bench targets to use.
    #[command(flatten)]
    pub target: StoredTargetArgs,
}

/// `cargo rbench export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The options that were given, for suggested commands.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The file to write; `-` for standard output.
    #[arg(default_value = "-", value_name = "FILE")]
    pub file: PathBuf,
    /// The project.
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// `cargo rbench import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A file that `export` wrote; `-` for standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The project.
    #[command(flatten)]
    pub project: ProjectArgs,
}
