//! Runs git where its own configuration matters: how it reaches a remote, and with which credentials.

use std::{path::Path, process::Command};

use crate::{
    builds::run_tool_or,
    error::{Exit, Result},
};

/// Runs git in a directory, and returns what it printed; it asks for nothing. `what` is the operation for an error.
pub fn git(directory: &Path, words: &[&str], what: &str) -> Result<String> {
    let mut command = git_command(directory, words.iter().copied());
    let output = run_tool_or(&mut command, Exit::Usage, || what.to_owned())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// The same as a command that has not run yet.
pub fn git_command<'w>(directory: &Path, words: impl IntoIterator<Item = &'w str>) -> Command {
    let mut command = Command::new("git");
    command.current_dir(directory).env("GIT_TERMINAL_PROMPT", "0").args(words);
    command
}
