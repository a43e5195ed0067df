//! Where things live: the build path, at which all versions of a repository are compiled, and the
//! cache below the target dir.
//!
//! The build path lies outside the user's repository. Inside it, cargo would find the working
//! tree's `Cargo.toml`, `.cargo/config.toml` and toolchain file, which belong to another version.
//! It depends on the repository's first commit and not on where its clone lies, so that a clone
//! elsewhere compiles the same bytes.

use std::{
    ffi::OsString,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{files, role};
use crate::failure::{Exit, Failure, OrFail, Result};

/// Names another place for checkouts than the user's cache directory.
pub const CACHE_VARIABLE: &str = "RBENCH_CACHE_DIR";

/// The paths of one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    outside: PathBuf,
    storage: PathBuf,
}

impl Site {
    /// The site of the repository with this identity, with its storage below `target`, the
    /// workspace's target dir.
    pub fn new(cache: &Path, repository: &str, target: &Path) -> Self {
        Self { outside: cache.join(repository), storage: target.join("rbench") }
    }

    /// Where versions' files are checked out.
    pub fn checkouts(&self) -> PathBuf {
        self.outside.join("checkouts")
    }

    /// The directory above which cargo finds the config files of the checkouts.
    pub fn outside(&self) -> &Path {
        &self.outside
    }

    /// The one path at which everything is compiled and executed: a link to one compilation.
    pub fn build_path(&self) -> PathBuf {
        self.outside.join("at")
    }

    /// The version's files, below the build path.
    pub fn source_path(&self) -> PathBuf {
        self.build_path().join("src")
    }

    /// The target dir, below the build path.
    pub fn target_path(&self) -> PathBuf {
        self.build_path().join("target")
    }

    /// Where the links to rbench's own executable are.
    pub fn bin(&self) -> PathBuf {
        self.outside.join("bin")
    }

    /// The lock file that a version without one is compiled with.
    pub fn resolved_lock(&self) -> PathBuf {
        self.resolved().join("Cargo.lock")
    }

    /// That lock file is in here.
    pub fn resolved(&self) -> PathBuf {
        self.outside.join("resolved")
    }

    /// A compilation's directory. Keys begin with that of the compilation's family.
    pub fn compilation(&self, key: &str) -> PathBuf {
        self.storage.join("compilations").join(key)
    }

    /// All compilations' directories are in here.
    pub fn compilations(&self) -> PathBuf {
        self.storage.join("compilations")
    }

    /// All builds' directories are in here.
    pub fn builds(&self) -> PathBuf {
        self.storage.join("builds")
    }

    /// What is remembered about the reproducibility of compiling here.
    pub fn reproducibility(&self, key: &str) -> PathBuf {
        self.reproducibilities().join(format!("{key}.json"))
    }

    /// All that is remembered about it is in here.
    pub fn reproducibilities(&self) -> PathBuf {
        self.storage.join("reproducibility")
    }

    /// The log of a compilation, kept when it fails.
    pub fn log(&self, key: &str) -> PathBuf {
        self.storage.join("logs").join(format!("{key}.log"))
    }

    /// Takes the lock that keeps two rbench runs of one repository apart; `waiting` is called if
    /// another one has it, before waiting for its end. The lock ends with the process, however it
    /// ends.
    pub fn lock(&self, waiting: impl FnOnce(&Path)) -> Result<SiteLock> {
        let path = self.outside.join("lock");
        files::create_directory(&self.outside)?;
        files::create_directory(&self.storage)?;
        // Where the user's git does not ignore the target dir, it must not find our part of it: the
        // uncommitted tree would be another one at every run.
        let ignored = self.storage.join(".gitignore");
        if !ignored.exists() {
            files::write_whole(&ignored, b"*\n")?;
        }
        let what = || format!("cannot lock {}", path.display());
        let file =
            File::options().create(true).append(true).open(&path).or_fail(Exit::Build, what)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting(&path);
                file.lock().or_fail(Exit::Build, what)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).or_fail(Exit::Build, what),
        }
        // What a killed run was writing. Nobody else is writing now.
        let shims = role::shims(&self.bin());
        for directory in [&self.outside, &self.storage, &self.bin(), &shims, &self.resolved()] {
            files::remove_leftovers(directory);
        }
        files::remove_leftovers(&self.reproducibilities());
        Ok(SiteLock { file: Arc::new(file) })
    }
}

/// Keeps other rbench processes from the same repository's site while it, or a clone of it, lives.
#[derive(Clone, Debug)]
pub struct SiteLock {
    file: Arc<File>,
}

impl SiteLock {
    /// The open file that holds the lock. It is only free again when all that share it are closed, in
    /// every process.
    pub fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

/// The directory of all sites: `RBENCH_CACHE_DIR`, else below the user's cache directory.
pub fn cache_directory(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(CACHE_VARIABLE)
        .or_else(|| absolute("XDG_CACHE_HOME").map(|cache| cache.join("cargo-rbench")))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache/cargo-rbench")))
        .ok_or_else(|| {
            Failure::new(Exit::Usage, "cannot find a directory for checkouts")
                .because("neither XDG_CACHE_HOME nor HOME is set to an absolute path")
                .hint(format!("set {CACHE_VARIABLE} to a directory that rbench may use"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_directory_follows_the_environment() {
        let with = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                pairs.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into())
            }
        };
        let directory = |pairs| cache_directory(with(pairs)).unwrap();
        assert_eq!(directory(&[("HOME", "/h")]), Path::new("/h/.cache/cargo-rbench"));
        assert_eq!(
            directory(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]),
            Path::new("/c/cargo-rbench")
        );
        assert_eq!(directory(&[("HOME", "/h"), (CACHE_VARIABLE, "/r")]), Path::new("/r"));
        assert_eq!(cache_directory(with(&[])).unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn a_second_run_waits_for_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let site =
            Site::new(&directory.path().join("cache"), "id", &directory.path().join("target"));
        let first = site.lock(|_| panic!("nobody else is here")).unwrap();
        let waited = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                site.lock(|_| waited.store(true, std::sync::atomic::Ordering::SeqCst)).map(drop)
            });
            while !waited.load(std::sync::atomic::Ordering::SeqCst) {
                std::thread::yield_now();
            }
            drop(first);
            second.join().unwrap().unwrap();
        });
    }
}
