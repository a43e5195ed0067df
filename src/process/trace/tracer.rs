//! The tracing process: this program under another name, since it must be the parent of the traced process. It starts a
//! program and follows it to its end.

#![expect(unsafe_code, reason = "there is no safe way to have a child traced before its exec")]

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::OsString,
    fs, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    rc::Rc,
    time::Instant,
};

use rbench_code::impact::OtherClock;
use rustix::process::Signal;

use super::{
    CLOCK, CLOCKS, Observation, Observed, Plan, READS_CLOCK_OFTEN, Tracing, VARIABLES,
    breakpoints::{self, Breakpoints, Code},
    clock::{Clock, Point, Wait, wait_of},
    held::{Held, held},
    lookup::{self, Lookup, lookup},
    other_clocks::{OtherClocks, Shown},
    private::is_private,
    processor::{
        Effect, INSTRUCTION, RETURN, Registers, address_of_breakpoint, arguments, caller, execute,
        go_to, return_with, set_argument, stack_pointer, system_call,
    },
    ptrace::{self, Change, Memory, OwnCpu, Tid},
};
use crate::process::{
    child::{Usage, end_with_this_process},
    filter::apply_filter,
    launcher::{self, Account, ReportReader, outlive_requests_to_end, read_input, report},
    sandbox::{self, AtRequest, Confined},
};

/// The part of a stack that is searched for return addresses, in bytes.
const STACK: usize = 1 << 20;

/// Distance below the stack pointer from which on a thread's stack is unused, in bytes.
const UNUSED: u64 = 256;

/// The largest number of readings of a clock that is ahead, by other threads than the first: threads may read it in a loop
/// while they wait for each other, and each reading stops them, which takes longer than the lead of the clock spares.
const MOST_READINGS: u32 = 20_000;

/// The program name that selects the tracer. Its arguments: the file of the standard input, empty if there is none, the
/// file with the [`Plan`], the clock's lead ([`Tracing::ahead`]), and the program to trace with its arguments.
pub const TRACER: &str = "cargo-rbench-tracer";

/// The command in which a tracer runs `program`, and the reader of its report. Arguments added to the command go to the
/// program.
pub(in crate::process) fn command(
    tracing: &Tracing,
    input: Option<&Path>,
    program: &Path,
) -> io::Result<(Command, ReportReader)> {
    let (mut command, report) = launcher::command(&tracing.tracer, input, &tracing.plan)?;
    command.arg0(TRACER).arg(tracing.ahead.to_string()).arg(program);
    Ok((command, report))
}

/// Main function of the tracer: runs the program that its arguments name, and reports the resources it used.
pub fn run_as_tracer(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    report(launch(arguments))
}

fn launch(mut arguments: impl Iterator<Item = OsString>) -> io::Result<Account> {
    let confined = sandbox::enter(AtRequest::Wait)?;
    outlive_requests_to_end()?;
    let input = PathBuf::from(arguments.next().unwrap_or_default());
    let plan = fs::read(arguments.next().unwrap_or_default())?;
    let plan: Plan = serde_json::from_slice(&plan)?;
    let ahead = arguments.next().and_then(|ahead| ahead.to_str()?.parse().ok()).unwrap_or(0);
    let mut command = Command::new(arguments.next().unwrap_or_default());
    command.args(arguments).stdin(Stdio::null());
    end_with_this_process(&mut command, Signal::KILL);
    Confined::confine(confined.as_ref(), &mut command)?;
    read_input(&mut command, &input)?;
    let clock = Instant::now();
    let mut traced = trace(&mut command, &plan, ahead);
    // It was opened before the program began.
    if let (Ok(traced), Ok(input)) = (&mut traced, input.canonicalize()) {
        traced.observed.opened.insert(input);
    }
    let wall = clock.elapsed();
    let report: Observation = match &traced {
        Ok(Traced { observed, .. }) => Ok(observed.clone()),
        Err(error) => Err(error.to_string()),
    };
    fs::write(&plan.report, serde_json::to_vec(&report)?)?;
    Ok(Account { wall, usage: traced?.usage })
}

struct Traced {
    observed: Observed,
    usage: Usage,
}

/// Runs `command` to its end under a tracer, with a clock that is [ahead](super::Tracing::ahead).
fn trace(command: &mut Command, plan: &Plan, ahead: u32) -> io::Result<Traced> {
    // Whoever observes only inputs need not know the clocks, and threads may wait a million times for each other.
    let filter = lookup::filter(ahead > 0 || !plan.functions.is_empty());
    let begin = move || {
        ptrace::trace_me()?;
        apply_filter(&filter)
    };
    // SAFETY: between fork and exec, the closure makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(begin);
    }
    let child = command.spawn()?;
    let process = Tid::try_from(child.id()).map_err(io::Error::other)?;
    // It stops at its exec.
    match ptrace::wait(process)? {
        (_, Change::Signal(libc::SIGTRAP)) => {}
        (_, Change::Ended(usage)) => return Ok(Traced { observed: Observed::default(), usage }),
        _ => return Err(io::Error::other("the program did not stop at its start")),
    }
    ptrace::ask_for_events(process)?;
    let mut tracer = Tracer::new(process, plan, ahead)?;
    ptrace::go_on(process, 0);
    let usage = tracer.follow()?;
    tracer.conclude();
    Ok(Traced { observed: tracer.observed, usage })
}

struct Tracer {
    process: Tid,
    breakpoints: Breakpoints,
    /// The executable, if its file has breakpoints.
    prepared: Option<PathBuf>,
    /// Entry point of the executable, reached when its libraries are loaded.
    entry: u64,
    /// Reached before and after libraries are loaded, whose constructors run next.
    after_loading: Vec<u64>,
    watches_c_library: bool,
    clocks: BTreeSet<u64>,
    /// The clock functions whose result the tracer replaces.
    answered: BTreeSet<u64>,
    clock: Clock,
    /// How often other threads than the first have read it.
    read_by_others: u32,
    other_clocks: OtherClocks,
    variables: BTreeSet<u64>,
    is_measuring: bool,
    /// Functions entered since the tracer last replaced a reading of the clock.
    since_reading: BTreeSet<usize>,
    /// All threads that have stopped once.
    threads: HashSet<Tid>,
    /// Processes that have become another program.
    others: HashSet<Tid>,
    memories: HashMap<Tid, Rc<Memory>>,
    /// A thread that ended while it was stepped over one instruction.
    ended_in_step: Option<(Tid, Usage)>,
    observed: Observed,
    own_cpu: OwnCpu,
}

impl Tracer {
    /// Creates the tracer of a process that has stopped at its exec, and sets all breakpoints.
    fn new(process: Tid, plan: &Plan, ahead: u32) -> io::Result<Self> {
        let memory = Memory::open(process)?;
        let (entry, base) = entry_and_base(process)?;
        let program = fs::read_link(format!("/proc/{process}/exe"))?;
        let is_other = program != plan.executable;
        let functions: Vec<u64> = placed(&plan.functions, base, is_other).into_iter().collect();
        let mut breakpoints = match &plan.original {
            _ if functions.is_empty() => Breakpoints::without_functions(),
            Some(original) => Breakpoints::in_file(functions, Code::open(original)?, base),
            None => Breakpoints::set(functions, Code::open(&plan.executable)?, base, &memory)?,
        };
        breakpoints.set_at(&memory, entry)?;
        let after_loading = breakpoints::after_loading(process);
        for address in &after_loading {
            breakpoints.set_at(&memory, *address)?;
        }
        let mut observed = Observed::default();
        if is_other {
            note_program(program, &mut observed);
        }
        Ok(Self {
            process,
            breakpoints,
            prepared: plan.original.as_ref().map(|_| plan.executable.clone()),
            entry,
            after_loading,
            watches_c_library: false,
            clocks: placed(&plan.clocks, base, is_other),
            answered: placed(&plan.clock, base, is_other || ahead == 0),
            clock: Clock::new(process, ahead),
            read_by_others: 0,
            other_clocks: OtherClocks::new(placed(&plan.counter_reads, base, is_other)),
            variables: placed(&plan.variables, base, is_other),
            is_measuring: false,
            since_reading: BTreeSet::new(),
            threads: HashSet::from([process]),
            others: HashSet::new(),
            memories: HashMap::from([(process, Rc::new(memory))]),
            ended_in_step: None,
            observed,
            own_cpu: OwnCpu::pin(process, plan.cpu),
        })
    }

    fn follow(&mut self) -> io::Result<Usage> {
        loop {
            let (tid, change) = match self.ended_in_step.take() {
                Some((tid, usage)) => (tid, Change::Ended(usage)),
                None => ptrace::wait(-1)?,
            };
            self.own_cpu.keep(tid);
            let signal = match change {
                Change::Ended(usage) if tid == self.process => return Ok(usage),
                Change::Ended(_) => {
                    self.threads.remove(&tid);
                    self.memories.remove(&tid);
                    continue;
                }
                Change::Event(event) => {
                    self.after_event(tid, event)?;
                    0
                }
                // The first signal of a new thread or process.
                Change::Signal(libc::SIGSTOP) if self.threads.insert(tid) => 0,
                Change::Signal(libc::SIGTRAP) => match self.after_trap(tid) {
                    // Its process has ended meanwhile, which the next wait reports.
                    Err(error) if is_gone(&error) => 0,
                    signal => signal?,
                },
                Change::Signal(signal) => signal,
            };
            ptrace::go_on(tid, signal);
        }
    }

    fn after_event(&mut self, tid: Tid, event: i32) -> io::Result<()> {
        match event {
            libc::PTRACE_EVENT_SECCOMP => self.before_call(tid),
            libc::PTRACE_EVENT_EXEC => {
                self.memories.remove(&tid);
                self.others.insert(tid);
                match fs::read_link(format!("/proc/{tid}/exe")) {
                    Ok(program) if self.prepared.as_ref() == Some(&program) => {
                        return Err(io::Error::other("it starts itself"));
                    }
                    Ok(program) => note_program(program, &mut self.observed),
                    Err(_) => self.observed.unnamed += 1,
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn before_call(&mut self, tid: Tid) {
        let found = ptrace::registers(tid).and_then(|registers| {
            let memory = self.memory(tid)?;
            if !is_private(&memory, &registers) {
                self.observed.is_noticeable = true;
                self.note_held(held(tid, &memory, &registers));
            }
            if self.is_measuring && self.is_ours(tid) {
                self.note_clock(self.other_clocks.before_call(&registers));
            }
            match wait_of(&registers) {
                Some(wait) if self.clock.is_ahead() => {
                    self.wait_in_real_time(tid, &memory, wait, registers)
                }
                _ => Ok(lookup(tid, &memory, &registers)),
            }
        });
        match found {
            Ok(Lookup::Opened(path)) => note_path(path, &mut self.observed.opened),
            Ok(Lookup::Named(path)) => note_path(path, &mut self.observed.looked_for),
            Ok(Lookup::Cpus) => self.own_cpu.let_see_all(tid),
            Ok(Lookup::Nothing) => {}
            Ok(Lookup::Unnamed) => self.observed.unnamed += 1,
            Err(_) => {
                self.observed.unnamed += 1;
                self.observed.is_noticeable = true;
            }
        }
    }

    fn note_held(&mut self, held: Held) {
        match held {
            Held::Thing(thing) => _ = self.observed.held.insert(thing),
            Held::Files(paths) => {
                for path in paths {
                    let is_new = self.observed.written.insert(path.clone());
                    if is_new && path.symlink_metadata().is_err() {
                        self.observed.created.insert(path);
                    }
                }
            }
            Held::Nothing => {}
        }
    }

    /// Makes a thread wait until its deadline in real time, written below the thread's stack. The deadline in its
    /// memory is in its own time.
    fn wait_in_real_time(
        &mut self,
        tid: Tid,
        memory: &Memory,
        wait: &Wait,
        mut registers: Registers,
    ) -> io::Result<Lookup> {
        if self.is_ours(tid) {
            let (_, arguments) = system_call(&registers);
            let mut times = vec![0; wait.offset + size_of::<Point>()];
            memory.read(arguments[wait.until], &mut times)?;
            if let Some(until) = times.last_chunk_mut() {
                *until = self.clock.real(*until);
            }
            let place = stack_pointer(&registers).wrapping_sub(UNUSED);
            memory.write(place, &times)?;
            set_argument(wait.until, place, &mut registers);
            ptrace::set_registers(tid, &mut registers)?;
        }
        Ok(Lookup::Nothing)
    }

    fn memory(&mut self, tid: Tid) -> io::Result<Rc<Memory>> {
        if let Some(known) = self.memories.get(&tid) {
            return Ok(Rc::clone(known));
        }
        let memory = Rc::new(Memory::open(tid)?);
        self.memories.insert(tid, Rc::clone(&memory));
        Ok(memory)
    }

    /// True if a thread still executes the program that was started.
    fn is_ours(&self, tid: Tid) -> bool {
        self.others.is_empty() || !self.others.contains(&process_of(tid))
    }

    /// Counts the functions that were entered after the last reading of the clock to the set-up, if all readings were seen:
    /// nothing measures them. Criterion reads its command line again at the end.
    fn conclude(&mut self) {
        let has_seen_all = self.clock.is_ahead() && self.observed.other_clock.is_none();
        let meant = if has_seen_all {
            &mut self.observed.in_set_up
        } else {
            &mut self.observed.while_measuring
        };
        meant.append(&mut self.since_reading);
    }

    /// Handles a trap, and returns the signal to deliver: none at a breakpoint.
    fn after_trap(&mut self, tid: Tid) -> io::Result<i32> {
        let mut registers = ptrace::registers(tid)?;
        let address = address_of_breakpoint(&registers);
        if !self.is_ours(tid) || !self.breakpoints.is_at(address) {
            return Ok(libc::SIGTRAP);
        }
        let is_loading = self.after_loading.contains(&address);
        if (address == self.entry || is_loading)
            && !self.watches_c_library
            && process_of(tid) == self.process
        {
            self.watch_c_library(tid)?;
            if is_loading && !self.watches_c_library {
                return self.pass(tid, registers, address);
            }
        }
        if self.clocks.contains(&address) && !self.is_measuring && process_of(tid) == self.process {
            self.begin_measuring(tid, &registers)?;
        }
        if let Some(function) = self.breakpoints.function_at(address) {
            if self.is_measuring {
                self.since_reading.insert(function);
            } else {
                self.observed.in_set_up.insert(function);
            }
        }
        if self.answered.contains(&address) {
            return self.return_time(tid, registers, address);
        }
        let memory = self.memory(tid)?;
        match self.other_clocks.at_breakpoint(address, &memory, &registers)? {
            Shown::Replaced => return self.return_time(tid, registers, address),
            Shown::Other(clock) => self.note_clock(Some(clock)),
            Shown::Nothing => {}
        }
        if self.variables.contains(&address) {
            self.note_variable(tid, &registers);
            return self.pass(tid, registers, address);
        }
        self.breakpoints.remove(&memory, address)?;
        go_to(&mut registers, address);
        ptrace::set_registers(tid, &mut registers)?;
        Ok(0)
    }

    /// Returns the time to a thread in place of the C library, if it reads a clock that the tracer knows.
    fn return_time(&mut self, tid: Tid, mut registers: Registers, address: u64) -> io::Result<i32> {
        self.observed.while_measuring.append(&mut self.since_reading);
        if tid != self.process {
            self.read_by_others += 1;
            if self.read_by_others > MOST_READINGS {
                return Err(io::Error::other(READS_CLOCK_OFTEN));
            }
        }
        let memory = self.memory(tid)?;
        let [clock, place] = arguments(&registers);
        let is_written =
            self.clock.reading(clock).is_some_and(|time| memory.write(place, &time).is_ok());
        if !is_written {
            return self.pass(tid, registers, address);
        }
        let mut caller = [0; RETURN];
        memory.read(stack_pointer(&registers), &mut caller)?;
        return_with(0, caller, &mut registers);
        ptrace::set_registers(tid, &mut registers)?;
        Ok(0)
    }

    /// Notes the first clock, while measuring, that does not stand still.
    fn note_clock(&mut self, clock: Option<OtherClock>) {
        self.observed.other_clock = self.observed.other_clock.or(clock);
    }

    fn note_variable(&mut self, tid: Tid, registers: &Registers) {
        let name = self.memory(tid).ok().and_then(|memory| memory.string(arguments(registers)[0]));
        match name.and_then(|name| String::from_utf8(name).ok()) {
            Some(name) => _ = self.observed.variables.insert(name),
            None => self.observed.unnamed += 1,
        }
    }

    /// Lets a thread pass a breakpoint that stays, and returns the signal to deliver. Does not remove the breakpoint if
    /// possible, since another thread could pass unnoticed meanwhile.
    fn pass(&mut self, tid: Tid, mut registers: Registers, address: u64) -> io::Result<i32> {
        let memory = self.memory(tid)?;
        let mut instruction = [0; INSTRUCTION];
        memory.read(address, &mut instruction)?;
        self.breakpoints.restore(address, &mut instruction)?;
        go_to(&mut registers, address);
        if let Some(effect) = execute(instruction, &mut registers) {
            if let Effect::Pushed(values) = effect {
                memory.write(
                    stack_pointer(&registers),
                    values.map(u64::to_ne_bytes).as_flattened(),
                )?;
            }
            ptrace::set_registers(tid, &mut registers)?;
            return Ok(0);
        }
        self.breakpoints.remove(&memory, address)?;
        ptrace::set_registers(tid, &mut registers)?;
        self.step_over(tid, address)
    }

    /// Lets a thread execute the instruction at a removed breakpoint, and sets the breakpoint again. Another thread
    /// could pass unnoticed meanwhile. Returns the signal to deliver: after a signal that came before the instruction,
    /// the thread stops at the breakpoint again.
    fn step_over(&mut self, tid: Tid, address: u64) -> io::Result<i32> {
        if self.threads.len() > 1 {
            self.observed.unnamed += 1;
        }
        ptrace::step(tid)?;
        let (_, change) = ptrace::wait(tid)?;
        let signal = match change {
            Change::Signal(libc::SIGTRAP) => 0,
            Change::Signal(signal) => signal,
            Change::Event(event) => {
                self.after_event(tid, event)?;
                0
            }
            Change::Ended(usage) => {
                self.ended_in_step = Some((tid, usage));
                return Ok(0);
            }
        };
        let memory = self.memory(tid)?;
        self.breakpoints.set_at(&memory, address)?;
        Ok(signal)
    }

    /// Watches functions of the C library, if it is loaded now.
    fn watch_c_library(&mut self, tid: Tid) -> io::Result<()> {
        for (wanted, watched) in
            [(&CLOCKS[..], &mut self.clocks), (&VARIABLES[..], &mut self.variables)]
        {
            let found = breakpoints::functions_of_c_library(tid, wanted);
            self.watches_c_library |= !found.is_empty();
            watched.extend(found);
        }
        if self.clock.is_ahead() {
            self.answered.extend(breakpoints::functions_of_c_library(tid, &[CLOCK]));
        }
        let all: Vec<u64> = self.clocks.iter().chain(&self.variables).copied().collect();
        let memory = self.memory(tid)?;
        for address in all {
            self.breakpoints.set_at(&memory, address)?;
        }
        Ok(())
    }

    /// Restores the breakpoints that were reached in set-up. Functions that have not returned yet count as entered
    /// while measuring.
    fn begin_measuring(&mut self, tid: Tid, registers: &Registers) -> io::Result<()> {
        self.is_measuring = true;
        let memory = self.memory(tid)?;
        let mut stack = memory.read_at_most(stack_pointer(registers), STACK);
        stack.splice(..0, caller(registers).into_iter().flat_map(u64::to_ne_bytes));
        let on_stack = self.breakpoints.functions_on(&stack);
        self.observed.while_measuring.extend(on_stack.intersection(&self.observed.in_set_up));
        for function in &self.observed.in_set_up {
            self.breakpoints.set_again(&memory, *function)?;
        }
        for clock in self.clocks.difference(&self.answered) {
            self.breakpoints.remove(&memory, *clock)?;
        }
        for address in self.other_clocks.find(tid, &memory) {
            self.breakpoints.set_at(&memory, address)?;
        }
        Ok(())
    }
}

/// True if an error means that a thread and its memory no longer exist.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EIO))
        || matches!(error.kind(), io::ErrorKind::WriteZero | io::ErrorKind::UnexpectedEof)
}

/// The addresses of watched functions in a process that runs the executable; none in another program.
fn placed(functions: &[u64], base: u64, is_other: bool) -> BTreeSet<u64> {
    let functions = functions.iter().filter(|_| !is_other);
    functions.map(|relative| base.wrapping_add(*relative)).collect()
}

/// Records a path that was looked for, and its current target if that is another path.
fn note_path(path: PathBuf, paths: &mut BTreeSet<PathBuf>) {
    // Most do not exist: the loader looks for each library in several directories.
    if path.exists()
        && let Ok(real) = path.canonicalize()
        && real.to_str().is_some()
    {
        paths.insert(real);
    }
    paths.insert(path);
}

fn note_program(program: PathBuf, observed: &mut Observed) {
    if program.to_str().is_some() {
        observed.programs.insert(program);
    } else {
        observed.unnamed += 1;
    }
}

/// The entry point of an executable, and its load address.
fn entry_and_base(process: Tid) -> io::Result<(u64, u64)> {
    const AT_ENTRY: u64 = 9;
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let auxiliary = fs::read(format!("/proc/{process}/auxv"))?;
    let words: Vec<u64> =
        auxiliary.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let entry = words.as_chunks().0.iter().find(|[name, _]| *name == AT_ENTRY);
    let [_, entry] = entry.ok_or_else(invalid)?;
    let header = Memory::header(process)?;
    let stated = header.get(24..32).and_then(|field| field.try_into().ok()).ok_or_else(invalid)?;
    Ok((*entry, entry.wrapping_sub(u64::from_le_bytes(stated))))
}

fn process_of(tid: Tid) -> Tid {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.and_then(|process| process.trim().parse().ok()).unwrap_or(tid)
}
