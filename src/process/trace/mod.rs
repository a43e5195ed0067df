//! Executes a program under a tracer, which records the functions it enters, the files it opens and the environment
//! variables it reads.
//!
//! Each function of interest gets a breakpoint at its entry, which is removed when it is first reached: so an execution
//! takes hardly longer than any other. All breakpoints are set again when the program first reads the clock, to
//! separate set-up from measuring. Threads and processes that the program starts are traced too. The tracer is a
//! separate process and their parent, since the kernel allows tracing one's own child without any privilege.

mod breakpoints;
mod clock;
mod held;
mod lookup;
mod other_clocks;
mod private;
mod processor;
mod ptrace;
mod tracer;

use std::{collections::BTreeSet, path::PathBuf};

use rbench_code::impact::OtherClock;
use serde::{Deserialize, Serialize};

pub(super) use self::tracer::command;
pub use self::{
    breakpoints::with_breakpoints,
    tracer::{TRACER, run_as_tracer},
};
use crate::secrets;

/// Functions of the C library that read the clock.
pub const CLOCKS: [&str; 3] = ["clock_gettime", "gettimeofday", "time"];

/// The clock function whose result the tracer can replace.
pub const CLOCK: &str = "clock_gettime";

/// The reason why a program cannot be traced with a clock that is [ahead](Tracing::ahead).
pub const READS_CLOCK_OFTEN: &str = "it reads the clock too often";

/// Functions of the C library that read an environment variable.
pub const VARIABLES: [&str; 2] = ["getenv", "secure_getenv"];

/// The variable with the port at which rbench listens to a process.
pub const RUNNER_PORT: &str = "CARGO_CRITERION_PORT";

/// The start of the names of directories that rbench makes for the files of one process.
pub const OWN_DIRECTORY: &str = "rbench-execution-";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracing {
    pub tracer: PathBuf,
    /// A file with the [`Plan`] as JSON.
    pub plan: PathBuf,
    /// The lead of the program's clock over the real one, as a multiple of its CPU time, as if its processor were
    /// slower. 0: the program reads the real clock.
    pub ahead: u32,
}

/// The report of a tracer: its observations, or the reason why it could not trace.
pub type Observation = Result<Observed, String>;

/// Parses the report of a tracer. One with a secret is refused: the paths in it would be shown, and without the secret
/// they lead to other files.
pub fn parse_report(report: &[u8]) -> serde_json::Result<Observation> {
    if secrets::redactor().redact(report) != report {
        return Ok(Err("it uses a name that has a secret".to_owned()));
    }
    serde_json::from_slice(report)
}

/// The things to observe. Addresses are in bytes from the executable's load address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The executable, without symbolic links. Another program started in its place has no known functions.
    pub executable: PathBuf,
    /// The same executable without breakpoints, if `executable` has them [in its file](with_breakpoints).
    pub original: Option<PathBuf>,
    /// The entries of functions, in ascending order, without duplicates.
    pub functions: Vec<u64>,
    /// Entries of the functions that read the clock, if the C library is linked statically.
    pub clocks: Vec<u64>,
    /// Entries of [`CLOCK`] among them.
    pub clock: Vec<u64>,
    /// Instructions that read the processor's time-stamp counter.
    pub counter_reads: Vec<u64>,
    /// Entries of the functions that read an environment variable named by their first argument, if the C library is
    /// linked statically.
    pub variables: Vec<u64>,
    /// The CPU for the program and the tracer; without one, the CPU that the tracer starts on.
    pub cpu: Option<usize>,
    /// The file to which the [`Observation`] is written as JSON.
    pub report: PathBuf,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// Functions entered before the clock was first read or after it was last read, by index.
    pub in_set_up: BTreeSet<usize>,
    /// Functions entered in between, or possibly still active when it was first read.
    pub while_measuring: BTreeSet<usize>,
    /// Files and directories opened for reading.
    pub opened: BTreeSet<PathBuf>,
    /// Paths looked up without opening the file.
    pub looked_for: BTreeSet<PathBuf>,
    pub programs: BTreeSet<PathBuf>,
    pub variables: BTreeSet<String>,
    /// Number of requests that could not be observed, or whose name is not valid text.
    pub unnamed: u32,
    /// The first clock, while measuring, that does not stand still while another version runs.
    pub other_clock: Option<OtherClock>,
    /// True if a system call may concern other processes too: beside another one, the program may take another path.
    pub is_noticeable: bool,
    /// What it holds and another process could meet, other than files, in words: `port 80`.
    pub held: BTreeSet<String>,
    /// The files that it locks, writes, creates or removes, in whatever directory. Without symbolic links but the last
    /// component.
    pub written: BTreeSet<PathBuf>,
    /// Those of `written` that it has created, or has tried to.
    pub created: BTreeSet<PathBuf>,
}
