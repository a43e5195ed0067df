//! Change impact analysis: finds the differences between two versions that a benchmark executes or reads, so that
//! benchmarks without any can be skipped.
//!
//! One traced execution of each version records the functions that a benchmark enters, and the files and variables that
//! it reads. A benchmark that enters no changed function and reads no changed file or variable behaves the same in both
//! versions, and need not be measured. When unsure, it must be measured.

mod decision;
mod files;
mod trace;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elf::{Cause, HASH, Name, hash};

pub use decision::{Differences, impact};
pub use files::FileUse;
pub use trace::{FileState, IncompleteTrace, Needs, OtherClock, Outside, Trace};

/// The differences between two versions that a benchmark executes or reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Impact {
    /// The functions that differ and that it enters, in either version: first those entered while measuring, each group
    /// in the order of the size of the change.
    pub functions: Vec<EnteredFunction>,
    /// The files that differ and that it reads, below the root of the repository, in the order of names.
    pub files: Vec<String>,
    /// The environment variables that differ and that it reads, in the order of names.
    pub variables: Vec<String>,
    /// The reasons why it may execute or read more than is known, each as a phrase: `it starts other programs`.
    pub uncertainties: Vec<String>,
    /// The functions that differ and with which only the harness reads its command line, by instance: they are no impact.
    #[serde(skip)]
    pub by_harness: Vec<u64>,
}

/// A function that differs and that a benchmark enters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct EnteredFunction {
    /// Its demangled name.
    pub name: Name,
    /// Distinguishes it from others of its name: a digest of its symbol, in the head if that has it.
    #[serde(with = "hash")]
    #[schemars(with = "String", regex(pattern = HASH))]
    pub instance: u64,
    /// Its size in the base, in bytes; absent if the base lacks it.
    #[serde(rename = "base_size_bytes")]
    pub base_size: Option<u64>,
    /// Its size in the head, in bytes; absent if the head lacks it.
    #[serde(rename = "head_size_bytes")]
    pub head_size: Option<u64>,
    /// The size of its stack frame in the base, in bytes; absent if the base lacks it, or it is unknown.
    #[serde(rename = "base_stack_bytes")]
    pub base_stack: Option<u64>,
    /// The size of its stack frame in the head, in bytes; absent if the head lacks it, or it is unknown.
    #[serde(rename = "head_stack_bytes")]
    pub head_stack: Option<u64>,
    /// True if it is entered after the clock was first read, false if only during set-up.
    pub while_measuring: bool,
    /// The kind of difference.
    #[serde(flatten)]
    pub cause: Cause,
    /// The functions that only the head's code refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callees_gained: Vec<Name>,
    /// The functions that only the base's code refers to: inlined, or no longer called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callees_lost: Vec<Name>,
}

impl Impact {
    /// True if the benchmark certainly executes and reads no difference.
    pub const fn is_nothing(&self) -> bool {
        self.functions.is_empty()
            && self.files.is_empty()
            && self.variables.is_empty()
            && self.uncertainties.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impact_is_nothing_only_without_any_uncertainty() {
        assert!(Impact::default().is_nothing());
        let uncertain =
            Impact { uncertainties: vec!["not traced".to_owned()], ..Impact::default() };
        assert!(!uncertain.is_nothing());
    }
}
