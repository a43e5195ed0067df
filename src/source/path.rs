//! Paths of the repository, and what versions have there.

use std::path::{Component, Path, PathBuf};

use git2::{Oid, Tree};

use super::Repository;
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    model::Version,
};

/// What a version has at some paths: versions with equal contents have the same files there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents(Vec<Option<(Oid, i32)>>);

impl Contents {
    /// Whether there is nothing at any of the paths.
    pub fn is_nothing(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl Repository {
    /// A path as typed, from the top directory of the repository on. There need not be anything at it.
    pub fn path_inside(&self, typed: &Path) -> Result<PathBuf> {
        let what = || format!("cannot use the path `{}`", typed.display());
        let mut path = PathBuf::new();
        for component in std::path::absolute(typed).or_fail(Exit::Usage, what)?.components() {
            match component {
                Component::ParentDir => {
                    path.pop();
                }
                other => path.push(other),
            }
        }
        // The way to the repository may lead through symbolic links, which are no part of it.
        let canonical = path.canonicalize().unwrap_or_default();
        let inside = [&path, &canonical].into_iter().find_map(|path| {
            let inside = path.strip_prefix(self.root()).ok()?;
            Some(inside.to_owned())
        });
        inside.ok_or_else(|| {
            let root = self.root().display();
            Failure::new(Exit::Usage, what())
                .because(format!("it is not in the repository {root}"))
                .hint("paths are relative to the current directory")
        })
    }

    /// What the commit of a version has at some paths, each from the top directory of the repository on; none if the
    /// repository does not have its files. What was not committed is not looked at.
    pub fn contents(&self, version: &Version, paths: &[PathBuf]) -> Option<Contents> {
        let commit = Oid::from_str(version.commit.as_deref()?).ok()?;
        let tree = self.git().find_commit(commit).ok()?.tree().ok()?;
        Some(Contents(paths.iter().map(|path| at(&tree, path)).collect()))
    }
}

/// The object at a path of a tree, and what kind of file it is.
fn at(tree: &Tree<'_>, path: &Path) -> Option<(Oid, i32)> {
    if path.as_os_str().is_empty() {
        return Some((tree.id(), 0));
    }
    let entry = tree.get_path(path).ok()?;
    Some((entry.id(), entry.filemode()))
}
