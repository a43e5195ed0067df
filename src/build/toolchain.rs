//! The toolchain of one version, as its own files and the user's environment choose it.

use std::{path::PathBuf, process::Command};

use super::{cargo::Place, tool};
use crate::failure::Result;

/// The compiler that cargo is going to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// All that `rustc -vV` says: it identifies the compiler.
    pub version: String,
    /// The directory with its standard library and its LLD.
    pub sysroot: PathBuf,
}

impl Toolchain {
    /// Asks the compiler that is in force at `place`.
    pub fn at(place: &Place) -> Result<Self> {
        let ask = |question: &str| -> Result<String> {
            let rustc = place.environment.get("RUSTC").unwrap_or("rustc".as_ref());
            let mut command = Command::new(rustc);
            command
                .current_dir(&place.directory)
                .env_clear()
                .envs(place.environment.variables())
                .args(question.split(' '));
            let what = || format!("cannot ask the compiler at {}", place.directory.display());
            let output = tool::run(&mut command, what)?;
            Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
        };
        Ok(Self { version: ask("-vV")?, sysroot: ask("--print sysroot")?.into() })
    }
}
