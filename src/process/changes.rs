//! Waits until files of some directories change.

use std::{
    os::fd::OwnedFd,
    path::Path,
    time::{Duration, Instant},
};

use rustix::{
    fs::inotify::{self, CreateFlags, WatchFlags},
    io::Errno,
};

use super::{Interrupt, first_readable};
use crate::error::{Context, Exit, Result};

/// Without a change for this long, a save is over: editors write another file and rename it, and some write several.
const SETTLED: Duration = Duration::from_millis(100);

/// The longest wait for the end of a save: a program may write all the time.
const LONGEST: Duration = Duration::from_secs(1);

/// The changes of files in some directories. It only says that there is one, since the tree itself says what it is.
#[derive(Debug)]
pub struct Changes(OwnedFd);

impl Changes {
    /// Changes of no directory yet.
    pub fn new() -> Result<Self> {
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let instance = inotify::init(flags)
            .context(Exit::Usage, || "cannot watch for changes of files")
            .map_err(|error| error.hint("end other programs that watch files, or let there be more: sudo sysctl fs.inotify.max_user_instances=512"))?;
        Ok(Self(instance))
    }

    /// Includes the files directly in this directory from now on. A directory that is not there has none.
    pub fn include(&self, directory: &Path) -> Result<()> {
        let changed = WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO;
        let how = WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        let what = || format!("cannot watch for changes of files in {}", directory.display());
        match inotify::add_watch(&self.0, directory, changed | how) {
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(()),
            Err(Errno::NOSPC) => Err(Errno::NOSPC).context(Exit::Usage, what).map_err(|error| {
                error.hint("let more directories be watched: sudo sysctl fs.inotify.max_user_watches=524288")
            }),
            Err(error) => Err(error).context(Exit::Usage, what),
        }
    }

    /// Sleeps until there was a change and the files have settled. False if the interrupt is set before.
    pub fn wait(&self, interrupt: &Interrupt) -> Result<bool> {
        let what = || "cannot wait for changes of files";
        let (mut settled, mut latest) = (None, None);
        loop {
            let found = first_readable(&[interrupt, &self.0], settled);
            match found.context(Exit::Internal, what)? {
                Some(0) => return Ok(false),
                None => return Ok(true),
                Some(_) => self.forget().context(Exit::Internal, what)?,
            }
            let now = Instant::now();
            let latest = *latest.get_or_insert(now + LONGEST);
            if now >= latest {
                return Ok(true);
            }
            settled = Some(latest.min(now + SETTLED));
        }
    }

    /// Reads all events that there are.
    fn forget(&self) -> Result<(), Errno> {
        let mut events = [0; 4096];
        loop {
            match rustix::io::read(&self.0, &mut events) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    #[test]
    fn several_events_are_one_change_and_others_are_none() {
        let scratch = tempfile::tempdir().unwrap();
        let [watched, other] = ["watched", "other"].map(|name| scratch.path().join(name));
        fs::create_dir(&watched).unwrap();
        fs::create_dir(&other).unwrap();
        let (interrupt, changes) = (Interrupt::new().unwrap(), Changes::new().unwrap());
        changes.include(&watched).unwrap();
        changes.include(&scratch.path().join("absent")).unwrap();
        fs::write(other.join("a"), "1").unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                for text in ["1", "2"] {
                    thread::sleep(SETTLED / 4);
                    fs::write(watched.join("new"), text).unwrap();
                    fs::rename(watched.join("new"), watched.join("a")).unwrap();
                }
            });
            assert!(changes.wait(&interrupt).unwrap());
            assert_eq!(fs::read_to_string(watched.join("a")).unwrap(), "2");
        });
        // Reading changes nothing, and the interrupt ends the next wait.
        fs::read(watched.join("a")).unwrap();
        interrupt.set();
        assert!(!changes.wait(&interrupt).unwrap());
    }

    #[test]
    fn endless_changes_are_not_waited_for() {
        let scratch = tempfile::tempdir().unwrap();
        let (interrupt, changes) = (Interrupt::new().unwrap(), Changes::new().unwrap());
        changes.include(scratch.path()).unwrap();
        let ended = Interrupt::new().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.is_set() {
                    fs::write(scratch.path().join("log"), "line").unwrap();
                    thread::sleep(SETTLED / 10);
                }
            });
            let changed = changes.wait(&interrupt);
            ended.set();
            assert!(changed.unwrap());
        });
    }
}
