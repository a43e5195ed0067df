//! Counts the instructions or allocations of a process, instead of timing it.
//!
//! callgrind executes the process, and a preloaded library replaces the clock: a reading gives the number of executed
//! instructions plus a large step for each reading. So any harness measures instructions where it would measure time,
//! without its set-up. The executable is not changed.

pub mod allocations;
mod step;

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

pub use self::step::STEP;
use super::{preload::library_source, scratch::Scratch};
use crate::error::{Context, Error, Exit, Result};

/// The source of the library that replaces the clock. It has no dependencies.
pub const COUNTING_LIBRARY_SOURCE: &str = library_source!(
    "interpose.rs",
    "step": "step.rs",
    "random": "../preload/random.rs",
    "system": "../preload/system.rs",
    "waits": "../preload/waits.rs"
);

const VARIABLE: &str = "RBENCH_COUNTING";

/// Options for valgrind. Its configuration files and variable would change counts; its server for debuggers would leave
/// files behind.
const OPTIONS: [&str; 6] = [
    "--tool=callgrind",
    "--command-line-only=yes",
    "--vgdb=no",
    "--child-silent-after-fork=yes",
    "--read-inline-info=no",
    "--demangle=no",
];

/// The tools that count instructions on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    pub valgrind: PathBuf,
    pub library: PathBuf,
}

/// Counts one process, and owns the directory with the counts.
#[derive(Debug)]
pub struct Counting {
    counter: Counter,
    place: Scratch,
    /// Seed of the system's random numbers.
    seed: u64,
    /// True if each reading of the clock dumps the instructions executed since the previous one, by function.
    by_function: bool,
    measured: Mutex<Vec<Count>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub iterations: u64,
    /// The instructions of all iterations together.
    pub executed: u64,
}

/// The part of a [`Counting`] that an [`Invocation`](super::Invocation) needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedProcess {
    counter: Counter,
    place: PathBuf,
    seed: u64,
    by_function: bool,
    /// True if callgrind is not queried at each of many readings in close succession: see `interpose.rs`.
    pub is_frugal: bool,
}

/// Finds the installed valgrind; the error explains how to install it.
pub fn find_valgrind() -> Result<PathBuf> {
    find_valgrind_in(&env::var_os("PATH").unwrap_or_default())
}

fn find_valgrind_in(paths: &OsStr) -> Result<PathBuf> {
    let mut all = env::split_paths(paths).map(|directory| directory.join("valgrind"));
    all.find(|path| path.is_file()).ok_or_else(|| {
        Error::new(Exit::Usage, "cannot count instructions: valgrind is not installed")
            .cause("no directory of PATH has it")
            .hint(
                "install it, for example with: apt-get install valgrind, or: dnf install valgrind",
            )
    })
}

impl Counting {
    /// Prepares to count one process, whose random numbers are derived from `seed`.
    pub fn new(counter: &Counter, seed: u64) -> Result<Self> {
        Ok(Self {
            counter: counter.clone(),
            place: Scratch::new()?,
            seed,
            by_function: false,
            measured: Mutex::default(),
        })
    }

    /// Also keeps the instructions between two readings by function: see [`parts`](Self::parts).
    #[must_use]
    pub fn per_function(self) -> Self {
        Self { by_function: true, ..self }
    }

    pub fn process(&self) -> CountedProcess {
        CountedProcess {
            counter: self.counter.clone(),
            place: self.place.path().to_owned(),
            seed: self.seed,
            by_function: self.by_function,
            is_frugal: false,
        }
    }

    /// Stores the counts that the harness reported.
    pub fn keep(&self, measured: Vec<Count>) {
        if let Ok(mut kept) = self.measured.lock() {
            *kept = measured;
        }
    }

    /// The counts that the harness reported, in their order.
    pub fn measured(&self) -> Vec<Count> {
        self.measured.lock().map(|kept| kept.clone()).unwrap_or_default()
    }

    /// All clock readings of the process: `STEP` for each reading, plus the instructions up to there.
    pub fn readings(&self) -> Result<Vec<i64>> {
        let bytes = fs::read(self.place.path().join("readings"));
        let bytes = bytes.context(Exit::Internal, || "cannot read the counts")?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|word| i64::from_ne_bytes(*word)).collect())
    }

    /// callgrind's files with the instructions before each reading, from the first reading on.
    pub fn parts(&self) -> Vec<PathBuf> {
        let mut parts = Vec::new();
        loop {
            let part = self.place.path().join(format!("profile.{}", parts.len() + 1));
            if !part.exists() {
                return parts;
            }
            parts.push(part);
        }
    }

    /// All instructions of the ended process, including those before the first and after the last reading.
    pub fn total(&self) -> Result<u64> {
        let log = fs::read_to_string(self.place.path().join("log"));
        let log = log.context(Exit::Internal, || "cannot read valgrind's output")?;
        total_of(&log).ok_or_else(|| Error::new(Exit::Benchmark, "valgrind did not report a count"))
    }
}

/// Finds the number behind `Collected :` in the log of callgrind.
fn total_of(log: &str) -> Option<u64> {
    let (_, number) = log.lines().rev().find_map(|line| line.split_once("Collected : "))?;
    number.trim().parse().ok()
}

impl CountedProcess {
    /// The command in which callgrind executes `program`; arguments added to it go to the program.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.counter.valgrind);
        let file = |option: &str, name: &str| {
            let mut option = OsString::from(option);
            option.push(self.place.join(name));
            option
        };
        command.args(OPTIONS).arg(file("--log-file=", "log"));
        command.arg(if self.by_function {
            file("--callgrind-out-file=", "profile")
        } else {
            "--callgrind-out-file=/dev/null".into()
        });
        command.arg(program);
        command
    }

    /// Makes the process load the library.
    pub(super) fn apply(&self, command: &mut Command) {
        let (dumps, frugal) = (u8::from(self.by_function), u8::from(self.is_frugal));
        let mut value = OsString::from(format!("{dumps},{frugal},{},", self.seed));
        value.push(&self.place);
        command.env(VARIABLE, value).env("LD_PRELOAD", &self.counter.library);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_valgrind_error_explains_installation() {
        let error = find_valgrind_in("/no/place:/nor/here".as_ref()).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        let message = error.to_string();
        assert!(message.contains("valgrind is not installed"), "{message}");
        assert!(message.contains("apt-get install valgrind"), "{message}");
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("valgrind"), "").unwrap();
        let paths = env::join_paths([Path::new("/no/place"), place.path()]).unwrap();
        assert_eq!(find_valgrind_in(&paths).unwrap(), place.path().join("valgrind"));
    }

    #[test]
    fn total_is_the_last_collected_number_of_callgrind() {
        let log = "==7== Collected : 5\n==9== \n==9== Events    : Ir\n==9== Collected : 2118122\n";
        assert_eq!(total_of(log), Some(2_118_122));
        assert_eq!(total_of("==9== Process terminating\n"), None);
    }
}
