//! Waits for the end of a child, and reads the resources that it used.

use std::{
    io::{self, PipeReader},
    os::fd::{AsFd, BorrowedFd},
    thread,
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Pid, WaitId, WaitIdOptions, waitid},
};
use serde::{Deserialize, Serialize};

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

/// Something to poll: readable when the child has ended.
///
/// A thread sleeps in `waitid` and leaves the zombie where it is, so that its id stays its own
/// until it is reaped.
#[derive(Debug)]
pub(super) struct ExitWatch(PipeReader);

impl ExitWatch {
    pub(super) fn start(child: Pid) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        thread::Builder::new().name("exit-watch".to_owned()).spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(Errno::INTR) = waitid(WaitId::Pid(child), options) {}
            drop(writer);
        })?;
        Ok(Self(reader))
    }
}

impl AsFd for ExitWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// By how many bytes a peak memory may be wrong: the kernel counts pages for each CPU apart, and adds
/// them up now and then.
pub const MEMORY_ERROR: u64 = 128 << 10;

/// The kernel's account of a child that has ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Usage {
    pub(super) ending: Ending,
    pub(super) user: Duration,
    pub(super) system: Duration,
    /// The most memory it had resident, in bytes, or what its maker had when it made the child.
    pub(super) peak_memory: Option<u64>,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

/// Reaps `child`, waiting for it if it has not ended.
#[expect(unsafe_code, reason = "no maintained safe wrapper of wait4 gives all of its rusage")]
pub(super) fn reap(child: Pid) -> io::Result<Usage> {
    let mut status = 0;
    // SAFETY: `rusage` is plain old data, for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live, writable variables of the types that wait4 wants.
        let pid = unsafe { libc::wait4(child.as_raw_pid(), &raw mut status, 0, &raw mut usage) };
        if pid != -1 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(usage_of(status, &usage))
}

/// What the kernel says of a child that has ended.
pub(super) fn usage_of(status: libc::c_int, usage: &libc::rusage) -> Usage {
    let ending = if libc::WIFSIGNALED(status) {
        Ending::Signalled(libc::WTERMSIG(status))
    } else {
        Ending::Exited(libc::WEXITSTATUS(status))
    };
    Usage {
        ending,
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        peak_memory: bytes(usage.ru_maxrss),
        voluntary_switches: u64::try_from(usage.ru_nvcsw).unwrap_or(0),
        involuntary_switches: u64::try_from(usage.ru_nivcsw).unwrap_or(0),
    }
}

/// The most memory that this process had resident, in bytes.
///
/// A child starts as a copy of this process, and the kernel keeps the memory that it had then in the
/// child's account even after it has become another program: a smaller peak of its own is not seen.
#[expect(unsafe_code, reason = "as for `reap`")]
pub(super) fn own_peak() -> Option<u64> {
    // SAFETY: `rusage` is plain old data, for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, writable variable of the type that getrusage wants.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    if result == 0 { bytes(usage.ru_maxrss) } else { None }
}

/// `ru_maxrss`, which is in kibibytes, in bytes.
fn bytes(maxrss: libc::c_long) -> Option<u64> {
    u64::try_from(maxrss).ok().filter(|peak| *peak > 0).map(|peak| peak * 1024)
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}
