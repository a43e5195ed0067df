//! What the studies share: how they start and end, rbench as a program, and fixtures as git repositories.

use std::{error::Error, path::Path, process::ExitCode};

pub use project::Project;
pub use working_tree::WorkingTree;

mod project;
pub mod rbench;
mod working_tree;

/// The directory of the repository.
pub fn root() -> &'static Path {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.parent().unwrap_or(lab)
}

/// Runs a study, unless this process is a tool of what one builds: the program is also the rustc wrapper and
/// the linker.
pub fn program(run: impl FnOnce() -> Result<bool, Box<dyn Error>>) -> ExitCode {
    cargo_rbench::builds::run_as_tool().unwrap_or_else(|| end(run()))
}

/// Ends a study: with 1 if a target is missed, and with 2 if it failed.
#[expect(clippy::print_stderr, reason = "programs for people print")]
pub fn end(result: Result<bool, Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: a target is missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
