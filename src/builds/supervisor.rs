//! The supervisor of cargo: a process between rbench and cargo that ends everything that cargo started before another
//! rbench process can take the lock, even if this one was killed.
//!
//! When rbench is killed, the kernel can kill its children, but not their children: build scripts and rustc would
//! still write at the path that the next run uses for another version. So cargo runs in its own process group below
//! the supervisor. The supervisor has the open lock file as its standard input, and so holds the lock until the last
//! process of the group has ended.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    process::{Command, ExitCode, ExitStatus, Stdio},
    thread,
};

use rustix::process::{Pid, Signal, getpid, kill_process_group, set_child_subreaper};

use super::{
    cache_dirs::CacheLock,
    wrapper::{self, SUPERVISOR},
};
use crate::{
    error::{Context, Exit, Result},
    process::{
        Interrupt, await_end_of, end_all_children, end_with_this_process, first_readable,
        in_own_session,
        sandbox::{AtRequest, Confined, Task, enter, exit_code, pass_confinement},
    },
};

/// Wraps `command`, whose environment is explicit, in a supervisor that shares the lock.
pub fn supervised(command: &Command, lock: &CacheLock) -> Result<Command> {
    let lock = lock.share().context(Exit::Build, || "cannot share the lock of the cache")?;
    let mut supervisor = Command::new(wrapper::this_executable()?);
    supervisor
        .arg0(SUPERVISOR)
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::from(lock));
    if let Some(directory) = command.get_current_dir() {
        supervisor.current_dir(directory);
    }
    pass_confinement(&mut supervisor, Task::Run)
        .context(Exit::Build, || "cannot confine the compilation")?;
    end_with_this_process(&mut supervisor, Signal::TERM);
    Ok(supervisor)
}

/// Runs as `cargo-rbench-supervisor <program> <arguments>`.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let Some((program, arguments)) = arguments.split_first() else {
        anstream::eprintln!("error: {SUPERVISOR} expects a program and its arguments");
        return ExitCode::from(2);
    };
    match supervise(Command::new(program).args(arguments)) {
        Ok(status) => exit_code(status),
        Err(error) => {
            anstream::eprintln!("error: cannot run `{}`: {error}", program.display());
            ExitCode::from(127)
        }
    }
}

fn supervise(command: &mut Command) -> io::Result<ExitStatus> {
    let confined = enter(AtRequest::End)?;
    let interrupt =
        Interrupt::on_signals_in_order().map_err(|error| io::Error::other(error.to_string()))?;
    // Processes whose parents have ended become children of this one, which can then wait for them.
    set_child_subreaper(Some(getpid()))?;
    command.stdin(Stdio::null());
    in_own_session(command);
    end_with_this_process(command, Signal::KILL);
    Confined::confine(confined.as_ref(), command)?;
    let mut child = command.spawn()?;
    let group = Pid::from_child(&child);
    thread::Builder::new().spawn(move || {
        let _ = first_readable(&[&interrupt], None);
        kill(group);
    })?;
    // The child stays a zombie until the group is killed, so that its id cannot become another group's.
    await_end_of(group);
    kill(group);
    let status = child.wait()?;
    // A daemon has left the group.
    end_all_children()?;
    Ok(status)
}

fn kill(group: Pid) {
    // An error means that no process is left.
    let _ = kill_process_group(group, Signal::KILL);
}
