//! Commands about results that are stored.

use std::path::PathBuf;

use clap::Args;

use super::{CriteriaOptions, FilterArgs, Format, GivenOptions, ReportFormat};

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
}

/// `cargo rbench history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The options among all these that were given.
    #[command(flatten)]
    pub given: GivenOptions,
    /// Which benchmarks to show commit by commit; without one, an overview of all.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Only this revision and later ones.
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    /// Only the newest N stored versions [default: 20, or with --since all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: Option<u32>,
    /// Also compare results of different machines or settings.
    #[arg(long)]
    pub allow_different: bool,
    /// The format of the report.
    #[arg(long, default_value = "text")]
    pub format: ReportFormat,
    /// How consecutive versions are judged.
    #[command(flatten)]
    pub criteria: CriteriaOptions,
    /// Which bench targets.
    #[command(flatten)]
    pub target: StoredTargetArgs,
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
    /// Which benchmarks to show with every build and execution; without one, a line for each.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Print all measurements as CSV instead, one line for each.
    #[arg(long, conflicts_with = "format")]
    pub raw: bool,
    /// The format of the report.
    #[arg(long, default_value = "text")]
    pub format: Format,
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
    /// The file to write; `-` is standard output.
    #[arg(default_value = "-", value_name = "FILE")]
    pub file: PathBuf,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
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
}
