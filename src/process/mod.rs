//! Runs one child process to its end: spawn, sleep, and see that nothing of it stays behind.
//!
//! While the child runs, this thread sleeps in one `poll`: it wakes for the child's end, its
//! output, an interrupt, or the deadline, and at no other time. Knows neither terminal nor store.

mod counters;
mod environment;
mod interrupt;
mod invocation;
mod launcher;
mod orphan;
mod output;
mod pin;
mod reap;

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, Signal, kill_process_group},
};
use serde::{Deserialize, Serialize};

use self::{
    counters::Counters,
    launcher::{Account, Listener},
    output::Capture,
    pin::Pinned,
    reap::ExitWatch,
};
pub use self::{
    environment::{PADDING_VARIABLE, padding_length},
    interrupt::Interrupt,
    invocation::Invocation,
    launcher::{launcher_beside, run_as_launcher},
    output::Output,
};
use crate::{
    failure::{Exit, Failure, OrFail, Result},
    model::Resources,
};

/// What a child may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub deadline: Duration,
    /// How long it has to end after it was asked to, before it is killed.
    pub grace: Duration,
    /// How many bytes of its output are kept: the first half and the last half.
    pub output: usize,
}

impl Limits {
    /// Limits for a child that is asked for work of at least `asked`: generous, since one iteration
    /// of a benchmark may take longer than was asked for all of them, and to end one that works
    /// costs more than to wait for one that hangs.
    pub fn for_work_of(asked: Duration) -> Self {
        Self {
            deadline: asked.saturating_mul(10).saturating_add(Duration::from_secs(300)),
            ..Self::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(60), grace: Duration::from_secs(2), output: 64 * 1024 }
    }
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal, not sent from here.
    Signalled(i32),
    /// It was ended at its deadline.
    Deadline,
    /// It was ended because rbench was interrupted.
    Interrupted,
}

/// What came of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub ending: Ending,
    /// What it took.
    pub resources: Resources,
    /// What it printed, stdout and stderr in one.
    pub output: Output,
}

/// Runs `invocation` in a process group of its own until it ends or is ended, then kills what is
/// left of the group.
///
/// A descendant that made itself a session of its own is out of reach, but does not keep this
/// function waiting. Fails only if the child cannot be started or cannot be ended.
pub fn run(invocation: &Invocation, limits: &Limits, interrupt: &Interrupt) -> Result<Ended> {
    let mut capture =
        Capture::new(limits.output).or_fail(Exit::Internal, || "cannot open a pipe")?;
    // A launcher has counters of its own.
    let mut counters = invocation.launcher.is_none().then(Counters::prepare);
    let start = whole_millis(SystemTime::now());
    let clock = Instant::now();
    let Started { group, watch, listener } = spawn(invocation, &mut capture)?;
    let running = interrupt.running(group.0);
    let ended_from_here =
        Wait { group, watch: &watch, limits, interrupt, clock }.for_the_end(&mut capture);
    let wall = clock.elapsed();
    // The child is a zombie now, so its id cannot have gone to another group.
    group.signal(Signal::KILL);
    drop(running);
    let ended_from_here = ended_from_here?;
    capture.drain();
    let mut usage = reap::reap(group.0)
        .or_fail(Exit::Internal, || format!("cannot wait for process {}", group.0))?;
    usage.peak_memory =
        usage.peak_memory.filter(|peak| reap::own_peak().is_none_or(|own| *peak > own));
    let instructions = counters.as_mut().and_then(Counters::instructions);
    let cycles = counters.as_mut().and_then(Counters::cycles);
    let account = Account { wall, usage, instructions, cycles };
    let account = match listener.map(Listener::account) {
        None => account,
        Some(Ok(told)) => told.unwrap_or(account),
        Some(Err(error)) => return Err(cannot_run(invocation, &error)),
    };
    Ok(Ended {
        ending: ended_from_here.unwrap_or(account.usage.ending),
        resources: account.resources(start),
        output: capture.into_output(),
    })
}

/// The time in whole milliseconds: what is below says nothing about when a process ran, and would be
/// kept for ever.
fn whole_millis(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    time.checked_sub(Duration::from_nanos(u64::from(since.subsec_nanos() % 1_000_000)))
        .unwrap_or(time)
}

/// A child, or its launcher, that has been started.
struct Started {
    group: Group,
    watch: ExitWatch,
    listener: Option<Listener>,
}

/// Starts the child. The ends of the pipes that it writes to are closed in this process on return.
fn spawn(invocation: &Invocation, capture: &mut Capture) -> Result<Started> {
    let what = || format!("cannot run {}", invocation.program.display());
    let (out, err) = capture.take_writers().or_fail(Exit::Internal, what)?;
    let (mut command, listener) = command(invocation).or_fail(Exit::Internal, what)?;
    command.args(&invocation.arguments).current_dir(&invocation.directory).stdout(out).stderr(err);
    environment::apply(&mut command, invocation);
    // A group of its own: it is signalled as one, and a Ctrl-C at the terminal does not reach it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    orphan::end_with_this_process(&mut command);
    let pinned = Pinned::to(invocation.cpu)?;
    let child = command.spawn();
    drop(pinned);
    let pid = Pid::from_child(&child.map_err(|error| cannot_run(invocation, &error))?);
    let watch = ExitWatch::start(pid).or_fail(Exit::Internal, || "cannot watch a child");
    if watch.is_err() {
        Group(pid).signal(Signal::KILL);
    }
    Ok(Started { group: Group(pid), watch: watch?, listener })
}

/// The program with an empty stdin, or its launcher, which talks to the listener.
fn command(invocation: &Invocation) -> std::io::Result<(Command, Option<Listener>)> {
    if let Some(launcher) = &invocation.launcher {
        let (listener, place) = launcher::place()?;
        let mut command = launcher::command(launcher, &invocation.program);
        command.stdin(place);
        return Ok((command, Some(listener)));
    }
    let mut command = Command::new(&invocation.program);
    command.stdin(Stdio::null());
    Ok((command, None))
}

fn cannot_run(invocation: &Invocation, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Benchmark, format!("cannot run {}", invocation.program.display()))
        .because(error.to_string())
        .hint(format!("reproduce with: {invocation}"))
}

/// The process group of a child that is not reaped yet.
#[derive(Clone, Copy)]
struct Group(Pid);

impl Group {
    /// Sends `signal` to every process of the group; that none is left is no failure.
    fn signal(self, signal: Signal) {
        let _ = kill_process_group(self.0, signal);
    }
}

/// Waiting for the end of a child.
struct Wait<'w> {
    group: Group,
    watch: &'w ExitWatch,
    limits: &'w Limits,
    interrupt: &'w Interrupt,
    clock: Instant,
}

/// What ended a sleep.
enum Woken {
    Exit,
    Interrupt,
    Time,
}

impl Wait<'_> {
    /// Sleeps until the child has ended; ends it at its deadline or on an interrupt, and then says
    /// so.
    fn for_the_end(&self, capture: &mut Capture) -> Result<Option<Ending>> {
        let deadline = self.clock.checked_add(self.limits.deadline);
        let reason = match self.sleep(deadline, true, capture)? {
            Woken::Exit => return Ok(None),
            Woken::Interrupt => Ending::Interrupted,
            Woken::Time => Ending::Deadline,
        };
        for signal in [Signal::TERM, Signal::KILL] {
            self.group.signal(signal);
            let until = Instant::now().checked_add(self.limits.grace);
            if let Woken::Exit = self.sleep(until, false, capture)? {
                return Ok(Some(reason));
            }
        }
        Err(Failure::new(Exit::Benchmark, format!("cannot end process {}", self.group.0))
            .because("it was killed, but the kernel does not let go of it"))
    }

    /// Sleeps until the child has ended, or `until`, or, if wanted, an interrupt.
    fn sleep(
        &self,
        until: Option<Instant>,
        interruptible: bool,
        capture: &mut Capture,
    ) -> Result<Woken> {
        let interrupts = if interruptible { PollFlags::IN } else { PollFlags::empty() };
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            // Sooner than the deadline, unless there is none that a clock can hold.
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut fds = [
                PollFd::new(self.watch, PollFlags::IN),
                PollFd::new(self.interrupt, interrupts),
                PollFd::new(&*capture, PollFlags::IN),
            ];
            // A pipe that is closed would wake at once, again and again.
            let watched = if capture.is_open() { &mut fds[..] } else { &mut fds[..2] };
            match poll(watched, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error).or_fail(Exit::Internal, || "cannot wait"),
            }
            let [exited, interrupted, printed] = fds.map(|fd| !fd.revents().is_empty());
            match () {
                () if exited => return Ok(Woken::Exit),
                () if interrupted => return Ok(Woken::Interrupt),
                () if left == Some(Duration::ZERO) => return Ok(Woken::Time),
                () if printed => capture.read(),
                () => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
