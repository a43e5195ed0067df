//! A repository with as many commits as the store has, and the time of `history` in it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use cargo_rbench::{
    error::{Context, Error, Exit, Result},
    model::Version,
};
use git2::{Oid, Repository, Signature, Time};

const MANIFEST: &str =
    "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";

/// A project in a git repository.
pub struct Project {
    root: PathBuf,
    /// Its commits, the oldest first.
    pub versions: Vec<Version>,
}

impl Project {
    /// Makes a project with `commits` commits in an empty directory.
    pub fn new(root: PathBuf, commits: usize) -> Result<Self> {
        let what = || "cannot make a repository";
        for (path, text) in [("Cargo.toml", MANIFEST), ("src/lib.rs", "")] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&root)).context(Exit::Internal, what)?;
            fs::write(path, text).context(Exit::Internal, what)?;
        }
        let versions = make(&root, commits).context(Exit::Internal, what)?;
        Ok(Self { root, versions })
    }

    /// The path of its store.
    pub fn store(&self) -> PathBuf {
        self.root.join(".rbench/results.sqlite")
    }

    /// The duration of `history` with these arguments.
    pub fn history(&self, arguments: &[&str]) -> Result<Duration> {
        let start = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_cargo-rbench"))
            .args(["rbench", "history"])
            .args(arguments)
            .current_dir(&self.root)
            .env("RBENCH_CACHE_DIR", self.root.join(".rbench/cache"))
            .stdout(Stdio::null())
            .status();
        let took = start.elapsed();
        match status.context(Exit::Internal, || "cannot run rbench")? {
            status if status.success() => Ok(took),
            status => Err(Error::new(Exit::Internal, format!("history ended with {status}"))),
        }
    }
}

fn make(root: &Path, commits: usize) -> std::result::Result<Vec<Version>, git2::Error> {
    let git = Repository::init(root)?;
    let mut index = git.index()?;
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
    let mut tree = git.find_tree(index.write_tree()?)?;
    let mut versions = Vec::with_capacity(commits);
    let mut parent: Option<Oid> = None;
    for commit in 0..commits {
        let mut files = git.treebuilder(Some(&tree))?;
        files.insert("count", git.blob(commit.to_string().as_bytes())?, 0o100_644)?;
        tree = git.find_tree(files.write()?)?;
        let time = 1_700_000_000 + 3600 * i64::try_from(commit).unwrap_or_default();
        let author = Signature::new("rbench", "rbench@example.invalid", &Time::new(time, 0))?;
        let parents = parent.map(|id| git.find_commit(id)).transpose()?;
        let parents: Vec<_> = parents.iter().collect();
        let summary = "Change something that may make the program slower";
        let id = git.commit(Some("HEAD"), &author, &author, summary, &tree, &parents)?;
        versions.push(Version {
            revision: id.to_string(),
            commit: Some(id.to_string()),
            tree: tree.id().to_string(),
            dirty: false,
            summary: summary.to_owned(),
            time: Some(time),
            variant: None,
        });
        parent = Some(id);
    }
    Ok(versions)
}
