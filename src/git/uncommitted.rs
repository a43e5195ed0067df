//! The uncommitted tree: the tree that `git add --all` would record, without recording anything.
//!
//! Two handles share the work. The first compares the working tree with a copy of the user's index in memory, whose
//! file times avoid hashing unchanged files; it writes no object. The second records the blobs of changed files; all
//! its objects are in memory, and it has no others: given the user's own store, libgit2 would set the time of each file
//! in `.git/objects` that already contains an object to be written. For the same reason the trees are built here.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::Read as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use git2::{Index, IndexAddOption, IndexEntry, IndexEntryExtendedFlag, ObjectType, Odb, Oid};

use super::{
    Repository, files,
    repository::{MEMORY_FIRST, is_unborn},
    tree::{self, Entry},
};
use crate::{
    error::{Context, Error, Exit, Result},
    shell::quoted,
};

/// Size in bytes from which an untracked file is probably not meant to be copied.
const LARGE: u64 = 100_000_000;

/// Most large files that an error names.
const NAMED: usize = 5;

impl Repository {
    /// The tree of all modified and untracked files, without ignored ones and without changes of rbench's own.
    ///
    /// It also excludes untracked directories that a tool tagged as its cache (a target directory that is not ignored
    /// changes with every build), and untracked repositories. A submodule with uncommitted changes is in the tree as a
    /// directory with its files.
    pub(super) fn uncommitted_tree(&self) -> Result<Oid> {
        let entries = self.uncommitted_entries()?;
        tree::write(&entries, self.git())
            .context(Exit::Usage, || format!("cannot hash the files of {}", self.root().display()))
    }

    fn uncommitted_entries(&self) -> Result<Vec<Entry>> {
        let root = self.root().display();
        if self.git().is_bare() {
            return Err(Error::new(Exit::Usage, format!("{root} has no uncommitted tree"))
                .cause("it is a bare repository")
                .hint("name a commit, a branch or a tag instead of `.`"));
        }
        let what = || format!("cannot read the uncommitted tree of {root}");
        if self.has_unknown_sparse_index() {
            let git = format!("git -C {}", quoted(self.root()));
            return Err(Error::new(Exit::Usage, what())
                .cause(
                    "it is a sparse checkout with an index in a format that rbench does not know",
                )
                .hint(format!(
                    "write the index in full with: {git} sparse-checkout reapply --no-sparse-index"
                ))
                .hint(format!("if it is split: {git} update-index --no-split-index")));
        }
        let changed = self.changed_paths().context(Exit::Usage, what)?;
        self.refuse_large(&changed)?;
        let entries = self.record(&changed).context(Exit::Usage, what)?;
        let entries = self.with_own_files_of_head(entries).context(Exit::Usage, what)?;
        let mut complete = Vec::with_capacity(entries.len());
        for entry in entries {
            match self.changed_submodule(&entry)? {
                Some(files) => complete.extend(files),
                None => complete.push(entry),
            }
        }
        Ok(complete)
    }

    /// The same entries, with the files that only rbench reads as the commit has them: new settings or an accepted
    /// slowdown are no other version to compile.
    fn with_own_files_of_head(&self, mut entries: Vec<Entry>) -> Result<Vec<Entry>, git2::Error> {
        let tree = self.head_commit()?.map(|commit| commit.tree()).transpose()?;
        for file in self.left_out().iter().filter_map(|file| file.strip_prefix(self.root()).ok()) {
            let path = file.as_os_str().as_bytes();
            entries.retain(|entry| entry.path != path);
            if let Some(found) = tree.as_ref().and_then(|tree| tree.get_path(file).ok()) {
                let mode = u32::try_from(found.filemode()).unwrap_or_default();
                entries.push(Entry { path: path.to_owned(), mode, id: found.id() });
            }
        }
        Ok(entries)
    }

    /// True if the files hidden by a sparse checkout are unknown: only the index distinguishes them from deleted ones.
    fn has_unknown_sparse_index(&self) -> bool {
        let is_sparse =
            self.git().config().and_then(|config| config.get_bool("core.sparseCheckout"));
        is_sparse.unwrap_or(false)
            && self.git().index().is_err_and(|error| is_unknown_format(&error))
    }

    fn changed_paths(&self) -> Result<HashSet<PathBuf>, git2::Error> {
        // The callback receives each difference and skips it, so that nothing is added.
        const SKIP: i32 = 1;
        let comparer = git2::Repository::open(self.git().path())?;
        let mut index = current_index(&comparer)?;
        let mut left_out = LeftOut::new(&comparer, self.root(), self.left_out(), &index);
        let mut changed = HashSet::new();
        let mut note = |path: &Path, _: &[u8]| {
            if !left_out.leaves_out(path) {
                changed.insert(path.to_owned());
            }
            SKIP
        };
        index.add_all(["*"], IndexAddOption::DEFAULT, Some(&mut note))?;
        Ok(changed)
    }

    /// Rejects large untracked files: each would be read into memory and copied into a checkout.
    fn refuse_large(&self, changed: &HashSet<PathBuf>) -> Result<()> {
        let tracked = self.git().index();
        let is_tracked =
            |path: &Path| tracked.as_ref().is_ok_and(|index| index.get_path(path, 0).is_some());
        let size =
            |path: &PathBuf| fs::symlink_metadata(self.root().join(path)).map(|file| file.len());
        let mut large: Vec<(&PathBuf, u64)> = changed
            .iter()
            .filter_map(|path| Some((path, size(path).ok()?)))
            .filter(|(path, size)| *size > LARGE && !is_tracked(path))
            .collect();
        large.sort();
        let Some((first, _)) = large.first() else { return Ok(()) };
        let what = "cannot take the uncommitted tree with large files that git does not track";
        let (root, first) = (quoted(self.root()), quoted(first));
        let shown = |(path, size): &(&PathBuf, u64)| {
            format!("{} has {} MB", path.display(), size / 1_000_000)
        };
        Err(Error::new(Exit::Usage, what)
            .listing(&large.iter().map(shown).collect::<Vec<_>>(), NAMED)
            .hint(format!("if benchmarks need it: git -C {root} add --intent-to-add {first}"))
            .hint("if they do not: add it to a .gitignore file"))
    }

    /// The entries of the index after an update of the changed paths. Their blobs are in memory afterwards.
    fn record(&self, changed: &HashSet<PathBuf>) -> Result<Vec<Entry>, git2::Error> {
        let recorder = git2::Repository::open(self.git().path())?;
        let mut index = current_index(&recorder)?;
        let objects = Odb::new()?;
        objects.add_new_mempack_backend(MEMORY_FIRST)?;
        recorder.set_odb(&objects)?;
        for entry in index.iter() {
            // Attributes and the old content decide about line endings.
            if entry.path.ends_with(b".gitattributes") || changed.contains(&files::path_of(&entry))
            {
                copy_blob(&self.git().odb()?, entry.id, &objects)?;
            }
        }
        let is_there = |path: &Path| {
            let is_submodule =
                || index.get_path(path, 0).is_some_and(|it| files::is_submodule(&it));
            match fs::symlink_metadata(self.root().join(path)) {
                Ok(data) if data.is_dir() => is_submodule(),
                Ok(_) => !self.is_beyond_link(path),
                Err(_) => false,
            }
        };
        let (there, gone): (Vec<_>, Vec<_>) = changed.iter().partition(|path| is_there(path));
        gone.into_iter().try_for_each(|path| index.remove_path(path))?;
        there.iter().try_for_each(|path| index.add_path(path))?;
        for path in there {
            if let Some(entry) = index.get_path(path, 0) {
                copy_blob(&objects, entry.id, &self.git().odb()?)?;
            }
        }
        Ok(tree::entries_of(&index))
    }

    /// True if a parent directory is now a symbolic link, so that the file is no longer at this path.
    fn is_beyond_link(&self, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .any(|parent| !parent.as_os_str().is_empty() && self.root().join(parent).is_symlink())
    }

    /// The files of a submodule that differs from its commit, with paths in this repository; `None` if it is no
    /// submodule or has no changes.
    fn changed_submodule(&self, entry: &Entry) -> Result<Option<Vec<Entry>>> {
        let path = self.root().join(files::path_from_bytes(&entry.path));
        if entry.mode != files::SUBMODULE || !path.join(".git").exists() {
            return Ok(None);
        }
        let what = || format!("cannot read the submodule {}", path.display());
        let submodule =
            git2::Repository::open(&path).and_then(Self::new).context(Exit::Usage, what)?;
        let head = submodule.head_commit().context(Exit::Usage, what)?;
        let mut entries = submodule.uncommitted_entries()?;
        let tree = tree::write(&entries, submodule.git()).context(Exit::Usage, what)?;
        if head.is_some_and(|head| head.tree_id() == tree) {
            return Ok(None);
        }
        self.take_over(&submodule, &entries).context(Exit::Usage, what)?;
        for file in &mut entries {
            file.path = [&entry.path[..], b"/", &file.path[..]].concat();
        }
        Ok(Some(entries))
    }

    /// Makes the blobs of a submodule available here: existing ones on disk, the others in memory.
    fn take_over(&self, submodule: &Self, entries: &[Entry]) -> Result<(), git2::Error> {
        let (theirs, ours) = (submodule.git().odb()?, self.git().odb()?);
        if let Some(objects) = submodule.git().commondir().join("objects").to_str() {
            ours.add_disk_alternate(objects)?;
        }
        entries
            .iter()
            .filter(|entry| entry.mode != files::SUBMODULE)
            .try_for_each(|entry| copy_blob(&theirs, entry.id, &ours))
    }
}

/// Copies a blob, if it exists and is missing here.
fn copy_blob(from: &Odb<'_>, blob: Oid, to: &Odb<'_>) -> Result<(), git2::Error> {
    if !to.exists(blob)
        && let Ok(object) = from.read(blob)
    {
        to.write(ObjectType::Blob, object.data())?;
    }
    Ok(())
}

/// The user's index in memory; HEAD's tree if libgit2 does not know its format (split and sparse indexes).
pub(super) fn current_index(handle: &git2::Repository) -> Result<Index, git2::Error> {
    match handle.index() {
        Err(error) if is_unknown_format(&error) => {}
        read => return read,
    }
    let mut index = Index::new()?;
    handle.set_index(&mut index)?;
    match handle.head() {
        Ok(head) => index.read_tree(&head.peel_to_tree()?)?,
        Err(error) if is_unborn(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(index)
}

/// True if an index has an extension that libgit2 does not know.
fn is_unknown_format(error: &git2::Error) -> bool {
    error.class() == git2::ErrorClass::Index && error.message().contains("unsupported")
}

/// The first bytes of a `CACHEDIR.TAG`, by the cache directory tagging specification.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Decides which differences between index and working tree do not belong to the version.
struct LeftOut<'a> {
    handle: &'a git2::Repository,
    root: &'a Path,
    /// Files that only rbench reads.
    files: &'a [PathBuf],
    tracked: HashMap<PathBuf, IndexEntry>,
    tracked_directories: HashSet<PathBuf>,
    caches: HashMap<PathBuf, bool>,
}

impl<'a> LeftOut<'a> {
    fn new(
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

    /// True if the difference at `path`, relative to the root, is excluded.
    fn leaves_out(&mut self, path: &Path) -> bool {
        let on_disk = self.root.join(path);
        let Some(entry) = self.tracked.get(path) else {
            // A directory that git does not descend into is another repository.
            let is_repository = on_disk.is_dir() && !on_disk.is_symlink();
            return is_repository || self.files.contains(&on_disk) || self.is_in_cache(path);
        };
        let extended = IndexEntryExtendedFlag::from_bits_retain(entry.flags_extended);
        if extended.contains(IndexEntryExtendedFlag::SKIP_WORKTREE) {
            // A sparse checkout has not deleted the hidden files.
            return !on_disk.exists();
        }
        files::is_tracked_by_lfs(self.handle, path)
            && files::is_lfs_content_of(self.handle, entry.id, &on_disk)
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

pub(super) fn is_tagged(directory: &Path) -> bool {
    let mut start = Vec::new();
    File::open(directory.join("CACHEDIR.TAG"))
        .and_then(|file| file.take(CACHE_TAG.len() as u64).read_to_end(&mut start))
        .is_ok_and(|_| start == CACHE_TAG)
}
