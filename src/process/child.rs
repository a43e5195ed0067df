//! A child process with all its descendants: started, signalled, reaped, and never left behind.
//!
//! While a child runs, this process is a subreaper: descendants of the child whose own parents have
//! ended become children of this process, even those that made themselves a session of their own. They
//! are ended with the child.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead, BufReader, PipeReader},
    net::{IpAddr, SocketAddr, TcpStream},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::CommandExt,
    },
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, getppid, kill_process,
        kill_process_group, set_child_subreaper, set_parent_process_death_signal, waitid,
    },
};
use serde::{Deserialize, Serialize};

use super::interleaving::MEMBER_VARIABLE;

/// How long what was left behind has to end after it was killed.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// The children of this process that were not left behind by others. Locked while one is started, so
/// that nobody takes it for such a one.
static CHILDREN: Mutex<Children> = Mutex::new(Children {
    running: Vec::new(),
    earlier_children: Vec::new(),
    left_behind: BTreeMap::new(),
});

struct Children {
    /// Those that run.
    running: Vec<Running>,
    /// Those that were there before the first was started: of whoever became this process by an exec.
    earlier_children: Vec<Pid>,
    /// What was left behind and is being ended, and by which child.
    left_behind: BTreeMap<i32, Pid>,
}

struct Running {
    id: Pid,
    /// Which of two processes that take turns it is.
    member: Option<usize>,
}

/// A child that leads a process group. Dropped, it is killed with its group, and reaped.
#[derive(Debug)]
pub(super) struct Child(Pid);

impl Child {
    /// Starts `command`, which must make a process group of its own, as this one of two that take turns.
    pub(super) fn spawn(command: &mut Command, member: Option<usize>) -> io::Result<Self> {
        let mut children = lock();
        if children.running.is_empty() {
            children.earlier_children =
                children.adopted(None).into_iter().map(|process| process.id).collect();
            // Without it, what is left behind is only not noticed.
            let _ = set_child_subreaper(Some(getpid()));
        }
        let id = Pid::from_child(&command.spawn()?);
        children.running.push(Running { id, member });
        Ok(Self(id))
    }

    /// Its id, and that of its group.
    pub(super) const fn id(&self) -> Pid {
        self.0
    }

    /// Sends `signal` to every process of the group; that none is left is no failure.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.0, signal);
    }

    /// Waits for its end, kills what it left behind, and returns the kernel's account of it together
    /// with the names of the processes that had left its group and were still running.
    pub(super) fn reap(self) -> io::Result<(Usage, Vec<String>)> {
        let usage = reap(self.0)?;
        let left_behind = end_left_behind(self.0);
        forget(self.0);
        std::mem::forget(self);
        Ok((usage, left_behind))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let id = self.0;
        // By another thread, as the kernel may take long to let go of it.
        let reaper = move || {
            let _ = reap(id);
            forget(id);
        };
        let _ = thread::Builder::new().name("reaper".to_owned()).spawn(reaper);
    }
}

/// The running children, each before its descendants.
pub(super) fn running() -> Vec<Pid> {
    lock().running.iter().map(|child| child.id).collect()
}

/// The descendants of the running children.
pub(super) fn descendants() -> Vec<Pid> {
    let mut found = running();
    let children = found.len();
    let mut others = processes();
    loop {
        let before = found.len();
        others.retain(|process| {
            let is_descendant = process.parent.is_some_and(|parent| found.contains(&parent));
            if is_descendant {
                found.push(process.id);
            }
            !is_descendant
        });
        if found.len() == before {
            return found.split_off(children);
        }
    }
}

fn lock() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(child: Pid) {
    let mut children = lock();
    children.running.retain(|other| other.id != child);
    children.left_behind.retain(|_, of| *of != child);
    if children.running.is_empty() {
        let _ = set_child_subreaper(None);
    }
}

/// Kills and reaps adopted processes until none is left; returns the names of those that were not in
/// `group`.
fn end_left_behind(group: Pid) -> Vec<String> {
    let mut names = BTreeMap::new();
    let until = Instant::now() + GRACE;
    loop {
        let mut children = lock();
        let adopted = children.adopted(Some(group));
        if adopted.is_empty() || Instant::now() >= until {
            return names.into_values().collect();
        }
        for process in adopted {
            let id = process.id.as_raw_pid();
            // It is seen again until it has ended, and then no longer says whose it was.
            children.left_behind.insert(id, group);
            if !process.has_ended {
                let _ = kill_process(process.id, Signal::KILL);
                if process.group != Some(group) {
                    names.insert(id, process.name);
                }
            }
            let _ = waitid(WaitId::Pid(process.id), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        drop(children);
        thread::sleep(Duration::from_millis(1));
    }
}

impl Children {
    /// The children of this process that were left to it: it starts none but those that run here, and
    /// others in its own group. What another running child than `group` left behind is left to that one.
    fn adopted(&self, group: Option<Pid>) -> Vec<Process> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(waitid(WaitId::All, options), Err(Errno::CHILD)) {
            // The common case: it has no children at all.
            return Vec::new();
        }
        let (own_id, own_group) = (Some(getpid()), Some(getpgrp()));
        let mut all = processes();
        all.retain(|process| {
            let is_known = self.runs(process.id) || self.earlier_children.contains(&process.id);
            let is_own = process.parent == own_id && process.group != own_group;
            is_own && !is_known && self.left_by(process).is_none_or(|child| Some(child) == group)
        });
        all
    }

    fn runs(&self, id: Pid) -> bool {
        self.running.iter().any(|child| child.id == id)
    }

    /// The running child that left a process behind, as far as that can be told: the process may have made
    /// itself a group of its own, and two children may have ended at the same time.
    fn left_by(&self, process: &Process) -> Option<Pid> {
        let known = self.left_behind.get(&process.id.as_raw_pid()).copied();
        known.or(process.group).filter(|child| self.runs(*child)).or_else(|| {
            if process.has_ended {
                return None;
            }
            let member = variable(process.id, MEMBER_VARIABLE)?.parse().ok();
            let mut members = self.running.iter().filter(|child| child.member.is_some());
            members.find(|child| child.member == member).map(|child| child.id)
        })
    }
}

/// One process, zombies included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: Pid,
    /// The name of its executable, cut at 15 bytes by the kernel; may hold anything.
    pub(super) name: String,
    pub(super) parent: Option<Pid>,
    pub(super) group: Option<Pid>,
    /// Whether it has ended, and only waits to be reaped.
    pub(super) has_ended: bool,
}

/// The value that a process got for a variable when it was started, if it may be read. One that has ended has
/// none.
pub(super) fn variable(id: Pid, name: &str) -> Option<String> {
    let all = environment(id)?;
    let mut variables = all.split(|byte| *byte == 0);
    let value = variables.find_map(|one| one.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// What a process got for an environment. For a moment after it has begun to execute another program it has none,
/// so that one is looked for again.
fn environment(id: Pid) -> Option<Vec<u8>> {
    let path = format!("/proc/{id}/environ");
    for _ in 0..10 {
        let all = fs::read(&path).ok()?;
        if !all.is_empty() {
            return Some(all);
        }
        thread::sleep(Duration::from_millis(1));
    }
    None
}

/// All processes that this one may see.
pub(super) fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let process = |name: &str| {
        let id = Pid::from_raw(name.parse().ok()?)?;
        // It may have ended meanwhile.
        let stat = fs::read(format!("/proc/{name}/stat")).ok()?;
        parse(id, &String::from_utf8_lossy(&stat))
    };
    entries.flatten().filter_map(|entry| process(entry.file_name().to_str()?)).collect()
}

/// Reads `PID (NAME) STATE PARENT GROUP …`, where the name may hold parentheses and spaces.
fn parse(id: Pid, stat: &str) -> Option<Process> {
    let (start, rest) = stat.rsplit_once(')')?;
    let (_, name) = start.split_once('(')?;
    let mut fields = rest.split_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    // The group of one that is just being reaped is -1.
    let mut next = || Some(Pid::from_raw(fields.next()?.parse::<i32>().ok()?.max(0)));
    Some(Process { id, name: name.to_owned(), parent: next()?, group: next()?, has_ended })
}

/// Whether a process that [`run`](fn@super::run) started and that still runs, or a descendant of it, holds
/// the other end of `stream`.
///
/// A port of the loopback interface is open to every user of the machine. The kernel's table of
/// sockets names the inode of the other end, and `/proc` who has it open.
pub fn is_from_child(stream: &TcpStream) -> io::Result<bool> {
    // Whoever has left already is nobody's child.
    let Ok(peer) = stream.peer_addr() else { return Ok(false) };
    let Some(inode) = inode(peer, stream.local_addr()?)? else { return Ok(false) };
    let any_holds = |processes: Vec<Pid>| processes.into_iter().any(|id| holds(id, inode));
    Ok(any_holds(running()) || any_holds(descendants()))
}

/// The inode of the socket that is bound to `local` and connected to `remote`.
fn inode(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u64>> {
    let (local, remote) = (in_table(local), in_table(remote));
    for line in BufReader::new(fs::File::open("/proc/net/tcp")?).lines() {
        let line = line?;
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.get(1) == Some(&local.as_str()) && fields.get(2) == Some(&remote.as_str()) {
            // 0 once it is closed.
            return Ok(fields
                .get(9)
                .and_then(|inode| inode.parse().ok())
                .filter(|inode| *inode > 0));
        }
    }
    Ok(None)
}

/// An address as the kernel's table writes it: the bytes of the address as one number of this machine.
fn in_table(address: SocketAddr) -> String {
    let IpAddr::V4(ip) = address.ip() else { return String::new() };
    format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port())
}

/// Whether a process has the socket open.
fn holds(process: Pid, inode: u64) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    let socket = format!("socket:[{inode}]");
    files
        .flatten()
        .any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == &*socket))
}

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

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use rustix::process::{getpgrp, getpid, getppid};

    use super::*;
    use crate::process::testing::leaves_descendants;

    fn start(script: &str) -> Child {
        let mut command = Command::new("sh");
        Child::spawn(command.args(["-c", script]).process_group(0), None).unwrap()
    }

    #[test]
    fn a_child_that_nobody_waits_for_is_killed_and_reaped() {
        let child = start("sleep 60");
        let id = child.id();
        drop(child);
        let is_there = || processes().iter().any(|process| process.id == id);
        let is_forgotten = (0..10_000).any(|_| {
            thread::sleep(Duration::from_millis(5));
            !is_there() && !running().contains(&id)
        });
        assert!(is_forgotten);
    }

    #[test]
    fn of_two_that_have_ended_each_ends_what_it_left_behind_itself() {
        let _alone = leaves_descendants();
        let directory = tempfile::tempdir().unwrap();
        let start = |member: usize| {
            let file = directory.path().join(member.to_string());
            let mut command = Command::new("sh");
            // In a session of its own, under a name of its own.
            let sleep = format!("exec sleep 360{member}");
            let script = format!(
                "setsid sh -c 'echo >{0}; {sleep}' & while [ ! -e {0} ]; do :; done",
                file.display()
            );
            command.args(["-c", &script]).env(MEMBER_VARIABLE, member.to_string());
            Child::spawn(command.process_group(0), Some(member)).unwrap()
        };
        let children = [0, 1].map(start);
        for child in &children {
            // It stays a zombie.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            waitid(WaitId::Pid(child.id()), options).unwrap();
        }
        let left = children.map(|child| child.reap().unwrap().1.len());
        assert_eq!(left, [1, 1]);
    }

    #[test]
    fn a_grandchild_is_a_descendant_and_another_process_is_none() {
        let child = start("sleep 60; true");
        let of_child = |process: &Process| process.parent == Some(child.id());
        let grandchild = loop {
            if let Some(found) = processes().into_iter().find(of_child) {
                break found.id;
            }
            thread::sleep(Duration::from_millis(5));
        };
        assert!(running().contains(&child.id()));
        assert!(descendants().contains(&grandchild));
        assert!(!descendants().contains(&getpid()));
    }

    #[test]
    fn this_process_is_among_them() {
        let found = processes().into_iter().find(|process| process.id == getpid()).unwrap();
        assert_eq!((found.parent, found.group), (getppid(), Some(getpgrp())));
    }

    #[test]
    fn a_variable_is_that_of_this_name() {
        let path = std::env::var("PATH").unwrap();
        assert_eq!(variable(getpid(), "PATH"), Some(path));
        assert_eq!(variable(getpid(), "PAT"), None);
    }

    #[test]
    fn a_name_may_hold_anything() {
        let process = parse(getpid(), "7 (a) b (c) S 12 0 99 0").unwrap();
        assert_eq!(process.name, "a) b (c");
        assert_eq!((process.parent, process.group), (Pid::from_raw(12), None));
        assert!(!process.has_ended && parse(getpid(), "7 (a) Z 12 0").unwrap().has_ended);
        let reaped = parse(getpid(), "7 (a) X 0 -1 -1").unwrap();
        assert!(reaped.has_ended && reaped.parent.is_none() && reaped.group.is_none());
        for damaged in ["", "7", "7 (a", "7 (a) S", "7 (a) S x 1"] {
            assert_eq!(parse(getpid(), damaged), None, "{damaged:?}");
        }
    }
}
