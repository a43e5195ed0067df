//! The tracing process: this program under another name, since it must be the parent of the traced process.

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

/// The program name that selects the tracer. Its arguments: the file with the [`Plan`], the clock's lead
/// ([`Tracing::ahead`]), and the program to trace with its arguments.
pub const TRACER: &str = "cargo-rbench-tracer";

/// The command in which a tracer runs `program`, and the reader of its report. Arguments added to the command go to the
/// program.
pub(in crate::process) fn command(
    tracing: &Tracing,
    program: &Path,
) -> io::Result<(Command, ReportReader)> {
    let (mut command, report) = launcher::command(&tracing.tracer, &tracing.plan)?;
    command.arg0(TRACER).arg(tracing.ahead.to_string()).arg(program);
    Ok((command, report))
}

/// Main function of the tracer: runs the program that its arguments name, and reports the resources it used.
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
