//! Which commits lie between two versions, and what git ignores.

use std::path::Path;

use git2::Oid;

use super::Repository;
use crate::{
    failure::{Exit, OrFail, Result},
    model::Version,
};

impl Repository {
    /// Whether a commit, in hex, is that of a version or one of its ancestors. A commit that this repository lacks
    /// is in no history.
    pub fn has_in_history(&self, version: &Version, commit: &str) -> Result<bool> {
        let known = |id: &str| {
            let id = Oid::from_str(id).ok()?;
            self.git().find_commit(id).is_ok().then_some(id)
        };
        let Some((tip, commit)) = version.commit.as_deref().and_then(known).zip(known(commit))
        else {
            return Ok(false);
        };
        if tip == commit {
            return Ok(true);
        }
        self.git().graph_descendant_of(tip, commit).or_fail(Exit::Usage, || {
            format!("cannot read the history of {}", self.root().display())
        })
    }

    /// Whether a commit, in hex, is one of those that the head has and the base has not.
    pub fn is_between(&self, [base, head]: [&Version; 2], commit: &str) -> Result<bool> {
        Ok(self.has_in_history(head, commit)? && !self.has_in_history(base, commit)?)
    }

    /// Whether git ignores a file of the working tree, and does not track it either.
    pub fn ignores(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(self.root()) else { return false };
        let is_tracked = self.git().index().is_ok_and(|index| index.get_path(inside, 0).is_some());
        // Git does not look into a directory that is ignored, whatever rules are in it.
        let mut paths = inside.ancestors().filter(|path| !path.as_os_str().is_empty());
        !is_tracked && paths.any(|path| self.git().is_path_ignored(path).unwrap_or(false))
    }
}
