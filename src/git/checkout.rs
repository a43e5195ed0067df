//! Checkouts: the complete files of a version in a separate directory, written once.
//!
//! Below the base directory:
//!
//! - `checkouts/<tree>/` is a complete checkout: it is written elsewhere and appears by one rename. A variant has one
//!   of its own, `<tree>+<name>`, because both are executed at once and write to their files;
//! - `checkouts/<tree>.manifest` reveals damage to it;
//! - `checkouts/tmp-*` is being written, or was left by a killed run.
//!
//! A manifest records the state of a checkout when it was written: one line per file or link, with kind and
//! permissions, size, time of the last change and path. A check costs one `lstat` per file. It notices files that are
//! missing, that have another size, kind or mode, or that were written to since, even if the old time of modification
//! was restored: the kernel sets the time of change itself. Added files (a `Cargo.lock`, output of a build script) are
//! no damage, but must not be compiled.
//!
//! # Its `.git`
//!
//! Without one, git would search above the cache directory, and stamp executables with the commit of whatever repository
//! is there. It is [rbench's own](super::own_directory), and so are those of submodules. They are written again each time
//! that a version is checked out, because references of the user's repository may have changed since, and code of the
//! version may have written there.
//!
//! Commits with the same files share a checkout and a compilation, so that a stamp may be of the other commit.

use std::{
    collections::HashSet,
    fmt::Write as _,
    fs::{self, Metadata},
    io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use git2::Oid;
use tempfile::TempDir;

use super::{
    Repository,
    files::{self, FoundSubmodule, Submodule},
    own_directory::{self, Access},
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::Version,
};

const UNFINISHED: &str = "tmp-";
const FILES: &str = "files";
const MANIFEST: &str = "manifest";
/// The first line of the manifest of a checkout without the files of some submodules. No checkout matches such a
/// manifest, so it is written again next time: the submodules may be initialised by then.
const INCOMPLETE: &str = "incomplete\n";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    pub path: PathBuf,
    /// True if they were written just now, false if they were there already.
    pub fresh: bool,
    /// Submodules that are not initialised in the user's repository; they are empty directories here too.
    pub absent_submodules: Vec<PathBuf>,
}

/// All checkouts of one repository, in one base directory.
///
/// Only one process at a time may use it: the caller holds a lock on the base directory.
#[derive(Debug)]
pub struct Checkouts {
    directory: PathBuf,
}

impl Checkouts {
    /// Opens `<base>/checkouts`, creates it if necessary, and removes remains of killed runs.
    pub fn open(base: &Path) -> Result<Self> {
        let checkouts = Self { directory: base.join("checkouts") };
        let what = || format!("cannot prepare {}", checkouts.directory.display());
        fs::create_dir_all(&checkouts.directory).context(Exit::Build, what)?;
        checkouts.prune().context(Exit::Build, what)?;
        Ok(checkouts)
    }

    /// Provides the complete files of `version`: existing ones if they are undamaged, else new ones.
    ///
    /// Written files get the present time, so that they are older than everything that is ever compiled from them.
    /// Added files are no damage; other damage is noticed if sizes, modes or times of change show it.
    pub fn checkout(&self, repository: &Repository, version: &Version) -> Result<Checkout> {
        let (path, manifest) = self.paths(version);
        let known = fs::read_to_string(&manifest);
        if known.is_ok_and(|known| is_unchanged(&known, &path)) {
            self.provide_git(repository, version, &path)?;
            return Ok(Checkout { path, fresh: false, absent_submodules: Vec::new() });
        }
        self.write(repository, version)
    }

    /// Writes the files of `version` again if they are not exactly as written before: a benchmark may change the
    /// sources that it was compiled from, or add files. Returns the changed files; `None` if nothing was written.
    pub fn restore(
        &self,
        repository: &Repository,
        version: &Version,
    ) -> Result<Option<Vec<String>>> {
        let (path, manifest) = self.paths(version);
        let known = fs::read_to_string(&manifest).unwrap_or_default();
        let Differences { changed, has_more } = differences(&known, &path);
        // Uncommitted changes that exist nowhere else are better than nothing.
        let is_last = || {
            version.dirty && Oid::from_str(&version.tree).is_ok_and(|tree| !repository.has(tree))
        };
        if changed.is_empty() && (!has_more || is_last()) {
            return Ok(None);
        }
        self.write(repository, version)?;
        Ok(Some(changed))
    }

    fn paths(&self, version: &Version) -> (PathBuf, PathBuf) {
        let variant = version.variant.iter().map(|variant| format!("+{}", variant.name));
        let path = self.directory.join(version.tree.clone() + &variant.collect::<String>());
        let manifest = path.with_extension(MANIFEST);
        (path, manifest)
    }

    fn write(&self, repository: &Repository, version: &Version) -> Result<Checkout> {
        let (path, manifest) = self.paths(version);
        let what = || format!("cannot check out {version} at {}", path.display());
        let tree = Oid::from_str(&version.tree).context(Exit::Internal, what)?;
        if version.dirty && !repository.has(tree) {
            return Err(Error::new(Exit::Build, what())
                .cause(
                    "its uncommitted changes were never committed, and the working tree has \
                          changed since",
                )
                .hint(
                    "measure the current working tree with `.`, or commit changes that you want \
                       to measure again",
                ));
        }
        remove(&manifest).and_then(|()| remove(&path)).context(Exit::Build, what)?;
        let unfinished = self.unfinished().context(Exit::Build, what)?;
        let files = unfinished.path().join(FILES);
        fs::create_dir(&files).context(Exit::Build, what)?;
        let absent_submodules = files::write(repository, tree, &files)
            .map_err(|error| error.cause(format!("needed for the checkout of {version}")))?;
        let heading = if absent_submodules.is_empty() { "" } else { INCOMPLETE };
        publish(&unfinished, heading, &path, &manifest).context(Exit::Build, what)?;
        self.provide_git(repository, version, &path)?;
        Ok(Checkout { path, fresh: true, absent_submodules })
    }

    /// Makes git answer for `version` in its checkout, in which all files are as they were written.
    fn provide_git(
        &self,
        repository: &Repository,
        version: &Version,
        checkout: &Path,
    ) -> Result<()> {
        let what = || format!("cannot prepare {}", checkout.join(GIT_DIRECTORY).display());
        let commit = version.commit.as_deref().map(Oid::from_str).transpose();
        let commit = commit.context(Exit::Internal, what)?;
        let tree = Oid::from_str(&version.tree).context(Exit::Internal, what)?;
        self.provide_git_of(repository, commit, tree, checkout)
    }

    fn provide_git_of(
        &self,
        repository: &Repository,
        commit: Option<Oid>,
        tree: Oid,
        checkout: &Path,
    ) -> Result<()> {
        self.write_git(repository, commit, tree, checkout).context(Exit::Build, || {
            format!("cannot prepare {}", checkout.join(GIT_DIRECTORY).display())
        })?;
        for Submodule { path, found } in files::submodules(repository, tree, checkout)? {
            if let Some(FoundSubmodule { repository, commit, tree }) = found {
                self.provide_git_of(&repository, Some(commit), tree, &checkout.join(path))?;
            }
        }
        Ok(())
    }

    fn write_git(
        &self,
        repository: &Repository,
        commit: Option<Oid>,
        tree: Oid,
        checkout: &Path,
    ) -> io::Result<()> {
        let (old, new) = (checkout.join(GIT_DIRECTORY), self.unfinished()?);
        own_directory::write(repository, commit, Access::OfCode, new.path())?;
        own_directory::write_index(repository, commit, tree, [new.path(), checkout])
            .map_err(io::Error::other)?;
        own_directory::keep_times(&old, new.path())?;
        mark_unread(new.path())?;
        remove(&old)?;
        fs::rename(new.keep(), old)
    }

    /// A directory to write a checkout in, accessible only to this user.
    fn unfinished(&self) -> io::Result<TempDir> {
        tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&self.directory)
    }

    fn prune(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Makes a finished checkout visible. The manifest is renamed first: without its directory it is ignored, and a
/// directory without a manifest counts as damaged. Both renames are atomic.
fn publish(unfinished: &TempDir, heading: &str, path: &Path, manifest: &Path) -> io::Result<()> {
    let files = unfinished.path().join(FILES);
    let text = unfinished.path().join(MANIFEST);
    mark_unread(&files)?;
    fs::write(&text, format!("{heading}{}", describe_files(&files)?))?;
    fs::rename(text, manifest)?;
    fs::rename(files, path)
}

/// Gives all files below a directory the time of their last reading that says that nobody has read them. The file system
/// replaces it when somebody does, also if it is mounted with `relatime`, since it is older than the file.
fn mark_unread(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            mark_unread(&entry.path())?;
        } else if kind.is_file() {
            let unread = fs::FileTimes::new().set_accessed(std::time::SystemTime::UNIX_EPOCH);
            // One that cannot be opened counts as read.
            let _ = fs::File::open(entry.path()).and_then(|file| file.set_times(unread));
        }
    }
    Ok(())
}

/// Removes a file or a directory, if it exists.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Describes every file below `directory`, in a fixed order, without those of git directories. No tree has any.
fn describe_files(directory: &Path) -> io::Result<String> {
    let mut text = String::new();
    describe_files_into(directory, Path::new(""), &mut text)?;
    Ok(text)
}

fn describe_files_into(root: &Path, directory: &Path, text: &mut String) -> io::Result<()> {
    let mut entries = fs::read_dir(root.join(directory))?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = directory.join(entry.file_name());
        let data = entry.metadata()?;
        if data.is_dir() && entry.file_name() == GIT_DIRECTORY {
            continue;
        }
        if data.is_dir() {
            describe_files_into(root, &path, text)?;
        } else {
            text.push_str(&line(&data, &path));
        }
    }
    Ok(())
}

/// The manifest's line for a file. The path is written as hex where it is not plain text, so that every file is one
/// line.
fn line(data: &Metadata, path: &Path) -> String {
    let path = path.to_str().filter(|path| !path.contains(['\n', '\r'])).map_or_else(
        || format!("x{}", hex(path.as_os_str().as_encoded_bytes())),
        |path| format!("p{path}"),
    );
    format!("{:o} {} {} {path}\n", data.mode(), data.len(), changed(data))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The time of the last change of a file or its attributes, in nanoseconds since 1970.
fn changed(data: &Metadata) -> i128 {
    i128::from(data.ctime()) * 1_000_000_000 + i128::from(data.ctime_nsec())
}

/// True if everything that `manifest` describes is unchanged below `directory`.
fn is_unchanged(manifest: &str, directory: &Path) -> bool {
    let Ok(now) = describe_files(directory) else { return false };
    // Both are in the same order, so one pass over the present files finds all recorded ones.
    let mut now = now.lines();
    manifest.lines().all(|line| now.any(|present| present == line))
}

/// The differences of the files below a directory from its manifest.
#[derive(Debug, Default, PartialEq, Eq)]
struct Differences {
    /// Changed or removed files.
    changed: Vec<String>,
    /// True if there are other files that cargo may read. Lock files, which cargo itself creates, and target
    /// directories do not count.
    has_more: bool,
}

/// Compares the files below `directory` with `manifest`.
fn differences(manifest: &str, directory: &Path) -> Differences {
    // An unreadable file counts as missing.
    let now = describe_files(directory).unwrap_or_default();
    let present: HashSet<&str> = now.lines().collect();
    let known: HashSet<&str> = manifest.lines().filter_map(path_of).collect();
    let changed = manifest.lines().filter(|line| !present.contains(line)).filter_map(path_of);
    let more = |path: &&str| !known.contains(path) && !is_made_by_cargo(path);
    Differences {
        changed: changed.map(str::to_owned).collect(),
        has_more: now.lines().filter_map(path_of).any(|path| more(&path)),
    }
}

/// The path in a line, as it is written there, without its first letter.
fn path_of(line: &str) -> Option<&str> {
    line.splitn(4, ' ').nth(3)?.get(1..)
}

fn is_made_by_cargo(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next_back() == Some("Cargo.lock") || parts.any(|part| part == "target")
}

const GIT_DIRECTORY: &str = ".git";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_checkout_is_private_and_removed_by_the_next_run() {
        let base = tempfile::tempdir().unwrap();
        let unfinished = Checkouts::open(base.path()).unwrap().unfinished().unwrap().keep();
        assert_eq!(fs::metadata(&unfinished).unwrap().permissions().mode() & 0o777, 0o700);
        Checkouts::open(base.path()).unwrap();
        assert!(!unfinished.exists());
    }
}
