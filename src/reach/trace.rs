//! What one execution of a benchmark entered and read.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use crate::code::Digest;

/// What one execution of a benchmark entered and read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Trace {
    /// The functions that were entered before the clock was first read, by
    /// [`instance`](crate::code::FunctionCode::instance).
    pub in_set_up: BTreeSet<u64>,
    /// The functions that were entered afterwards, by the same.
    pub while_measuring: BTreeSet<u64>,
    /// The files and directories below the build path that were opened, or looked for, by their path there.
    pub files: BTreeMap<PathBuf, FileState>,
    /// The environment variables that were asked for.
    pub variables: BTreeSet<String>,
    /// Why there may be more.
    pub gaps: Vec<Gap>,
}

/// What a path led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    /// Nothing.
    Absent,
    /// A file with these contents.
    File(Digest),
    /// A directory with these names in it.
    Directory(Digest),
}

/// Why a trace may lack something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gap {
    /// It could not be traced at all, for this reason.
    Untraced(String),
    /// Another program was started.
    OtherProgram,
    /// The whole environment was read.
    WholeEnvironment,
}
