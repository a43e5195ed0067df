//! Submodules: a tree holds a commit of another repository, whose files belong to the version.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use git2::{Index, IndexEntry};

use super::{Repository, files};
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    shell::quoted,
};

/// Writes the files of all submodules in `index` into `into`, where the tree's own files are.
///
/// A submodule that `.gitmodules` does not know stays an empty directory, as git leaves it; so does one
/// that is not initialised here, and its path is returned: a clone without its test data builds well.
pub(super) fn write_all(
    repository: &Repository,
    index: &Index,
    into: &Path,
) -> Result<Vec<PathBuf>> {
    let mut absent = Vec::new();
    let submodules: Vec<IndexEntry> = index.iter().filter(files::is_submodule).collect();
    if submodules.is_empty() {
        return Ok(absent);
    }
    let names = names(&into.join(".gitmodules"))
        .or_fail(Exit::Build, || format!("cannot read .gitmodules of {}", into.display()))?;
    for entry in submodules {
        let path = files::path_of(&entry);
        if let Some(name) = names.get(&path) {
            let Some(submodule) = locate(repository, &path, name, &entry)? else {
                absent.push(path);
                continue;
            };
            let commit = submodule.git().find_commit(entry.id).or_fail(Exit::Build, || {
                format!("cannot read commit {} of submodule {}", entry.id, path.display())
            })?;
            let below = files::write(&submodule, commit.tree_id(), &into.join(&path))?;
            absent.extend(below.into_iter().map(|inner| path.join(inner)));
        }
    }
    Ok(absent)
}

/// The names of submodules by their paths.
fn names(gitmodules: &Path) -> Result<HashMap<PathBuf, String>, git2::Error> {
    let mut names = HashMap::new();
    if !gitmodules.is_file() {
        return Ok(names);
    }
    let config = git2::Config::open(gitmodules)?;
    config.entries(Some(r"^submodule\..*\.path$"))?.for_each(|entry| {
        let name = entry.name().ok().and_then(|name| name.strip_prefix("submodule."));
        if let Some(name) = name.and_then(|name| name.strip_suffix(".path"))
            && is_safe(name)
        {
            names.insert(files::path_from_bytes(entry.value_bytes()), name.to_owned());
        }
    })?;
    Ok(names)
}

/// Whether the name, which comes with the repository, stays inside of `.git/modules`.
fn is_safe(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// The local repository of a submodule, which has the commit of `entry`; `None` if there is none.
///
/// Searched are the git directories that git keeps for submodules, which stay when a version
/// without the submodule is checked out, and the submodule in the working tree.
fn locate(
    superproject: &Repository,
    path: &Path,
    name: &str,
    entry: &IndexEntry,
) -> Result<Option<Repository>> {
    let git = superproject.git();
    let kept = [git.path(), git.commondir()].map(|base| base.join("modules").join(name));
    let in_working_tree = git.workdir().map(|root| root.join(path).join(".git"));
    let mut found = false;
    for candidate in kept.into_iter().chain(in_working_tree) {
        let opened = if candidate.ends_with(".git") {
            git2::Repository::open(&candidate)
        } else {
            git2::Repository::open_bare(&candidate)
        };
        let Ok(opened) = opened else { continue };
        found = true;
        if opened.find_commit(entry.id).is_ok() {
            return Repository::new(opened)
                .map(Some)
                .or_fail(Exit::Build, || format!("cannot open submodule {}", path.display()));
        }
    }
    if !found {
        return Ok(None);
    }
    let root = superproject.root();
    let (quoted_root, submodule) = (quoted(root), quoted(root.join(path)));
    Err(Failure::new(Exit::Build, format!("submodule {} lacks a commit", path.display()))
        .because(format!("{} needs its commit {}, which is missing", root.display(), entry.id))
        .hint(format!("fetch it with: git -C {submodule} fetch --all"))
        .hint(format!(
            "if that does not help, check the version out once and run: git -C {quoted_root} \
             submodule update --init --recursive"
        )))
}
