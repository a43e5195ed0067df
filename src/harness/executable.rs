//! An executable of a bench target, and how a process of it is run for a harness.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use crate::{
    failure::{Exit, Failure, OrFail, Result},
    measure::process::{self, Ended, Ending, Interrupt, Invocation, Limits, Output},
    model::Name,
};

/// An executable of a bench target, with what Cargo would give to its processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executable {
    /// The package's name.
    pub package: String,
    /// The bench target's name.
    pub target: String,
    /// The file.
    pub path: PathBuf,
    /// The package's root, where benchmarks expect to run.
    pub directory: PathBuf,
    /// `CARGO_MANIFEST_DIR`, `CARGO_PKG_*` and the path of shared libraries.
    pub variables: Vec<(OsString, OsString)>,
}

/// The conditions that all executions of a run share.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'c> {
    /// What stops everything.
    pub interrupt: &'c Interrupt,
    /// How long a process may take; derived from what it is asked to do when absent.
    pub deadline: Option<Duration>,
    /// The CPU to run on.
    pub cpu: Option<usize>,
}

/// Variables of rbench's own environment that would change what a benchmark does.
const REMOVED: [&str; 8] = [
    "CARGO_CRITERION_",
    "CODSPEED_",
    "CRITERION_",
    "DIVAN_",
    "NEXTEST",
    "RBENCH_",
    "RUST_TEST_",
    "RUST_BACKTRACE",
];

impl Executable {
    /// What running `benchmark` is called in messages.
    pub(super) fn purpose_of(&self, benchmark: &Name) -> String {
        format!("execute benchmark `{}` of {}", benchmark.id, self.target)
    }

    /// A process of this executable with `arguments`, in the initial state of `seed`.
    pub(super) fn invocation<A: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        seed: Option<u64>,
        conditions: &Conditions<'_>,
    ) -> Invocation {
        Invocation {
            program: self.path.clone(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: self.directory.clone(),
            variables: self.variables.clone(),
            removed_prefixes: REMOVED.map(str::to_owned).to_vec(),
            padding_seed: seed,
            cpu: conditions.cpu,
        }
    }
}

/// One process that serves one purpose, for instance `execute benchmark a/b of target`.
pub(super) struct Process {
    pub(super) purpose: String,
    pub(super) invocation: Invocation,
    /// The time that the work asked for takes at least.
    pub(super) work: Duration,
}

impl Process {
    /// Runs the process; an end by deadline or interrupt is a failure, any other is not.
    pub(super) fn run(&self, conditions: &Conditions<'_>) -> Result<Ended> {
        let mut limits = Limits::for_work_of(self.work);
        limits.deadline = conditions.deadline.unwrap_or(limits.deadline);
        let ended = process::run(&self.invocation, &limits, conditions.interrupt)?;
        match ended.ending {
            Ending::Exited(_) | Ending::Signalled(_) => Ok(ended),
            Ending::Deadline => {
                let reason =
                    format!("it was still running after {:.1} s", limits.deadline.as_secs_f64());
                Err(self.failure(&reason, &ended.output).hint("allow more time with a deadline"))
            }
            Ending::Interrupted => {
                Err(Failure::new(Exit::Interrupted, format!("stopped: {}", self.purpose)))
            }
        }
    }

    /// As [`run`](Self::run), but an end without success is a failure too.
    pub(super) fn run_to_success(&self, conditions: &Conditions<'_>) -> Result<Ended> {
        let ended = self.run(conditions)?;
        match ending_in_words(ended.ending) {
            None => Ok(ended),
            Some(words) => Err(self.failure(&words, &ended.output)),
        }
    }

    /// A failure of this process, with the end of what it printed and how to see it again.
    pub(super) fn failure(&self, reason: &str, output: &Output) -> Failure {
        /// Enough for a panic message and a short trace.
        const LINES: usize = 20;
        let mut failure =
            Failure::new(Exit::Benchmark, format!("cannot {}", self.purpose)).because(reason);
        let tail = output.last_lines(LINES);
        if !tail.trim().is_empty() {
            failure = failure.because("the end of its output:");
            for line in tail.lines() {
                failure = failure.because(format!("  {line}"));
            }
        }
        failure.hint(format!("reproduce with: {}", self.invocation))
    }
}

/// How a process ended, unless with success.
pub(super) fn ending_in_words(ending: Ending) -> Option<String> {
    match ending {
        Ending::Exited(0) => None,
        Ending::Exited(status) => Some(format!("it exited with status {status}")),
        Ending::Signalled(signal) => Some(format!("it died by signal {signal}")),
        Ending::Deadline => Some("it took too long".to_owned()),
        Ending::Interrupted => Some("it was interrupted".to_owned()),
    }
}

/// A directory for what one process leaves behind.
pub(super) fn scratch() -> Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("rbench-")
        .tempdir()
        .or_fail(Exit::Internal, || "cannot create a temporary directory")
}
