//! The command lines of commands about the machine, the project and rbench itself.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use clap_complete::Generator as _;

use crate::{config::values, model::Format};

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Also write a CI workflow that compares pull requests or merge requests.
    #[arg(long, value_name = "SERVICE")]
    pub ci: Option<Service>,
    /// Also write a section about comparisons into AGENTS.md, for coding agents: it is added, or replaces an older one.
    #[arg(long)]
    pub agents: bool,
    /// Replace existing files.
    #[arg(long)]
    pub force: bool,
    /// Print what would be written, without writing.
    #[arg(long)]
    pub dry_run: bool,
    /// Instead of inspecting the project, make the tables and roles in a PostgreSQL database that several machines share
    /// [default: that of `RBENCH_SHARED`]
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["ci", "agents", "force", "dry_run"])]
    pub shared: Option<String>,
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

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The format of the report on standard output.
    #[arg(long, default_value = "text", help_heading = "Output")]
    pub format: Format,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
    /// Write a file into this directory, with the name that the shell expects, instead of printing.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

impl CompletionsArgs {
    /// The completions for the shell, and the file name that it expects.
    pub fn generate(&self, mut definition: clap::Command) -> (String, String) {
        const PROGRAM: &str = "cargo-rbench";
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut definition, PROGRAM, &mut text);
        (String::from_utf8_lossy(&text).into_owned(), self.shell.file_name(PROGRAM))
    }
}

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Remove entries that have not been used for this long.
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = values::duration)]
    pub max_age: Duration,
    /// Then remove the least recently used entries until at most this many bytes are left, with an
    /// optional K, M or G.
    #[arg(long, value_name = "SIZE", default_value = "10G", value_parser = values::size)]
    pub max_size: u64,
    /// Show what would be removed, without removing it.
    #[arg(long)]
    pub dry_run: bool,
    /// The manifest of the workspace [default: that of the current directory]
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the project instead of removing it at the end.
    #[arg(long)]
    pub keep: bool,
}

#[cfg(test)]
mod tests {
    use super::{super::Cli, *};

    #[test]
    fn completions_exist_for_every_shell() {
        for &shell in clap_complete::Shell::value_variants() {
            let args = CompletionsArgs { shell, output: None };
            let (text, file) = args.generate(Cli::definition());
            assert!(text.contains("selftest") && file.contains("cargo-rbench"), "{shell}");
        }
    }
}
