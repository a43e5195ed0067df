//! Finds the directories whose files may belong to the uncommitted tree, to wait for changes in them.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use super::{
    Repository, files,
    uncommitted::{current_index, is_tagged},
};
use crate::error::{Context, Exit, Result};

/// Directories that are never part of a version, and change with everything that git and rbench do.
const OWN: [&str; 2] = [".git", ".rbench"];

impl Repository {
    /// Calls `visit` with each directory of the working tree that may have files of the uncommitted tree, before its
    /// entries are read: who watches them from then on misses no later file. Leaves out what git ignores and what a
    /// tool tagged as its cache, unless it has tracked files, and repositories that are no submodules.
    pub fn visit_directories(&self, mut visit: impl FnMut(&Path) -> Result<()>) -> Result<()> {
        let tracked = self.tracked_directories().context(Exit::Usage, || {
            format!("cannot read the index of {}", self.root().display())
        })?;
        let is_left_out = |below: &Path| {
            let on_disk = self.root().join(below);
            !tracked.contains(below)
                && (self.git().is_path_ignored(below).unwrap_or(false)
                    || is_tagged(&on_disk)
                    || on_disk.join(".git").exists())
        };
        let mut pending = vec![PathBuf::new()];
        while let Some(directory) = pending.pop() {
            visit(&self.root().join(&directory))?;
            // It may have been removed meanwhile, or be unreadable: then it has no files for a version either.
            let entries =
                fs::read_dir(self.root().join(&directory)).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                let below = directory.join(entry.file_name());
                if !OWN.iter().any(|own| below.ends_with(own)) && !is_left_out(&below) {
                    pending.push(below);
                }
            }
        }
        Ok(())
    }

    /// The directories with tracked files, and submodules, by their paths in the repository.
    fn tracked_directories(&self) -> Result<HashSet<PathBuf>, git2::Error> {
        // Some formats of the index are read through a handle whose own index is replaced.
        let index = current_index(&git2::Repository::open(self.git().path())?)?;
        let mut tracked = HashSet::new();
        for entry in index.iter() {
            let path = files::path_of(&entry);
            tracked.extend(path.ancestors().skip(1).map(Path::to_owned));
            if files::is_submodule(&entry) {
                tracked.insert(path);
            }
        }
        Ok(tracked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::NewRepository;

    #[test]
    fn directories_of_the_tree_are_visited_and_no_others() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("project").join("");
        let mut new = NewRepository::create(&root).unwrap();
        let ignored = "target/\n/data\n";
        new.commit("First", [(".gitignore", ignored), ("src/a/b.rs", ""), ("data/kept/x", "")])
            .unwrap();
        for directory in
            ["new/empty", "target/debug", "data/other", "cache", "clone/.git", ".rbench"]
        {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        let tag = "Signature: 8a477f597d28d172789f06886806bc55\n";
        fs::write(root.join("cache/CACHEDIR.TAG"), tag).unwrap();
        std::os::unix::fs::symlink("/", root.join("link")).unwrap();
        let repository = Repository::discover(&root).unwrap();
        let mut visited = Vec::new();
        let visit = |path: &Path| {
            visited.push(path.strip_prefix(repository.root()).unwrap().display().to_string());
            Ok(())
        };
        repository.visit_directories(visit).unwrap();
        visited.sort();
        assert_eq!(visited, ["", "data", "data/kept", "new", "new/empty", "src", "src/a"]);
    }
}
