//! Determines the files that a system call looks for, and makes the kernel stop a program at such calls, at others that
//! may not be private, at waits for a deadline, and at readings of a clock without the C library.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use libc::sock_filter;

use super::{
    clock::{WAITS, Wait},
    private::{PRIVATE, PRIVATE_IF, PrivateIf},
    processor::{Registers, system_call},
    ptrace::{Memory, Tid},
};
use crate::process::filter::{
    ARCHITECTURE, NUMBER, OF_ARCHITECTURE, argument, end, if_equal, instruction, load,
};

pub(super) struct SystemCall {
    pub(super) number: libc::c_long,
    request: Request,
}

/// The information that a system call requests. Numbers are indices of its arguments.
#[derive(Clone, Copy)]
enum Request {
    /// Data about the file at a path. A relative path is resolved from the directory in `counts_from`, if any.
    Status { path: usize, counts_from: Option<usize> },
    /// To open the file at a path. `flags` is the index of the argument that holds only flags, if there is one.
    ToOpen { path: usize, counts_from: Option<usize>, flags: Option<usize> },
    /// The CPUs that the thread may run on.
    Cpus,
    /// Files without a path.
    Files,
}

const fn call(number: libc::c_long, request: Request) -> SystemCall {
    SystemCall { number, request }
}

#[cfg(target_arch = "x86_64")]
const STATUS: Request = Request::Status { path: 0, counts_from: None };
const STATUS_FROM: Request = Request::Status { path: 1, counts_from: Some(0) };

/// All watched calls. A call that only writes, such as `mkdir`, gives a program no input.
pub(super) const SYSTEM_CALLS: &[SystemCall] = &[
    call(libc::SYS_openat, Request::ToOpen { path: 1, counts_from: Some(0), flags: Some(2) }),
    // Its flags are in memory: it may read.
    call(libc::SYS_openat2, Request::ToOpen { path: 1, counts_from: Some(0), flags: None }),
    call(libc::SYS_newfstatat, STATUS_FROM),
    call(libc::SYS_statx, STATUS_FROM),
    call(libc::SYS_faccessat, STATUS_FROM),
    call(libc::SYS_faccessat2, STATUS_FROM),
    call(libc::SYS_readlinkat, STATUS_FROM),
    // The file is read under another name afterwards.
    call(libc::SYS_linkat, STATUS_FROM),
    call(libc::SYS_renameat2, STATUS_FROM),
    call(libc::SYS_renameat, STATUS_FROM),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_link, STATUS),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, STATUS),
    call(libc::SYS_io_uring_setup, Request::Files),
    call(libc::SYS_open_by_handle_at, Request::Files),
    call(libc::SYS_sched_getaffinity, Request::Cpus),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_open, Request::ToOpen { path: 0, counts_from: None, flags: Some(1) }),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_stat, STATUS),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_lstat, STATUS),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_access, STATUS),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_readlink, STATUS),
];

/// The subject of a system call's request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// A file or directory to read.
    Opened(PathBuf),
    /// The existence, kind or size of a file.
    Named(PathBuf),
    /// A file whose name could not be read.
    Unnamed,
    /// The CPUs that the thread may run on.
    Cpus,
    /// Nothing that could be input of the program.
    Nothing,
}

/// The request of a thread that has stopped before a system call.
pub(super) fn lookup(tid: Tid, memory: &Memory, registers: &Registers) -> Lookup {
    let (number, arguments) = system_call(registers);
    let call = SYSTEM_CALLS.iter().find(|call| u64::try_from(call.number) == Ok(number));
    let Some(call) = call else { return Lookup::Nothing };
    let from = |directory: Option<usize>| directory.map(|directory| arguments[directory]);
    match call.request {
        Request::Cpus => Lookup::Cpus,
        Request::Files => Lookup::Unnamed,
        Request::Status { path, counts_from } => {
            lookup_path(tid, memory, arguments[path], from(counts_from), Lookup::Named)
        }
        Request::ToOpen { flags: Some(flags), .. } if only_writes(arguments[flags]) => {
            Lookup::Nothing
        }
        Request::ToOpen { path, counts_from, .. } => {
            lookup_path(tid, memory, arguments[path], from(counts_from), Lookup::Opened)
        }
    }
}

fn only_writes(flags: u64) -> bool {
    let access = u64::try_from(libc::O_ACCMODE).unwrap_or_default();
    u64::try_from(libc::O_WRONLY) == Ok(flags & access)
}

/// The request for the path at an address, relative to an open directory or to the working directory.
pub(super) fn lookup_path(
    tid: Tid,
    memory: &Memory,
    address: u64,
    directory: Option<u64>,
    lookup: fn(PathBuf) -> Lookup,
) -> Lookup {
    // A program that tests for the kernel's support of the call passes no path.
    if address == 0 {
        return Lookup::Nothing;
    }
    let Some(path) = memory.string(address) else { return Lookup::Unnamed };
    // The call is about an open file.
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

/// The directory that relative paths are resolved from.
fn opened_directory(tid: Tid, directory: Option<u64>) -> Option<PathBuf> {
    // A file number is an `int`: the upper half of the register is undefined.
    let number = directory.map(|register| register & u64::from(u32::MAX));
    let number = number.filter(|number| i32::try_from(*number).is_ok());
    let link = match number {
        Some(number) => format!("/proc/{tid}/fd/{number}"),
        // There is none, or it is `AT_FDCWD`, which is negative.
        None => format!("/proc/{tid}/cwd"),
    };
    fs::read_link(link).ok()
}

/// Resolves `/proc/self`, which is different for each process.
fn process_path(tid: Tid, path: PathBuf) -> PathBuf {
    match path.strip_prefix("/proc/self") {
        Ok(rest) => Path::new("/proc").join(tid.to_string()).join(rest),
        Err(_) => path,
    }
}

/// The filter's instructions for the kernel; `with_waits` also stops at calls that wait for a deadline. Call it before a
/// fork, since it allocates.
pub(super) fn filter(with_waits: bool) -> Vec<sock_filter> {
    let is = |value, jump| if_equal(value, jump, 0);
    let mut program = vec![load(OF_ARCHITECTURE), is(ARCHITECTURE, 1)];
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program.extend(WAITS.iter().filter(|_| with_waits).flat_map(stop_at));
    program.extend(PRIVATE_IF.iter().flat_map(allow_if));
    program.push(load(NUMBER));
    let private = || PRIVATE.iter().filter_map(|number| u32::try_from(*number).ok());
    let mut left = u8::try_from(private().count()).unwrap_or(u8::MAX);
    for number in private() {
        // Jumps to the end, past the other calls and the instruction that stops.
        program.push(is(number, left));
        left -= 1;
    }
    program.push(end(libc::SECCOMP_RET_TRACE));
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program
}

/// Allows a call with such an argument; other calls continue behind these instructions.
fn allow_if(call: &PrivateIf) -> [sock_filter; 6] {
    [
        load(NUMBER),
        if_equal(u32::try_from(call.number).unwrap_or_default(), 0, 4),
        argument(call.argument),
        instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, call.mask, 0, 0),
        if_equal(call.value, 0, 1),
        end(libc::SECCOMP_RET_ALLOW),
    ]
}

/// Stops at a call that waits for a deadline; other calls continue behind these instructions.
fn stop_at(wait: &Wait) -> [sock_filter; 8] {
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
