//! Directories for what processes of bench targets leave behind, which go away even after a kill.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use rustix::process::getuid;
use tempfile::TempDir;

use crate::failure::{Exit, Failure, Result};

/// What the names of all such directories begin with.
const PREFIX: &str = "rbench-execution-";

/// A directory for what one process leaves behind.
#[derive(Debug)]
pub(super) struct Scratch {
    directory: TempDir,
    /// Tells other processes that it is in use, as long as this one lives.
    _lock: File,
}

impl Scratch {
    /// A new one among temporary files.
    pub(super) fn new() -> Result<Self> {
        let place = std::env::temp_dir();
        Self::new_in(&place).map_err(|error| {
            // Without the name that was tried, which means nothing to anybody.
            let reason = io::Error::from(error.kind()).to_string();
            Failure::new(Exit::Usage, format!("cannot create a directory in {}", place.display()))
                .because(reason)
                .hint("set TMPDIR to a directory for temporary files")
        })
    }

    fn new_in(place: &Path) -> io::Result<Self> {
        loop {
            let directory = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(place)?;
            let lock = match File::open(directory.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            // Where the file system knows no locks, nothing is removed either.
            let _ = lock.lock();
            // It may have been taken for one that was left behind, until it was locked.
            if directory.path().exists() {
                return Ok(Self { directory, _lock: lock });
            }
        }
    }

    /// Fails if somebody has removed it, so that no process can have left anything there.
    pub(super) fn check(&self) -> Result<()> {
        if self.path().exists() {
            return Ok(());
        }
        Err(Failure::new(Exit::Usage, format!("{} is no longer there", self.path().display()))
            .because("something has removed it while a benchmark was executed"))
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories that this user's killed processes left behind. That one cannot be removed is no
/// reason not to go on.
pub(super) fn remove_abandoned() {
    remove_abandoned_in(&std::env::temp_dir());
}

fn remove_abandoned_in(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        let is_own = |data: &fs::Metadata| data.is_dir() && data.uid() == getuid().as_raw();
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && entry.metadata().as_ref().is_ok_and(is_own)
            && let Ok(directory) = File::open(entry.path())
            && directory.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_removed_and_what_is_in_use_is_not() {
        let place = tempfile::tempdir().unwrap();
        let used = Scratch::new_in(place.path()).unwrap();
        let mode = fs::metadata(used.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let left = place.path().join(format!("{PREFIX}left"));
        let other = place.path().join("rbench-demo-kept");
        for path in [&left, &other] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("answer"), "").unwrap();
        }
        remove_abandoned_in(place.path());
        assert!(used.path().exists() && other.exists() && !left.exists());
        drop(used);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_that_somebody_removed_is_missed() {
        let scratch = Scratch::new_in(tempfile::tempdir().unwrap().path());
        let failure = scratch.unwrap().check().unwrap_err();
        assert!(failure.what().ends_with(" is no longer there"));
        assert!(Scratch::new().unwrap().check().is_ok());
    }
}
