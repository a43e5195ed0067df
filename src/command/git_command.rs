//! Runs git where its own configuration matters: how it reaches a remote, and with which credentials.

use std::{path::Path, process::Command};

use crate::{
    builds::run_tool_or,
    error::{Exit, Result},
};

/// Runs git in a directory; it asks for nothing. `what` is the operation for an error.
pub fn git(directory: &Path, words: &[&str], what: &str) -> Result<()> {
    let mut command = Command::new("git");
    command.current_dir(directory).env("GIT_TERMINAL_PROMPT", "0").args(words);
    run_tool_or(&mut command, Exit::Usage, || what.to_owned()).map(drop)
}
