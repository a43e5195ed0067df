//! The directories of a repository: the build path, at which all its versions are compiled, and the cache in the
//! target dir.
//!
//! The build path is outside of the user's repository. Inside it, cargo would find the working tree's `Cargo.toml`,
//! `.cargo/config.toml` and toolchain file, which belong to another version. The path depends on the repository's
//! first commit and not on the path of the clone, so that another clone compiles the same bytes.

use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{files, key::KeyMaker};
use crate::error::{Context, Error, Exit, Result};

/// The variable that replaces the user's cache directory as the place for checkouts.
pub const CACHE_VARIABLE: &str = "RBENCH_CACHE_DIR";

/// The directory of a pack's compilations, in the place of the pack. Beside it is what the pack does not bring.
pub const PACKED: &str = "packed";

/// Cargo's variable for another target dir.
const TARGET_VARIABLE: &str = "CARGO_TARGET_DIR";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheDirs {
    outside: PathBuf,
    storage: PathBuf,
}

impl CacheDirs {
    /// The directories of the repository with this identity, with storage in `target`, the target dir of `workspace`.
    /// A target dir outside of the workspace may belong to other projects too, which ignore this repository's lock
    /// when they prune; there the repository gets a separate directory.
    pub fn new(cache: &Path, repository: &str, workspace: &Path, target: &Path) -> Self {
        let shared = target.join("rbench");
        let is_own = files::real(target).starts_with(files::real(workspace));
        let storage = if is_own { shared } else { shared.join(repository) };
        Self { outside: cache.join(repository), storage }
    }

    /// The directories for a pack that is made: what is compiled has its path on every machine, and stays in `target`.
    pub fn for_packing(place: &Path, repository: &str, workspace: &Path, target: &Path) -> Self {
        Self { outside: place.to_owned(), ..Self::new(place, repository, workspace, target) }
    }

    /// The directories for a pack that was extracted to `place`.
    pub fn of_pack(place: &Path) -> Self {
        Self { outside: place.to_owned(), storage: place.join(PACKED) }
    }

    /// The directory of everything that is linked and compiled.
    pub fn storage(&self) -> &Path {
        &self.storage
    }

    pub fn checkouts(&self) -> PathBuf {
        self.outside.join("checkouts")
    }

    /// The directory above which cargo finds the config files of the checkouts.
    pub fn outside(&self) -> &Path {
        &self.outside
    }

    /// The one path at which everything is compiled and executed: a symbolic link to the active compilation.
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

    /// The directory for temporary files of compilers and linkers, which leave them when they are killed. Taking the
    /// lock empties it.
    pub fn temporary(&self) -> PathBuf {
        self.outside.join("tmp")
    }

    /// The directory of the links to rbench's own executable.
    pub fn bin(&self) -> PathBuf {
        self.outside.join("bin")
    }

    /// The lock file for versions without one, for the workspace at this path in the repository.
    pub fn resolved_lock(&self, workspace: &Path) -> PathBuf {
        let key = KeyMaker::new("lock v1").add_path("workspace", workspace).key();
        self.resolved().join(format!("{key}.lock"))
    }

    /// The directory of these lock files.
    pub fn resolved(&self) -> PathBuf {
        self.outside.join("resolved")
    }

    pub fn preloaded_libraries(&self) -> PathBuf {
        self.outside.join("preloaded")
    }

    /// A compilation's directory. Keys begin with the key of the compilation's family.
    pub fn compilation(&self, key: &str) -> PathBuf {
        self.storage.join("compilations").join(key)
    }

    pub fn compilations(&self) -> PathBuf {
        self.storage.join("compilations")
    }

    pub fn builds(&self) -> PathBuf {
        self.storage.join("builds")
    }

    pub fn reproducibility(&self, key: &str) -> PathBuf {
        self.reproducibilities().join(format!("{key}.json"))
    }

    /// The directory of these results.
    pub fn reproducibilities(&self) -> PathBuf {
        self.storage.join("reproducibility")
    }

    /// The log of a compilation, kept when it fails.
    pub fn log(&self, key: &str) -> PathBuf {
        self.storage.join("logs").join(format!("{key}.log"))
    }

    /// The directory of run logs in this target dir. Other projects may share it, because commands that only read
    /// results do not determine the repository's identity.
    pub fn run_logs(target: &Path) -> PathBuf {
        target.join("rbench").join("logs").join("runs")
    }

    /// Takes the lock that keeps two rbench runs of one repository apart. If another run has it, calls `waiting` and
    /// then waits for its end. The lock ends with the process, even if it is killed.
    pub fn lock(&self, waiting: impl FnOnce(&Path)) -> Result<CacheLock> {
        self.refuse_strange_paths()?;
        let path = self.outside.join("lock");
        let file = files::create_directory(&self.outside)
            .and_then(|()| {
                let what = || format!("cannot open {}", path.display());
                File::options().create(true).append(true).open(&path).context(Exit::Build, what)
            })
            .map_err(|error| error.hint(elsewhere(CACHE_VARIABLE)))?;
        let what = || format!("cannot lock {}", path.display());
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting(&path);
                file.lock().context(Exit::Build, what)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).context(Exit::Build, what),
        }
        // Unfinished files of a killed run. Nobody else is writing now.
        for directory in [&self.outside, &self.storage, &self.bin()] {
            files::remove_leftovers(directory);
        }
        for directory in [
            self.checkouts(),
            self.resolved(),
            self.reproducibilities(),
            self.preloaded_libraries(),
        ] {
            files::remove_leftovers(&directory);
        }
        let temporary = self.temporary();
        // What cannot be removed is only in the way.
        let _ = fs::remove_dir_all(&temporary);
        files::create_directory(&temporary)?;
        // If the user's git does not ignore the target dir, it must not find rbench's part of it: the uncommitted tree
        // would differ in every run. Written each time, because this also shows that the directory is writable.
        files::create_directory(&self.storage)
            .and_then(|()| files::write_whole(&self.storage.join(".gitignore"), b"*\n"))
            .map_err(|error| error.hint(elsewhere(TARGET_VARIABLE)))?;
        Ok(CacheLock { file: Arc::new(file) })
    }

    /// Refuses paths that would only fail later, with a message that explains nothing.
    fn refuse_strange_paths(&self) -> Result<()> {
        let in_path =
            ("`:` separates the directories of the PATH, where rbench puts some of its own", ':');
        let by_lld = ("lld replaces each `%` in the name of what it links", '%');
        for (path, (why, character), variable) in [
            (&self.outside, in_path, CACHE_VARIABLE),
            (&self.outside, by_lld, CACHE_VARIABLE),
            (&self.storage, by_lld, TARGET_VARIABLE),
        ] {
            if path.to_string_lossy().contains(character) {
                let what = format!("cannot build in {}", path.display());
                let hint = format!("{} and has no `{character}` in its path", elsewhere(variable));
                return Err(Error::new(Exit::Usage, what).cause(why).hint(hint));
            }
        }
        Ok(())
    }
}

/// Keeps other rbench processes from the same repository's directories while it, or a clone of it, lives.
#[derive(Clone, Debug)]
pub struct CacheLock {
    file: Arc<File>,
}

impl CacheLock {
    /// The open file that holds the lock. The lock is only released when every process has closed all copies of the
    /// file.
    pub fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

/// The directory for all repositories: `RBENCH_CACHE_DIR`, else in the user's cache directory.
pub fn cache_directory(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(given) = variable(CACHE_VARIABLE).filter(|given| !given.is_empty())
        && absolute(CACHE_VARIABLE).is_none()
    {
        let what = format!("cannot use {CACHE_VARIABLE}={}", given.display());
        return Err(Error::new(Exit::Usage, what).cause("it is not an absolute path"));
    }
    absolute(CACHE_VARIABLE)
        .or_else(|| absolute("XDG_CACHE_HOME").map(|cache| cache.join("cargo-rbench")))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache/cargo-rbench")))
        .ok_or_else(|| {
            Error::new(Exit::Usage, "cannot find a directory for checkouts")
                .cause("neither XDG_CACHE_HOME nor HOME is set to an absolute path")
                .hint(elsewhere(CACHE_VARIABLE))
        })
}

fn elsewhere(variable: &str) -> String {
    format!("set {variable} to a directory that rbench may write to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_directory_follows_the_environment() {
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
        assert_eq!(
            directory(&[("HOME", "/h"), (CACHE_VARIABLE, "")]),
            Path::new("/h/.cache/cargo-rbench")
        );
        let relative = cache_directory(with(&[("HOME", "/h"), (CACHE_VARIABLE, "r")]));
        assert_eq!(relative.unwrap_err().exit(), Exit::Usage, "it would be another one everywhere");
    }

    #[test]
    fn unusable_path_is_refused_with_a_hint_to_choose_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("file"), "").unwrap();
        for (cache, target, variable) in [
            ("a:b", "target", CACHE_VARIABLE),
            ("p%41q", "target", CACHE_VARIABLE),
            ("file", "target", CACHE_VARIABLE),
            ("cache", "p%41q", TARGET_VARIABLE),
            ("cache", "file", TARGET_VARIABLE),
        ] {
            let dirs = CacheDirs::new(&path(cache), "id", &path(""), &path(target));
            let error = dirs.lock(|_| ()).unwrap_err().to_string();
            let hint = format!("\nhint: set {variable} to a directory");
            assert!(error.contains(&hint), "{cache} {target}: {error}");
        }
    }

    #[test]
    fn target_dir_outside_the_workspace_is_shared() {
        let storage = |target: &str| {
            CacheDirs::new(Path::new("/c"), "id", Path::new("/w"), Path::new(target)).builds()
        };
        assert_eq!(storage("/w/target"), Path::new("/w/target/rbench/builds"));
        assert_eq!(storage("/shared"), Path::new("/shared/rbench/id/builds"));
        let place = tempfile::tempdir().unwrap();
        let workspace = place.path().join("workspace");
        fs::create_dir(&workspace).unwrap();
        let beside = workspace.join("../target");
        let dirs = CacheDirs::new(Path::new("/c"), "id", &workspace, &beside);
        assert_eq!(dirs.builds(), beside.join("rbench/id/builds"));
    }

    #[test]
    fn lock_removes_what_killed_compilers_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let dirs = CacheDirs::new(&path("cache"), "id", &path(""), &path("target"));
        drop(dirs.lock(|_| ()).unwrap());
        fs::create_dir(dirs.temporary().join("ccAbCdEf.d")).unwrap();
        drop(dirs.lock(|_| ()).unwrap());
        assert_eq!(fs::read_dir(dirs.temporary()).unwrap().count(), 0);
    }

    #[test]
    fn lock_makes_a_second_run_wait_for_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let dirs = CacheDirs::new(&path("cache"), "id", &path(""), &path("target"));
        let first = dirs.lock(|_| panic!("nobody else is here")).unwrap();
        let waited = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                dirs.lock(|_| waited.store(true, std::sync::atomic::Ordering::SeqCst)).map(drop)
            });
            while !waited.load(std::sync::atomic::Ordering::SeqCst) {
                std::thread::yield_now();
            }
            drop(first);
            second.join().unwrap().unwrap();
        });
    }
}
