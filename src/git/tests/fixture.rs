//! Real repositories for tests, created by git itself without any configuration of the user.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Once,
    time::SystemTime,
};

use git2::ConfigLevel;
use tempfile::TempDir;

use crate::{
    error::Result,
    git::{Checkout, Checkouts, Repository},
};

/// A repository in its own directory, which is removed with this value.
pub(super) struct Fixture {
    scratch: TempDir,
    root: PathBuf,
}

impl Fixture {
    /// An empty repository without a commit.
    pub(super) fn empty() -> Self {
        isolate_libgit2();
        let scratch = tempfile::Builder::new().prefix("naïve space").tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&root).unwrap();
        let fixture = Self { scratch, root };
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture
    }

    /// A repository with one commit, `first`, of one file, `file`.
    pub(super) fn new() -> Self {
        let fixture = Self::empty();
        fixture.write("file", "one\n");
        fixture.commit("first");
        fixture
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// A path beside the repository, removed with it.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.scratch.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        git_in(&self.root, args)
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Commits all changes and returns the commit's id.
    pub(super) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.id("HEAD")
    }

    pub(super) fn id(&self, revision: &str) -> String {
        self.git(&["rev-parse", "--verify", revision])
    }

    pub(super) fn open(&self) -> Repository {
        Repository::discover(&self.root).unwrap()
    }

    pub(super) fn checkouts(&self) -> Checkouts {
        Checkouts::open(&self.beside("cache")).unwrap()
    }

    /// Checks `revision` out into the fixture's cache.
    pub(super) fn try_checkout(&self, revision: &str) -> Result<Checkout> {
        let repository = self.open();
        let version = repository.resolve(revision)?;
        self.checkouts().checkout(&repository, &version)
    }

    pub(super) fn checkout(&self, revision: &str) -> PathBuf {
        self.try_checkout(revision).unwrap_or_else(|failure| panic!("{failure}")).path
    }
}

/// Makes libgit2, like git, ignore the configuration of the user who runs the tests.
fn isolate_libgit2() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for level in [ConfigLevel::Global, ConfigLevel::XDG, ConfigLevel::System] {
            #[expect(unsafe_code, reason = "a setting of the process; each fixture waits for it")]
            // SAFETY: every use of libgit2 in these tests comes after a fixture was made.
            unsafe { git2::opts::set_search_path(level, "/nonexistent") }.unwrap();
        }
    });
}

/// Runs git hermetically, and returns its output.
pub(super) fn git_in(directory: &Path, args: &[&str]) -> String {
    let output = run_git(directory, args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?} failed: {error}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Runs git hermetically, and returns its result even if it fails.
pub(super) fn run_git(directory: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .current_dir(directory)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .envs([
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "A U Thor"),
            ("GIT_AUTHOR_EMAIL", "author@example.com"),
            ("GIT_AUTHOR_DATE", "1700000000 +0000"),
            ("GIT_COMMITTER_NAME", "C O Mitter"),
            ("GIT_COMMITTER_EMAIL", "committer@example.com"),
            ("GIT_COMMITTER_DATE", "1700000001 +0000"),
            ("GIT_ALLOW_PROTOCOL", "file"),
            ("GIT_OPTIONAL_LOCKS", "0"),
        ])
        .args(args)
        .output()
        .expect("git runs")
}

/// The state of one path: kind and mode, content or link target, and time of modification.
pub(super) type Entry = (u32, Vec<u8>, SystemTime);

/// The state of everything below a directory, for comparison with another time.
pub(super) fn everything_below(directory: &Path) -> BTreeMap<PathBuf, Entry> {
    use std::os::unix::{ffi::OsStringExt as _, fs::MetadataExt as _};
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let data = fs::symlink_metadata(&path).unwrap();
        let content = if data.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_vec()
        } else if data.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, (data.mode(), content, data.modified().unwrap()));
    }
    found
}

/// Kind, mode and content of everything below a directory, by relative paths, without `.git`.
pub(super) fn files_below(directory: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    everything_below(directory)
        .into_iter()
        .filter_map(|(path, (mode, content, _))| {
            let path = path.strip_prefix(directory).unwrap().to_owned();
            let in_git = path.components().any(|part| part.as_os_str() == ".git");
            let is_directory = mode & 0o170_000 == 0o040_000;
            (!in_git && !is_directory).then_some((path, (mode, content)))
        })
        .collect()
}
