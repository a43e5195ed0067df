//! An executable of a bench target, and how a process of it is run for a harness.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use crate::{
    failure::{Exit, Failure, OrFail, Result},
    model::Name,
    process::{self, Ended, Ending, Interrupt, Invocation, Limits, Output},
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

    /// What running `benchmarks` in one process is called in messages.
    pub(super) fn purpose_of_all(&self, benchmarks: &[Name]) -> String {
        match benchmarks {
            [only] => self.purpose_of(only),
            several => format!("execute {} benchmarks of {}", several.len(), self.target),
        }
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
            launcher: None,
        }
    }
}

/// One process that serves one purpose, for instance `execute benchmark a/b of target`.
pub(super) struct Process {
    pub(super) purpose: String,
    pub(super) invocation: Invocation,
    /// What a person types to see the same: without what only rbench can give to the process.
    pub(super) repeated: Invocation,
    /// The time that the work asked for takes at least.
    pub(super) work: Duration,
}

impl Process {
    pub(super) fn new(purpose: String, invocation: Invocation, work: Duration) -> Self {
        Self { purpose, repeated: invocation.clone(), invocation, work }
    }

    /// Runs the process; an end by deadline or interrupt is a failure, any other is not.
    pub(super) fn run(&self, conditions: &Conditions<'_>) -> Result<Ended> {
        self.run_within(Limits::for_work_of(self.work), conditions)
    }

    fn run_within(&self, mut limits: Limits, conditions: &Conditions<'_>) -> Result<Ended> {
        limits.deadline = conditions.deadline.unwrap_or(limits.deadline);
        let ended = process::run(&self.invocation, &limits, conditions.interrupt)?;
        match ended.ending {
            Ending::Exited(_) | Ending::Signalled(_) => Ok(ended),
            Ending::Deadline => {
                let reason =
                    format!("it was still running after {:.1} s", limits.deadline.as_secs_f64());
                Err(self.failure(&reason, &ended.output).hint("allow more time with --deadline"))
            }
            Ending::Interrupted => {
                Err(Failure::new(Exit::Interrupted, format!("stopped: {}", self.purpose)))
            }
        }
    }

    /// As [`run`](Self::run), but an end without success is a failure too.
    pub(super) fn run_to_success(&self, conditions: &Conditions<'_>) -> Result<Ended> {
        self.succeeded(self.run(conditions)?)
    }

    /// What a successful process prints, all of it: for lists of benchmarks.
    pub(super) fn whole_output(&self, conditions: &Conditions<'_>) -> Result<Output> {
        /// Room for a hundred thousand benchmarks.
        const MOST: usize = 16 << 20;
        let limits = Limits { output: MOST, ..Limits::for_work_of(self.work) };
        let output = self.succeeded(self.run_within(limits, conditions)?)?.output;
        if output.omitted > 0 {
            return Err(self.failure("its list is longer than 16 MiB", &output));
        }
        Ok(output)
    }

    fn succeeded(&self, ended: Ended) -> Result<Ended> {
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
                failure = failure.because(format!("  {}", printable(line)));
            }
        }
        failure.hint(format!("reproduce with: {}", self.repeated))
    }
}

/// A line of a process's output as it may be shown: not without end, and without colours or anything
/// else that would command a terminal.
fn printable(line: &str) -> String {
    const LONGEST: usize = 300;
    let plain = anstream::adapter::strip_str(line).to_string();
    let mut characters = plain.chars().filter(|c| !c.is_control() || *c == '\t');
    let mut shown: String = characters.by_ref().take(LONGEST).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_end_of_the_output_without_what_commands_a_terminal() {
        let invocation = Invocation { program: "b".into(), ..Invocation::default() };
        let purpose = "execute benchmark `b` of t".to_owned();
        let process = Process::new(purpose, invocation, Duration::ZERO);
        let head = format!("{}\x1b[31mred\x1b[0m\x07\n{}\n", "line\n".repeat(30), "x".repeat(1000));
        let output = Output { head: head.into_bytes(), ..Output::default() };
        let failure = process.failure("it exited with status 1", &output).to_string();
        let lines: Vec<_> = failure.lines().collect();
        assert_eq!(lines.len(), 3 + 20 + 1, "{failure}");
        assert_eq!(lines[21], "    red");
        assert_eq!(lines[22].chars().count(), 4 + 300 + 1);
        assert!(failure.ends_with("\nhint: reproduce with: cd '' && b"), "{failure}");
    }
}
