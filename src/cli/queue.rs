//! The command lines of `queue` and `worker`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::ProjectArgs;
use crate::{
    config::values,
    model::{Format, Priority},
};

/// `cargo rbench queue`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct QueueArgs {
    /// A subcommand instead of the list.
    #[command(subcommand)]
    pub command: Option<QueueCommand>,
    /// The list.
    #[command(flatten)]
    pub list: QueueListArgs,
}

/// The subcommands of `queue`.
#[derive(Debug, Subcommand)]
pub enum QueueCommand {
    /// List the workers and the jobs, as without a subcommand.
    List(QueueListArgs),
    /// Queue a comparison, or those of all neighboring commits of a range.
    Add(QueueAddArgs),
    /// Show a job, with its result.
    Show(QueueShowArgs),
    /// Cancel jobs; running ones stop within some seconds.
    Cancel(QueueCancelArgs),
}

/// `cargo rbench queue list`.
#[derive(Debug, Default, Args)]
pub struct QueueListArgs {
    /// Also list the newest N jobs that have ended.
    #[arg(long, value_name = "N", default_value = "10")]
    pub ended: u32,
    /// The format of the list.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// The project.
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// `cargo rbench queue add`.
#[derive(Debug, Args)]
pub struct QueueAddArgs {
    /// BASE and HEAD, or one revision to compare with its parent, or a range A..B for all its neighbors, the newest first.
    #[arg(value_name = "REV", required_unless_present = "pack", conflicts_with = "pack", num_args = 1..=2)]
    pub revisions: Vec<String>,
    /// Have the pack measured that `build BASE HEAD --pack FILE` wrote: workers compile nothing, and need no cargo.
    #[arg(long, value_name = "FILE")]
    pub pack: Option<PathBuf>,
    /// The class of machines [default: that of all workers]
    #[arg(long, value_name = "NAME")]
    pub class: Option<String>,
    /// When it is taken [default: back-fill for a range, otherwise normal]
    #[arg(long, value_name = "WHEN")]
    pub priority: Option<Priority>,
    /// Divide the benchmarks of each comparison into N jobs.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub parts: u32,
    /// Options of `compare`, and filters.
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
    /// The project.
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// `cargo rbench queue show`.
#[derive(Debug, Args)]
pub struct QueueShowArgs {
    /// The number of the job.
    #[arg(value_name = "ID")]
    pub id: i64,
    /// The format; `json` is the comparison as `compare --format json` prints it.
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// The project.
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// `cargo rbench queue cancel`.
#[derive(Debug, Args)]
pub struct QueueCancelArgs {
    /// The numbers of the jobs.
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<i64>,
    /// The project.
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// `cargo rbench worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The class of this machine, as a word; machines of one class may replace each other [default: `RBENCH_CLASS`]
    #[arg(long, value_name = "NAME")]
    pub class: Option<String>,
    /// End when no job is left to take.
    #[arg(long)]
    pub until_empty: bool,
    /// Take no further job after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = values::deadline)]
    pub duration: Option<Duration>,
    /// The longest duration of a job, with compiling: one that takes longer failed.
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = values::deadline)]
    pub deadline: Duration,
    /// The Cargo.toml of the workspace, whose repository is fetched into [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}
