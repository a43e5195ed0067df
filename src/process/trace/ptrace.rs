//! The system calls of a tracer as functions, and the CPU that it shares with the traced process.

#![expect(unsafe_code, reason = "no maintained safe wrapper of ptrace is among the dependencies")]

use std::{
    collections::HashSet,
    fs::File,
    io,
    mem::{MaybeUninit, size_of},
    os::unix::fs::FileExt,
};

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity},
};

use super::processor::Registers;
use crate::process::child::{Usage, usage_of};

/// A thread of a traced program.
pub(super) type Tid = libc::pid_t;

/// A change of a thread's state.
pub(super) enum Change {
    /// It has ended; for the first thread, its process has ended.
    Ended(Usage),
    /// It has stopped before this signal is delivered.
    Signal(i32),
    /// It has stopped at an event that the tracer requested.
    Event(i32),
}

/// Makes the parent trace this process from the next exec on.
pub(super) fn trace_me() -> io::Result<()> {
    // SAFETY: this request takes no memory.
    check(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) })
}

/// Requests events for new threads and processes, execs, and filtered system calls; and makes the kernel kill the
/// traced processes when the tracer ends.
pub(super) fn ask_for_events(tid: Tid) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: this request takes no memory.
    check(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, tid, 0, options) })
}

/// Continues a stopped thread, with a signal or with 0.
pub(super) fn go_on(tid: Tid, signal: i32) {
    // It fails only if the thread has been killed meanwhile, which the next wait reports.
    // SAFETY: this request takes no memory.
    let _ = unsafe { libc::ptrace(libc::PTRACE_CONT, tid, 0, signal) };
}

/// Makes a stopped thread execute one instruction.
pub(super) fn step(tid: Tid) -> io::Result<()> {
    // SAFETY: this request takes no memory.
    check(unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, tid, 0, 0) })
}

pub(super) fn registers(tid: Tid) -> io::Result<Registers> {
    let mut registers = MaybeUninit::<Registers>::zeroed();
    let mut part =
        libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size_of::<Registers>() };
    // SAFETY: the kernel writes at most the given length there; registers are numbers, for which zeros are
    // valid too.
    unsafe {
        check(libc::ptrace(libc::PTRACE_GETREGSET, tid, libc::NT_PRSTATUS, &raw mut part))?;
        Ok(registers.assume_init())
    }
}

pub(super) fn set_registers(tid: Tid, registers: &mut Registers) -> io::Result<()> {
    let place: *mut Registers = registers;
    let mut part = libc::iovec { iov_base: place.cast(), iov_len: size_of::<Registers>() };
    // SAFETY: the kernel reads that many bytes there.
    check(unsafe { libc::ptrace(libc::PTRACE_SETREGSET, tid, libc::NT_PRSTATUS, &raw mut part) })
}

/// Waits for the next change of this thread, or with -1 of any thread that this tracer thread traces.
pub(super) fn wait(tid: Tid) -> io::Result<(Tid, Change)> {
    let options = libc::__WALL | libc::__WNOTHREAD;
    let mut status = 0;
    // SAFETY: `rusage` is plain old data, for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live, writable variables of the types that wait4 wants.
        let changed = unsafe { libc::wait4(tid, &raw mut status, options, &raw mut usage) };
        if changed == -1 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        let change = if !libc::WIFSTOPPED(status) {
            Change::Ended(usage_of(status, &usage))
        } else if status >> 16 != 0 {
            Change::Event(status >> 16)
        } else {
            Change::Signal(libc::WSTOPSIG(status))
        };
        return Ok((changed, change));
    }
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The memory of a traced process, including its code.
pub(super) struct Memory(File);

impl Memory {
    pub(super) fn open(tid: Tid) -> io::Result<Self> {
        let path = format!("/proc/{tid}/mem");
        Ok(Self(File::options().read(true).write(true).open(path)?))
    }

    /// The first bytes of the process's executable file.
    pub(super) fn header(process: Tid) -> io::Result<[u8; 64]> {
        let mut header = [0; 64];
        File::open(format!("/proc/{process}/exe"))?.read_exact_at(&mut header, 0)?;
        Ok(header)
    }

    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, address)
    }

    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }

    /// The available bytes, at most `most`.
    pub(super) fn read_at_most(&self, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let mut length = 0;
        while length < most {
            match self.0.read_at(&mut bytes[length..], address.saturating_add(length as u64)) {
                Ok(0) | Err(_) => break,
                Ok(read) => length += read,
            }
        }
        bytes.truncate(length);
        bytes
    }

    /// The bytes up to the next zero; none if there is no zero within the limit.
    pub(super) fn string(&self, address: u64) -> Option<Vec<u8>> {
        /// The longest path that the kernel accepts.
        const LONGEST: usize = 4096;
        let mut bytes = self.read_at_most(address, LONGEST);
        let end = bytes.iter().position(|byte| *byte == 0)?;
        bytes.truncate(end);
        Some(bytes)
    }
}

/// Keeps the tracer and the traced process on one CPU: waking a thread on another one takes several times as long, and
/// each stop wakes both.
pub(super) struct OwnCpu {
    /// The CPUs it could use without pinning; none if unknown.
    all: Option<CpuSet>,
    one: CpuSet,
    /// Threads that may run on all of them until their next stop.
    free: HashSet<Tid>,
}

impl OwnCpu {
    /// Pins this thread and a stopped process to `cpu`, or to the one that this thread runs on. If that is not possible,
    /// they run on any.
    pub(super) fn pin(process: Tid, cpu: Option<usize>) -> Self {
        let mut one = CpuSet::new();
        let cpu = cpu.filter(|cpu| *cpu < CpuSet::MAX_CPU).unwrap_or_else(sched_getcpu);
        one.set(cpu);
        let all = sched_getaffinity(Pid::from_raw(process)).ok();
        let all = all.filter(|all| all.is_set(cpu) && set(process, &one));
        if all.is_some() {
            // Without it, tracing only takes longer.
            let _ = sched_setaffinity(None, &one);
        }
        Self { all, one, free: HashSet::new() }
    }

    /// Lets a thread that has stopped before it queries its CPUs see all of them: programs start as many threads.
    pub(super) fn let_see_all(&mut self, tid: Tid) {
        if let Some(all) = &self.all
            && set(tid, all)
        {
            self.free.insert(tid);
        }
    }

    /// Pins a stopped thread again.
    pub(super) fn keep(&mut self, tid: Tid) {
        if self.free.remove(&tid) {
            set(tid, &self.one);
        }
    }
}

fn set(tid: Tid, cpus: &CpuSet) -> bool {
    Pid::from_raw(tid).is_some_and(|tid| sched_setaffinity(Some(tid), cpus).is_ok())
}
