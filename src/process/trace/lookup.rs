//! What a system call looks for in the file system.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use super::{
    processor::{Registers, system_call},
    ptrace::{Memory, Tid},
};

/// A system call that takes a path.
pub(super) struct SystemCall {
    pub(super) number: libc::c_long,
    /// Which of its arguments is the path, if one is.
    path: Option<usize>,
    /// Whether the argument before is the directory that a relative path counts from.
    is_relative: bool,
    /// Where its flags are, if it opens what is there.
    flags: Option<usize>,
}

const fn plain(number: libc::c_long) -> SystemCall {
    SystemCall { number, path: Some(0), is_relative: false, flags: None }
}

const fn hidden(number: libc::c_long) -> SystemCall {
    SystemCall { number, path: None, is_relative: false, flags: None }
}

const fn relative(number: libc::c_long) -> SystemCall {
    SystemCall { number, path: Some(1), is_relative: true, flags: None }
}

/// All that are watched. What only writes, as `mkdir`, tells a program nothing of its input.
pub(super) const SYSTEM_CALLS: &[SystemCall] = &[
    SystemCall { flags: Some(2), ..relative(libc::SYS_openat) },
    relative(libc::SYS_openat2),
    relative(libc::SYS_newfstatat),
    relative(libc::SYS_statx),
    relative(libc::SYS_faccessat),
    relative(libc::SYS_faccessat2),
    relative(libc::SYS_readlinkat),
    // What is read under another name afterwards.
    relative(libc::SYS_linkat),
    relative(libc::SYS_renameat2),
    #[cfg(target_arch = "x86_64")]
    relative(libc::SYS_renameat),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_link),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_rename),
    // These have no path.
    hidden(libc::SYS_io_uring_setup),
    hidden(libc::SYS_open_by_handle_at),
    hidden(libc::SYS_sched_getaffinity),
    #[cfg(target_arch = "x86_64")]
    SystemCall { flags: Some(1), ..plain(libc::SYS_open) },
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_stat),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_lstat),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_access),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_readlink),
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
    let Some(place) = call.path else {
        let asks_for_cpus = call.number == libc::SYS_sched_getaffinity;
        return if asks_for_cpus { Lookup::Cpus } else { Lookup::Unnamed };
    };
    let flags = call.flags.map(|flags| arguments[flags]);
    let is_only_written = flags.is_some_and(|flags| {
        let access = u64::try_from(libc::O_ACCMODE).unwrap_or_default();
        let write = u64::try_from(libc::O_WRONLY).unwrap_or_default();
        flags & access == write
    });
    if is_only_written {
        return Lookup::Nothing;
    }
    // A program that finds out whether the kernel knows the call has no path.
    if arguments[place] == 0 {
        return Lookup::Nothing;
    }
    let Some(path) = memory.string(arguments[place]) else { return Lookup::Unnamed };
    // It asks about a file that is open already.
    if path.is_empty() {
        return Lookup::Nothing;
    }
    let path = PathBuf::from(OsString::from_vec(path));
    let directory = || {
        let directory = if call.is_relative { arguments[place - 1] } else { u64::MAX };
        // A file's number is an `int`: the upper half of the register says nothing.
        let number = i32::from_ne_bytes(low_half(directory));
        let link = if number < 0 {
            format!("/proc/{tid}/cwd")
        } else {
            format!("/proc/{tid}/fd/{number}")
        };
        fs::read_link(link).ok()
    };
    let path = if path.is_absolute() {
        Some(of_process(tid, path))
    } else {
        directory().map(|from| from.join(path))
    };
    match path {
        None => Lookup::Unnamed,
        Some(path) if path.to_str().is_none() => Lookup::Unnamed,
        Some(path) if call.flags.is_some() || call.number == libc::SYS_openat2 => {
            Lookup::Opened(path)
        }
        Some(path) => Lookup::Named(path),
    }
}

fn low_half(register: u64) -> [u8; 4] {
    let [a, b, c, d, ..] = register.to_le_bytes();
    i32::from_le_bytes([a, b, c, d]).to_ne_bytes()
}

/// A path below `/proc/self` is another one for each process.
fn of_process(tid: Tid, path: PathBuf) -> PathBuf {
    match path.strip_prefix("/proc/self") {
        Ok(rest) => Path::new("/proc").join(tid.to_string()).join(rest),
        Err(_) => path,
    }
}
