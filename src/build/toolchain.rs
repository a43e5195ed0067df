//! The toolchain of a version, selected by its files and the user's environment.

use std::path::PathBuf;

use super::{cargo::CargoContext, tool};
use crate::failure::Result;

/// The output of `rustc -vV` of the compiler that cargo is going to use, which identifies it.
pub fn compiler(context: &CargoContext) -> Result<String> {
    query(context, "-vV")
}

/// The directory with the standard library and the LLD of the same compiler.
pub fn sysroot(context: &CargoContext) -> Result<PathBuf> {
    Ok(query(context, "--print=sysroot")?.into())
}

fn query(context: &CargoContext, argument: &str) -> Result<String> {
    let what = || format!("cannot run the compiler for {}", context.directory.display());
    let output = tool::run(&mut context.rustc_command(&[argument.into()]), what)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
