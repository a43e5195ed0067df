//! Enters the sandbox: what a program of rbench does between its own start and that of the code of a commit.

#![expect(
    unsafe_code,
    reason = "there is no safe way to fork, nor to confine a child before its exec"
)]

use std::{
    ffi::OsString,
    fs, io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Command, ExitCode, ExitStatus},
    sync::atomic::{AtomicI32, Ordering},
};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
    path_beneath_rules,
};
use libc::sock_filter;
use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    process::{Signal, getegid, geteuid, set_parent_process_death_signal},
    thread::{
        CapabilitySet, CapabilitySets, UnshareFlags, capabilities,
        remove_capability_from_bounding_set, set_capabilities,
    },
};

use super::{
    confinement::{Confinement, Namespaces, VARIABLE},
    rules,
};
use crate::process::{
    end_with_this_process,
    filter::{ARCHITECTURE, NUMBER, OF_ARCHITECTURE, apply_filter, argument, end, if_equal, load},
};

/// The exit code of a program in between that could not start what it was to start.
pub(super) const CANNOT_START: u8 = 127;

/// The newest version of Landlock whose rights are used; older kernels have fewer of them.
const NEWEST: ABI = ABI::V10;

const SHARED_MEMORY: &str = "/dev/shm";

/// The version of Landlock in this kernel; 0 if it has none, or if it is turned off.
pub fn landlock_version() -> i32 {
    /// The flag that asks for the version.
    const VERSION: libc::c_long = 1;
    // SAFETY: with this flag, the call takes no memory.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// What a request to end (SIGTERM) does to the process outside of the namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtRequest {
    /// It ends everything inside, and then itself.
    End,
    /// Nothing: what runs inside gets the same request and reports its end.
    Wait,
}

/// The sandbox that this process has prepared for the code that it starts.
pub struct Confined {
    confinement: Confinement,
    ruleset: RulesetCreated,
    filter: Vec<sock_filter>,
}

/// Enters the sandbox that rbench has passed, if it has passed one. To be called first, while the process has one thread.
///
/// With namespaces of its own, the process goes on as a child, the first process in them; the process itself only waits
/// for its end.
pub fn enter(at_request: AtRequest) -> io::Result<Option<Confined>> {
    let Some(text) = std::env::var_os(VARIABLE) else { return Ok(None) };
    // SAFETY: the process has one thread.
    unsafe { std::env::remove_var(VARIABLE) };
    let mut confinement: Confinement =
        serde_json::from_str(text.to_str().unwrap_or_default()).map_err(io::Error::other)?;
    if confinement.namespaces != Namespaces::None {
        // Where somebody keeps a project there, it stays what it is.
        let mut all = confinement.readable.iter().chain(&confinement.writable);
        let is_used = all.any(|path| path.starts_with(SHARED_MEMORY));
        enter_namespaces(confinement.namespaces, at_request, !is_used)?;
        if !is_used {
            confinement.writable.push(SHARED_MEMORY.into());
        }
    }
    Confined::new(confinement).map(Some)
}

fn ruleset(confinement: &Confinement) -> io::Result<RulesetCreated> {
    let read = AccessFs::from_read(NEWEST);
    let mut write = AccessFs::from_all(NEWEST);
    let mut all = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .map_err(io::Error::other)?
        .scope(Scope::Signal)
        .map_err(io::Error::other)?;
    if confinement.unix_sockets {
        // The sockets of paths are open with it.
        write |= AccessFs::ResolveUnix;
    } else {
        all = all.scope(Scope::AbstractUnixSocket).map_err(io::Error::other)?;
    }
    // A path that does not exist needs no rule.
    all.create()
        .map_err(io::Error::other)?
        .add_rules(path_beneath_rules(&confinement.readable, read))
        .map_err(io::Error::other)?
        .add_rules(path_beneath_rules(&confinement.writable, write))
        .map_err(io::Error::other)
}

impl Confined {
    pub(super) fn new(confinement: Confinement) -> io::Result<Self> {
        let filter = if confinement.unix_sockets { Vec::new() } else { filter() };
        Ok(Self { ruleset: ruleset(&confinement)?, filter, confinement })
    }

    /// Confines what `command` starts; without a sandbox, does nothing.
    pub fn confine(this: Option<&Self>, command: &mut Command) -> io::Result<()> {
        let Some(Self { confinement, ruleset, filter }) = this else { return Ok(()) };
        if confinement.temporary != Path::new("") {
            command.env("TMPDIR", &confinement.temporary);
        }
        // The settings of the user's git may hold credentials, and name programs. Git gives up if it may not read them.
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        let (ruleset, filter) = (ruleset.try_clone()?, filter.clone());
        let own_processes = confinement.own_processes;
        let restrict = move || {
            drop_capabilities()?;
            let mut ruleset = ruleset.try_clone()?;
            if own_processes {
                ruleset = with_own_process(ruleset).ok_or(io::ErrorKind::PermissionDenied)?;
            }
            let status = ruleset.restrict_self().map_err(|_| io::ErrorKind::PermissionDenied)?;
            if status.ruleset == RulesetStatus::NotEnforced {
                return Err(io::ErrorKind::Unsupported.into());
            }
            if filter.is_empty() { Ok(()) } else { apply_filter(&filter) }
        };
        // SAFETY: this process has one thread, or its other threads hold no lock that these few calls take: the C library
        // makes its memory allocation usable in a forked child.
        unsafe {
            command.pre_exec(restrict);
        }
        Ok(())
    }
}

/// Lets this process, which is the one to be confined, read about itself.
fn with_own_process(ruleset: RulesetCreated) -> Option<RulesetCreated> {
    let own = PathFd::new("/proc/self").ok()?;
    ruleset.add_rule(PathBeneath::new(own, AccessFs::from_read(NEWEST))).ok()
}

/// The capabilities that code keeps where root runs it: those by which root owns files. All others act on the machine.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

fn drop_capabilities() -> io::Result<()> {
    let now = capabilities(None)?;
    if now.permitted.is_empty() {
        return Ok(());
    }
    for capability in now.permitted.difference(KEPT).iter() {
        // It fails without the capability to do so; then an exec gives none either.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let kept = now.permitted & KEPT;
    let sets =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}

/// Refuses Unix sockets, where agents answer, and what opens them or other secrets by another way: `io_uring`, and the
/// kernel's keys. Landlock knows sockets with paths only in new kernels.
fn filter() -> Vec<sock_filter> {
    let refuse = || end(libc::SECCOMP_RET_ERRNO | u32::try_from(libc::EACCES).unwrap_or_default());
    let number = |call: libc::c_long| u32::try_from(call).unwrap_or_default();
    let unix = u32::try_from(libc::AF_UNIX).unwrap_or_default();
    let mut program = vec![load(OF_ARCHITECTURE), if_equal(ARCHITECTURE, 1, 0), refuse()];
    program.push(load(NUMBER));
    #[cfg(target_arch = "x86_64")]
    program.extend([at_least(OTHER_NUMBERS, 0, 1), refuse()]);
    for call in
        [libc::SYS_io_uring_setup, libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key]
    {
        program.extend([if_equal(number(call), 0, 1), refuse()]);
    }
    program.extend([
        if_equal(number(libc::SYS_socket), 0, 3),
        argument(0),
        if_equal(unix, 0, 1),
        refuse(),
        end(libc::SECCOMP_RET_ALLOW),
    ]);
    program
}

/// The numbers of the calls of x32 begin here.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: u32 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
fn at_least(value: u32, then: u8, otherwise: u8) -> sock_filter {
    use crate::process::filter::instruction;
    instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, value, then, otherwise)
}

/// The process to end when this one is asked to.
static INSIDE: AtomicI32 = AtomicI32::new(0);

/// Goes on as the first process of new namespaces, with a `/proc` and, if wanted, a `/dev/shm` of its own.
fn enter_namespaces(
    namespaces: Namespaces,
    at_request: AtRequest,
    with_shared_memory: bool,
) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut flags = UnshareFlags::NEWPID | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if namespaces == Namespaces::Unprivileged {
        flags |= UnshareFlags::NEWUSER;
    }
    // SAFETY: the process has one thread, and shares no memory that depends on these namespaces.
    unsafe { rustix::thread::unshare_unsafe(flags) }?;
    if namespaces == Namespaces::Unprivileged {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    // SAFETY: the process has one thread, so that the child can do all that the parent could.
    match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {}
        inside => wait_outside(inside, at_request),
    }
    // When the process outside is killed, all inside ends.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("proc", rules::PROCESSES, "proc", flags | MountFlags::NOEXEC, None)?;
    if with_shared_memory && Path::new(SHARED_MEMORY).is_dir() {
        mount("tmpfs", SHARED_MEMORY, "tmpfs", flags, c"mode=1777")?;
    }
    Ok(())
}

/// Waits for the end of the first process inside, and so of all processes inside, and ends as it did.
fn wait_outside(inside: i32, at_request: AtRequest) -> ! {
    INSIDE.store(inside, Ordering::Relaxed);
    let handler = match at_request {
        AtRequest::End => end_inside as *const () as libc::sighandler_t,
        AtRequest::Wait => libc::SIG_IGN,
    };
    let mut status = 0;
    // SAFETY: the handlers make one system call; `status` is a live variable of the type that waitpid wants.
    unsafe {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            libc::signal(signal, handler);
        }
        while libc::waitpid(inside, &raw mut status, 0) == -1 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break;
            }
        }
        let code = code_of(ExitStatus::from_raw(status));
        // The destructors belong to the process inside.
        libc::_exit(code.into())
    }
}

extern "C" fn end_inside(_: libc::c_int) {
    // SAFETY: kill may be called by a handler.
    unsafe {
        libc::kill(INSIDE.load(Ordering::Relaxed), libc::SIGKILL);
    }
}

/// The code with which a shell would end.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The same, of this process.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    code_of(status).into()
}

/// Runs as `cargo-rbench-sandbox [program] <arguments>`; without a program, it ends after it has entered the sandbox.
pub fn run_as_sandbox(arguments: &[OsString]) -> ExitCode {
    let run = || -> io::Result<Option<ExitStatus>> {
        let confined = enter(AtRequest::End)?;
        let Some((program, arguments)) = arguments.split_first() else { return Ok(None) };
        let mut command = Command::new(program);
        command.args(arguments);
        Confined::confine(confined.as_ref(), &mut command)?;
        end_with_this_process(&mut command, Signal::KILL);
        let mut child = command.spawn()?;
        Ok(Some(child.wait()?))
    };
    match run() {
        Ok(status) => status.map_or(ExitCode::SUCCESS, exit_code),
        Err(error) => {
            let program = arguments.first().map_or(Path::new("a program"), Path::new);
            anstream::eprintln!(
                "error: cannot run `{}` in the sandbox: {error}",
                program.display()
            );
            ExitCode::from(CANNOT_START)
        }
    }
}
