//! The sandbox of this process: whether code is confined, and how it is started then.

use std::{
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    confinement::{Confinement, Namespaces, SANDBOX},
    enter::Confined,
    rules::{ABOUT_THE_SYSTEM, PROCESSES, Places, Task, real},
};
use crate::model::{SandboxExceptions, SandboxState};

/// The sandbox of this process. Absent until [`confine_from_now_on`] was called.
static SANDBOX_OF_THIS_PROCESS: Mutex<Option<Sandbox>> = Mutex::new(None);

/// What reports say about the sandbox. Absent where there is nothing to say.
static STATE: Mutex<Option<SandboxState>> = Mutex::new(None);

#[derive(Debug)]
struct Sandbox {
    places: Places,
    exceptions: SandboxExceptions,
    namespaces: Namespaces,
    readable: Vec<PathBuf>,
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

/// Keeps what reports say about the sandbox.
pub fn set_state(state: SandboxState) {
    *STATE.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
}

/// What reports say about the sandbox; `None` where it was neither requested nor expected.
pub fn state() -> Option<SandboxState> {
    *STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn is_confined() -> bool {
    sandbox().is_some()
}

/// The directory for temporary files of confined code; `None` where code is not confined.
pub fn temporary_directory() -> Option<PathBuf> {
    let sandbox = sandbox();
    let temporary = &sandbox.as_ref()?.places.temporary;
    Some(temporary.clone()).filter(|path| path.is_dir())
}

/// True if confined code may read or write this path. A new file is in its directory.
pub fn permits(path: &Path, is_write: bool) -> bool {
    let sandbox = sandbox();
    let Some(Sandbox { places, exceptions, readable, .. }) = &*sandbox else { return true };
    let path = path.canonicalize().unwrap_or_else(|_| real(path.parent().unwrap_or(path)));
    let writable = places.writable(Task::Run, exceptions);
    let readable = readable.iter().filter(|_| !is_write);
    // Places that are not known yet are empty, and every path starts with an empty one.
    let mut rules = writable.iter().chain(readable).filter(|rule| rule.is_absolute());
    rules.any(|rule| path.starts_with(real(rule)))
}

pub fn is_of_cargo(path: &Path) -> bool {
    let sandbox = sandbox();
    let home = sandbox.as_ref().and_then(|sandbox| sandbox.places.cargo_home.as_deref());
    home.is_some_and(|home| path.starts_with(home))
}

pub fn is_download_of_cargo(path: &Path) -> bool {
    let parts = path.iter().any(|part| part == "registry" || part == "git");
    parts && is_of_cargo(path)
}

fn sandbox() -> MutexGuard<'static, Option<Sandbox>> {
    SANDBOX_OF_THIS_PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The namespaces that the kernel gives here, tried.
pub fn namespaces() -> Namespaces {
    let works = |namespaces: &Namespaces| {
        let confinement = Confinement {
            namespaces: *namespaces,
            own_processes: false,
            readable: Vec::new(),
            writable: Vec::new(),
            unix_sockets: false,
            temporary: PathBuf::new(),
        };
        let Ok(mut command) = this_program() else { return false };
        if confinement.pass(&mut command).is_err() {
            return false;
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let all = [Namespaces::Privileged, Namespaces::Unprivileged];
    all.into_iter().find(works).unwrap_or(Namespaces::None)
}

/// Tells `command`, a program of rbench that starts code of a commit, how to confine it. Does nothing where code is not
/// confined.
pub fn pass_confinement(command: &mut Command, task: Task<'_>) -> io::Result<()> {
    confinement(task).map_or(Ok(()), |confinement| confinement.pass(command))
}

/// Confines `command` for a short task, without a program in between.
pub fn confine(command: &mut Command, task: Task<'_>) -> io::Result<()> {
    let confined = confinement(task).map(Confined::new).transpose()?;
    Confined::confine(confined.as_ref(), command)
}

fn confinement(task: Task<'_>) -> Option<Confinement> {
    let sandbox = sandbox();
    let Sandbox { places, exceptions, namespaces, readable } = sandbox.as_ref()?;
    // Executions and links, of which there are many, have none of their own: that the kernel removes them takes it some
    // 20 ms each time, in which it disturbs what is measured next.
    let is_short = task != Task::Run;
    let about_processes: Vec<&str> =
        if is_short { ABOUT_THE_SYSTEM.to_vec() } else { vec![PROCESSES] };
    let about_processes = about_processes.into_iter().map(PathBuf::from);
    Some(Confinement {
        namespaces: if is_short { Namespaces::None } else { *namespaces },
        own_processes: is_short,
        // Others cannot be told, and stay closed.
        readable: readable
            .iter()
            .filter(|path| path.to_str().is_some())
            .cloned()
            .chain(about_processes)
            .collect(),
        writable: places.writable(task, exceptions),
        unix_sockets: exceptions.unix_sockets,
        temporary: places.temporary.clone(),
    })
}

/// The command that runs `command`, whose environment is explicit, in the sandbox. `None` if it is to be run itself:
/// where code is not confined, and for a short task, for which it is now confined.
pub fn confined(command: &mut Command, task: Task<'_>) -> io::Result<Option<Command>> {
    if task != Task::Run || !is_confined() {
        confine(command, task)?;
        return Ok(None);
    }
    let mut outer = this_program()?;
    outer.arg(command.get_program()).args(command.get_args());
    outer.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        outer.current_dir(directory);
    }
    pass_confinement(&mut outer, task)?;
    Ok(Some(outer))
}

fn this_program() -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(SANDBOX);
    Ok(command)
}
