//! Determines the files that a system call looks for, and makes the kernel stop a program at such calls, at others that
//! may not be private, at waits for a deadline, and at readings of a clock without the C library.

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
    private::{PRIVATE, PRIVATE_IF, PrivateIf},
    processor::{Registers, system_call},
    ptrace::{Memory, Tid},
};

/// A watched system call.
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

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Offset of the system call's number in the kernel's data.
const NUMBER: u32 = 0;
/// Offset of the architecture.
const OF_ARCHITECTURE: u32 = 4;
/// Offset of the arguments, eight bytes each.
const ARGUMENTS: u32 = 16;

/// The filter's instructions for the kernel. Call it before a fork, since it allocates.
pub(super) fn filter() -> Vec<sock_filter> {
    let is = |value, jump| if_equal(value, jump, 0);
    let mut program = vec![load(OF_ARCHITECTURE), is(ARCHITECTURE, 1)];
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program.extend(WAITS.iter().flat_map(stop_at));
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

/// Loads the lower half of an argument. A non-null address whose lower half is 0 does not occur.
fn argument(index: usize) -> sock_filter {
    load(ARGUMENTS + 8 * u32::try_from(index).unwrap_or_default())
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

/// Skips `then` instructions if the loaded value is `value`, otherwise `otherwise` instructions.
fn if_equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, then, otherwise)
}

fn end(action: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or_default(), jt, jf, k }
}

/// Applies a filter to this process and to all its children. It needs no privilege, because it also forbids children to
/// gain any.
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
