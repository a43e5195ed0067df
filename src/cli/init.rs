//! The command line of `init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `cargo rbench init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Also write a CI workflow that compares pull requests or merge requests.
    #[arg(long, value_name = "SERVICE")]
    pub ci: Option<Service>,
    /// Replace existing files.
    #[arg(long)]
    pub force: bool,
    /// Print what would be written, without writing.
    #[arg(long)]
    pub dry_run: bool,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// A service that runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Service {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
}
