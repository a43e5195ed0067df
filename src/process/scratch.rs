//! Directories for the files of one process.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use rustix::process::getuid;
use tempfile::TempDir;

use super::{sandbox, trace::OWN_DIRECTORY};
use crate::error::{Error, Exit, Result};

/// A directory for the files of one process. The next run removes it if this process is killed.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
    /// Shows other processes that the directory is in use.
    _lock: File,
}

impl Scratch {
    /// Creates one in the directory for temporary files.
    pub fn new() -> Result<Self> {
        // Code in the sandbox writes its results there.
        let place = sandbox::temporary_directory().unwrap_or_else(std::env::temp_dir);
        Self::new_in(&place).map_err(|error| {
            // Without the random name that was tried, which would only confuse.
            let reason = io::Error::from(error.kind()).to_string();
            Error::new(Exit::Usage, format!("cannot create a directory in {}", place.display()))
                .cause(reason)
                .hint("set TMPDIR to a directory for temporary files")
        })
    }

    fn new_in(place: &Path) -> io::Result<Self> {
        loop {
            let directory = tempfile::Builder::new()
                .prefix(OWN_DIRECTORY)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(place)?;
            let lock = match File::open(directory.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            // On file systems without locks, abandoned directories are not removed either.
            let _ = lock.lock();
            // Another process may have removed it as abandoned before it was locked.
            if directory.path().exists() {
                return Ok(Self { directory, _lock: lock });
            }
        }
    }

    /// Fails if the directory has been removed, so that the process cannot have written anything there.
    pub fn check(&self) -> Result<()> {
        if self.path().exists() {
            return Ok(());
        }
        Err(Error::new(Exit::Usage, format!("{} is no longer there", self.path().display()))
            .cause("something has removed it while a benchmark was executed"))
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories that this user's killed processes left behind. Failures are ignored, as they affect no
/// result.
pub fn remove_abandoned() {
    remove_abandoned_in(&std::env::temp_dir());
}

fn remove_abandoned_in(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        let is_own = |data: &fs::Metadata| data.is_dir() && data.uid() == getuid().as_raw();
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(OWN_DIRECTORY.as_bytes())
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
    fn abandoned_directories_are_removed_and_used_ones_kept() {
        let place = tempfile::tempdir().unwrap();
        let used = Scratch::new_in(place.path()).unwrap();
        let mode = fs::metadata(used.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let left = place.path().join(format!("{OWN_DIRECTORY}left"));
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
    fn removed_scratch_directory_is_an_error() {
        let scratch = Scratch::new_in(tempfile::tempdir().unwrap().path());
        let error = scratch.unwrap().check().unwrap_err();
        assert!(error.what().ends_with(" is no longer there"));
        assert!(Scratch::new().unwrap().check().is_ok());
    }
}
