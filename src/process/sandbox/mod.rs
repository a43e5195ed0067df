//! The sandbox of what is compiled, traced, executed and set up: code of a commit, and of everything that it depends on,
//! beside the secrets of whoever runs rbench.
//!
//! [`rules`] says what such code may read and write. The kernel enforces it by Landlock, which also hides the memory and
//! the variables of processes outside. Where the kernel permits it, each process gets process ids and a `/proc` of its
//! own, and everything that it started ends with it.

mod enter;
mod refused;
mod rules;

use std::{
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::model::SandboxExceptions;

pub use enter::{AtRequest, Confined, enter, landlock_version};
pub use refused::{advice, advice_without_files, may_be_refused, observe};
pub use rules::{Places, Task, has_secret_of_cargo};

/// The name by which this program is started to run another one in the sandbox.
pub const SANDBOX: &str = "cargo-rbench-sandbox";

/// Passes a [`Confinement`] to the program that starts the code of a commit.
const VARIABLE: &str = "RBENCH_CONFINEMENT";

/// The sandbox of this process. Absent until [`confine_from_now_on`] was called.
static SANDBOX_OF_THIS_PROCESS: Mutex<Option<Sandbox>> = Mutex::new(None);

#[derive(Debug)]
struct Sandbox {
    places: Places,
    exceptions: SandboxExceptions,
    namespaces: Namespaces,
    readable: Vec<PathBuf>,
}

/// The way to process ids and a `/proc` of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Namespaces {
    /// There is none.
    None,
    /// This process is privileged.
    Privileged,
    /// In a user namespace, which the kernel gives without privileges.
    Unprivileged,
}

/// What the program in between has to do before it starts the code of a commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Confinement {
    namespaces: Namespaces,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    unix_sockets: bool,
    /// The directory for temporary files.
    temporary: PathBuf,
}

/// Confines all code of commits that this process starts from now on.
pub fn confine_from_now_on(places: Places) -> Namespaces {
    let (exceptions, namespaces) = (SandboxExceptions::default(), namespaces());
    let readable = places.readable(&exceptions);
    *sandbox() = Some(Sandbox { places, exceptions, namespaces, readable });
    namespaces
}

/// Tells the sandbox, if there is one, about places that were not known before.
pub fn add_places(change: impl FnOnce(&mut Places, &mut SandboxExceptions)) {
    if let Some(sandbox) = &mut *sandbox() {
        change(&mut sandbox.places, &mut sandbox.exceptions);
        sandbox.readable = sandbox.places.readable(&sandbox.exceptions);
    }
}

/// True if code of commits is confined.
pub fn is_confined() -> bool {
    sandbox().is_some()
}

/// The directory for temporary files of confined code; `None` where code is not confined.
pub(super) fn temporary_directory() -> Option<PathBuf> {
    let sandbox = sandbox();
    let temporary = &sandbox.as_ref()?.places.temporary;
    Some(temporary.clone()).filter(|path| path.is_dir())
}

fn sandbox() -> MutexGuard<'static, Option<Sandbox>> {
    SANDBOX_OF_THIS_PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The namespaces that the kernel gives here, tried.
pub fn namespaces() -> Namespaces {
    let works = |namespaces: &Namespaces| {
        let confinement = Confinement {
            namespaces: *namespaces,
            readable: Vec::new(),
            writable: Vec::new(),
            unix_sockets: false,
            temporary: PathBuf::new(),
        };
        let Ok(mut command) = this_program() else { return false };
        confinement.pass(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let all = [Namespaces::Privileged, Namespaces::Unprivileged];
    all.into_iter().find(works).unwrap_or(Namespaces::None)
}

impl Confinement {
    fn pass(&self, command: &mut Command) {
        if let Ok(text) = serde_json::to_string(self) {
            command.env(VARIABLE, text);
        }
    }
}

/// Tells `command`, a program of rbench that starts code of a commit, how to confine it. Does nothing where code is not
/// confined.
pub fn pass_confinement(command: &mut Command, task: Task<'_>) {
    let sandbox = sandbox();
    let Some(Sandbox { places, exceptions, namespaces, readable }) = &*sandbox else { return };
    let confinement = Confinement {
        namespaces: *namespaces,
        readable: readable.clone(),
        writable: places.writable(task, exceptions),
        unix_sockets: exceptions.unix_sockets,
        temporary: places.temporary.clone(),
    };
    confinement.pass(command);
}

/// The command that runs `command`, whose environment is explicit, in the sandbox; `None` where code is not confined.
pub fn confined(command: &Command, task: Task<'_>) -> io::Result<Option<Command>> {
    if !is_confined() {
        return Ok(None);
    }
    let mut outer = in_sandbox(command)?;
    outer.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        outer.current_dir(directory);
    }
    pass_confinement(&mut outer, task);
    Ok(Some(outer))
}

/// The command that runs the program and the arguments of `command` in the sandbox that is passed to it.
pub(super) fn in_sandbox(command: &Command) -> io::Result<Command> {
    let mut outer = this_program()?;
    outer.arg(command.get_program()).args(command.get_args());
    Ok(outer)
}

fn this_program() -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(SANDBOX);
    Ok(command)
}

/// Runs as `cargo-rbench-sandbox [program] <arguments>`; without a program, it ends after it has entered the sandbox.
pub fn run_as_sandbox(arguments: &[std::ffi::OsString]) -> ExitCode {
    let run = || -> io::Result<Option<ExitStatus>> {
        let confined = enter(AtRequest::End)?;
        let Some((program, arguments)) = arguments.split_first() else { return Ok(None) };
        let mut command = Command::new(program);
        command.args(arguments);
        Confined::confine(confined.as_ref(), &mut command)?;
        super::end_with_this_process(&mut command, rustix::process::Signal::KILL);
        let mut child = command.spawn()?;
        Ok(Some(child.wait()?))
    };
    match run() {
        Ok(status) => enter::exit_code(status),
        Err(error) => {
            let program = arguments.first().map(Path::new).unwrap_or(Path::new("a program"));
            anstream::eprintln!(
                "error: cannot run `{}` in the sandbox: {error}",
                program.display()
            );
            ExitCode::from(enter::CANNOT_START)
        }
    }
}
