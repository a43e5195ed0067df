//! How the executions of two versions share the machine: interleaved, or sequentially.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest number of benchmarks that may run in parallel.
pub const MOST_PARALLEL: u32 = 32;

/// How the executions of two versions are interleaved.
#[derive(Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Both run at once and alternate when they read the clock, on one CPU or, if other threads work, on all, where a
    /// benchmark supports that; otherwise one execution runs after the other.
    #[default]
    Interleaved,
    /// One execution runs after the other.
    Sequential,
}

/// How an execution was scheduled beside the execution of the other version. The order of variants is part of the
/// store's format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    #[default]
    NotRequested,
    /// Sequential, because the benchmark cannot be interleaved.
    Unavailable(InterleavingUnavailable),
    /// Interleaved on one CPU, with this number of switches to the other version.
    Interleaved(u64),
    /// Interleaved on all CPUs, of which each thread has one, with this number of switches. The other threads of a version
    /// stop at each one.
    InterleavedThreads(u64),
    /// The same, and each thread has all CPUs.
    InterleavedFreeThreads(u64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Threads {
    /// On the one CPU that both versions share: only the first one works.
    #[default]
    Together,
    /// On all CPUs: each thread has one, in turn. The kernel's choice differs between processes, and lasts.
    Placed,
    /// On all CPUs: each thread has all. Placed, the benchmark was much slower than alone, as another program had one of the
    /// CPUs, or the threads have unequal work.
    Free,
}

impl Schedule {
    /// The mode in which the execution really ran.
    pub const fn mode(&self) -> Mode {
        if self.interleaved().is_some() { Mode::Interleaved } else { Mode::Sequential }
    }

    /// Where the threads of an interleaved execution ran, and the number of switches to the other version.
    pub const fn interleaved(&self) -> Option<(Threads, u64)> {
        match *self {
            Self::Interleaved(switches) => Some((Threads::Together, switches)),
            Self::InterleavedThreads(switches) => Some((Threads::Placed, switches)),
            Self::InterleavedFreeThreads(switches) => Some((Threads::Free, switches)),
            Self::NotRequested | Self::Unavailable(_) => None,
        }
    }

    /// Why it was not interleaved, although that was requested.
    pub const fn unavailable(&self) -> Option<&InterleavingUnavailable> {
        match self {
            Self::Unavailable(reason) => Some(reason),
            _ => None,
        }
    }
}

/// The reason why a benchmark cannot be interleaved.
///
/// The order of variants is part of the store's format.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InterleavingUnavailable {
    /// It is a whole program, and the kernel does not show what it does, or it cannot be traced.
    UnknownProgram,
    /// The interleaving library could not be compiled, or the two processes cannot share memory.
    NoLibrary,
    /// Its process did not load the library: the executable is static.
    NotLoaded,
    /// It never or seldom reads the clock, and the processes only switch when it does.
    NoClock,
    /// Processes that it starts and waits for use CPU time, or it leaves processes running.
    ChildProcesses,
    /// It measured more time than its process had.
    OtherClock,
    /// It fails when interleaved, but not alone.
    FailsInterleaved,
    /// Its process neither returns from `main` nor exits through libc, so the CPU time of its threads is unknown.
    EndsOtherwise,
    /// Interleaved, it is slower than alone, in the mean of both versions, however long the time slices are.
    SlowerInterleaved,
    /// Interleaved, one version is slowed down more than the other, however long the time slices are: it finds its data
    /// evicted from the caches, for instance.
    ChangeDiffers,
    /// Both versions at once need more than half of the memory that is available.
    Memory,
    /// Its other threads work, and one of them cannot be stopped while the other version runs.
    ThreadsCannotStop,
    /// A whole program waits, for instance for a disk or a timer, for a considerable part of its run time.
    Waits,
    /// One version of a whole program waits longer than the other.
    WaitsDiffer,
    /// The threads of a whole program compute at the same time.
    Parallel,
    /// A whole program starts other processes.
    StartsProcesses,
    /// A whole program writes files, or makes other system calls that the other version may notice.
    NotPrivate,
    /// It reads the processor's time-stamp counter, which does not stop while the other version runs.
    Counter,
    /// It reads the kernel's clock without the C library, whose functions are replaced.
    KernelClock,
    /// It waits until a point in time, or sets a timer to one, without a function that is replaced.
    Deadline,
    /// Both versions use something outside of their checkouts, such as a port or a file, named in this phrase.
    Shared(String),
    /// Neither version went on beside the other: one may wait for something that the other one holds.
    StandStill,
}

impl fmt::Display for InterleavingUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared(things) => return write!(f, "both versions use {things}"),
            Self::StandStill => "neither version goes on beside the other",
            Self::UnknownProgram => "it is unknown what the program does",
            Self::NoLibrary => "the interleaving library cannot be used",
            Self::NotLoaded => "its process cannot load the interleaving library",
            Self::NoClock => "it reads the clock too seldom to alternate with the other version",
            Self::ChildProcesses => "it has child processes that work",
            Self::OtherClock => "it measures with another clock",
            Self::FailsInterleaved => "it fails when interleaved, and not alone",
            Self::EndsOtherwise => "its process does not end as usual",
            Self::SlowerInterleaved => "it is slower interleaved than alone",
            Self::ChangeDiffers => {
                "interleaving seems to slow one version down more than the other"
            }
            Self::Memory => "both versions at once need too much memory",
            Self::ThreadsCannotStop => "one of its threads cannot be stopped",
            Self::Waits => "it waits for more than 5 % of its run time",
            Self::WaitsDiffer => "one version waits longer than the other",
            Self::Parallel => "its threads compute at the same time",
            Self::StartsProcesses => "it starts other processes",
            Self::NotPrivate => "it writes files or uses what other processes may use too",
            Self::Counter => {
                "it reads the processor's counter, which also counts the other version's time"
            }
            Self::KernelClock => {
                "it asks the kernel for the time, which also passes while the other version runs"
            }
            Self::Deadline => {
                "it waits for a point in time, which also comes nearer while the other version runs"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_is_interleaved_only_if_it_really_was() {
        for interleaved in [Schedule::Interleaved(3), Schedule::InterleavedThreads(3)] {
            assert_eq!(interleaved.mode(), Mode::Interleaved);
        }
        for alone in
            [Schedule::NotRequested, Schedule::Unavailable(InterleavingUnavailable::NoClock)]
        {
            assert_eq!(alone.mode(), Mode::Sequential);
        }
    }
}
