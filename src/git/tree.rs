//! Builds trees in memory from the paths of files; among them a version with text appended to some files.
//!
//! libgit2's own writer cannot do it: it insists that every blob is in the store it writes to.

use std::path::PathBuf;

use git2::{Index, ObjectType, Oid};

use super::{Repository, files};
use crate::{
    error::{Context, Exit, Result},
    model::Version,
};

/// A file, link or submodule of a tree.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The path from the tree's root, any bytes.
    pub(super) path: Vec<u8>,
    /// Git's file mode, as in a tree: `0o100644`.
    pub(super) mode: u32,
    /// The blob, or the submodule's commit.
    pub(super) id: Oid,
}

/// The entries of an index, without the sides of conflicts.
pub(super) fn entries_of(index: &Index) -> Vec<Entry> {
    const STAGE: u16 = 0x3000;
    index
        .iter()
        .filter(|entry| entry.flags & STAGE == 0)
        .map(|entry| Entry { path: entry.path, mode: entry.mode, id: entry.id })
        .collect()
}

/// The tree of `entries`. Objects that `git` lacks are written to its store in memory.
pub(super) fn write(entries: &[Entry], git: &git2::Repository) -> Result<Oid, git2::Error> {
    // Sorted by their paths' bytes, the files of a directory are neighbours, and at each level directories and files
    // are in the order of git's trees.
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    write_level(&sorted, 0, &git.odb()?)
}

/// Writes the directory that is the common prefix of all paths, `start` bytes long.
fn write_level(
    entries: &[&Entry],
    start: usize,
    objects: &git2::Odb<'_>,
) -> Result<Oid, git2::Error> {
    let mut data = Vec::new();
    let directory = |entry: &Entry| {
        entry.path[start..].iter().position(|&byte| byte == b'/').map(|length| start + length)
    };
    for same in entries.chunk_by(|one, other| {
        directory(one).is_some_and(|end| other.path.get(..=end) == Some(&one.path[..=end]))
    }) {
        let first = same[0];
        let (mode, end, id) = match directory(first) {
            Some(end) => (0o40_000, end, write_level(same, end + 1, objects)?),
            None => (first.mode, first.path.len(), first.id),
        };
        data.extend_from_slice(format!("{mode:o} ").as_bytes());
        data.extend_from_slice(&first.path[start..end]);
        data.push(0);
        data.extend_from_slice(id.as_bytes());
    }
    let id = Oid::hash_object(ObjectType::Tree, &data)?;
    if objects.exists(id) { Ok(id) } else { objects.write(ObjectType::Tree, &data) }
}

/// The mode of a file that is neither executable nor a link.
const PLAIN: u32 = 0o100_644;

impl Repository {
    /// A version named `revision` that equals `version` except for `text` appended to each of these files, which are
    /// given by their paths in the repository. Paths without a plain file are unchanged; `None` if that is all of them.
    ///
    /// As with uncommitted changes, its objects live as long as this value, and nothing is written to disk.
    pub fn with_appended(
        &self,
        version: &Version,
        to: &[PathBuf],
        text: &str,
        revision: &str,
    ) -> Result<Option<Version>> {
        let what = || format!("cannot make {revision}");
        let tree = Oid::from_str(&version.tree).context(Exit::Internal, what)?;
        let tree = self.appended(tree, to, text).context(Exit::Usage, what)?;
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
        if is_any { write(&entries, self.git()).map(Some) } else { Ok(None) }
    }

    fn entries_at(&self, tree: Oid) -> Result<Vec<Entry>, git2::Error> {
        let handle = self.bare_handle()?;
        let mut index = Index::new()?;
        handle.set_index(&mut index)?;
        index.read_tree(&handle.find_tree(tree)?)?;
        Ok(entries_of(&index))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use git2::IndexEntry;
    use proptest::prelude::*;

    use super::*;
    use crate::git::{Checkouts, NewRepository};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn written_tree_equals_that_of_git(
            names in prop::collection::btree_set("[ab0-][ab0.-]?(/[ab0-][ab0.-]?){0,2}", 1..20),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let git = git2::Repository::init_bare(directory.path()).unwrap();
            let blob = git.blob(b"content").unwrap();
            let mut index = git.index().unwrap();
            for name in names {
                // A later file replaces a directory.
                index.add(&index_entry(name.into_bytes(), blob)).unwrap();
            }
            let entries = entries_of(&index);
            let expected = index.write_tree_to(&git).unwrap();
            prop_assert_eq!(write(&entries, &git).unwrap(), expected);
        }
    }

    fn index_entry(path: Vec<u8>, id: Oid) -> IndexEntry {
        let time = git2::IndexTime::new(0, 0);
        let (dev, ino, uid, gid, file_size, flags, flags_extended) = (0, 0, 0, 0, 0, 0, 0);
        let mode = 0o100_644;
        IndexEntry {
            ctime: time,
            mtime: time,
            dev,
            ino,
            mode,
            uid,
            gid,
            file_size,
            id,
            flags,
            flags_extended,
            path,
        }
    }

    #[test]
    fn text_is_appended_to_the_named_files_only() {
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

    /// Counts the files.
    fn walk(directory: &std::path::Path) -> usize {
        let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
        entries.map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { 1 }).sum()
    }
}
