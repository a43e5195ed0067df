//! The `.git` of a checkout, for build scripts and benchmarks that ask git for their version.
//!
//! It makes the checkout a worktree of the user's repository, which does not know it: HEAD and the index are in the
//! checkout, and `commondir` leads to the objects, references and settings of the repository, into which nothing is
//! written. Without it, git would search above the cache directory, and stamp executables with the commit of whatever
//! repository is there.
//!
//! Commits with the same files share a checkout and a compilation, so that a stamp may be of the other commit.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::Path,
};

use git2::{Index, IndexEntry, IndexTime, Oid};

use super::Repository;
use crate::{
    error::{Context, Exit, Result},
    model::Version,
};

/// The directory in a checkout.
pub(super) const GIT_DIRECTORY: &str = ".git";

/// The HEAD of a repository without a commit.
const UNBORN: &str = "ref: refs/heads/main";

/// Makes git answer for `version` in its checkout.
pub(super) fn provide(repository: &Repository, version: &Version, checkout: &Path) -> Result<()> {
    let directory = checkout.join(GIT_DIRECTORY);
    let what = || format!("cannot prepare {}", directory.display());
    let head = format!("{}\n", version.commit.as_deref().unwrap_or(UNBORN));
    let mut common = repository.common_directory().as_os_str().as_bytes().to_vec();
    common.push(b'\n');
    let files = [("commondir", common.as_slice()), ("HEAD", head.as_bytes())];
    let is_current = |&(name, text): &(&str, &[u8])| {
        fs::read(directory.join(name)).is_ok_and(|known| known == text)
    };
    if files.iter().all(is_current) {
        return Ok(());
    }
    fs::create_dir_all(&directory).context(Exit::Build, what)?;
    write_index(repository, version, checkout).context(Exit::Build, what)?;
    // HEAD is last: without it, all is written again.
    let written: io::Result<()> =
        files.iter().try_for_each(|(name, text)| fs::write(directory.join(name), text));
    written.context(Exit::Build, what)
}

/// Writes the index of the version's commit. Files that are as in the commit get their state on disk, because
/// `git diff-index`, with which build scripts look for changes, reads no file.
fn write_index(
    repository: &Repository,
    version: &Version,
    checkout: &Path,
) -> std::result::Result<(), git2::Error> {
    let path = checkout.join(GIT_DIRECTORY).join("index");
    // What a killed run left may be damaged.
    let _ = fs::remove_file(&path);
    let mut index = Index::open(&path)?;
    if let Some(commit) = &version.commit {
        let git = repository.git();
        index.read_tree(&git.find_commit(Oid::from_str(commit)?)?.tree()?)?;
        let mut written = Index::new()?;
        written.read_tree(&git.find_tree(Oid::from_str(&version.tree)?)?)?;
        for entry in written.iter() {
            let path = Path::new(std::ffi::OsStr::from_bytes(&entry.path));
            let is_same = index.get_path(path, 0).is_some_and(|of_commit| of_commit.id == entry.id);
            if let Ok(data) = fs::symlink_metadata(checkout.join(path))
                && is_same
                && !data.is_dir()
            {
                index.add(&on_disk(entry, &data))?;
            }
        }
    }
    index.write()
}

/// The entry with the state of its file. As in git, numbers are cut to 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the index has 32 bits"
)]
fn on_disk(entry: IndexEntry, data: &Metadata) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(data.ctime() as i32, data.ctime_nsec() as u32),
        mtime: IndexTime::new(data.mtime() as i32, data.mtime_nsec() as u32),
        dev: data.dev() as u32,
        ino: data.ino() as u32,
        uid: data.uid(),
        gid: data.gid(),
        file_size: data.size() as u32,
        ..entry
    }
}
