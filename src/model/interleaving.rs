//! How the executions of two versions share the machine: by turns, or one whole execution after the other.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// As many benchmarks at most are executed at a time.
pub const MOST_PARALLEL: u32 = 32;

/// How the executions of two versions are interleaved.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Both run at once on one CPU, and take turns when they read the clock, where a benchmark can do that;
    /// otherwise one whole execution after the other.
    #[default]
    Interleaved,
    /// One whole execution after the other.
    Sequential,
}

/// Whether an execution took turns with that of the other version. The order is part of the format of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// It ran alone, as was asked for.
    #[default]
    NotRequested,
    /// It ran alone, as the benchmark cannot take turns.
    Unavailable(InterleavingUnavailable),
    /// It passed the turn so often.
    Interleaved(u64),
}

impl Schedule {
    /// How it was interleaved with the execution of the other version.
    pub const fn mode(self) -> Mode {
        match self {
            Self::Interleaved(_) => Mode::Interleaved,
            Self::NotRequested | Self::Unavailable(_) => Mode::Sequential,
        }
    }
}

/// Why a benchmark cannot take turns.
///
/// The order is part of the format of the store.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InterleavingUnavailable {
    /// Its harness runs whole programs.
    WholeProgram,
    /// The library that passes turns could not be compiled, or nothing could be shared by two processes.
    NoLibrary,
    /// Its process did not load the library: the executable is static.
    NotLoaded,
    /// Its first thread never reads the clock at which turns are passed.
    NoClock,
    /// Other threads than the first, or processes that it starts and waits for, take CPU time; or it leaves
    /// processes behind.
    OtherThreads,
    /// It measured more time than its process had.
    OtherClock,
    /// It fails in turns, and does not fail alone.
    FailsInterleaved,
    /// Its process does not return from `main` and does not exit as libc has it, so that nobody knows what its
    /// threads took.
    EndsOtherwise,
}

impl fmt::Display for InterleavingUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WholeProgram => "a whole program is measured",
            Self::NoLibrary => "the library for turns cannot be used",
            Self::NotLoaded => "its process cannot load the library for turns",
            Self::NoClock => "its first thread does not read the clock",
            Self::OtherThreads => "it has other threads or child processes that work",
            Self::OtherClock => "it measures with another clock",
            Self::FailsInterleaved => "it fails in turns, and not alone",
            Self::EndsOtherwise => "its process does not end as usual",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_turns_that_were_taken_count_as_such() {
        assert_eq!(Schedule::Interleaved(3).mode(), Mode::Interleaved);
        for alone in
            [Schedule::NotRequested, Schedule::Unavailable(InterleavingUnavailable::NoClock)]
        {
            assert_eq!(alone.mode(), Mode::Sequential);
        }
    }
}
