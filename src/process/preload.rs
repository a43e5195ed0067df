//! Preloads a library to a process that finds it, and memory that it shares with rbench, open under fixed numbers.

use std::{
    ffi::OsString,
    io,
    os::{
        fd::{AsFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::Command,
};

use rustix::io::fcntl_dupfd_cloexec;

use crate::error::{Context, Exit, Result};

/// A file of the process's own is open in it under this number. Small enough for usual limits of open files, and large
/// enough that it is not among the first ones that a program opens.
pub(super) const OWN: RawFd = 250;
/// The same of the memory and of the library, which the library closes.
pub(super) const PAGE: RawFd = 251;
/// See [`PAGE`].
pub(super) const LIBRARY: RawFd = 252;
/// Beyond these numbers.
const FIRST_FREE: RawFd = 253;

/// The same file under a number that is not among those that a child gets: there it would be replaced before
/// it is duplicated.
pub(super) fn moved(file: impl AsFd) -> Result<OwnedFd> {
    fcntl_dupfd_cloexec(file, FIRST_FREE).context(Exit::Internal, || {
        format!("cannot open a file under the number {FIRST_FREE} (see `ulimit -n`)")
    })
}

/// Has `command` preload the library, before what it preloads anyway.
pub(super) fn preload(command: &mut Command) {
    let mut preload = OsString::from(format!("/proc/self/fd/{LIBRARY}"));
    let set = command.get_envs().find(|(name, _)| *name == "LD_PRELOAD");
    let others = match set {
        Some((_, value)) => value.map(OsString::from),
        None => std::env::var_os("LD_PRELOAD"),
    };
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    command.env("LD_PRELOAD", preload);
}

/// Has `command` find files under these numbers, which `owner` keeps open. `prepare` is called before, in the child: it
/// may make system calls, and must not allocate.
#[expect(unsafe_code, reason = "there is no safe way to give a child a file under a number")]
pub(super) fn inherit<T: Send + Sync + 'static, const COUNT: usize>(
    command: &mut Command,
    owner: T,
    files: [(RawFd, RawFd); COUNT],
    prepare: impl Fn(&T) + Send + Sync + 'static,
) {
    let duplicate = move || {
        prepare(&owner);
        for (file, number) in files {
            // SAFETY: it only makes a system call.
            if unsafe { libc::dup2(file, number) } == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec, the closure makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(duplicate);
    }
}
