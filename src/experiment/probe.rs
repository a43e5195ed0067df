//! Tries on this machine what comparisons rely on, with a benchmark of rbench's own: turns, and traced executions.

use std::{ffi::OsStr, fs, path::PathBuf, process::Command, time::Duration};

use tempfile::TempDir;

use super::{
    diagnosis::control_program,
    subject::InVersion,
    turns::{Both, Half, Turntaking, both},
};
use crate::{
    build::{run_tool_or, this_executable},
    failure::{Exit, Failure, OrFail as _, Result},
    harness::{Conditions, Executable, Harness as _, Native},
    model::{ExecutionRequest, Name, Obstacle},
    process::{
        self,
        trace::{Observation, Plan, Tracing},
        turns::{LIBRARY_FLAGS, LIBRARY_SOURCE},
    },
};

/// What is tried with: a benchmark that takes a few milliseconds, in a directory that is removed again.
pub struct Trial<'t> {
    executable: Executable,
    name: Name,
    request: ExecutionRequest,
    place: TempDir,
    conditions: Conditions<'t>,
}

impl<'t> Trial<'t> {
    /// Fails where rbench is not installed as a whole.
    pub fn new(conditions: Conditions<'t>) -> Result<Self> {
        let path = control_program().ok_or_else(incomplete)?;
        let what = || "cannot make a temporary directory";
        let place = tempfile::tempdir().or_fail(Exit::Usage, what)?;
        let executable = Executable {
            package: "cargo-rbench".to_owned(),
            target: "control".to_owned(),
            path: path.canonicalize().unwrap_or(path),
            directory: place.path().to_owned(),
            ..Executable::default()
        };
        let request = ExecutionRequest {
            measurements: 5,
            warm_up: Duration::from_millis(1),
            floor: Duration::from_millis(1),
            iterations: None,
            seed: 1,
        };
        Ok(Self { executable, name: Name::plain("control"), request, place, conditions })
    }

    /// Lets two processes take turns, by a library that this compiler makes; what keeps them from it, if something
    /// does.
    pub fn turns(&self, rustc: &OsStr) -> Result<Option<Obstacle>> {
        let library = self.library(rustc)?;
        let cpus = process::cpus()?;
        let turns = Turntaking {
            library: &library,
            build_path: self.place.path(),
            cpus: &cpus,
            conditions: self.conditions,
        };
        let version = InVersion { harness: &Native, executables: Vec::new() };
        let half =
            || Half { version: &version, executable: &self.executable, home: self.place.path() };
        let cpu = cpus.first().copied().unwrap_or_default();
        let attempts = turns.execute(&self.name, &self.request, &[half(), half()], cpu)?;
        Ok(match both(attempts)? {
            Both::Measured(_) => None,
            Both::CannotTakeTurns(obstacle) => Some(obstacle),
            Both::Failed(_) | Both::Skipped(..) => Some(Obstacle::FailsInTurns),
        })
    }

    fn library(&self, rustc: &OsStr) -> Result<PathBuf> {
        let what = || "cannot compile the library for turns".to_owned();
        let source = self.place.path().join("turns.rs");
        let library = self.place.path().join("turns.so");
        fs::write(&source, LIBRARY_SOURCE).or_fail(Exit::Build, what)?;
        let mut command = Command::new(rustc);
        command.args(LIBRARY_FLAGS.split(' ')).arg("-o").args([&library, &source]);
        run_tool_or(&mut command, Exit::Build, what)?;
        Ok(library)
    }

    /// Executes the benchmark under the tracer; fails with the reason where that cannot be done.
    pub fn tracing(&self) -> Result<()> {
        let tracer = this_executable()?;
        let what = || "cannot trace an execution";
        let [plan, report] = ["plan.json", "seen.json"].map(|name| self.place.path().join(name));
        let executable = self.executable.path.clone();
        let wanted = Plan { executable, report: report.clone(), ..Plan::default() };
        let wanted = serde_json::to_vec(&wanted).or_fail(Exit::Internal, what)?;
        fs::write(&plan, wanted).or_fail(Exit::Usage, what)?;
        let tracing = Tracing { tracer, plan, ahead: 0 };
        let conditions = Conditions { tracing: Some(&tracing), ..self.conditions };
        let outcome = Native.execute(&self.executable, &self.name, &self.request, &conditions);
        let Ok(seen) = fs::read(&report) else { return outcome.map(drop) };
        let seen: Observation = serde_json::from_slice(&seen).or_fail(Exit::Internal, what)?;
        match seen {
            Ok(_) => outcome.map(drop),
            Err(reason) => Err(Failure::new(Exit::Internal, what()).because(reason)),
        }
    }
}

fn incomplete() -> Failure {
    Failure::new(Exit::Internal, "rbench-control is not beside cargo-rbench")
        .hint("install all programs of the package: cargo install cargo-rbench --locked --force")
}
