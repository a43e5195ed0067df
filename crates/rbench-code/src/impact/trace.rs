//! The record of one traced execution of a benchmark: the functions that it entered, and the files and variables that
//! it read.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::elf::Digest;

/// The record of one traced execution of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Trace {
    /// The functions that were entered before the clock was first read, or only after it was last read, by
    /// [`instance`](crate::elf::FunctionCode::instance).
    pub in_set_up: BTreeSet<u64>,
    /// The functions that were entered in between, or may not have returned when it was first read, by `instance` too.
    pub while_measuring: BTreeSet<u64>,
    /// The files and directories of the version that were opened or looked up, by their path below the build path.
    pub files: BTreeMap<PathBuf, FileState>,
    pub variables: BTreeSet<String>,
    /// The reasons why the trace may be incomplete.
    pub gaps: Vec<IncompleteTrace>,
    pub needs: Needs,
    /// True if it made no system call that may concern other processes, such as one that writes a file: beside another
    /// execution, it takes the path that it takes alone.
    pub is_private: bool,
    /// What it holds or changes outside of the version, where the other version could meet it.
    pub outside: Outside,
}

impl Trace {
    /// An empty trace, incomplete for this reason.
    pub fn none(reason: String) -> Self {
        Self { gaps: vec![IncompleteTrace::Untraced(reason)], ..Self::default() }
    }

    pub fn is_none(&self) -> bool {
        self.gaps.iter().any(|gap| matches!(gap, IncompleteTrace::Untraced(_)))
    }

    /// The functions that were entered, some of them twice.
    pub fn entered(&self) -> impl Iterator<Item = u64> {
        self.in_set_up.iter().chain(&self.while_measuring).copied()
    }

    pub fn has_entered(&self, instance: u64) -> bool {
        self.in_set_up.contains(&instance) || self.while_measuring.contains(&instance)
    }
}

/// What an execution holds or changes outside of its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Outside {
    /// Things other than files, in words: `port 80`.
    pub held: BTreeSet<String>,
    /// Files that it locks, writes, creates or removes.
    pub written: BTreeSet<PathBuf>,
}

impl Outside {
    /// What both use. Names that are drawn at random are not among it.
    #[must_use]
    pub fn shared(&self, other: &Self) -> Self {
        Self { held: &self.held & &other.held, written: &self.written & &other.written }
    }

    /// All of it in a phrase: `port 80 and /tmp/db`; `None` if it is nothing.
    pub fn words(&self) -> Option<String> {
        /// More are only counted.
        const MOST: usize = 3;
        let files = self.written.iter().map(|path| path.display().to_string());
        let all: Vec<String> = self.held.iter().cloned().chain(files).collect();
        let (named, rest) = all.split_at(all.len().min(MOST));
        let more = (!rest.is_empty()).then(|| format!("{} more", rest.len()));
        let named: Vec<String> = named.iter().cloned().chain(more).collect();
        match named.split_last()? {
            (only, []) => Some(only.clone()),
            (last, before) => Some(format!("{} and {last}", before.join(", "))),
        }
    }
}

/// The time and memory that an execution of a benchmark needs, where they are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Needs {
    /// The mean time of an iteration by the real clock.
    pub iteration: Option<Duration>,
    /// The median of its measurements of wall time, in ns per iteration.
    pub median_iteration: Option<f64>,
    /// The peak resident memory, in bytes.
    pub memory: Option<u64>,
    /// A clock by which it acts while it measures and that does not stand still while another version runs.
    pub other_clock: Option<OtherClock>,
    pub run_time: Option<Duration>,
    /// The part of it without warm-up and measurements: the start of the program, and what comes before and after them.
    pub set_up: Option<Duration>,
    pub measurements: usize,
}

/// A clock that keeps running while a process is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherClock {
    /// The processor's time-stamp counter.
    Counter,
    /// The kernel's clock, read without the C library.
    KernelClock,
    /// A wait until a point in time, or a timer set to one, without a function of the C library.
    Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    Absent,
    File(Digest),
    /// A directory; if it was opened, with a digest of the names in it.
    Directory(Option<Digest>),
    /// Another kind of file, or an unreadable one.
    Other,
}

impl FileState {
    /// True unless it is a directory that was looked up but not opened, so that its names are not recorded.
    pub const fn has_contents(&self) -> bool {
        !matches!(self, Self::Directory(None))
    }
}

/// The reason why a trace may be incomplete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncompleteTrace {
    /// The execution could not be traced, for this reason.
    Untraced(String),
    /// The name of a file or variable could not be read, or is not valid text.
    Unnamed,
    /// All environment variables were read, or another program was started that may have read any.
    AnyVariable,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(held: &[&str], written: &[&str]) -> Outside {
        Outside {
            held: held.iter().copied().map(str::to_owned).collect(),
            written: written.iter().map(PathBuf::from).collect(),
        }
    }

    #[test]
    fn outside_is_shared_only_where_names_are_equal() {
        let base = outside(&["port 80", "port 41234"], &["/tmp/db", "/tmp/.tmpa7xQ"]);
        let head = outside(&["port 80", "port 51234"], &["/tmp/db", "/tmp/.tmpB0kw"]);
        assert_eq!(base.shared(&head), outside(&["port 80"], &["/tmp/db"]));
    }

    #[test]
    fn outside_is_named_in_words() {
        assert_eq!(outside(&[], &[]).words(), None);
        assert_eq!(outside(&["port 80"], &[]).words().unwrap(), "port 80");
        assert_eq!(outside(&["port 80"], &["/tmp/db"]).words().unwrap(), "port 80 and /tmp/db");
        let many = outside(&["port 80"], &["/a", "/b", "/c", "/d"]);
        assert_eq!(many.words().unwrap(), "port 80, /a, /b and 2 more");
    }
}
