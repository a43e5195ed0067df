//! What versions use outside of their checkouts, and the state of the files there before an execution, which is restored
//! after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, FileTimes, Metadata, OpenOptions, Permissions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime},
};

use rbench_code::impact::{Outside, Trace};
use rustix::{
    process::geteuid,
    time::{ClockId, clock_gettime},
};

#[derive(Clone, Debug, Default)]
pub(super) struct KnownOutside {
    pub(super) used: [Outside; 2],
    /// The run time of its traced process; the longer one of both versions.
    pub(super) run_time: Option<Duration>,
    /// True once other executions have used the same names, which are then not drawn at random.
    pub(super) is_confirmed: bool,
}

impl KnownOutside {
    pub(super) fn by_traces(traces: [&Trace; 2]) -> Self {
        let [base, head] = traces.map(|trace| trace.needs.run_time);
        let used = traces.map(|trace| trace.outside.clone());
        Self { used, run_time: base.max(head), is_confirmed: false }
    }

    /// The files that any version writes.
    pub(super) fn written(&self) -> Vec<PathBuf> {
        let [base, head] = self.used.each_ref().map(|used| &used.written);
        base.union(head).cloned().collect()
    }
}

/// The time by the clock that file systems set the times of files by.
pub(super) fn now() -> SystemTime {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    let since_epoch = Duration::try_from(now).unwrap_or_default();
    SystemTime::UNIX_EPOCH.checked_add(since_epoch).unwrap_or_else(SystemTime::now)
}

/// Removes a file or directory that was not there before an execution, and what is below it. What is older than the
/// execution was moved there, and is left, like everything of another user, and where the file system knows no time of
/// creation.
pub(super) fn remove(path: &Path, begin: SystemTime) {
    let Ok(found) = path.symlink_metadata() else { return };
    let is_new = found.created().is_ok_and(|created| created >= begin);
    if !may_restore(path) || !is_new || !is_own(&found) {
        return;
    }
    // If it cannot be removed, the next execution finds it.
    let _ = if found.is_dir() {
        for below in fs::read_dir(path).into_iter().flatten().flatten() {
            remove(&below.path(), begin);
        }
        fs::remove_dir(path)
    } else {
        fs::remove_file(path)
    };
}

fn is_own(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

/// False for files of the user's programs: settings and caches below the home directory; and where a directory of the
/// path has become a link.
fn may_restore(path: &Path) -> bool {
    let home = std::env::home_dir().filter(|home| home.parent().is_some());
    let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    let is_hidden = below.is_some_and(|below| {
        let is_hidden = |one: Component<'_>| one.as_os_str().as_encoded_bytes().starts_with(b".");
        below.components().any(is_hidden)
    });
    let is_link = |parent: &Path| parent.canonicalize().is_ok_and(|real| real != parent);
    !is_hidden && !path.parent().is_some_and(is_link)
}

/// The files outside of the checkout that a benchmark writes, as they are before an execution.
pub(super) struct FilesOutside {
    begin: SystemTime,
    /// In the order of paths: directories are before what is in them.
    before: BTreeMap<PathBuf, Before>,
    /// Files that are kept by nobody.
    pub(super) not_restorable: BTreeSet<PathBuf>,
}

enum Before {
    Absent,
    Directory(Permissions),
    File(Kept),
}

impl FilesOutside {
    /// The largest contents that are kept, in bytes of all files.
    const MOST: u64 = 64 << 20;

    /// Reads the files at these paths.
    pub(super) fn save(paths: &[PathBuf]) -> Self {
        let (before, not_restorable) = (BTreeMap::new(), BTreeSet::new());
        let mut saved = Self { begin: now(), before, not_restorable };
        let mut left = Self::MOST;
        for path in paths {
            let before = match path.symlink_metadata() {
                _ if !may_restore(path) => None,
                Err(error) => (error.kind() == ErrorKind::NotFound).then_some(Before::Absent),
                Ok(found) if !is_own(&found) => None,
                Ok(found) if found.is_dir() => Some(Before::Directory(found.permissions())),
                Ok(found) if found.is_file() && found.len() <= left => {
                    left -= found.len();
                    Kept::new(path, &found).ok().map(Before::File)
                }
                Ok(_) => None,
            };
            match before {
                Some(before) => _ = saved.before.insert(path.clone(), before),
                None => _ = saved.not_restorable.insert(path.clone()),
            }
        }
        saved
    }

    /// Gives the files the same contents, permissions and times again, and removes those that did not exist. Returns those
    /// for which that is impossible.
    pub(super) fn restore(&self) -> Vec<&PathBuf> {
        let is_left = |(path, before): &(&PathBuf, &Before)| match before {
            Before::Absent => {
                remove(path, self.begin);
                path.symlink_metadata().is_ok()
            }
            _ if !may_restore(path) => true,
            Before::Directory(permissions) => {
                // One that is there needs the permissions alone.
                let _ = fs::create_dir(path);
                let is_directory = path.symlink_metadata().is_ok_and(|found| found.is_dir());
                !is_directory || fs::set_permissions(path, permissions.clone()).is_err()
            }
            Before::File(kept) => kept.restore(path).is_err(),
        };
        self.before.iter().filter(is_left).map(|(path, _)| path).collect()
    }
}

struct Kept {
    contents: Vec<u8>,
    permissions: Permissions,
    times: FileTimes,
}

impl Kept {
    fn new(path: &Path, found: &Metadata) -> io::Result<Self> {
        let times =
            FileTimes::new().set_accessed(found.accessed()?).set_modified(found.modified()?);
        let permissions = found.permissions();
        Ok(Self { contents: fs::read(path)?, permissions, times })
    }

    fn restore(&self, path: &Path) -> io::Result<()> {
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let open = |options: &mut OpenOptions| options.custom_flags(libc::O_NOFOLLOW).open(path);
        let mut new = OpenOptions::new();
        // One that grew is not read: it may be larger than the memory.
        let length = self.contents.len() as u64;
        let has_length = path.symlink_metadata().is_ok_and(|found| found.len() == length);
        let file = if has_length && fs::read(path).is_ok_and(|now| now == self.contents) {
            open(new.read(true))?
        } else {
            let mut file = open(new.write(true).create(true).truncate(true))?;
            file.write_all(&self.contents)?;
            file
        };
        file.set_permissions(self.permissions.clone())?;
        file.set_times(self.times)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn files_outside_are_restored() {
        let place = tempfile::tempdir().unwrap();
        let [kept, new, gone, directory] =
            ["kept", "new", "gone", "directory"].map(|name| place.path().join(name));
        fs::write(&kept, "before").unwrap();
        fs::write(&gone, "removed").unwrap();
        let paths = [&kept, &new, &gone, &directory].map(Clone::clone);
        let saved = FilesOutside::save(&paths);
        assert!(saved.not_restorable.is_empty());
        fs::write(&kept, "after").unwrap();
        fs::write(&new, "new").unwrap();
        fs::remove_file(&gone).unwrap();
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("below"), "").unwrap();
        assert!(saved.restore().is_empty());
        assert_eq!(fs::read_to_string(&kept).unwrap(), "before");
        assert_eq!(fs::read_to_string(&gone).unwrap(), "removed");
        assert!(!new.exists() && !directory.exists());
    }

    #[test]
    fn permissions_and_times_outside_are_restored() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("directory");
        let file = directory.join("file");
        fs::create_dir(&directory).unwrap();
        fs::write(&file, "before").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        File::open(&file).unwrap().set_modified(old).unwrap();
        let saved = FilesOutside::save(&[directory.clone(), file.clone()]);
        fs::remove_dir_all(&directory).unwrap();
        assert!(saved.restore().is_empty());
        let found = file.metadata().unwrap();
        assert_eq!((found.modified().unwrap(), found.permissions().mode() & 0o777), (old, 0o640));
    }

    #[test]
    fn too_large_file_cannot_be_restored() {
        let place = tempfile::tempdir().unwrap();
        let paths = ["large", "small"].map(|name| place.path().join(name));
        // It needs no space.
        File::create(&paths[0]).unwrap().set_len(FilesOutside::MOST + 1).unwrap();
        fs::write(&paths[1], "").unwrap();
        let saved = FilesOutside::save(&paths);
        assert_eq!(saved.not_restorable, BTreeSet::from([paths[0].clone()]));
    }

    #[test]
    fn nothing_is_restored_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let [directory, other] = ["directory", "other"].map(|name| place.path().join(name));
        fs::create_dir(&directory).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(directory.join("kept"), "before").unwrap();
        let paths = ["kept", "new"].map(|name| directory.join(name));
        let saved = FilesOutside::save(&paths);
        fs::remove_dir_all(&directory).unwrap();
        std::os::unix::fs::symlink(&other, &directory).unwrap();
        for name in ["kept", "new"] {
            fs::write(other.join(name), "of the user").unwrap();
        }
        assert_eq!(saved.restore(), paths.iter().collect::<Vec<_>>());
        for name in ["kept", "new"] {
            assert_eq!(fs::read_to_string(other.join(name)).unwrap(), "of the user");
        }
    }

    #[test]
    fn link_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let [link, target] = ["link", "target"].map(|name| place.path().join(name));
        fs::write(&target, "of the user").unwrap();
        let links = std::slice::from_ref(&link);
        let saved = FilesOutside::save(links);
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert_eq!(FilesOutside::save(links).not_restorable, BTreeSet::from([link.clone()]));
        assert!(saved.restore().is_empty());
        assert!(!link.is_symlink() && target.exists());
    }

    #[test]
    fn moved_file_is_not_removed() {
        let place = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| place.path().join(name));
        fs::create_dir(&old).unwrap();
        fs::write(old.join("data"), "of the user").unwrap();
        // Times of files have the resolution of a coarse clock, and a process may see its tick a little later than the kernel
        // does, which sets them.
        for _ in 0..2 {
            let made = now();
            while now() <= made {}
        }
        let saved = FilesOutside::save(&[new.clone(), place.path().join("other")]);
        fs::rename(&old, &new).unwrap();
        fs::create_dir(place.path().join("other")).unwrap();
        fs::rename(new.join("data"), place.path().join("other/data")).unwrap();
        assert_eq!(saved.restore().len(), 2);
        assert!(new.exists() && place.path().join("other/data").exists());
    }

    #[test]
    fn hidden_files_below_home_are_left_alone() {
        let home = std::env::home_dir().unwrap();
        assert!(!may_restore(&home.join(".cache/tool/db")));
        assert!(may_restore(&home.join("bench/db")) && may_restore(Path::new("/srv/.db")));
    }
}
