//! The toolchain of a version, selected by its files and the user's environment.

use std::{path::PathBuf, process::Command};

use super::{cargo::CargoContext, tool};
use crate::failure::Result;

/// The compiler that cargo is going to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// The output of `rustc -vV`, which identifies the compiler.
    pub version: String,
    /// The directory with its standard library and its LLD.
    pub sysroot: PathBuf,
}

impl Toolchain {
    /// Queries the compiler that cargo would use.
    pub fn at(context: &CargoContext) -> Result<Self> {
        let query = |arguments: &str| -> Result<String> {
            let mut command = Command::new(&context.rustc);
            command
                .current_dir(&context.directory)
                .env_clear()
                .envs(context.environment.variables())
                .args(arguments.split(' '));
            let what = || format!("cannot run the compiler for {}", context.directory.display());
            let output = tool::run(&mut command, what)?;
            Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
        };
        Ok(Self { version: query("-vV")?, sysroot: query("--print sysroot")?.into() })
    }
}
