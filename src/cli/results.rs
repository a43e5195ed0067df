//! Commands about results that are stored.

use std::path::PathBuf;

use clap::Args;

use super::{CriteriaArgs, Format, ReportFormat};

/// Which stored benchmarks are meant.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bench targets")]
pub struct StoredTargetArgs {
    /// Only bench targets of this package.
    #[arg(short, long, value_name = "NAME")]
    pub package: Vec<String>,
    /// Only bench targets with this name.
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// The manifest of the workspace.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// `cargo rbench history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Show every commit of the benchmarks whose id matches one of these regular expressions; without
    /// one, an overview of all benchmarks.
    #[arg(value_name = "BENCH")]
    pub patterns: Vec<String>,
    /// Take BENCH for whole ids.
    #[arg(long)]
    pub exact: bool,
    /// Only this revision and what came after it.
    #[arg(long, value_name = "REV")]
    pub since: Option<String>,
    /// Only the newest so many stored versions; 20 unless --since is given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: Option<u32>,
    /// Compare results of other machines and other settings too.
    #[arg(long)]
    pub allow_different: bool,
    /// The format of the report.
    #[arg(long, default_value = "text")]
    pub format: ReportFormat,
    /// How consecutive versions are judged.
    #[command(flatten)]
    pub criteria: CriteriaArgs,
    /// Which bench targets.
    #[command(flatten)]
    pub target: StoredTargetArgs,
}

/// `cargo rbench show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The version: anything git understands, or `.` for the uncommitted tree.
    #[arg(value_name = "REV")]
    pub revision: String,
    /// Show every build and execution of the benchmarks whose id matches one of these regular
    /// expressions; without one, a line for each benchmark.
    #[arg(value_name = "BENCH")]
    pub patterns: Vec<String>,
    /// Take BENCH for whole ids.
    #[arg(long)]
    pub exact: bool,
    /// Print all measurements instead, as CSV: one line for each.
    #[arg(long, conflicts_with = "format")]
    pub raw: bool,
    /// The format of the report.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// How values are estimated.
    #[command(flatten)]
    pub criteria: CriteriaArgs,
    /// Which bench targets.
    #[command(flatten)]
    pub target: StoredTargetArgs,
}

/// `cargo rbench export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Where to; `-` is standard output.
    #[arg(default_value = "-", value_name = "FILE")]
    pub file: PathBuf,
    /// The manifest of the workspace.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// `cargo rbench import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// What `export` wrote; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The manifest of the workspace.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}
