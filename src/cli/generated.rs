//! The command lines of what is generated from the command line: completions, and pages of the manual.

use std::path::PathBuf;

use clap::Args;

/// `cargo rbench completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
    /// Write a file into this directory, named as the shell wants it, instead of printing.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// `cargo rbench man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The command that the page is about [default: all]
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    pub subcommand: Option<String>,
    /// Write the pages of all commands into this directory instead of printing one.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
