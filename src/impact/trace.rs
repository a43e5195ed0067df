//! What one execution of a benchmark entered and read.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use crate::elf::Digest;

/// What one execution of a benchmark entered and read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Trace {
    /// The functions that were entered before the clock was first read, by
    /// [`instance`](crate::elf::FunctionCode::instance).
    pub in_set_up: BTreeSet<u64>,
    /// The functions that were entered afterwards, or may not have returned by then, by the same.
    pub while_measuring: BTreeSet<u64>,
    /// The files and directories of the version that were opened, or looked for, by their path below the build
    /// path.
    pub files: BTreeMap<PathBuf, FileState>,
    /// The environment variables that were asked for.
    pub variables: BTreeSet<String>,
    /// Why there may be more.
    pub gaps: Vec<IncompleteTrace>,
}

impl Trace {
    /// A trace that tells nothing, for this reason.
    pub fn none(reason: String) -> Self {
        Self { gaps: vec![IncompleteTrace::Untraced(reason)], ..Self::default() }
    }

    /// The functions that were entered, some of them twice.
    pub fn entered(&self) -> impl Iterator<Item = u64> {
        self.in_set_up.iter().chain(&self.while_measuring).copied()
    }

    /// Whether a function was entered at all.
    pub fn has_entered(&self, instance: u64) -> bool {
        self.in_set_up.contains(&instance) || self.while_measuring.contains(&instance)
    }
}

/// What a path led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    /// Nothing.
    Absent,
    /// A file with these contents.
    File(Digest),
    /// A directory; with these names in it, where it was opened.
    Directory(Option<Digest>),
    /// Something else, or something that cannot be read.
    Other,
}

impl FileState {
    /// Whether it is that of something that was opened, as far as that makes a difference.
    pub const fn has_contents(&self) -> bool {
        !matches!(self, Self::Directory(None))
    }
}

/// Why a trace may lack something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncompleteTrace {
    /// It could not be traced, for this reason.
    Untraced(String),
    /// It could not be seen what was looked for or asked for, or its name is no text.
    Unnamed,
    /// All environment variables were read, or another program was started that may have read any.
    AnyVariable,
}
