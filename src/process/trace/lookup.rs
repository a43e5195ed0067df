//! What a system call looks for in the file system, and a filter by which the kernel stops a program there or, if its
//! clock is not the real one, where it waits until a point in time, and nowhere else.

#![expect(unsafe_code, reason = "no maintained safe wrapper of seccomp is among the dependencies")]

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use libc::sock_filter;

use super::{
    clock::{WAITS, Wait},
    processor::{Registers, system_call},
    ptrace::{Memory, Tid},
};

/// A system call that is watched.
pub(super) struct SystemCall {
    pub(super) number: libc::c_long,
    asks: Asks,
}

/// What a system call asks for.
#[derive(Clone, Copy)]
enum Asks {
    /// What is at a path: this argument, which counts from the directory that the argument before is, if it is
    /// relative and there is one.
    Whether { path: usize, counts_from: Option<usize> },
    /// To open what is at a path, with the flags in an argument, if it has one for them alone.
    ToOpen { path: usize, counts_from: Option<usize>, flags: Option<usize> },
    /// The CPUs that it may run on.
    Cpus,
    /// Files that have no path.
    Files,
}

const fn call(number: libc::c_long, asks: Asks) -> SystemCall {
    SystemCall { number, asks }
}

#[cfg(target_arch = "x86_64")]
const WHETHER: Asks = Asks::Whether { path: 0, counts_from: None };
const WHETHER_FROM: Asks = Asks::Whether { path: 1, counts_from: Some(0) };

/// All that are watched. What only writes, as `mkdir`, tells a program nothing of its input.
pub(super) const SYSTEM_CALLS: &[SystemCall] = &[
    call(libc::SYS_openat, Asks::ToOpen { path: 1, counts_from: Some(0), flags: Some(2) }),
    // Its flags are in memory: it may read.
    call(libc::SYS_openat2, Asks::ToOpen { path: 1, counts_from: Some(0), flags: None }),
    call(libc::SYS_newfstatat, WHETHER_FROM),
    call(libc::SYS_statx, WHETHER_FROM),
    call(libc::SYS_faccessat, WHETHER_FROM),
    call(libc::SYS_faccessat2, WHETHER_FROM),
    call(libc::SYS_readlinkat, WHETHER_FROM),
    // What is read under another name afterwards.
    call(libc::SYS_linkat, WHETHER_FROM),
    call(libc::SYS_renameat2, WHETHER_FROM),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_renameat, WHETHER_FROM),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_link, WHETHER),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, WHETHER),
    call(libc::SYS_io_uring_setup, Asks::Files),
    call(libc::SYS_open_by_handle_at, Asks::Files),
    call(libc::SYS_sched_getaffinity, Asks::Cpus),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_open, Asks::ToOpen { path: 0, counts_from: None, flags: Some(1) }),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_stat, WHETHER),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_lstat, WHETHER),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_access, WHETHER),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_readlink, WHETHER),
];

/// What a system call looks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// A file or directory to read.
    Opened(PathBuf),
    /// Whether something is there, and of what kind and size.
    Named(PathBuf),
    /// Something whose name could not be read.
    Unnamed,
    /// The CPUs that it may run on.
    Cpus,
    /// Nothing that a program could learn from.
    Nothing,
}

/// What a thread looks for that has stopped before a system call.
pub(super) fn lookup(tid: Tid, memory: &Memory, registers: &Registers) -> Lookup {
    let (number, arguments) = system_call(registers);
    let call = SYSTEM_CALLS.iter().find(|call| u64::try_from(call.number) == Ok(number));
    let Some(call) = call else { return Lookup::Nothing };
    let from = |directory: Option<usize>| directory.map(|directory| arguments[directory]);
    match call.asks {
        Asks::Cpus => Lookup::Cpus,
        Asks::Files => Lookup::Unnamed,
        Asks::Whether { path, counts_from } => {
            lookup_path(tid, memory, arguments[path], from(counts_from), Lookup::Named)
        }
        Asks::ToOpen { flags: Some(flags), .. } if only_writes(arguments[flags]) => Lookup::Nothing,
        Asks::ToOpen { path, counts_from, .. } => {
            lookup_path(tid, memory, arguments[path], from(counts_from), Lookup::Opened)
        }
    }
}

fn only_writes(flags: u64) -> bool {
    let access = u64::try_from(libc::O_ACCMODE).unwrap_or_default();
    u64::try_from(libc::O_WRONLY) == Ok(flags & access)
}

/// What is looked for at the path whose address is given, from an open directory or the working directory.
fn lookup_path(
    tid: Tid,
    memory: &Memory,
    address: u64,
    directory: Option<u64>,
    lookup: fn(PathBuf) -> Lookup,
) -> Lookup {
    // A program that finds out whether the kernel knows the call has no path.
    if address == 0 {
        return Lookup::Nothing;
    }
    let Some(path) = memory.string(address) else { return Lookup::Unnamed };
    // It asks about a file that is open already.
    if path.is_empty() {
        return Lookup::Nothing;
    }
    let path = PathBuf::from(OsString::from_vec(path));
    let path = if path.is_absolute() {
        Some(process_path(tid, path))
    } else {
        opened_directory(tid, directory).map(|from| from.join(path))
    };
    match path.filter(|path| path.to_str().is_some()) {
        Some(path) => lookup(path),
        None => Lookup::Unnamed,
    }
}

/// The directory that relative paths count from.
fn opened_directory(tid: Tid, directory: Option<u64>) -> Option<PathBuf> {
    // A file's number is an `int`: the upper half of the register says nothing.
    let number = directory.map(|register| register & u64::from(u32::MAX));
    let number = number.filter(|number| i32::try_from(*number).is_ok());
    let link = match number {
        Some(number) => format!("/proc/{tid}/fd/{number}"),
        // There is none, or it is `AT_FDCWD`, which is negative.
        None => format!("/proc/{tid}/cwd"),
    };
    fs::read_link(link).ok()
}

/// A path below `/proc/self` is another one for each process.
fn process_path(tid: Tid, path: PathBuf) -> PathBuf {
    match path.strip_prefix("/proc/self") {
        Ok(rest) => Path::new("/proc").join(tid.to_string()).join(rest),
        Err(_) => path,
    }
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Where the kernel has the number of a system call.
const NUMBER: u32 = 0;
/// Where it has the architecture.
const OF_ARCHITECTURE: u32 = 4;
/// Where it has the arguments, of eight bytes each.
const ARGUMENTS: u32 = 16;

/// The filter, as instructions for the kernel: made before a fork, since it takes memory.
pub(super) fn filter(stops_at_waits: bool) -> Vec<sock_filter> {
    let is = |value, jump| if_equal(value, jump, 0);
    let all = SYSTEM_CALLS.iter().filter_map(|call| u32::try_from(call.number).ok());
    let all: Vec<u32> = all.collect();
    let mut program = vec![load(OF_ARCHITECTURE), is(ARCHITECTURE, 1)];
    program.push(end(libc::SECCOMP_RET_ALLOW));
    if stops_at_waits {
        program.extend(WAITS.iter().flat_map(stop_at));
    }
    program.push(load(NUMBER));
    let mut left = u8::try_from(all.len()).unwrap_or(u8::MAX);
    for number in all {
        // To the end, behind those that follow and the one that allows.
        program.push(is(number, left));
        left -= 1;
    }
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program.push(end(libc::SECCOMP_RET_TRACE));
    program
}

/// Stops at a system call that waits until a point in time, and goes on behind these instructions otherwise.
fn stop_at(wait: &Wait) -> [sock_filter; 8] {
    // The lower half of an argument; that of an address is 0 for no address alone.
    let argument = |index: usize| load(ARGUMENTS + 8 * u32::try_from(index).unwrap_or_default());
    [
        load(NUMBER),
        if_equal(u32::try_from(wait.number).unwrap_or_default(), 0, 6),
        argument(1),
        instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, wait.mask, 0, 0),
        if_equal(wait.value, 0, 3),
        argument(wait.until),
        if_equal(0, 1, 0),
        end(libc::SECCOMP_RET_TRACE),
    ]
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

/// Passes over so many instructions if what was loaded is `value`, and over so many if it is not.
fn if_equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, then, otherwise)
}

fn end(action: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or_default(), jt, jf, k }
}

/// Applies a filter to this process and to all that it starts. It takes no privilege where nothing that
/// is started can gain any.
pub(super) fn apply_filter(program: &[sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap_or_default(),
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads as many instructions as there are, and writes nothing.
    let result = unsafe {
        match libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) {
            0 => libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
            failed => failed,
        }
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
