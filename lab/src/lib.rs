//! Common to the studies: start and end, rbench as a program, and fixtures as git repositories.

use std::{error::Error, path::Path, process::ExitCode};

pub use project::Project;
pub use working_tree::WorkingTree;

pub mod criterion;
pub mod executables;
mod project;
pub mod rbench;
mod working_tree;

pub fn root() -> &'static Path {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.parent().unwrap_or(lab)
}

/// Runs a study, unless cargo or rustc started this process: the program is also the rustc wrapper
/// and the linker of the builds that a study makes.
pub fn program(run: impl FnOnce() -> Result<bool, Box<dyn Error>>) -> ExitCode {
    cargo_rbench::builds::run_as_tool().unwrap_or_else(|| end(run()))
}

/// Ends a study: exit code 1 if a target is missed, and 2 if the study failed.
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
