//! What a change can reach: which of the differences between two versions a benchmark executes or reads.
//!
//! One traced execution of each version tells which functions a benchmark enters, and which files and
//! variables it reads. A benchmark that enters no function that differs, and reads nothing that differs, does
//! the same in both versions, and need not be measured.

mod decision;
mod trace;

use crate::elf::{Cause, Name};

pub use decision::{Differences, impact, is_harness_function};
pub use trace::{FileState, IncompleteTrace, Trace};

/// What of the differences between two versions a benchmark executes or reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// The functions that differ and that it enters, in either version: those that it enters while it is
    /// measured first, and of these the largest change first.
    pub functions: Vec<ReachedFunction>,
    /// The files that it reads and that differ, below the root of the repository, in the order of names.
    pub files: Vec<String>,
    /// The environment variables that it reads and that differ, in the order of names.
    pub variables: Vec<String>,
    /// Why it may execute or read more than is known, each as a phrase: `it starts other programs`.
    pub uncertainties: Vec<String>,
}

/// A function that differs and that a benchmark enters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedFunction {
    /// Its demangled name.
    pub name: Name,
    /// Tells it apart from others of its name: a digest of its symbol, in the head if that has it.
    pub instance: u64,
    /// Its size in the base, in bytes; absent if the base lacks it.
    pub base_size: Option<u64>,
    /// Its size in the head, in bytes; absent if the head lacks it.
    pub head_size: Option<u64>,
    /// The size of its frame on the stack in the base, in bytes; absent if the base lacks it, or it is unknown.
    pub base_stack: Option<u64>,
    /// The same in the head.
    pub head_stack: Option<u64>,
    /// Whether it is entered after the clock was first read: otherwise only in set-up.
    pub while_measuring: bool,
    /// What of it differs.
    pub cause: Cause,
    /// The functions that only the head's refers to.
    pub callees_gained: Vec<Name>,
    /// The functions that only the base's refers to: inlined, or not called any more.
    pub callees_lost: Vec<Name>,
}

impl Impact {
    /// Whether nothing that differs is reached, for sure.
    pub const fn is_nothing(&self) -> bool {
        self.functions.is_empty()
            && self.files.is_empty()
            && self.variables.is_empty()
            && self.uncertainties.is_empty()
    }
}
