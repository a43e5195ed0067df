//! The command line of `completions`.

use std::path::PathBuf;

use clap::Args;

/// `cargo rbench completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
    /// Write a file into this directory, with the name that the shell expects, instead of printing.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
