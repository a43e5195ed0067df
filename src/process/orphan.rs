//! Sees to it that no child outlives this process, however it ends.

use std::process::Command;

/// Has the kernel kill the child when this process ends, even by SIGKILL: it would go on for as long as
/// its work takes, or for ever if it hangs, and disturb what is measured next.
///
/// What the child itself started is not reached, and ends by itself.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "there is no safe way to ask for a signal in the child")]
pub(super) fn end_with_this_process(command: &mut Command) {
    use std::{io, os::unix::process::CommandExt};

    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have ended before it could be asked for.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    };
    // SAFETY: between fork and exec, the closure makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(ask);
    }
}

/// Elsewhere a child left behind ends by itself.
#[cfg(not(target_os = "linux"))]
pub(super) fn end_with_this_process(_: &mut Command) {}
