//! Which differences between the index and the working tree are not part of the uncommitted tree.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use git2::{Index, IndexEntry, IndexEntryExtendedFlag};

use super::{files, lfs};

/// The first bytes of a `CACHEDIR.TAG`, by the cache directory tagging specification.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Decides which differences between the index and the working tree are none of the version's.
pub(super) struct LeftOut<'a> {
    handle: &'a git2::Repository,
    root: &'a Path,
    /// Files that count only if git tracks them.
    files: &'a [PathBuf],
    tracked: HashMap<PathBuf, IndexEntry>,
    tracked_directories: HashSet<PathBuf>,
    caches: HashMap<PathBuf, bool>,
}

impl<'a> LeftOut<'a> {
    pub(super) fn new(
        handle: &'a git2::Repository,
        root: &'a Path,
        files: &'a [PathBuf],
        index: &Index,
    ) -> Self {
        let tracked: HashMap<_, _> =
            index.iter().map(|entry| (files::path_of(&entry), entry)).collect();
        let tracked_directories =
            tracked.keys().flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned).collect();
        Self { handle, root, files, tracked, tracked_directories, caches: HashMap::new() }
    }

    /// Whether the difference at `path`, relative to the root, does not count.
    pub(super) fn leaves_out(&mut self, path: &Path) -> bool {
        let on_disk = self.root.join(path);
        let Some(entry) = self.tracked.get(path) else {
            // A directory that git does not look into is another repository.
            let is_repository = on_disk.is_dir() && !on_disk.is_symlink();
            return is_repository || self.files.contains(&on_disk) || self.is_in_cache(path);
        };
        let extended = IndexEntryExtendedFlag::from_bits_retain(entry.flags_extended);
        if extended.contains(IndexEntryExtendedFlag::SKIP_WORKTREE) {
            // A sparse checkout has not deleted the files that it does not show.
            return !on_disk.exists();
        }
        lfs::is_tracked(self.handle, path) && lfs::is_content_of(self.handle, entry.id, &on_disk)
    }

    fn is_in_cache(&mut self, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .take_while(|directory| !self.tracked_directories.contains(*directory))
            .any(|directory| {
                *self
                    .caches
                    .entry(directory.to_owned())
                    .or_insert_with(|| is_tagged(&self.root.join(directory)))
            })
    }
}

fn is_tagged(directory: &Path) -> bool {
    let mut start = Vec::new();
    File::open(directory.join("CACHEDIR.TAG"))
        .and_then(|file| file.take(CACHE_TAG.len() as u64).read_to_end(&mut start))
        .is_ok_and(|_| start == CACHE_TAG)
}
