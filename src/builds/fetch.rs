//! Downloads the dependencies of a version before it is compiled in the sandbox, where nothing may be written to cargo's
//! home: what one job puts there, the next one would compile.
//!
//! Cargo runs outside of the sandbox for this, so it must run no program that the version names. It starts in a directory
//! without the version's configuration and toolchain file, and reads only manifests and lock files.

use std::{fs, path::Path};

use tracing::debug;

use super::{
    build_env::{BuildEnv, Source},
    cargo::{self, CargoContext},
    tool,
};
use crate::{error::Exit, process::sandbox, secrets};

impl BuildEnv<'_> {
    /// Downloads what the version's lock file names, or what cargo chooses without one. If that fails, cargo explains it
    /// better when it compiles.
    pub(super) fn fetch(&self, source: Source<'_>, context: &CargoContext) {
        let settings = self.settings_of(source.version);
        let directory = source.checkout.join(&self.workspace);
        if !sandbox::is_confined() || settings.offline || !needs_packages(&directory) {
            return;
        }
        let manifest = directory.join("Cargo.toml");
        let mut command = context.command(&cargo::fetch(context, settings, &manifest));
        command.current_dir(self.cache_dirs.outside()).envs(secrets::withheld());
        let what = || format!("cannot download the dependencies of {}", source.version);
        if let Err(error) = tool::run_or(&mut command, Exit::Build, what) {
            debug!("{error}");
        }
    }
}

/// True unless a lock file says that all packages are in the workspace. Cargo would write through a link.
fn needs_packages(workspace: &Path) -> bool {
    let lock = workspace.join("Cargo.lock");
    let is_needed = |lock: String| lock.lines().any(|line| line.starts_with("source = "));
    !lock.is_symlink() && fs::read_to_string(lock).map_or(true, is_needed)
}
