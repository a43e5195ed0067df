//! The lock file of versions that have none: one for all of them, so that they are compiled with the
//! same dependencies.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    cargo::CargoContext,
    discovery::Workspace,
    files, gc,
    key::KeyMaker,
    workshop::{Source, Workshop},
};
use crate::failure::{Exit, Failure, OrFail, Result};

/// The name of cargo's lock file.
const NAME: &str = "Cargo.lock";

/// The lock file of a checkout.
pub struct LockFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whether the version has none of its own.
    pub is_added: bool,
}

impl Workshop<'_> {
    /// Makes sure that a checkout has a lock file. A version without one gets the user's own, which git
    /// ignores, else the one that was resolved here first.
    pub(super) fn provide_lock(
        &self,
        source: Source<'_>,
        context: &CargoContext,
    ) -> Result<LockFile> {
        let lock = source.checkout.join(&self.workspace).join(NAME);
        let added = Added::to(source.checkout);
        if lock.exists() && !added.has(&self.workspace) {
            return Ok(LockFile { path: lock, is_added: false });
        }
        if self.settings.locked {
            let what = format!("cannot compile {} with --locked", source.version);
            return Err(Failure::new(Exit::Build, what)
                .because(format!("it has no {}", self.workspace.join(NAME).display()))
                .hint(format!("commit {NAME}, or omit --locked")));
        }
        let what = || format!("cannot give {} a {NAME}", source.version);
        added.note(&self.workspace)?;
        let resolved = self.site.resolved_lock(&self.workspace);
        let known = [self.users_workspace.join(NAME), resolved.clone()];
        if let Some(known) = known.iter().find(|path| is_lock_file(path)) {
            if *known == resolved {
                gc::mark_used(known);
            }
            fs::copy(known, &lock).or_fail(Exit::Build, what)?;
            return Ok(LockFile { path: lock, is_added: true });
        }
        if lock.exists() {
            fs::remove_file(&lock).or_fail(Exit::Build, what)?;
        }
        // Cargo writes it. The directory acts as a compilation's, whose key is not known before the lock.
        files::point(&self.site.resolved().join("src"), source.checkout)?;
        self.activate(&self.site.resolved())?;
        Workspace::at(context, &self.settings, &source.version.to_string())?;
        let contents = fs::read(&lock).or_fail(Exit::Build, what)?;
        files::write_whole(&resolved, &contents)?;
        Ok(LockFile { path: lock, is_added: true })
    }

    /// The lock file that a version was compiled with, as text; empty if it cannot be read.
    pub fn locked(&self, source: Source<'_>) -> String {
        fs::read_to_string(source.checkout.join(&self.workspace).join(NAME)).unwrap_or_default()
    }
}

/// Which workspaces of a checkout got a lock file that is none of their version's: a file beside the
/// checkout with the hashes of their places, one a line.
struct Added(PathBuf);

impl Added {
    fn to(checkout: &Path) -> Self {
        Self(checkout.with_extension("lock-added"))
    }

    fn known(&self) -> String {
        fs::read_to_string(&self.0).unwrap_or_default()
    }

    fn has(&self, workspace: &Path) -> bool {
        let known = self.known();
        // An empty file was written when there was one lock file for all workspaces.
        known.lines().any(|known| known == line(workspace)) || known.is_empty() && self.0.exists()
    }

    fn note(&self, workspace: &Path) -> Result<()> {
        if self.has(workspace) {
            return Ok(());
        }
        files::write_whole(&self.0, (self.known() + &line(workspace) + "\n").as_bytes())
    }
}

/// The place of a workspace in one line, whatever it is called.
fn line(workspace: &Path) -> String {
    KeyMaker::new("place v1").add_path("workspace", workspace).key()
}

/// Whether a file is there and whole.
fn is_lock_file(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.parse::<toml::Table>().is_ok())
}
