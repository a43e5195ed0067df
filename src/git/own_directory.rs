//! Git directories that rbench writes, so that no program has to work in the one of the user.
//!
//! There are two uses. One is the `.git` of a checkout, for build scripts and benchmarks that ask git for their version: what
//! they write there (tags, settings, stashes, commits) stays there. The other is the directory that rbench's
//! [own git](super::program) works in.
//!
//! Such a directory has HEAD, all references, and settings of its own. These are few, chosen by name from the settings of the
//! repository, and none of them starts a program: code of an earlier commit may have written into a clone that is used for
//! several jobs. Objects are read in place.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File, Metadata},
    io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use git2::{Config, ConfigLevel, Index, IndexEntry, IndexTime, Oid, ReferenceType};
use regex::Regex;

use super::Repository;

/// The list of commits whose parents a shallow clone lacks.
pub(super) const SHALLOW: &str = "shallow";

/// The index, with the state of the files on disk.
const INDEX: &str = "index";

/// The list of other object directories, in an object directory.
const ALTERNATES: &str = "info/alternates";

/// The depth to which git follows lists of other object directories.
const DEEPEST: usize = 5;

/// The HEAD of a repository without a commit.
const UNBORN: &str = "ref: refs/heads/main";

/// Settings of a repository that change git's answers about its files and commits, or that a partial clone needs.
const ANSWERS: &str = r"^(core\.(abbrev|autocrlf|checkstat|eol|filemode|ignorecase|precomposeunicode|quotepath|safecrlf|symlinks|trustctime)|user\.(name|email)|remote\..*\.(url|promisor|partialclonefilter)|extensions\.partialclone)$";

/// Settings with which git reaches a remote, besides those.
const REACHES: &str = r"^http\.(.*\.)?(extraheader|proxy|sslcainfo|sslcapath|sslcert|sslkey)$";

/// Who works in a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// The code of a version, in its checkout. It gets no password of a remote.
    OfCode,
    /// rbench's own git, which fetches objects into the repository.
    OfRbench,
}

impl Repository {
    /// The directories with objects that its checkouts use: its own, those that it borrows, and those of submodules.
    pub fn object_directories(&self) -> Vec<PathBuf> {
        let kept = [self.git().path(), self.git().commondir()].map(|base| base.join("modules"));
        let kept = kept.iter().flat_map(|modules| git_directories_in(modules));
        let directories = std::iter::once(self.common_directory()).chain(kept);
        let mut found: Vec<PathBuf> =
            directories.flat_map(|one| object_directories(&one.join("objects"))).collect();
        // A submodule may have its git directory in the working tree.
        for submodule in self.git().submodules().unwrap_or_default() {
            if let Ok(inner) = submodule.open().and_then(Self::new) {
                found.extend(inner.object_directories());
            }
        }
        found.sort();
        found.dedup();
        found
    }
}

/// The git directories that git keeps for submodules in `modules`, whose names may have slashes, and for theirs.
fn git_directories_in(modules: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![modules.to_owned()]);
    while let Some(directory) = open.pop() {
        if directory.join("HEAD").is_file() && directory.join("objects").is_dir() {
            open.push(directory.join("modules"));
            found.push(directory);
            continue;
        }
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        open.extend(entries.filter(is_directory).map(|entry| entry.path()));
    }
    found
}

/// Writes all of a git directory but its index into the empty directory `new`.
pub(super) fn write(
    repository: &Repository,
    commit: Option<Oid>,
    access: Access,
    new: &Path,
) -> io::Result<()> {
    for directory in ["info", "objects/info", "objects/pack", "refs/heads", "refs/tags"] {
        fs::create_dir_all(new.join(directory))?;
    }
    let common = repository.common_directory();
    for name in [SHALLOW, "info/exclude", "info/attributes"] {
        if common.join(name).is_file() {
            fs::write(new.join(name), fs::read(common.join(name))?)?;
        }
    }
    let objects = object_directories(&common.join("objects"));
    let mut lines = Vec::new();
    for directory in objects {
        lines.extend_from_slice(directory.as_os_str().as_bytes());
        lines.push(b'\n');
    }
    fs::write(new.join("objects").join(ALTERNATES), lines)?;
    write_references(repository.git(), new)?;
    write_settings(repository, access, &new.join("config")).map_err(io::Error::other)?;
    let head = commit.map_or_else(|| UNBORN.to_owned(), |commit| commit.to_string());
    fs::write(new.join("HEAD"), head + "\n")
}

/// An object directory, and all those that it lists, each once.
fn object_directories(objects: &Path) -> Vec<PathBuf> {
    let mut found = vec![objects.to_owned()];
    let mut open = vec![(objects.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        let listed = fs::read(directory.join(ALTERNATES)).unwrap_or_default();
        for line in listed.split(|byte| *byte == b'\n') {
            // A path may be relative to the directory that lists it.
            let other = directory.join(OsStr::from_bytes(line));
            if !line.is_empty()
                && !line.starts_with(b"#")
                && depth < DEEPEST
                && !found.contains(&other)
            {
                found.push(other.clone());
                open.push((other, depth + 1));
            }
        }
    }
    found
}

/// Writes all references: symbolic ones as files, and the others into one file, as `git pack-refs` does.
fn write_references(git: &git2::Repository, new: &Path) -> io::Result<()> {
    let mut packed = BTreeMap::new();
    for reference in git.references().map_err(io::Error::other)? {
        // One that cannot be read has no answer here either.
        let Ok(reference) = reference else { continue };
        let name = reference.name_bytes();
        if name.iter().any(|byte| byte.is_ascii_control() || *byte == b' ') {
            continue;
        }
        if let Some(target) = reference.target() {
            packed.insert(name.to_owned(), target);
        } else if reference.kind() == Some(ReferenceType::Symbolic)
            && let Some(target) = reference.symbolic_target_bytes()
            && str::from_utf8(name).is_ok_and(git2::Reference::is_valid_name)
        {
            let file = new.join(OsStr::from_bytes(name));
            fs::create_dir_all(file.parent().unwrap_or(new))?;
            fs::write(file, [b"ref: ", target, b"\n"].concat())?;
        }
    }
    let mut lines = Vec::new();
    for (name, target) in packed {
        lines.extend_from_slice(format!("{target} ").as_bytes());
        lines.extend_from_slice(&name);
        lines.push(b'\n');
    }
    fs::write(new.join("packed-refs"), lines)
}

/// Writes the settings that are chosen from those of the repository itself. Git reads the user's own ones besides.
fn write_settings(repository: &Repository, access: Access, file: &Path) -> Result<(), git2::Error> {
    let is_chosen = |name: &str| {
        let is = |pattern: &str| Regex::new(pattern).is_ok_and(|regex| regex.is_match(name));
        is(ANSWERS) || (access == Access::OfRbench && is(REACHES))
    };
    let mut settings = Vec::new();
    repository.git().config()?.entries(None)?.for_each(|entry| {
        let is_own = matches!(entry.level(), ConfigLevel::Local | ConfigLevel::Worktree);
        // Without a value, which stands for true, asking for it is a panic.
        if is_own
            && entry.has_value()
            && let (Ok(name), Ok(value)) = (entry.name(), entry.value())
            && is_chosen(name)
        {
            settings.push((name.to_owned(), value.to_owned()));
        }
    })?;
    let is_partial = settings.iter().any(|(name, _)| name.starts_with("extensions."));
    let mut config = Config::open(file)?;
    config.set_i32("core.repositoryformatversion", i32::from(is_partial))?;
    config.set_bool("core.bare", access == Access::OfRbench)?;
    if access == Access::OfRbench {
        // The references here do not keep all objects that the repository needs.
        config.set_i32("gc.auto", 0)?;
        config.set_bool("maintenance.auto", false)?;
    }
    for (name, value) in settings {
        let is_url = name.rsplit('.').next() == Some("url");
        let value = if is_url { url_for(access, &value, repository.root()) } else { value };
        // It matches no value, so each one is added.
        config.set_multivar(&name, "^$a", &value)?;
    }
    Ok(())
}

/// The address of a remote for a directory elsewhere: a relative path becomes absolute, and code gets no password.
fn url_for(access: Access, url: &str, root: &Path) -> String {
    let web = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"));
    if let Some((scheme, rest)) = web
        && access == Access::OfCode
    {
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        return format!("{scheme}://{host}{path}");
    }
    let there = root.join(url);
    if there.exists() { there.to_string_lossy().into_owned() } else { url.to_owned() }
}

/// Writes the index of a commit, whose files are in the checkout as in `tree`. Files that are as in the commit get their
/// state on disk, because `git diff-index`, with which build scripts look for changes, reads no file.
pub(super) fn write_index(
    repository: &Repository,
    commit: Option<Oid>,
    tree: Oid,
    [new, checkout]: [&Path; 2],
) -> Result<(), git2::Error> {
    let mut index = Index::open(&new.join(INDEX))?;
    if let Some(commit) = commit {
        let git = repository.git();
        index.read_tree(&git.find_commit(commit)?.tree()?)?;
        let mut written = Index::new()?;
        // Uncommitted changes of earlier are in no object any more. Then git compares files.
        if let Ok(tree) = git.find_tree(tree) {
            written.read_tree(&tree)?;
        }
        for entry in written.iter() {
            let path = Path::new(OsStr::from_bytes(&entry.path));
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

/// Gives what is in `new` as in `old` the time of modification that it has there: cargo runs build scripts again when a file
/// that they name, as `.git/HEAD`, is newer than their output.
pub(super) fn keep_times(old: &Path, new: &Path) -> io::Result<()> {
    let Ok(known) = fs::symlink_metadata(old) else { return Ok(()) };
    let data = fs::symlink_metadata(new)?;
    if data.is_dir() && known.is_dir() {
        for entry in fs::read_dir(new)? {
            let name = entry?.file_name();
            keep_times(&old.join(&name), &new.join(&name))?;
        }
    } else if !(data.is_file() && known.is_file() && data.len() == known.len())
        || fs::read(old)? != fs::read(new)?
    {
        return Ok(());
    }
    File::open(new)?.set_modified(known.modified()?)
}
