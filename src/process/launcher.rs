//! A small process between rbench and a child, so that the child's peak memory is its own.
//!
//! The kernel starts a child's peak memory with that of the process that forks it, and keeps it when the child executes
//! another program: started by rbench itself, small programs would all seem as large as rbench. So a small program
//! forks the child, sleeps until it has ended, and reports its resources. This adds a millisecond to an execution,
//! which is not part of the child's times.

use std::{
    ffi::{CString, OsString},
    fs::File,
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt as _, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant, SystemTime},
};

use rustix::{
    fs::{Mode, OFlags},
    process::{Pid, Signal, getpid, set_child_subreaper},
};
use serde::{Deserialize, Serialize};

use super::{
    child::{self, Usage, end_with_this_process},
    sandbox::{self, AtRequest, Confined},
};
use crate::model::Resources;

/// The resources of an ended child.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Account {
    pub(super) wall: Duration,
    pub(super) usage: Usage,
}

impl Account {
    /// The resources of the child, which was started at `start`.
    pub(super) fn resources(self, start: SystemTime) -> Resources {
        let Self { wall, usage } = self;
        Resources {
            start,
            // In whole microseconds, as the kernel counts the others: smaller parts would be stored for ever.
            wall: Duration::from_micros(u64::try_from(wall.as_micros()).unwrap_or(u64::MAX)),
            user: usage.user,
            system: usage.system,
            peak_memory: usage.peak_memory,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            at_end: usage.at_end,
        }
    }
}

/// The report of a launcher: an account, or the number of the error that kept the child from starting.
type Report = Result<Account, Option<i32>>;

/// The launcher executable beside `rbench`; none if `rbench` was moved without it.
pub fn launcher_beside(rbench: &Path) -> Option<PathBuf> {
    Some(rbench.with_file_name("rbench-launcher")).filter(|launcher| launcher.exists())
}

/// The command in which `launcher` runs `program`, with the file `input` as its standard input, and the reader of the
/// launcher's report. Arguments added to the command go to the program.
pub(super) fn command(
    launcher: &Path,
    input: Option<&Path>,
    program: &Path,
) -> io::Result<(Command, ReportReader)> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(launcher);
    // The launcher opens the program's stdin, so its own is free.
    command.arg(input.unwrap_or(Path::new(""))).arg(program).stdin(writer);
    Ok((command, ReportReader(reader)))
}

pub(super) struct ReportReader(PipeReader);

impl ReportReader {
    /// The account, or the error that kept the child from starting. None if the launcher itself was killed. Call it
    /// when the launcher has ended: it alone holds the other end.
    pub(super) fn account(mut self) -> io::Result<Option<Account>> {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes)?;
        match serde_json::from_slice::<Report>(&bytes) {
            Ok(Ok(account)) => Ok(Some(account)),
            Ok(Err(Some(number))) => Err(io::Error::from_raw_os_error(number)),
            Ok(Err(None)) => Err(io::ErrorKind::InvalidInput.into()),
            Err(_) => Ok(None),
        }
    }
}

/// Main function of the launcher: runs the program that its arguments name, after the file of its standard input, and
/// reports the resources it used.
pub fn run_as_launcher() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let input = arguments.next().unwrap_or_default();
    let program = arguments.next().unwrap_or_default();
    report(launch(Path::new(&input), Path::new(&program), arguments))
}

/// Sends the child's account to rbench.
pub(super) fn report(account: io::Result<Account>) -> ExitCode {
    let report: Report = account.map_err(|error| error.raw_os_error());
    let sent = serde_json::to_vec(&report).map_err(io::Error::from).and_then(|bytes| send(&bytes));
    if sent.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes to the pipe that is this process's stdin.
fn send(bytes: &[u8]) -> io::Result<()> {
    let pipe: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    PipeWriter::from(pipe).write_all(bytes)
}

fn launch(
    input: &Path,
    program: &Path,
    arguments: impl Iterator<Item = OsString>,
) -> io::Result<Account> {
    let confined = sandbox::enter(AtRequest::Wait)?;
    outlive_requests_to_end()?;
    // Processes that the child leaves behind become children of this one, which shows that there are some.
    set_child_subreaper(Some(getpid()))?;
    let (floor, floor_writer) = io::pipe()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    end_with_this_process(&mut command, Signal::KILL);
    Confined::confine(confined.as_ref(), &mut command)?;
    read_input(&mut command, input)?;
    fork_and_report_floor(&mut command, floor_writer);
    let clock = Instant::now();
    let child = Pid::from_child(&command.spawn()?);
    // The rule of the sandbox about its own process is about this entry, which the kernel keeps while it is open.
    let _entry = File::open(format!("/proc/{child}"));
    let queued = || child::thread_times(getpid()).map_or(Duration::ZERO, |[_, queued]| queued);
    let queued_before = queued();
    child::await_end_of(child);
    let wall = clock.elapsed();
    let mut usage = child::reap(child)?;
    if let Some(at_end) = &mut usage.at_end {
        at_end.queued += queued().saturating_sub(queued_before);
        at_end.had_children |= child::has_children();
    }
    drop(command);
    let least = read_floor(floor)?.saturating_add(child::MEMORY_ERROR);
    usage.peak_memory = usage.peak_memory.map(|peak| peak.max(least));
    Ok(Account { wall, usage })
}

/// Makes the child open the file `input`, unless it is empty, as its standard input. The child is confined by then: code
/// of a commit chooses the file.
#[expect(unsafe_code, reason = "there is no safe way to act before an exec")]
pub(super) fn read_input(command: &mut Command, input: &Path) -> io::Result<()> {
    if input.as_os_str().is_empty() {
        return Ok(());
    }
    let input = CString::new(input.as_os_str().as_bytes())?;
    let open = move || {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::open(&input, flags, Mode::empty())?;
        rustix::stdio::dup2_stdin(file)?;
        Ok(())
    };
    // SAFETY: the closure makes a few system calls and allocates nothing.
    unsafe {
        command.pre_exec(open);
    }
    Ok(())
}

/// Ignores requests to end: a signal to the group is for the child, and the launcher must report the outcome.
pub(super) fn outlive_requests_to_end() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    // A handler and not "ignore", which the child would inherit.
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// Makes `command` start the child by a real fork, which copies little as this process is small, and report the peak
/// memory it starts with, just before the exec.
#[expect(unsafe_code, reason = "there is no safe way to fork, nor to write before an exec")]
fn fork_and_report_floor(command: &mut Command, writer: PipeWriter) {
    let report = move || {
        // The first time loads the pages that are still needed until the exec, including those for this call.
        for _ in 0..2 {
            let no_arguments = [std::ptr::null()];
            // SAFETY: both arguments are valid for execvp; it fails, as a directory cannot be executed.
            unsafe { libc::execvp(c"/".as_ptr(), no_arguments.as_ptr()) };
            let floor = child::own_peak().unwrap_or(u64::MAX);
            rustix::io::write(&writer, &floor.to_ne_bytes())?;
        }
        Ok(())
    };
    // SAFETY: the closure makes a few system calls and allocates nothing.
    unsafe {
        command.pre_exec(report);
    }
}

fn read_floor(mut floor: PipeReader) -> io::Result<u64> {
    let mut bytes = [0; 16];
    floor.read_exact(&mut bytes)?;
    let [_, second] = bytes.as_chunks().0 else { return Err(io::ErrorKind::InvalidData.into()) };
    Ok(u64::from_ne_bytes(*second))
}
