//! What a worker has on its machine: a lock, a name that it keeps, and the working tree in which it compares.

use std::{
    env,
    fs::{self, File, TryLockError},
    hash::{BuildHasher as _, RandomState},
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use super::super::git_command::{git, git_command};
use crate::{
    builds::{
        self,
        clean::{self, CacheEntry},
    },
    console::Console,
    error::{Context as _, Error, Exit, Result},
    git::Repository,
    project::Project,
    shared::Claim,
};

/// The share of the disk that must be free for another job, and the number of bytes that is always enough.
const LEAST_FREE: f64 = 0.1;
const ENOUGH: u64 = 20 << 30;

/// The directory of a worker.
#[derive(Debug)]
pub struct WorkerHome {
    /// The name of the host, and digits that distinguish it from others of the same name. A worker that is started again
    /// has the same.
    pub name: String,
    /// The identity of the running kernel: all containers of a host have the same.
    pub boot: String,
    directory: PathBuf,
    /// The clone, which is only fetched into.
    clone: PathBuf,
    /// The workspace in the repository.
    workspace: PathBuf,
    /// Locked until this process ends.
    _lock: File,
}

impl WorkerHome {
    /// Opens the directory of the worker for the workspace at `workspace`, and makes it if it is new. Fails if another
    /// worker of this user has it.
    pub fn open(repository: &Repository, identity: &str, workspace: &Path) -> Result<Self> {
        let cache = builds::cache_directory(|name| env::var_os(name))?;
        let directory = cache.join(identity).join("worker");
        let path = directory.join("name");
        let what = || format!("cannot open {}", path.display());
        fs::create_dir_all(&directory).context(Exit::Usage, what)?;
        let file = File::options().create(true).read(true).append(true).open(&path);
        let mut lock = file.context(Exit::Usage, what)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(
                    Exit::Usage,
                    "cannot start a second worker on this machine",
                )
                .cause("two comparisons at a time would disturb each other"));
            }
            Err(TryLockError::Error(error)) => {
                return Err(Error::new(Exit::Usage, what()).cause(error.to_string()));
            }
        }
        let mut name = String::new();
        lock.read_to_string(&mut name).context(Exit::Usage, what)?;
        if name.is_empty() {
            name = new_name();
            lock.write_all(name.as_bytes()).context(Exit::Usage, what)?;
        }
        let clone = repository.root().to_owned();
        let workspace = workspace.strip_prefix(&clone).unwrap_or(Path::new("")).to_owned();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .context(Exit::Usage, || "cannot identify the running kernel")?
            .trim()
            .to_owned();
        Ok(Self { name, boot, directory, clone, workspace, _lock: lock })
    }

    /// The command that fetches the commits of a job; none if the clone has them.
    pub fn fetch(&self, job: &Claim) -> Result<Option<Command>> {
        let is_here = |commit: &&str| {
            Repository::discover(&self.clone)
                .is_ok_and(|repository| repository.resolve(commit).is_ok())
        };
        let both = [commit(&job.base)?, commit(&job.head)?];
        let missing: Vec<&str> = both.into_iter().filter(|one| !is_here(one)).collect();
        let words = ["fetch", "--quiet", "--no-tags", "origin"].into_iter().chain(missing.clone());
        Ok((!missing.is_empty()).then(|| git_command(&self.clone, words)))
    }

    pub fn reaches_remote(&self) -> bool {
        git(&self.clone, &["ls-remote", "--quiet", "origin", "HEAD"], "cannot reach the remote")
            .is_ok()
    }

    /// Checks the head of a job out, so that its bench.toml and accepted.toml count. Returns the workspace.
    pub fn check_out(&self, job: &Claim) -> Result<PathBuf> {
        let head = commit(&job.head)?;
        let tree = self.tree();
        let what = || format!("cannot check out {head} at {}", tree.display());
        // Hooks of the clone are for its owner.
        let quietly = ["-c", "core.hooksPath=/dev/null"];
        if tree.join(".git").exists() {
            let words =
                [&quietly[..], &["checkout", "--quiet", "--force", "--detach", head]].concat();
            // A git that was killed leaves its lock, which stands in the way of every other.
            if let Ok(lock) = git(&tree, &["rev-parse", "--git-path", "index.lock"], &what()) {
                let _ = fs::remove_file(tree.join(lock));
            }
            if git(&tree, &words, &what()).is_ok() {
                return Ok(self.workspace());
            }
            fs::remove_dir_all(&tree).context(Exit::Usage, what)?;
        }
        let path = tree
            .to_str()
            .ok_or_else(|| Error::new(Exit::Usage, what()).cause("the path is not valid UTF-8"))?;
        git(&self.clone, &["worktree", "prune"], &what())?;
        let add = ["worktree", "add", "--force", "--detach", path, head];
        git(&self.clone, &[&quietly[..], &add].concat(), &what())?;
        Ok(self.workspace())
    }

    fn tree(&self) -> PathBuf {
        self.directory.join("tree")
    }

    /// The workspace in the working tree.
    pub fn workspace(&self) -> PathBuf {
        self.tree().join(&self.workspace)
    }

    /// Notes that a job was compared, until it is answered: a worker that is started again need not compare it again.
    pub fn note_end(&self, job: &Claim, exit: u8) {
        let end = (job.id, &job.base, &job.head, &job.options, exit);
        // Without the note, only time is lost.
        let _ = serde_json::to_string(&end).map(|end| fs::write(self.note(), end));
    }

    /// The exit code of a job that was compared here and not answered.
    pub fn noted_end(&self, job: &Claim) -> Option<u8> {
        let end = fs::read_to_string(self.note()).ok()?;
        let (id, base, head, options, exit): (i64, String, String, Vec<String>, u8) =
            serde_json::from_str(&end).ok()?;
        let is_same = (id, &base, &head, &options) == (job.id, &job.base, &job.head, &job.options);
        (is_same && self.result().exists()).then_some(exit)
    }

    /// Forgets the end of a job that is answered, or compared anew.
    pub fn forget_end(&self) {
        let _ = fs::remove_file(self.note());
    }

    fn note(&self) -> PathBuf {
        self.directory.join("unanswered.json")
    }

    /// The file for the pack of the running job.
    pub fn pack(&self) -> PathBuf {
        self.directory.join("job.pack")
    }

    /// The file for the output of the running comparison.
    pub fn log(&self) -> PathBuf {
        self.directory.join("job.log")
    }

    /// The file for the result of the running comparison.
    pub fn result(&self) -> PathBuf {
        self.directory.join("compare.json")
    }

    /// Removes everything that can be made again: compilations, builds, and checkouts, with what a benchmark left there.
    /// Returns their size in bytes.
    pub fn remove_caches(&self, console: &Console) -> Result<u64> {
        let project = Project::find(Some(&self.workspace().join("Cargo.toml")), &[])?;
        let _lock = project.lock(console)?;
        let dirs = project.cache_dirs()?;
        let entries = clean::entries(dirs, SystemTime::now());
        let remove = |entry: &CacheEntry| clean::remove(dirs, entry).map(|()| entry.size);
        entries.iter().map(remove).sum()
    }

    /// Fails if the disk is nearly full: compiling would fail with an error that is no fault of the commit.
    pub fn check_disk(&self) -> Result<()> {
        let Some([free, size]) = builds::disk_space(&self.directory) else { return Ok(()) };
        if free >= ENOUGH || free as f64 >= LEAST_FREE * size as f64 {
            return Ok(());
        }
        let what = format!("cannot take a job with {} MB of disk left", free >> 20);
        Err(Error::new(Exit::Usage, what)
            .cause(self.directory.display().to_string())
            .hint("free some space, for example with: cargo rbench clean --max-size 1G"))
    }
}

/// The commit of a version, which may be a variant. What comes from a database may be anything, such as an option of git.
pub fn commit(version: &str) -> Result<&str> {
    let (commit, variant) = version.split_once('+').unwrap_or((version, "none"));
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_commit = matches!(commit.len(), 40 | 64) && commit.bytes().all(is_digit);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !is_commit || variant.is_empty() || !variant.chars().all(is_name) {
        return Err(Error::new(Exit::Usage, "cannot compare the versions of the job")
            .cause(format!("`{version}` is no commit")));
    }
    Ok(commit)
}

fn new_name() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let is_part = |c: &char| c.is_ascii_alphanumeric() || "-.".contains(*c);
    let host: String = host.chars().filter(is_part).take(40).collect();
    let host = if host.is_empty() { "host" } else { &host };
    format!("{host}-{:06x}", RandomState::new().hash_one(0) & 0x00ff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_of_a_job_is_a_commit() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(commit(sha).unwrap(), sha);
        assert_eq!(commit(&format!("{sha}+lto")).unwrap(), sha);
        for wrong in
            ["main", "", "--upload-pack=x", &sha[1..], &format!("{sha}+"), &format!("{sha}+a b")]
        {
            assert!(commit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn name_is_a_word() {
        let name = new_name();
        assert!(name.len() > 7 && !name.contains(char::is_whitespace), "{name}");
    }
}
