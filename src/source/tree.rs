//! Trees put together from the paths of files, in memory.
//!
//! libgit2's own writer insists that every blob is in the store it writes to.

use git2::{Index, ObjectType, Oid};

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

/// What an index holds, without the sides of conflicts.
pub(super) fn entries_of(index: &Index) -> Vec<Entry> {
    const STAGE: u16 = 0x3000;
    index
        .iter()
        .filter(|entry| entry.flags & STAGE == 0)
        .map(|entry| Entry { path: entry.path, mode: entry.mode, id: entry.id })
        .collect()
}

/// The tree of `entries`. Of its objects those that `git` lacks are written to it, which has a
/// store in memory for them.
pub(super) fn write(entries: &[Entry], git: &git2::Repository) -> Result<Oid, git2::Error> {
    // Sorted by their paths' bytes, the files of a directory are neighbours, and at each level
    // directories and files are in the order of git's trees.
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    write_level(&sorted, 0, &git.odb()?)
}

/// Writes the directory that all paths have in common up to the byte `start`.
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

#[cfg(test)]
mod tests {
    use git2::IndexEntry;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_tree_is_the_one_that_git_makes_of_the_same_files(
            names in prop::collection::btree_set("[ab0-][ab0.-]?(/[ab0-][ab0.-]?){0,2}", 1..20),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let git = git2::Repository::init_bare(directory.path()).unwrap();
            let blob = git.blob(b"content").unwrap();
            let mut index = git.index().unwrap();
            for name in names {
                // A later file takes the place of a directory.
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
}
