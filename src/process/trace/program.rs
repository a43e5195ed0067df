//! The process that traces: this program under another name, since it must be the parent of what it traces.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use rustix::process::Signal;

use super::{
    Observation, Plan, Tracing,
    tracer::{Traced, trace},
};
use crate::process::{
    child::end_with_this_process,
    launcher::{self, Account, ReportReader, outlive_requests_to_end, report},
};

/// The name under which this program traces; the file with the [`Plan`], how far the clock is
/// [ahead](Tracing::ahead), and the program to be traced follow.
pub const TRACER: &str = "cargo-rbench-tracer";

/// The command that has a tracer run `program`, and where its report will be. Arguments that are added go to the
/// program.
pub(in crate::process) fn command(
    tracing: &Tracing,
    program: &Path,
) -> io::Result<(Command, ReportReader)> {
    let (mut command, report) = launcher::command(&tracing.tracer, &tracing.plan)?;
    command.arg0(TRACER).arg(tracing.ahead.to_string()).arg(program);
    Ok((command, report))
}

/// The tracer: runs the program that its arguments name, and reports what it took.
pub fn run_as_tracer(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    report(launch(arguments))
}

fn launch(mut arguments: impl Iterator<Item = OsString>) -> io::Result<Account> {
    outlive_requests_to_end()?;
    let plan = fs::read(arguments.next().unwrap_or_default())?;
    let plan: Plan = serde_json::from_slice(&plan)?;
    let ahead = arguments.next().and_then(|ahead| ahead.to_str()?.parse().ok()).unwrap_or(0);
    let mut command = Command::new(arguments.next().unwrap_or_default());
    command.args(arguments).stdin(Stdio::null());
    end_with_this_process(&mut command, Signal::KILL);
    let clock = Instant::now();
    let traced = trace(&mut command, &plan, ahead);
    let wall = clock.elapsed();
    let report: Observation = match &traced {
        Ok(Traced { observed, .. }) => Ok(observed.clone()),
        Err(error) => Err(error.to_string()),
    };
    fs::write(&plan.report, serde_json::to_vec(&report)?)?;
    Ok(Account { wall, usage: traced?.usage })
}
