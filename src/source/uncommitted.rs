//! The uncommitted tree: what `git add --all` would record, without recording anything.
//!
//! libgit2 compares the working tree with a copy of the user's index in memory (whose file times
//! spare hashing what did not change), and the new blobs and trees go to the object store in
//! memory. Neither is written to disk.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use git2::{Index, IndexAddOption, IndexEntry, IndexEntryExtendedFlag, Oid};

use super::{Repository, files, lfs};
use crate::failure::{Exit, Failure, OrFail, Result};

/// The first bytes of a `CACHEDIR.TAG`, by the cache directory tagging specification.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

impl Repository {
    /// The tree of all modified and untracked files, the ignored ones left out.
    ///
    /// Left out as well are untracked directories that a tool tagged as its cache (a target
    /// directory that nobody ignored: it changes with every build), and untracked repositories.
    pub(super) fn uncommitted_tree(&self) -> Result<Oid> {
        let root = self.root().display();
        if self.git().is_bare() {
            return Err(Failure::new(Exit::Usage, format!("{root} has no uncommitted tree"))
                .because("it is a bare repository")
                .hint("name a commit, a branch or a tag instead of `.`"));
        }
        let what = || format!("cannot read the uncommitted tree of {root}");
        let handle = self.handle().or_fail(Exit::Usage, what)?;
        let mut index = current_index(&handle).or_fail(Exit::Usage, what)?;
        let mut left_out = LeftOut::new(&handle, self.root(), &index);
        index
            .add_all(
                ["*"],
                IndexAddOption::DEFAULT,
                Some(&mut |path: &Path, _: &[u8]| i32::from(left_out.leaves_out(path))),
            )
            .or_fail(Exit::Usage, what)?;
        self.refuse_changed_submodules(&index)?;
        index.write_tree_to(&handle).or_fail(Exit::Usage, what)
    }

    /// A submodule stands in a tree as a commit; what is not committed in it has no place there.
    fn refuse_changed_submodules(&self, index: &Index) -> Result<()> {
        for entry in index.iter().filter(files::is_submodule) {
            let path = self.root().join(files::path_of(&entry));
            let Ok(submodule) = git2::Repository::open(&path) else { continue };
            let submodule = Self::new(submodule)
                .or_fail(Exit::Usage, || format!("cannot open the submodule {}", path.display()))?;
            let head = submodule.head_commit().ok().flatten().map(|commit| commit.tree_id());
            if Some(submodule.uncommitted_tree()?) != head {
                let what = format!("the submodule {} has uncommitted changes", path.display());
                return Err(Failure::new(Exit::Usage, what)
                    .because("a version can hold a submodule's commits only")
                    .hint(format!("commit or stash them: git -C '{}' status", path.display())));
            }
        }
        Ok(())
    }
}

/// The user's index in memory; HEAD's tree where libgit2 cannot read it (split and sparse indexes).
fn current_index(handle: &git2::Repository) -> Result<Index, git2::Error> {
    if let Ok(index) = handle.index() {
        return Ok(index);
    }
    let mut index = Index::new()?;
    handle.set_index(&mut index)?;
    match handle.head() {
        Ok(head) => index.read_tree(&head.peel_to_tree()?)?,
        Err(error) if super::repository::is_unborn(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(index)
}

/// Decides which differences between the index and the working tree are none of the version's.
struct LeftOut<'a> {
    handle: &'a git2::Repository,
    root: &'a Path,
    tracked: HashMap<PathBuf, IndexEntry>,
    tracked_directories: HashSet<PathBuf>,
    caches: HashMap<PathBuf, bool>,
}

impl<'a> LeftOut<'a> {
    fn new(handle: &'a git2::Repository, root: &'a Path, index: &Index) -> Self {
        let tracked: HashMap<_, _> =
            index.iter().map(|entry| (files::path_of(&entry), entry)).collect();
        let tracked_directories =
            tracked.keys().flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned).collect();
        Self { handle, root, tracked, tracked_directories, caches: HashMap::new() }
    }

    fn leaves_out(&mut self, path: &Path) -> bool {
        let on_disk = self.root.join(path);
        let Some(entry) = self.tracked.get(path) else {
            // A directory that git does not look into is another repository.
            return on_disk.is_dir() && !on_disk.is_symlink() || self.is_in_cache(path);
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
