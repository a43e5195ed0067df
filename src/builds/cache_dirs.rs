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

use super::{files, key::KeyMaker, role};
use crate::error::{Context, Error, Exit, Result};

/// Names another place for checkouts than the user's cache directory.
pub const CACHE_VARIABLE: &str = "RBENCH_CACHE_DIR";

/// Names another target dir, to cargo.
const TARGET_VARIABLE: &str = "CARGO_TARGET_DIR";

/// The paths of one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheDirs {
    outside: PathBuf,
    storage: PathBuf,
}

impl CacheDirs {
    /// The site of the repository with this identity, with its storage below `target`, the
    /// target dir of `workspace`. One that lies elsewhere may be the target dir of other projects too,
    /// which heed no lock of this repository when they prune: there it has a directory of its own.
    pub fn new(cache: &Path, repository: &str, workspace: &Path, target: &Path) -> Self {
        let shared = target.join("rbench");
        let is_own = files::real(target).starts_with(files::real(workspace));
        let storage = if is_own { shared } else { shared.join(repository) };
        Self { outside: cache.join(repository), storage }
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

    /// The lock file that a version is compiled with if its workspace, at this place in the repository,
    /// has none.
    pub fn resolved_lock(&self, workspace: &Path) -> PathBuf {
        let key = KeyMaker::new("lock v1").add_path("workspace", workspace).key();
        self.resolved().join(format!("{key}.lock"))
    }

    /// These lock files are in here.
    pub fn resolved(&self) -> PathBuf {
        self.outside.join("resolved")
    }

    /// The library for turns that one compiler made.
    pub fn interleaving_library(&self, key: &str) -> PathBuf {
        self.interleaving_libraries().join(format!("{key}.so"))
    }

    /// These libraries are in here.
    pub fn interleaving_libraries(&self) -> PathBuf {
        self.outside.join("turns")
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

    /// Where runs are logged below this target dir. Other projects may use it too: what only reads results does not look
    /// for the repository's identity.
    pub fn run_logs(target: &Path) -> PathBuf {
        target.join("rbench").join("logs").join("runs")
    }

    /// Takes the lock that keeps two rbench runs of one repository apart; `waiting` is called if
    /// another one has it, before waiting for its end. The lock ends with the process, however it
    /// ends.
    pub fn lock(&self, waiting: impl FnOnce(&Path)) -> Result<CacheLock> {
        self.refuse_strange_paths()?;
        let path = self.outside.join("lock");
        let file = files::create_directory(&self.outside)
            .and_then(|()| {
                let what = || format!("cannot open {}", path.display());
                File::options().create(true).append(true).open(&path).context(Exit::Build, what)
            })
            .map_err(|failure| failure.hint(elsewhere(CACHE_VARIABLE)))?;
        let what = || format!("cannot lock {}", path.display());
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting(&path);
                file.lock().context(Exit::Build, what)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).context(Exit::Build, what),
        }
        // What a killed run was writing. Nobody else is writing now.
        let shims = role::shims(&self.bin());
        for directory in [&self.outside, &self.storage, &self.bin(), &shims] {
            files::remove_leftovers(directory);
        }
        for directory in [
            self.checkouts(),
            self.resolved(),
            self.reproducibilities(),
            self.interleaving_libraries(),
        ] {
            files::remove_leftovers(&directory);
        }
        // Where the user's git does not ignore the target dir, it must not find our part of it: the
        // uncommitted tree would be another one at every run. Written each time, it shows besides that
        // something can be written there.
        files::create_directory(&self.storage)
            .and_then(|()| files::write_whole(&self.storage.join(".gitignore"), b"*\n"))
            .map_err(|failure| failure.hint(elsewhere(TARGET_VARIABLE)))?;
        Ok(CacheLock { file: Arc::new(file) })
    }

    /// Refuses what would only fail later, and with a message that explains nothing.
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

/// Keeps other rbench processes from the same repository's site while it, or a clone of it, lives.
#[derive(Clone, Debug)]
pub struct CacheLock {
    file: Arc<File>,
}

impl CacheLock {
    /// The open file that holds the lock. It is only free again when all that share it are closed, in
    /// every process.
    pub fn share(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

/// The directory of all sites: `RBENCH_CACHE_DIR`, else below the user's cache directory.
pub fn cache_directory(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(given) = variable(CACHE_VARIABLE).filter(|given| !given.is_empty())
        && absolute(CACHE_VARIABLE).is_none()
    {
        let what = format!("cannot use {CACHE_VARIABLE}={}", given.display());
        return Err(Error::new(Exit::Usage, what).cause("it is no absolute path"));
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
        assert_eq!(
            directory(&[("HOME", "/h"), (CACHE_VARIABLE, "")]),
            Path::new("/h/.cache/cargo-rbench")
        );
        let relative = cache_directory(with(&[("HOME", "/h"), (CACHE_VARIABLE, "r")]));
        assert_eq!(relative.unwrap_err().exit(), Exit::Usage, "it would be another one everywhere");
    }

    #[test]
    fn a_place_that_cannot_be_used_is_refused_with_the_way_to_choose_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("file"), "").unwrap();
        for (cache, target, variable) in [
            ("a:b", "target", CACHE_VARIABLE),
            ("p%41q", "target", CACHE_VARIABLE),
            ("file", "target", CACHE_VARIABLE),
            ("cache", "p%41q", TARGET_VARIABLE),
            ("cache", "file", TARGET_VARIABLE),
        ] {
            let site = CacheDirs::new(&path(cache), "id", &path(""), &path(target));
            let failure = site.lock(|_| ()).unwrap_err().to_string();
            let hint = format!("\nhint: set {variable} to a directory");
            assert!(failure.contains(&hint), "{cache} {target}: {failure}");
        }
    }

    #[test]
    fn only_a_target_dir_in_the_workspace_is_for_this_repository_alone() {
        let storage = |target: &str| {
            CacheDirs::new(Path::new("/c"), "id", Path::new("/w"), Path::new(target)).builds()
        };
        assert_eq!(storage("/w/target"), Path::new("/w/target/rbench/builds"));
        assert_eq!(storage("/shared"), Path::new("/shared/rbench/id/builds"));
        let place = tempfile::tempdir().unwrap();
        let workspace = place.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let beside = workspace.join("../target");
        let site = CacheDirs::new(Path::new("/c"), "id", &workspace, &beside);
        assert_eq!(site.builds(), beside.join("rbench/id/builds"));
    }

    #[test]
    fn a_second_run_waits_for_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let site = CacheDirs::new(&path("cache"), "id", &path(""), &path("target"));
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
