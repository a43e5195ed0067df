//! Checks for processes, files and shared memory that must be gone when a pair has ended.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The time that a killed process may take to disappear.
const PATIENCE: Duration = Duration::from_secs(5);

/// The state without leftovers.
pub struct Left {
    place: String,
    temporary: PathBuf,
    files: usize,
}

impl Left {
    /// Watches for processes that run in `place` and files in `temporary`.
    pub fn watching(place: &Path, temporary: &Path) -> Self {
        let files = open_files().len();
        Self { place: place.display().to_string(), temporary: temporary.to_owned(), files }
    }

    /// The leftovers after a while.
    pub fn found(&self) -> Vec<String> {
        let begin = Instant::now();
        loop {
            let found = self.now();
            if found.is_empty() || begin.elapsed() > PATIENCE {
                return found;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn now(&self) -> Vec<String> {
        let mut found = self.processes();
        let is_of_rbench = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rbench-"))
        };
        let temporary = entries(&self.temporary).into_iter().filter(is_of_rbench);
        let shared = entries("/dev/shm".as_ref()).into_iter().filter(|path| {
            let name = path.to_string_lossy();
            name.contains("rbench")
        });
        found.extend(temporary.chain(shared).map(|path| path.display().to_string()));
        let open = open_files();
        found.extend(open.iter().filter(|file| file.contains("memfd:rbench")).cloned());
        if open.len() > self.files {
            found.push(format!("{} open files instead of {}", open.len(), self.files));
        }
        found
    }

    /// Processes that run something of the place or in it, and children that nobody has reaped.
    fn processes(&self) -> Vec<String> {
        let own = std::process::id().to_string();
        let shown = |process: PathBuf| {
            let id = process.file_name()?.to_str()?.to_owned();
            let is_process = id != own && id.parse::<u32>().is_ok();
            let stat = fs::read_to_string(process.join("stat")).ok().filter(|_| is_process)?;
            let (_, rest) = stat.rsplit_once(')')?;
            let is_child = rest.split_whitespace().nth(1) == Some(&own);
            let link = |name: &str| fs::read_link(process.join(name)).unwrap_or_default();
            let paths = format!("{} {}", link("exe").display(), link("cwd").display());
            (is_child || paths.contains(&self.place)).then(|| format!("{stat} {paths}"))
        };
        entries("/proc".as_ref()).into_iter().filter_map(shown).collect()
    }

    /// Kills the processes of the place.
    pub fn kill(&self) {
        for process in self.processes() {
            let id = process.split(' ').next().and_then(|word| word.parse().ok());
            if let Some(id) = id.and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
        }
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn open_files() -> Vec<String> {
    let files = entries("/proc/self/fd".as_ref()).into_iter();
    files.filter_map(|file| Some(fs::read_link(file).ok()?.display().to_string())).collect()
}
