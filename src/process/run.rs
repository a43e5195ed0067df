//! Runs one child process to its end: spawns it, on a CPU if requested, sleeps, and ends everything it leaves running.
//!
//! While the child runs, this thread sleeps in one `poll`: it wakes only for the child's end, its output, an interrupt,
//! or the deadline; and twice a second if the child has a partner, to notice that both stand still.

use std::{
    fs::File,
    os::fd::AsFd,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use rustix::{
    io::Errno,
    process::{Pid, Resource, Signal, getrlimit},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};
use tracing::debug;

use super::{
    child::{self, Child, Ending, ExitWatch, descendants_of, end_with_this_process},
    interleaving::InterleavedProcess,
    interrupt::Interrupt,
    invocation::Invocation,
    launcher::{self, Account, ReportReader},
    output::{Capture, Output},
    readable::first_readable,
    sandbox::{Task, confine, pass_confinement},
    stand_still::{TICK, cpu_time},
    trace,
};
use crate::{
    error::{Context, Error, Exit, Result},
    log,
    model::Resources,
    secrets,
    shell::quoted,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub deadline: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Bytes of its output that are kept: the first half and the last half.
    pub output: usize,
}

impl Limits {
    /// Limits for a child whose work takes at least `work`. They are generous: one iteration of a benchmark may take
    /// longer than was requested for all of them, and ending a working child costs more than waiting for a hanging one.
    pub fn for_duration(work: Duration) -> Self {
        Self {
            deadline: work.saturating_mul(10).saturating_add(Duration::from_secs(300)),
            ..Self::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(60), grace: Duration::from_secs(2), output: 64 * 1024 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub ending: Ending,
    pub resources: Resources,
    /// Its stdout and stderr, merged.
    pub output: Output,
    /// Names of processes that it started, that left its group, and that were still running after its end. They were
    /// killed.
    pub left_behind: Vec<String>,
}

/// Lines of a failed child's output that are logged.
const LOGGED_LINES: usize = 20;

/// Runs `invocation` in its own process group until it ends or is ended, then kills the rest of the group and the
/// processes that left the group.
///
/// With `member`, it runs interleaved with another process, and the deadline applies to its own time; the other process
/// gets as much. At most two for each of [`MOST_PARALLEL`](crate::model::MOST_PARALLEL) may run at a time.
///
/// Fails only if the child cannot be started or cannot be ended.
///
/// Meanwhile this process writes no log: the child may be measuring.
pub fn run(
    invocation: &Invocation,
    limits: &Limits,
    interrupt: &Interrupt,
    member: Option<&InterleavedProcess>,
) -> Result<Ended> {
    let program = invocation.program.display();
    let arguments: Vec<String> = invocation.arguments.iter().map(quoted).collect();
    let (deadline, cpu) = (limits.deadline, invocation.cpu);
    debug!(?deadline, ?cpu, "executing: {program} {}", arguments.join(" "));
    let held = log::hold();
    let result = run_to_the_end(invocation, limits, interrupt, member);
    drop(held);
    match &result {
        Ok(Ended { ending, resources, output, left_behind }) => {
            let took = resources.wall;
            debug!(?ending, ?took, ?left_behind, "{program} has ended");
            if *ending != Ending::Exited(0) {
                debug!("the end of its output: {}", output.last_lines(LOGGED_LINES));
            }
        }
        Err(failure) => debug!("{failure}"),
    }
    result
}

fn run_to_the_end(
    invocation: &Invocation,
    limits: &Limits,
    interrupt: &Interrupt,
    member: Option<&InterleavedProcess>,
) -> Result<Ended> {
    let mut capture =
        Capture::new(limits.output).context(Exit::Internal, || "cannot open a pipe")?;
    let start = whole_millis(SystemTime::now());
    let clock = Instant::now();
    let own_before = own_time(member)?.unwrap_or_default();
    let running = interrupt
        .starting()
        .ok_or_else(|| Error::new(Exit::Internal, "cannot run more processes at a time"))?;
    let (child, report) = spawn(invocation, member, &mut capture)?;
    running.started(child.id());
    let _running = member.map(|member| NotedAsRunning::new(member, child.id()));
    // The rule of the sandbox about its own process is about this entry, which the kernel keeps while it is open.
    let _entry = File::open(format!("/proc/{}", child.id()));
    let watch =
        ExitWatch::start(child.id()).context(Exit::Internal, || "cannot watch a process")?;
    let wait = Wait { child: &child, watch, limits, interrupt, member, own_before, clock };
    let ended_from_here = wait.wait_for_end(&mut capture)?;
    let wall = clock.elapsed();
    interrupt.leave_the_end_to_the_handler();
    // The child is a zombie now, so its id cannot have been reused for another group.
    child.signal(Signal::KILL);
    drop(running);
    capture.drain();
    let id = child.id();
    let (mut usage, left_behind) =
        child.reap().context(Exit::Internal, || format!("cannot wait for process {id}"))?;
    usage.peak_memory =
        usage.peak_memory.filter(|peak| child::own_peak().is_none_or(|own| *peak > own));
    let account = match report.map(ReportReader::account) {
        None | Some(Ok(None)) => Account { wall, usage },
        Some(Ok(Some(account))) => account,
        Some(Err(error)) => return Err(cannot_run(invocation, &error)),
    };
    Ok(Ended {
        ending: ended_from_here.unwrap_or(account.usage.ending),
        resources: account.resources(start),
        output: capture.into_output(),
        // A process chooses its name.
        left_behind: left_behind.iter().map(|name| secrets::text(name.as_bytes())).collect(),
    })
}

/// Notes that an interleaved process runs, as long as this value lives.
struct NotedAsRunning<'m>(&'m InterleavedProcess);

impl<'m> NotedAsRunning<'m> {
    fn new(member: &'m InterleavedProcess, id: Pid) -> Self {
        member.note_running(Some(id));
        Self(member)
    }
}

impl Drop for NotedAsRunning<'_> {
    fn drop(&mut self) {
        self.0.note_running(None);
    }
}

/// The CPU time of a process and of all that it started.
fn cpu_of_tree(root: Pid) -> Duration {
    cpu_time([root].into_iter().chain(descendants_of(root)))
}

/// Rounds a time down to whole milliseconds: smaller parts do not matter for when a process ran, and would be stored
/// for ever.
fn whole_millis(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    time.checked_sub(Duration::from_nanos(u64::from(since.subsec_nanos() % 1_000_000)))
        .unwrap_or(time)
}

/// Starts the child, or its launcher. On return, this process has closed its copies of the pipe ends that they write
/// to.
fn spawn(
    invocation: &Invocation,
    member: Option<&InterleavedProcess>,
    capture: &mut Capture,
) -> Result<(Child, Option<ReportReader>)> {
    let what = || format!("cannot run {}", invocation.program.display());
    if let Some(input) =
        invocation.input.as_deref().filter(|input| !invocation.directory.join(input).is_file())
    {
        let reason = format!("its standard input, {}, is not a file", input.display());
        return Err(Error::new(Exit::Benchmark, what()).cause(reason));
    }
    let (out, err) = capture.take_writers().context(Exit::Internal, what)?;
    let (mut command, report) = command(invocation).context(Exit::Internal, what)?;
    command.args(&invocation.arguments).current_dir(&invocation.directory).stdout(out).stderr(err);
    invocation.apply_environment(&mut command);
    if let Some(counting) = &invocation.counting {
        counting.apply(&mut command);
    }
    if let Some(member) = member {
        member.apply(&mut command);
    }
    if let Some(counting) = &invocation.allocations {
        counting.apply(&mut command);
    }
    if report.is_some() {
        pass_confinement(&mut command, Task::Execute).context(Exit::Internal, what)?;
    } else {
        confine(&mut command, Task::Execute).context(Exit::Internal, what)?;
        let input = invocation.input.as_deref().unwrap_or(Path::new(""));
        launcher::read_input(&mut command, input).context(Exit::Benchmark, what)?;
    }
    end_with_this_process(&mut command, Signal::KILL);
    let pinned = Pinned::pin(invocation.cpu)?;
    let child = Child::spawn(&mut command, member.map(InterleavedProcess::index));
    drop(pinned);
    Ok((child.map_err(|error| cannot_spawn(invocation, &error))?, report))
}

/// The command for the program with an empty stdin, or for its launcher, which opens its stdin.
fn command(invocation: &Invocation) -> std::io::Result<(Command, Option<ReportReader>)> {
    let input = invocation.input.as_deref();
    if let Some(tracing) = &invocation.tracing {
        let (command, report) = trace::command(tracing, input, &invocation.program)?;
        return Ok((command, Some(report)));
    }
    if let Some(launcher) = &invocation.launcher {
        let (command, report) = launcher::command(launcher, input, &invocation.program)?;
        return Ok((command, Some(report)));
    }
    let mut command = match &invocation.counting {
        Some(counting) => counting.command(&invocation.program),
        None => Command::new(&invocation.program),
    };
    command.stdin(Stdio::null());
    Ok((command, None))
}

/// Explains a failed spawn. With an existing launcher, the cause is one of the launcher's settings for the program:
/// arguments or a directory.
fn cannot_spawn(invocation: &Invocation, error: &std::io::Error) -> Error {
    let tracer = invocation.tracing.as_ref().map(|tracing| &tracing.tracer);
    match tracer.or(invocation.launcher.as_ref()) {
        Some(launcher) if is_shortage(error) || !launcher.exists() => {
            Error::new(Exit::Internal, format!("cannot run {}", launcher.display()))
                .cause(error.to_string())
        }
        _ => cannot_run(invocation, error),
    }
}

/// True if the machine lacked the resources for one more process.
fn is_shortage(error: &std::io::Error) -> bool {
    let shortages = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::TXTBSY];
    Errno::from_io_error(error).is_some_and(|errno| shortages.contains(&errno))
}

/// Blames the program, unless the machine lacked resources.
fn cannot_run(invocation: &Invocation, error: &std::io::Error) -> Error {
    let exit = if is_shortage(error) { Exit::Internal } else { Exit::Benchmark };
    Error::new(exit, format!("cannot run {}", invocation.program.display()))
        .cause(error.to_string())
}

struct Wait<'w> {
    child: &'w Child,
    watch: ExitWatch,
    limits: &'w Limits,
    interrupt: &'w Interrupt,
    member: Option<&'w InterleavedProcess>,
    /// Own time used by earlier processes of the same member.
    own_before: Duration,
    clock: Instant,
}

/// The event that ended a sleep.
enum Woken {
    Exit,
    Interrupt,
    Time,
}

impl Wait<'_> {
    /// Sleeps until the child has ended. Ends it at its deadline or on an interrupt, and then returns which of the two
    /// it was.
    fn wait_for_end(&self, capture: &mut Capture) -> Result<Option<Ending>> {
        // Two programs that share a CPU have half of it each.
        let shares = self.member.map_or(1, |member| 1 + u32::from(member.is_program()));
        let mut deadline = self.clock.checked_add(self.limits.deadline.saturating_mul(shares));
        let mut still = self.member.map(InterleavedProcess::stand_still).transpose()?.flatten();
        let reason = loop {
            let tick = still.as_ref().and_then(|_| Instant::now().checked_add(TICK));
            let until = deadline.into_iter().chain(tick).min();
            match self.sleep(until, true, capture)? {
                Woken::Exit => return Ok(None),
                Woken::Interrupt => break Ending::Interrupted,
                Woken::Time if until != deadline => {
                    if let (Some(member), Some(still)) = (self.member, &mut still)
                        && member.stands_still(still, self.clock.elapsed(), cpu_of_tree)?
                    {
                        break Ending::Deadline;
                    }
                }
                Woken::Time => match self.time_left()? {
                    Duration::ZERO => break Ending::Deadline,
                    left => deadline = Instant::now().checked_add(left),
                },
            }
        };
        for signal in [Signal::TERM, Signal::KILL] {
            self.child.signal(signal);
            let until = Instant::now().checked_add(self.limits.grace);
            if let Woken::Exit = self.sleep(until, false, capture)? {
                return Ok(Some(reason));
            }
        }
        Err(Error::new(Exit::Benchmark, format!("cannot end process {}", self.child.id()))
            .cause("it was killed, but has not ended"))
    }

    /// The real time until the child may have used up its own time; zero at its deadline. The partner has as much own
    /// time, so no child runs longer than both together, whatever the shared memory contains. A child that is stopped
    /// while it waits for its partner uses no own time.
    fn time_left(&self) -> Result<Duration> {
        let Some(own) = own_time(self.member)? else { return Ok(Duration::ZERO) };
        let Limits { deadline, grace, .. } = *self.limits;
        let of_both =
            deadline.saturating_mul(2).saturating_add(grace.saturating_mul(2) + child::GRACE);
        let left = deadline.saturating_sub(own.saturating_sub(self.own_before));
        Ok(left.min(of_both.saturating_sub(self.clock.elapsed())))
    }

    /// Sleeps until the child has ended, until `until`, or, if `interruptible`, until an interrupt.
    fn sleep(
        &self,
        until: Option<Instant>,
        interruptible: bool,
        capture: &mut Capture,
    ) -> Result<Woken> {
        let interrupt: &dyn AsFd = if interruptible { self.interrupt } else { &self.watch };
        loop {
            let files: [&dyn AsFd; 3] = [&self.watch, interrupt, &*capture];
            // A closed pipe would wake it at once, again and again.
            let files = if capture.is_open() { &files[..] } else { &files[..2] };
            let ready = first_readable(files, until).context(Exit::Internal, || "cannot wait")?;
            match ready {
                Some(0) => return Ok(Woken::Exit),
                Some(1) => return Ok(Woken::Interrupt),
                Some(_) if until.is_none_or(|until| Instant::now() < until) => capture.read(),
                _ => return Ok(Woken::Time),
            }
        }
    }
}

/// Own time used by an interleaved process; none for others.
fn own_time(member: Option<&InterleavedProcess>) -> Result<Option<Duration>> {
    Ok(member.map(InterleavedProcess::own_time).transpose()?.flatten())
}

/// Checks that benchmarks can run on `cpu`, if one is given.
pub fn check_cpu(cpu: Option<usize>) -> Result<()> {
    cpu.map_or(Ok(()), |cpu| allowed(cpu).map(drop))
}

pub fn cpus() -> Result<Vec<usize>> {
    let what = || "cannot find out which CPUs there are";
    let allowed = sched_getaffinity(None).context(Exit::Internal, what)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// The CPUs available to this thread; an error if `cpu` is not among them.
fn allowed(cpu: usize) -> Result<CpuSet> {
    let what = || format!("cannot pin to CPU {cpu}");
    let allowed = sched_getaffinity(None).context(Exit::Usage, what)?;
    if cpu < CpuSet::MAX_CPU && allowed.is_set(cpu) {
        return Ok(allowed);
    }
    Err(Error::new(Exit::Usage, what())
        .cause("it does not exist, or this process may not run on it")
        .hint("the CPUs it may run on: grep Cpus_allowed_list /proc/self/status"))
}

/// While this value lives, children of this thread start on one CPU: they inherit its affinity. Dropping it restores
/// the thread's own CPUs.
pub(super) struct Pinned(Option<CpuSet>);

impl Pinned {
    /// Pins to `cpu`, if given.
    pub(super) fn pin(cpu: Option<usize>) -> Result<Self> {
        let Some(cpu) = cpu else { return Ok(Self(None)) };
        let before = allowed(cpu)?;
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one)
            .context(Exit::Usage, || format!("cannot pin to CPU {cpu}"))?;
        Ok(Self(Some(before)))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // These CPUs were allowed a moment ago; if not now, nothing better can be done.
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// The limits of this process and its children that are so low that they can explain a failure.
pub fn tight_limits() -> Vec<String> {
    /// Fewer open files than compilers, linkers and rbench need together.
    const FEW_FILES: u64 = 256;
    let tight = |resource, below: u64, unit: &str| {
        let limit = getrlimit(resource).current.filter(|limit| *limit < below)?;
        Some(format!("{limit} {unit}"))
    };
    [
        tight(Resource::Nofile, FEW_FILES, "open files (ulimit -n)"),
        tight(Resource::As, u64::MAX, "bytes of address space (ulimit -v)"),
        tight(Resource::Data, u64::MAX, "bytes of data (ulimit -d)"),
        tight(Resource::Fsize, u64::MAX, "bytes in a file (ulimit -f)"),
        tight(Resource::Cpu, u64::MAX, "seconds of CPU time (ulimit -t)"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests;
