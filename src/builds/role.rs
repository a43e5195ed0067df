//! The roles of this program besides the command line: rustc's wrapper, the linker, the supervisor of cargo, the
//! tracer, and a benchmark.
//!
//! Cargo and rustc only accept the path of a program for these, so the name of the program selects the role:
//! [`install_wrapper`] and [`install_shim`] make links to this executable. The benchmark is started as any other is.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::files;
use crate::{
    error::{Context, Error, Exit, Result},
    process::{CONTROL_ARGUMENT, trace::TRACER},
};

/// The name of the rustc wrapper. Cargo gets this bare name, found through `PATH`: it hashes the name into every
/// symbol, so a path would make symbols depend on rbench's directory.
pub const WRAPPER: &str = "cargo-rbench-rustc";

/// The name of the supervisor of cargo.
pub const SUPERVISOR: &str = "cargo-rbench-supervisor";

/// The directory of the linker shims, below the wrapper's.
const SHIMS: &str = "cargo-rbench-linkers";

/// The shim for the target's default linker. rustc infers the kind of linker from the file stem; for an unknown stem,
/// it assumes the target's default.
const DEFAULT_SHIM: &str = "cargo-rbench-linker";

/// The role in which this process was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `cargo rbench …`, by a user.
    Command,
    /// `cargo-rbench-rustc <rustc> <arguments>`, by cargo.
    Wrapper,
    /// As a linker, by rustc.
    Linker,
    /// `cargo-rbench-supervisor <cargo> <arguments>`, by rbench itself.
    Supervisor,
    /// `cargo-rbench-tracer <plan> <ahead> <program> <arguments>`, by rbench itself.
    Tracer,
    /// `cargo-rbench --bench --rbench-protocol …`, by rbench itself: the benchmark that it measures beside those of a user.
    Control,
}

impl Role {
    /// The role for the name by which the process was started, and its arguments.
    pub fn from_command_line(argv0: &OsStr, arguments: &[OsString]) -> Self {
        let path = Path::new(argv0);
        if path.file_stem() == Some(OsStr::new(WRAPPER)) {
            Self::Wrapper
        } else if path == Path::new(SUPERVISOR) {
            Self::Supervisor
        } else if path == Path::new(TRACER) {
            Self::Tracer
        } else if path.parent().and_then(Path::file_name) == Some(OsStr::new(SHIMS)) {
            Self::Linker
        } else if arguments.get(1).is_some_and(|argument| argument == CONTROL_ARGUMENT) {
            Self::Control
        } else {
            Self::Command
        }
    }
}

/// The directory of the shims that [`install_shim`] makes below `directory`.
pub fn shims(directory: &Path) -> PathBuf {
    directory.join(SHIMS)
}

/// Installs the wrapper in `directory`, as a link to this executable.
pub fn install_wrapper(directory: &Path) -> Result<()> {
    files::point(&directory.join(WRAPPER), &this_executable()?)
}

/// Installs the shim for `linker` below `directory` and returns its path.
pub fn install_shim(directory: &Path, linker: Option<&Path>) -> Result<PathBuf> {
    let shim = shim(directory, linker);
    files::point(&shim, &this_executable()?)?;
    Ok(shim)
}

/// The path of this executable.
pub fn this_executable() -> Result<PathBuf> {
    let path = std::env::current_exe()
        .context(Exit::Build, || "cannot find the executable of rbench itself")?;
    still_there(path)
}

/// The path of this executable. Fails if an update has replaced it meanwhile: Linux then gives a path that leads
/// nowhere, and the new executable may disagree with this process.
fn still_there(path: PathBuf) -> Result<PathBuf> {
    if path.exists() {
        return Ok(path);
    }
    let what = "the executable of rbench was replaced or removed while it runs";
    let error = Error::new(Exit::Build, what).cause(path.display().to_string());
    Err(error.hint("run the same command again to resume"))
}

/// The path of the shim for `linker` (`None`: the target's default), below `directory`. It keeps the linker's file
/// stem, from which rustc infers its options.
fn shim(directory: &Path, linker: Option<&Path>) -> PathBuf {
    let stem = linker.and_then(Path::file_stem).unwrap_or(OsStr::new(DEFAULT_SHIM));
    shims(directory).join(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_follows_from_the_name() {
        let role = |argv0: &Path| Role::from_command_line(argv0.as_os_str(), &[]);
        assert_eq!(role(Path::new("cargo-rbench")), Role::Command);
        assert_eq!(role(Path::new("/x/bin/cargo-rbench-rustc")), Role::Wrapper);
        let bin = Path::new("/x/bin");
        assert_eq!(role(&shim(bin, None)), Role::Linker);
        assert_eq!(role(&shim(bin, Some(Path::new("/usr/bin/clang")))), Role::Linker);
        let request = ["--bench", "--rbench-protocol", "1"].map(OsString::from);
        assert_eq!(Role::from_command_line(OsStr::new("cargo-rbench"), &request), Role::Control);
    }

    #[test]
    fn replaced_executable_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cargo-rbench");
        std::fs::write(&path, "").unwrap();
        assert_eq!(still_there(path.clone()).unwrap(), path);
        let gone = PathBuf::from(format!("{} (deleted)", path.display()));
        let error = still_there(gone).unwrap_err().to_string();
        assert!(error.contains("was replaced or removed while it runs"), "{error}");
    }

    #[test]
    fn shim_keeps_the_stem_of_its_linker() {
        let shim = shim(Path::new("/x"), Some(Path::new("/opt/lld/bin/rust-lld")));
        assert_eq!(shim.file_stem(), Some(OsStr::new("rust-lld")));
    }
}
