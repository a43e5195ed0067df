//! Preloads a library into a process, which inherits it and memory shared with rbench as open files with fixed numbers.

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

/// The number of a file that belongs to the process itself. Small enough for usual limits of open files, and above the
/// first numbers that a program opens.
pub(super) const OWN: RawFd = 250;
/// The number of the shared memory, which the library closes.
pub(super) const PAGE: RawFd = 251;
/// The number of the library's own file, which the library closes.
pub(super) const LIBRARY: RawFd = 252;
/// The first number above these.
const FIRST_FREE: RawFd = 253;

/// Duplicates a file to a number that no child uses: under one of those numbers it would be replaced before it is
/// duplicated.
pub(super) fn moved(file: impl AsFd) -> Result<OwnedFd> {
    fcntl_dupfd_cloexec(file, FIRST_FREE).context(Exit::Internal, || {
        format!("cannot open a file under the number {FIRST_FREE} (see `ulimit -n`)")
    })
}

/// Makes `command` preload the library, before any other preloaded one.
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

/// Makes `command` inherit files under these numbers; `owner` keeps them open. `prepare` runs before that, in the
/// child: it may make system calls, and must not allocate.
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
