//! Paths in the repository: the contents that versions have there, and the sources that differ between two versions.
//!
//! Files that are not here: a sparse working tree lacks tracked ones, and a partial clone has not fetched the files of
//! every version.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use git2::{DiffOptions, ErrorClass, ErrorCode, FileMode, ObjectType, OdbLookupFlags, Oid, Tree};

use super::{Repository, files, revision::commit_of};
use crate::{
    error::{Context, Error, Exit, Result},
    model::Version,
};

/// The contents of a version at some paths. Equal contents mean equal files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents(Vec<Option<(Oid, i32)>>);

impl Contents {
    pub fn is_nothing(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl Repository {
    /// Converts a typed path to one relative to the top directory of the repository. The path need not exist.
    pub fn path_inside(&self, typed: &Path) -> Result<PathBuf> {
        let what = || format!("cannot use the path `{}`", typed.display());
        let mut path = PathBuf::new();
        for component in std::path::absolute(typed).context(Exit::Usage, what)?.components() {
            match component {
                Component::ParentDir => {
                    path.pop();
                }
                other => path.push(other),
            }
        }
        // The path of the repository may contain symbolic links outside of it.
        let canonical = path.canonicalize().unwrap_or_default();
        let inside = [&path, &canonical].into_iter().find_map(|path| {
            let inside = path.strip_prefix(self.root()).ok()?;
            Some(inside.to_owned())
        });
        inside.ok_or_else(|| {
            let root = self.root().display();
            Error::new(Exit::Usage, what())
                .cause(format!("it is not in the repository {root}"))
                .hint("paths are relative to the current directory")
        })
    }

    /// The contents of a version's commit at some paths, relative to the top directory of the repository; none if the
    /// repository lacks its files. Ignores uncommitted changes.
    pub fn contents(&self, version: &Version, paths: &[PathBuf]) -> Option<Contents> {
        let tree = self.git().find_commit(commit_of(version)?).ok()?.tree().ok()?;
        Some(Contents(paths.iter().map(|path| lookup(&tree, path)).collect()))
    }
}

/// The object at a path of a tree, and its file mode.
fn lookup(tree: &Tree<'_>, path: &Path) -> Option<(Oid, i32)> {
    if path.as_os_str().is_empty() {
        return Some((tree.id(), 0));
    }
    let entry = tree.get_path(path).ok()?;
    Some((entry.id(), entry.filemode()))
}

/// Most files that are read, and most bytes of each.
const MOST_FILES: usize = 1_000;
const LARGEST: usize = 1 << 20;

impl Repository {
    /// The newest commit, in hex, that is in the history of both versions; none if they have no common history, or if a
    /// shallow clone may lack a newer one.
    pub fn merge_base(&self, one: &Version, other: &Version) -> Result<Option<String>> {
        let Some((one, other)) = commit_of(one).zip(commit_of(other)) else { return Ok(None) };
        let certain = |base: Oid| Ok((!self.lacks_commits([one, other], base)?).then_some(base));
        match self.git().merge_base(one, other).and_then(certain) {
            Ok(base) => Ok(base.map(|base| base.to_string())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).context(Exit::Usage, || self.cannot_read_history()),
        }
    }

    /// True if a shallow clone lacks commits that are in the history of `tips` and not in that of `base`.
    fn lacks_commits(&self, tips: [Oid; 2], base: Oid) -> Result<bool, git2::Error> {
        // The commits whose parents are missing.
        let ends = self.shallow_commits().unwrap_or_default();
        let ends: BTreeSet<Oid> = ends.lines().filter_map(|id| Oid::from_str(id).ok()).collect();
        if ends.is_empty() {
            return Ok(false);
        }
        let mut walk = self.git().revwalk()?;
        tips.iter().try_for_each(|tip| walk.push(*tip))?;
        walk.hide(base)?;
        for commit in walk {
            if ends.contains(&commit?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The files, and the submodules, that differ between two versions or that one of them lacks.
    pub fn changed_files(&self, base: &Version, head: &Version) -> Result<Vec<PathBuf>> {
        let changed = || -> Result<Vec<PathBuf>, git2::Error> {
            let tree = |version: &Version| self.git().find_tree(Oid::from_str(&version.tree)?);
            let mut options = DiffOptions::new();
            options.skip_binary_check(true);
            let (base, head) = (tree(base)?, tree(head)?);
            let diff =
                self.git().diff_tree_to_tree(Some(&base), Some(&head), Some(&mut options))?;
            let paths = diff.deltas().map(|delta| {
                [delta.old_file().path(), delta.new_file().path()]
                    .map(|path| path.map(PathBuf::from))
            });
            Ok(paths.flatten().flatten().collect())
        };
        changed().context(Exit::Usage, || format!("cannot compare the files of {base} and {head}"))
    }

    /// The text of a file in a version; `None` if the version has nothing at this path. A link is refused, as it may lead
    /// anywhere.
    pub fn text(&self, version: &Version, path: &Path) -> Result<Option<String>> {
        let what = || format!("cannot read {} of {version}", path.display());
        let tree = Oid::from_str(&version.tree).and_then(|tree| self.git().find_tree(tree));
        let entry = match tree.context(Exit::Usage, what)?.get_path(path) {
            // Not a missing object.
            Err(error)
                if error.code() == ErrorCode::NotFound && error.class() == ErrorClass::Tree =>
            {
                return Ok(None);
            }
            entry => entry.context(Exit::Usage, what)?,
        };
        let is_link = entry.filemode() == i32::from(FileMode::Link);
        if is_link || entry.kind() != Some(ObjectType::Blob) {
            return Err(Error::new(Exit::Usage, what()).cause("it is not a file"));
        }
        let file = self.git().find_blob(entry.id()).context(Exit::Usage, what)?;
        let text = str::from_utf8(file.content()).context(Exit::Usage, what)?;
        Ok(Some(text.to_owned()))
    }

    /// The Rust sources of the head that the base lacks or has in another state: their paths and texts.
    pub fn changed_sources(&self, base: &Version, head: &Version) -> Result<Vec<(String, String)>> {
        let what = || format!("cannot compare the files of {base} and {head}");
        self.sources(&base.tree, &head.tree).context(Exit::Usage, what)
    }

    fn sources(&self, base: &str, head: &str) -> Result<Vec<(String, String)>, git2::Error> {
        let tree = |id: &str| self.git().find_tree(Oid::from_str(id)?);
        let (base, head) = (tree(base)?, tree(head)?);
        let mut options = DiffOptions::new();
        options.context_lines(0).ignore_submodules(true).skip_binary_check(true);
        let diff = self.git().diff_tree_to_tree(Some(&base), Some(&head), Some(&mut options))?;
        let mut sources = Vec::new();
        for delta in diff.deltas().take(MOST_FILES) {
            let file = delta.new_file();
            let Some(path) = file.path() else { continue };
            // A file that the head lacks has no blob.
            let Ok(blob) = self.git().find_blob(file.id()) else { continue };
            if path.extension().is_some_and(|extension| extension == "rs")
                && let Some(path) = path.to_str()
                && let Ok(text) = std::str::from_utf8(blob.content())
                && text.len() <= LARGEST
            {
                sources.push((path.to_owned(), text.to_owned()));
            }
        }
        Ok(sources)
    }
}

impl Repository {
    /// The tracked files with this name, the nearest to the top first. A sparse working tree may lack them.
    pub fn tracked_files(&self, name: &str) -> Vec<PathBuf> {
        let Ok(index) = self.git().index() else { return Vec::new() };
        let paths = index.iter().map(|entry| files::path_of(&entry));
        let mut found: Vec<PathBuf> = paths.filter(|path| path.ends_with(name)).collect();
        found.sort_by_key(|path| path.components().count());
        found
    }

    /// The remote from which git fetches missing objects on demand, if this is a partial clone.
    pub fn promisor(&self) -> Option<String> {
        let config = self.git().config().ok()?;
        let mut remote = None;
        let entries = config.entries(Some(r"^remote\..*\.promisor$")).ok()?;
        let read = entries.for_each(|entry| {
            let name = entry.name().ok().and_then(|name| name.strip_prefix("remote."));
            let name = name.and_then(|name| name.strip_suffix(".promisor"));
            let is_off = entry.has_value() && entry.value().is_ok_and(|value| value == "false");
            if !is_off {
                remote = remote.take().or_else(|| name.map(str::to_owned));
            }
        });
        read.ok().and(remote)
    }

    /// The ids of a version's files that are not in this repository, each once.
    pub fn missing_files(&self, version: &Version) -> Result<Vec<String>> {
        let what = || format!("cannot read the files of {version}");
        let missing = || {
            let (handle, index) = self.bare_handle_with(Oid::from_str(&version.tree)?)?;
            let objects = handle.odb()?;
            let flags = OdbLookupFlags::NO_REFRESH;
            let ids: BTreeSet<Oid> =
                index.iter().filter(|one| !files::is_submodule(one)).map(|one| one.id).collect();
            let missing = ids.into_iter().filter(|id| !objects.exists_ext(*id, flags));
            Ok::<_, git2::Error>(missing.map(|id| id.to_string()).collect())
        };
        missing().context(Exit::Build, what)
    }
}
