//! A small process between rbench and a child, on Linux: it makes the child's account its own.
//!
//! The kernel starts a child's peak memory with that of the process it is made from, and keeps that
//! when the child becomes another program; made by rbench itself, small programs would all seem as
//! large as rbench. So rbench starts itself anew under another name. This launcher, which has nothing
//! in memory yet, forks the child, sleeps until it has ended, and tells what it took. It adds a
//! millisecond or so to an execution, which is no part of the child's times.

use std::{
    ffi::{OsStr, OsString},
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant, SystemTime},
};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::{
    counters::Counters,
    reap::{self, Usage},
};
use crate::model::Resources;

/// The name under which rbench starts itself as a launcher.
const NAME: &str = "cargo-rbench-launcher";

/// What is told of a child that has ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Account {
    pub(super) wall: Duration,
    pub(super) usage: Usage,
    pub(super) instructions: Option<u64>,
    pub(super) cycles: Option<u64>,
}

impl Account {
    /// What the child took, which was started at `start`.
    pub(super) fn resources(self, start: SystemTime) -> Resources {
        let Self { wall, usage, instructions, cycles } = self;
        Resources {
            start,
            wall,
            user: usage.user,
            system: usage.system,
            peak_memory: usage.peak_memory,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            instructions,
            cycles,
        }
    }
}

/// What a launcher tells: an account, or the number of the error that kept the child from starting.
type Told = Result<Account, Option<i32>>;

/// The command that has `launcher`, an executable of rbench, run `program`. Arguments that are added
/// go to the program.
pub(super) fn command(launcher: &Path, program: &Path) -> Command {
    let mut command = Command::new(launcher);
    command.arg0(NAME).arg(program);
    command
}

/// Where a launcher tells what it has to tell: the child's stdin is empty, so that place is free.
pub(super) fn place() -> io::Result<(Listener, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    Ok((Listener(reader), writer))
}

/// Takes what a launcher tells.
pub(super) struct Listener(PipeReader);

impl Listener {
    /// The account, or the error that kept the child from starting. None if the launcher itself was
    /// killed. Call it when the launcher has ended: it is the only one to hold the other end.
    pub(super) fn account(mut self) -> io::Result<Option<Account>> {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes)?;
        match serde_json::from_slice::<Told>(&bytes) {
            Ok(Ok(account)) => Ok(Some(account)),
            Ok(Err(Some(number))) => Err(io::Error::from_raw_os_error(number)),
            Ok(Err(None)) => Err(io::ErrorKind::InvalidInput.into()),
            Err(_) => Ok(None),
        }
    }
}

/// Does the launcher's work, if that is what this process was started for.
pub fn run_as_launcher() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    if arguments.next().as_deref() != Some(OsStr::new(NAME)) {
        return None;
    }
    let program = PathBuf::from(arguments.next().unwrap_or_default());
    let told: Told = launch(&program, arguments).map_err(|error| error.raw_os_error());
    // Whoever is gone does not want to know any more.
    let _ = serde_json::to_vec(&told).map(|told| tell(&told));
    Some(ExitCode::SUCCESS)
}

/// Writes to the pipe that this process has in the place of stdin.
fn tell(told: &[u8]) -> io::Result<()> {
    let place: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    PipeWriter::from(place).write_all(told)
}

/// More than what a forked child still brings in between telling its floor and its exec.
const SLACK: u64 = 256 << 10;

fn launch(program: &Path, arguments: impl Iterator<Item = OsString>) -> io::Result<Account> {
    outlive_requests_to_end()?;
    let (floor, tell_floor) = io::pipe()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    fork_and_tell_floor(&mut command, tell_floor);
    let mut counters = Counters::prepare();
    let clock = Instant::now();
    let child = command.spawn()?;
    // Blocks until the child has ended, and takes its account.
    let mut usage = reap::reap(Pid::from_child(&child))?;
    let wall = clock.elapsed();
    drop(command);
    let floor = read_floor(floor)?;
    usage.peak_memory = usage.peak_memory.filter(|peak| *peak > floor.saturating_add(SLACK));
    Ok(Account { wall, usage, instructions: counters.instructions(), cycles: counters.cycles() })
}

/// A signal to the group is for the child; the launcher stays to tell how it ended.
fn outlive_requests_to_end() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    // A handler and not "ignore", which the child would inherit.
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// Makes the child by a fork proper, which copies little of a process that has little, and has it
/// tell the peak memory that it starts with, just before it becomes `command`'s program.
#[expect(unsafe_code, reason = "there is no safe way to fork, nor to speak up before an exec")]
fn fork_and_tell_floor(command: &mut Command, tell: PipeWriter) {
    let say = move || {
        // The first call brings the pages in that the second needs.
        let floor = reap::own_peak().and_then(|_| reap::own_peak()).unwrap_or(u64::MAX);
        rustix::io::write(&tell, &floor.to_ne_bytes())?;
        Ok(())
    };
    // SAFETY: the closure makes three system calls and allocates nothing.
    unsafe {
        command.pre_exec(say);
    }
}

fn read_floor(mut floor: PipeReader) -> io::Result<u64> {
    let mut bytes = [0; 8];
    floor.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}
