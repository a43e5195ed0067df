//! Ensures that no child outlives this process, however it ends.

use std::{io, os::unix::process::CommandExt, process::Command};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// Has the kernel send the child a signal when this process ends, even by SIGKILL: it would go on for
/// as long as its work takes, or for ever if it hangs, and disturb what is measured next.
///
/// What the child itself started is not reached.
#[expect(unsafe_code, reason = "there is no safe way to ask for a signal in the child")]
pub fn end_with_this_process(command: &mut Command, signal: Signal) {
    let parent = getpid();
    let request = move || {
        set_parent_process_death_signal(Some(signal))?;
        // This process may have ended before the request.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    };
    // SAFETY: between fork and exec, the closure makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(request);
    }
}
