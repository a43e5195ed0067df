//! A version with more at the end of some files, made in memory.

use std::path::PathBuf;

use git2::{Index, ObjectType, Oid};

use super::{
    Repository, files,
    tree::{self, Entry},
};
use crate::{
    failure::{Exit, OrFail, Result},
    model::Version,
};

/// The mode of a file that is neither executable nor a link.
const PLAIN: u32 = 0o100_644;

impl Repository {
    /// The version called `revision` that has `text` at the end of each of these files, which are given by their
    /// paths in the repository, and is otherwise like `version`. What is no plain file there is left as it is;
    /// `None` if that is all of them.
    ///
    /// As with uncommitted changes, its objects live as long as this value, and nothing is written.
    pub fn with_appended(
        &self,
        version: &Version,
        to: &[PathBuf],
        text: &str,
        revision: &str,
    ) -> Result<Option<Version>> {
        let what = || format!("cannot make {revision}");
        let tree = Oid::from_str(&version.tree).or_fail(Exit::Internal, what)?;
        let tree = self.appended(tree, to, text).or_fail(Exit::Usage, what)?;
        let appended = |tree: Oid| Version {
            revision: revision.to_owned(),
            tree: tree.to_string(),
            dirty: true,
            ..version.clone()
        };
        Ok(tree.map(appended))
    }

    fn appended(&self, tree: Oid, to: &[PathBuf], text: &str) -> Result<Option<Oid>, git2::Error> {
        let mut entries = self.entries_at(tree)?;
        let objects = self.git().odb()?;
        let is_meant = |entry: &Entry| {
            entry.mode == PLAIN && to.contains(&files::path_from_bytes(&entry.path))
        };
        let mut is_any = false;
        for entry in entries.iter_mut().filter(|entry| is_meant(entry)) {
            let content = [objects.read(entry.id)?.data(), text.as_bytes()].concat();
            entry.id = objects.write(ObjectType::Blob, &content)?;
            is_any = true;
        }
        if is_any { tree::write(&entries, self.git()).map(Some) } else { Ok(None) }
    }

    /// All files of a tree.
    fn entries_at(&self, tree: Oid) -> Result<Vec<Entry>, git2::Error> {
        let handle = self.bare_handle()?;
        let mut index = Index::new()?;
        handle.set_index(&mut index)?;
        index.read_tree(&handle.find_tree(tree)?)?;
        Ok(tree::entries_of(&index))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::source::{Checkouts, NewRepository};

    #[test]
    fn only_the_named_files_have_more_and_nothing_is_written() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("project");
        let mut new = NewRepository::create(&root).unwrap();
        new.commit("First", [("a/b.rs", "one\n"), ("a/c.rs", "two\n"), ("d.rs", "three\n")])
            .unwrap();
        let repository = Repository::discover(&root).unwrap();
        let count = || walk(&root.join(".git"));
        let before = count();
        let head = repository.resolve("HEAD").unwrap();
        let to = ["a/b.rs", "d.rs", "none.rs"].map(PathBuf::from);
        let more = |to: &[PathBuf]| {
            repository.with_appended(&head, to, "more\n", "HEAD with more").unwrap()
        };
        let appended = more(&to).unwrap();
        assert!(appended.dirty && appended.tree != head.tree && appended.commit == head.commit);
        let checkouts = Checkouts::open(&scratch.path().join("cache")).unwrap();
        let files = checkouts.checkout(&repository, &appended).unwrap().path;
        let text = |file: &str| fs::read_to_string(files.join(file)).unwrap();
        assert_eq!(
            ["a/b.rs", "a/c.rs", "d.rs"].map(text),
            ["one\nmore\n", "two\n", "three\nmore\n"]
        );
        assert_eq!(more(&to[2..]), None);
        assert_eq!(count(), before);
    }

    /// How many files there are.
    fn walk(directory: &std::path::Path) -> usize {
        let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
        entries.map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { 1 }).sum()
    }
}
