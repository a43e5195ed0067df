//! The linker shim: records the link recipe of a bench target, then runs the real linker.

use std::{
    ffi::OsString,
    path::Path,
    process::{Command, ExitCode},
};

use super::{recipe::Recipe, tool, wrapper};

/// Names the directory that recipes are kept in, to the shim.
pub const RECIPES_VARIABLE: &str = "RBENCH_RECIPES";

/// The linker of a target whose user chose none.
const DEFAULT_LINKER: &str = "cc";

/// Runs as the linker of one bench target.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let linker = std::env::var_os(wrapper::LINKER_VARIABLE).unwrap_or(DEFAULT_LINKER.into());
    if let Some(recipes) = std::env::var_os(RECIPES_VARIABLE) {
        // rustc deletes its temporary objects when the linker returns: this is the moment.
        if let Err(failure) = Recipe::record(&linker, &arguments, Path::new(&recipes)) {
            anstream::eprintln!("error: {failure}");
            return ExitCode::FAILURE;
        }
    }
    tool::replace_process(Command::new(linker).args(arguments))
}
