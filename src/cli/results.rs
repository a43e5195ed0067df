//! The command lines of the commands that read or write stored results.

use std::path::PathBuf;

use clap::Args;

use super::{CriteriaOptions, FilterArgs, Format, GivenOptions, OutputFileArgs, ReportFormat};

/// Which stored benchmarks are meant.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bench targets")]
pub struct StoredTargetArgs {
    /// Only bench targets of this package; may be repeated.
    #[arg(short, long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only bench targets with this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Set a key of bench.toml for this command, as if the file had it: --config verdict.rule=overlap; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
}

/// `cargo rbench history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// Which benchmarks to show commit by commit; without a filter, an overview of all.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Show only this revision and later ones.
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    /// Show only what changed where a commit changed this file, or a file below this directory; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub path: Vec<PathBuf>,
    /// Show only the newest N stored versions [default: 20, 200 with --changes-only, --top or --path, or all with --since]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: Option<u32>,
    /// Show only what is suspected to have changed, and since when.
    #[arg(long)]
    pub changes_only: bool,
    /// Show only the N benchmarks that became slowest by what is suspected to have changed, the worst first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Also compare results from different machines, compilers or settings.
    #[arg(long)]
    pub ignore_environment: bool,
    /// Then search the commits of each change that is suspected, as `bisect` does: by measuring.
    #[arg(long, conflicts_with = "format")]
    pub bisect: bool,
    /// The format of the report on standard output.
    #[arg(long, default_value = "text")]
    pub format: ReportFormat,
    /// Where the report goes besides.
    #[command(flatten)]
    pub output: OutputFileArgs,
    /// How consecutive versions are judged.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// Which bench targets.
    #[command(flatten)]
    pub target: StoredTargetArgs,
}

impl HistoryArgs {
    /// The paths as they were typed.
    pub fn paths(&self) -> Vec<String> {
        self.path.iter().map(|path| path.display().to_string()).collect()
    }
}

/// `cargo rbench show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The version: anything git understands, or `.` for the uncommitted tree.
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub revision: String,
    /// Which benchmarks to show with every build and execution; without a filter, one line for each.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// The format of the report on standard output.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// Where the report goes besides.
    #[command(flatten)]
    pub output: OutputFileArgs,
    /// How values are estimated.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// Which bench targets.
    #[command(flatten)]
    pub target: StoredTargetArgs,
}

/// `cargo rbench export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// The file to write; `-` is standard output.
    #[arg(default_value = "-", value_name = "FILE")]
    pub file: PathBuf,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Set a key of bench.toml for this command, as if the file had it: --config verdict.rule=overlap; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
}

/// `cargo rbench import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A file that `export` wrote; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Set a key of bench.toml for this command, as if the file had it: --config verdict.rule=overlap; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
}
