//! Executes a program under a tracer, which tells what the program entered and looked for.
//!
//! A breakpoint is set at the entry of every function that is asked for, and removed when it is first reached:
//! so an execution takes hardly longer than any other. All are set again when the program first reads the clock,
//! so that what was entered only in set-up is known. Threads and processes that the program starts are traced
//! too. The tracer is a process of its own and their parent, since the kernel allows
//! to trace one's own child without any privilege.

mod breakpoints;
mod clock;
mod lookup;
mod processor;
mod program;
mod ptrace;
mod tracer;

use std::{collections::BTreeSet, path::PathBuf};

use serde::{Deserialize, Serialize};

pub(super) use self::program::command;
pub use self::program::{TRACER, run_as_tracer};

/// The functions of the C library by which a program reads the clock.
pub const CLOCKS: [&str; 3] = ["clock_gettime", "gettimeofday", "time"];

/// The one of them whose answer a tracer can give.
pub const CLOCK: &str = "clock_gettime";

/// The functions of the C library by which a program asks for a variable.
pub const VARIABLES: [&str; 2] = ["getenv", "secure_getenv"];

/// How a program is traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracing {
    /// This program.
    pub tracer: PathBuf,
    /// A file with the [`Plan`] as JSON.
    pub plan: PathBuf,
    /// By how many times its CPU time the clock of the program is ahead of the real one, as if its processor were
    /// slower. 0: it reads the real one.
    pub ahead: u32,
}

/// What a tracer reports: what it saw, or why it could not trace.
pub type Observation = Result<Observed, String>;

/// What is wanted to know. Addresses are in bytes from where the executable is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The executable, without symbolic links. Another program that is started in its place has no functions that
    /// are known.
    pub executable: PathBuf,
    /// The entries of functions, in ascending order, each once.
    pub functions: Vec<u64>,
    /// The functions among them that read the clock, if that is part of the executable.
    pub clocks: Vec<u64>,
    /// [`CLOCK`] among them.
    pub clock: Vec<u64>,
    /// The functions among them that read an environment variable whose name is their first argument, if these
    /// are part of the executable.
    pub variables: Vec<u64>,
    /// The file to which the [`Observation`] is written as JSON.
    pub report: PathBuf,
}

/// What a program did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// The functions that were entered before the clock was first read, by index.
    pub in_set_up: BTreeSet<usize>,
    /// The functions that were entered afterwards, or that may not have returned by then.
    pub while_measuring: BTreeSet<usize>,
    /// The files and directories that were opened for reading.
    pub opened: BTreeSet<PathBuf>,
    /// The paths that were looked for without opening what is there.
    pub looked_for: BTreeSet<PathBuf>,
    /// The programs that were started.
    pub programs: BTreeSet<PathBuf>,
    /// The environment variables that were asked for.
    pub variables: BTreeSet<String>,
    /// How often it could not be seen what was looked for or asked for, or its name is no text.
    pub unnamed: u32,
}
