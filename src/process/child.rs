//! Starts, signals and reaps a child process with all its descendants, so that none of them is left running and
//! disturbs a later measurement.
//!
//! While a child runs, this process is a subreaper: descendants whose own parents have ended become children of this
//! process, even those that started their own session. They are ended with the child.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, BufRead, BufReader, PipeReader, Read as _, Seek as _},
    net::{IpAddr, SocketAddr, TcpStream},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::CommandExt,
    },
    process::{Command, ExitStatus, Output, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process, kill_process_group,
        set_child_subreaper, set_parent_process_death_signal, setsid, waitid,
    },
};
use serde::{Deserialize, Serialize};

use crate::model::AtEnd;

/// Time that left-behind processes have to end after SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// The variable that holds the index of an interleaved process. A daemon keeps no other mark of its origin.
pub(super) const MEMBER_VARIABLE: &str = "RBENCH_MEMBER";

/// The children that this process started itself. The lock is held while one is started, so that no other thread
/// mistakes it for a left-behind process.
static CHILDREN: Mutex<Children> = Mutex::new(Children {
    running: Vec::new(),
    earlier_children: Vec::new(),
    keeper: None,
    left_behind: BTreeMap::new(),
});

struct Children {
    running: Vec<Running>,
    /// Children that existed before the first one was started: a process that execs rbench keeps its own.
    earlier_children: Vec<Pid>,
    /// The keeper of what set-ups started.
    keeper: Option<Pid>,
    /// Adopted processes that are being ended, each with the child that left it behind.
    left_behind: BTreeMap<i32, Pid>,
}

struct Running {
    id: Pid,
    /// 0 or 1 for one of two interleaved processes.
    member: Option<usize>,
}

/// A child that leads a session and a process group. Dropping it kills the whole group and reaps the child.
#[derive(Debug)]
pub(super) struct Child(Pid);

impl Child {
    /// Starts `command` in its own session; `member` is 0 or 1 for one of two interleaved processes.
    pub(super) fn spawn(command: &mut Command, member: Option<usize>) -> io::Result<Self> {
        in_own_session(command);
        let mut children = lock();
        children.prepare();
        let id = Pid::from_child(&command.spawn()?);
        children.running.push(Running { id, member });
        Ok(Self(id))
    }

    /// The id of the process and of its group.
    pub(super) const fn id(&self) -> Pid {
        self.0
    }

    /// Sends `signal` to every process of the group; an empty group is not an error.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.0, signal);
    }

    /// Waits for the end of the child, kills the processes it left behind, and returns the kernel's account of it
    /// together with the names of those that had left its group and were still running.
    pub(super) fn reap(self) -> io::Result<(Usage, Vec<String>)> {
        let usage = reap(self.0)?;
        let left_behind = end_left_behind(self.0);
        forget(self.0);
        std::mem::forget(self);
        Ok((usage, left_behind?))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let id = self.0;
        // On another thread, as the kernel may take long to release it.
        let reaper = move || {
            let _ = reap(id);
            // Until its descendants have ended too, nobody else must take them for those of another child.
            let _ = end_left_behind(id);
            forget(id);
        };
        let _ = thread::Builder::new().name("reaper".to_owned()).spawn(reaper);
    }
}

/// A child with the handle of the standard library, which has its pipes. Dropping it kills its group.
#[derive(Debug)]
pub struct Tool {
    child: std::process::Child,
    has_ended: bool,
}

impl Tool {
    /// Starts `command` in its own session.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        in_own_session(command);
        let mut children = lock();
        children.prepare();
        let child = command.spawn()?;
        children.running.push(Running { id: Pid::from_child(&child), member: None });
        Ok(Self { child, has_ended: false })
    }

    /// The output of `command`, which gets no input.
    pub fn output(command: &mut Command) -> io::Result<Output> {
        // Files, in memory, and no pipes, which what it leaves behind would keep open.
        let file = || memfd_create("output", MemfdFlags::CLOEXEC).map(fs::File::from);
        let mut files = [file()?, file()?];
        command.stdin(Stdio::null()).stdout(files[0].try_clone()?).stderr(files[1].try_clone()?);
        let status = Self::spawn(command)?.wait()?;
        let mut written = [Vec::new(), Vec::new()];
        for (file, written) in files.iter_mut().zip(&mut written) {
            file.rewind()?;
            file.read_to_end(written)?;
        }
        let [stdout, stderr] = written;
        Ok(Output { status, stdout, stderr })
    }

    pub const fn child(&mut self) -> &mut std::process::Child {
        &mut self.child
    }

    /// Waits for its end, and ends what it has left behind.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        let id = Pid::from_child(&self.child);
        await_end(id);
        // It is a zombie now, so its id cannot have been reused for another group.
        let _ = kill_process_group(id, Signal::KILL);
        let status = self.child.wait()?;
        self.has_ended = true;
        end_left_behind(id)?;
        Ok(status)
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        let id = Pid::from_child(&self.child);
        if !self.has_ended {
            let _ = kill_process_group(id, Signal::KILL);
            let _ = self.child.wait();
            let _ = end_left_behind(id);
        }
        forget(id);
    }
}

/// Makes `command` start a session of its own: neither it nor what it starts can join the process group of rbench, where
/// its processes would pass for rbench's own, and a Ctrl-C at the terminal does not reach them.
#[expect(unsafe_code, reason = "the standard library can only start a process group")]
pub fn in_own_session(command: &mut Command) {
    let start = || {
        setsid()?;
        Ok(())
    };
    // SAFETY: between fork and exec, the closure makes one system call and allocates nothing.
    unsafe {
        command.pre_exec(start);
    }
}

/// Starts the keeper, which outlives other children.
pub(super) fn spawn_keeper(command: &mut Command) -> io::Result<std::process::Child> {
    let mut children = lock();
    let keeper = command.spawn()?;
    children.keeper = Some(Pid::from_child(&keeper));
    Ok(keeper)
}

pub(super) fn forget_keeper(id: Pid) {
    let mut children = lock();
    children.keeper = children.keeper.filter(|keeper| *keeper != id);
}

/// The running children, each before its descendants.
pub(super) fn running() -> Vec<Pid> {
    lock().running.iter().map(|child| child.id).collect()
}

pub(super) fn descendants() -> Vec<Pid> {
    let roots = running();
    descendants_below(roots)
}

pub(super) fn descendants_of(root: Pid) -> Vec<Pid> {
    descendants_below(vec![root])
}

fn descendants_below(mut found: Vec<Pid>) -> Vec<Pid> {
    let roots = found.len();
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
            return found.split_off(roots);
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
/// `group`. Fails if some cannot be ended.
fn end_left_behind(group: Pid) -> io::Result<Vec<String>> {
    let mut names = BTreeMap::new();
    let until = Instant::now() + GRACE;
    loop {
        let mut children = lock();
        let adopted = children.adopted(Some(group));
        if adopted.is_empty() {
            return Ok(names.into_values().collect());
        }
        if Instant::now() >= until {
            return Err(cannot_end(&adopted));
        }
        let mut is_new = false;
        for process in adopted {
            let id = process.id.as_raw_pid();
            // It is found again until it has ended, and by then its environment no longer identifies the child.
            is_new |= children.left_behind.insert(id, group).is_none();
            if !process.has_ended {
                let _ = kill_process(process.id, Signal::KILL);
                if process.group != Some(group) {
                    names.insert(id, process.name);
                }
            }
            let _ = waitid(WaitId::Pid(process.id), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        drop(children);
        // Whoever starts another process and ends at once is caught only without a rest.
        if !is_new {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn cannot_end(left: &[Process]) -> io::Error {
    let names: Vec<&str> = left.iter().map(|process| process.name.as_str()).take(3).collect();
    io::Error::other(format!("processes that it left behind cannot be ended: {}", names.join(", ")))
}

/// Kills and reaps all children of this process, and, as a subreaper adopts them, all their descendants. Fails if some
/// cannot be ended.
pub fn end_all_children() -> io::Result<()> {
    let until = Instant::now() + GRACE;
    let mut known = BTreeSet::new();
    while has_children() {
        let mut is_new = false;
        // The ended ones first, which can be many.
        while let Ok(Some(_)) = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
        }
        let children = children_of_this_process();
        for process in &children {
            is_new |= known.insert(process.id.as_raw_pid());
            let _ = kill_process(process.id, Signal::KILL);
            let _ = waitid(WaitId::Pid(process.id), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        if Instant::now() >= until {
            return Err(cannot_end(&children));
        }
        if !is_new {
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

impl Children {
    /// The processes that this process adopted. It starts only the children in `running`, and others in its own group.
    /// Processes left behind by a running child other than `group` are excluded: that child ends them.
    fn adopted(&self, group: Option<Pid>) -> Vec<Process> {
        if !has_children() {
            // The common case.
            return Vec::new();
        }
        // None if its leader is outside of the container.
        let own_group = process(getpid()).and_then(|own| own.group);
        let mut all = children_of_this_process();
        all.retain(|process| {
            let is_known = self.runs(process.id)
                || self.keeper == Some(process.id)
                || self.earlier_children.contains(&process.id);
            // Nothing that a child of another session starts can be in the own group.
            let is_own = process.group == own_group;
            !is_own && !is_known && self.left_by(process).is_none_or(|child| Some(child) == group)
        });
        all
    }

    /// Before a child is started: makes this process adopt what children leave behind.
    fn prepare(&mut self) {
        if self.running.is_empty() {
            self.earlier_children =
                self.adopted(None).into_iter().map(|process| process.id).collect();
            // Without it, left-behind processes only go unnoticed.
            let _ = set_child_subreaper(Some(getpid()));
        }
    }

    fn runs(&self, id: Pid) -> bool {
        self.running.iter().any(|child| child.id == id)
    }

    /// The running child that left a process behind. None if unknown: the process may have started its own group, and
    /// two children may have ended at the same time.
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
    /// True for a zombie, which only waits to be reaped.
    pub(super) has_ended: bool,
}

/// The value of an environment variable that a process was started with. None if it may not be read or the process has
/// ended.
pub(super) fn variable(id: Pid, name: &str) -> Option<String> {
    let all = environment(id)?;
    let mut variables = all.split(|byte| *byte == 0);
    let value = variables.find_map(|one| one.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The environment that a process was started with. It is read twice if empty, because a process has none for a moment
/// after an exec.
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

pub(super) fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let id = |name: &str| Pid::from_raw(name.parse().ok()?);
    entries.flatten().filter_map(|entry| process(id(entry.file_name().to_str()?)?)).collect()
}

/// None if it has ended and was reaped.
fn process(id: Pid) -> Option<Process> {
    let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
    parse(id, &String::from_utf8_lossy(&stat))
}

/// The children of this process, in less time than it takes to look at all processes.
pub(super) fn children_of_this_process() -> Vec<Process> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists: Vec<String> = threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .collect();
    if lists.is_empty() {
        // The kernel was built without these lists.
        let own_id = Some(getpid());
        return processes().into_iter().filter(|process| process.parent == own_id).collect();
    }
    let ids = lists.iter().flat_map(|list| list.split_whitespace());
    ids.filter_map(|id| process(Pid::from_raw(id.parse().ok()?)?)).collect()
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

/// True if the other end of `stream` is held by a running process that [`run`](fn@super::run) started, or by one of its
/// descendants.
///
/// Needed because any user of the machine can connect to a loopback port. The kernel's socket table gives the inode of
/// the other end, and `/proc` shows which process has it open.
pub fn is_from_child(stream: &TcpStream) -> io::Result<bool> {
    // A peer that has disconnected is nobody's child.
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

fn holds(process: Pid, inode: u64) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    let socket = format!("socket:[{inode}]");
    files
        .flatten()
        .any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == &*socket))
}

/// Makes the kernel send the child a signal when this process ends, even by SIGKILL. Otherwise the child would run
/// until its work is done, or for ever if it hangs, and disturb the next measurement.
///
/// Processes that the child itself started get no signal.
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

/// The way a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It exited with this status.
    Exited(i32),
    /// It was killed by this signal, which rbench did not send.
    Signalled(i32),
    /// rbench ended it at its deadline.
    Deadline,
    /// rbench was interrupted and ended it.
    Interrupted,
}

/// A file descriptor to poll: readable when the child has ended.
///
/// A thread sleeps in `waitid` and leaves the zombie in place, so that the child's id is not reused before it is
/// reaped.
#[derive(Debug)]
pub(super) struct ExitWatch(PipeReader);

impl ExitWatch {
    pub(super) fn start(child: Pid) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        thread::Builder::new().name("exit-watch".to_owned()).spawn(move || {
            await_end(child);
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

/// The error of a peak memory, in bytes: the kernel counts pages per CPU and sums them up only now and then.
pub const MEMORY_ERROR: u64 = 128 << 10;

/// The kernel's account of a child that has ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Usage {
    pub(super) ending: Ending,
    pub(super) user: Duration,
    pub(super) system: Duration,
    /// Peak resident memory in bytes, or that of the forking process when it forked, if larger.
    pub(super) peak_memory: Option<u64>,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
    /// None where the kernel does not show it.
    pub(super) at_end: Option<AtEnd>,
}

/// True if this process has children, running or not yet reaped.
pub(super) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
}

/// Waits for the end of `child`, and leaves it to be reaped.
pub(super) fn await_end(child: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(Errno::INTR) = waitid(WaitId::Pid(child), options) {}
}

/// Waits for the end of `child`, and leaves it to be reaped. Reaps the processes that this one adopts meanwhile: a
/// process that starts another one and ends, again and again, would soon use up all process ids.
pub fn await_end_of(child: Pid) {
    while let Some(ended) = await_any_end() {
        if ended == child {
            return;
        }
        reap_ended(ended);
    }
}

/// Waits for the end of any child, and leaves it to be reaped. `None` if there is no child.
#[expect(unsafe_code, reason = "the safe wrapper of waitid does not tell whose end it reports")]
pub(super) fn await_any_end() -> Option<Pid> {
    loop {
        // SAFETY: `info` is plain old data, for which all zeros is a valid value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: the pointer is to a live, writable variable of the type that waitid wants.
        let result = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, options) };
        if result == 0 {
            // SAFETY: the kernel has filled it in for the end of a child.
            return Pid::from_raw(unsafe { info.si_pid() });
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
}

pub(super) fn reap_ended(child: Pid) {
    let _ = waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
}

/// The CPU time of the first thread of a process, and the time in which it was ready to run but others used the CPU.
pub(super) fn thread_times(process: Pid) -> Option<[Duration; 2]> {
    // `CPU_TIME QUEUED SLICES`, times in nanoseconds.
    let times = fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
    let mut times = times.split_whitespace().map(|time| time.parse().map(Duration::from_nanos));
    Some([times.next()?.ok()?, times.next()?.ok()?])
}

/// What the kernel shows of `child`, which has ended and was not reaped.
fn at_end(child: Pid) -> Option<AtEnd> {
    let [first_thread, queued] = thread_times(child)?;
    let stat = fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    // The page faults of the children it waited for: nobody starts a process without any.
    let faults: u64 = fields.split_whitespace().nth(8)?.parse().ok()?;
    Some(AtEnd { first_thread, queued, had_children: faults > 0 })
}

/// Reaps `child`, waiting for its end if necessary.
#[expect(unsafe_code, reason = "no maintained safe wrapper of wait4 gives all of its rusage")]
pub(super) fn reap(child: Pid) -> io::Result<Usage> {
    await_end(child);
    let at_end = at_end(child);
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
    Ok(Usage { at_end, ..usage_of(status, &usage) })
}

/// Converts the result of `wait4`.
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
        at_end: None,
    }
}

/// The peak resident memory of this process, in bytes.
///
/// A child starts as a copy of this process, and the kernel keeps that memory in the child's account even after an
/// exec: a smaller peak of the child itself cannot be seen.
pub(super) fn own_peak() -> Option<u64> {
    bytes(usage_until_now(libc::RUSAGE_SELF).ok()?.ru_maxrss)
}

/// The CPU time of all processes that this one has waited for, and of those that they have waited for.
pub fn cpu_time_of_children() -> io::Result<Duration> {
    let usage = usage_until_now(libc::RUSAGE_CHILDREN)?;
    Ok(duration(usage.ru_utime) + duration(usage.ru_stime))
}

#[expect(unsafe_code, reason = "as for `reap`")]
fn usage_until_now(of: libc::c_int) -> io::Result<libc::rusage> {
    // SAFETY: `rusage` is plain old data, for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, writable variable of the type that getrusage wants.
    let result = unsafe { libc::getrusage(of, &raw mut usage) };
    if result == 0 { Ok(usage) } else { Err(io::Error::last_os_error()) }
}

/// Converts `ru_maxrss`, which is in kibibytes.
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
    use rustix::process::{getpgrp, getpid, getppid};

    use super::*;
    use crate::process::testing::leaves_descendants;

    fn start(script: &str) -> Child {
        let mut command = Command::new("sh");
        Child::spawn(command.args(["-c", script]), None).unwrap()
    }

    #[test]
    fn dropped_child_is_killed_and_reaped() {
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
    fn each_ended_child_ends_only_its_own_left_behind_processes() {
        let _alone = leaves_descendants();
        let directory = tempfile::tempdir().unwrap();
        let start = |member: usize| {
            let file = directory.path().join(member.to_string());
            let mut command = Command::new("sh");
            // In its own session, under a distinct name.
            let sleep = format!("exec sleep 360{member}");
            let script = format!(
                "setsid sh -c 'echo >{0}; {sleep}' & while [ ! -e {0} ]; do :; done",
                file.display()
            );
            command.args(["-c", &script]).env(MEMBER_VARIABLE, member.to_string());
            Child::spawn(&mut command, Some(member)).unwrap()
        };
        let children = [0, 1].map(start);
        for child in &children {
            // WNOWAIT: it stays a zombie.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            waitid(WaitId::Pid(child.id()), options).unwrap();
        }
        let left = children.map(|child| child.reap().unwrap().1.len());
        assert_eq!(left, [1, 1]);
    }

    #[test]
    fn processes_that_hide_are_ended_with_their_child() {
        let _alone = leaves_descendants();
        let hides = [
            "setsid sleep 360.1 &",
            "setsid sh -c 'setsid sleep 360.1 &' &",
            // In the group of this process.
            "perl -e 'setpgrp(0, getpgrp(getppid())); exec qw(sleep 360.1)' &",
            // Each process starts the next one and ends.
            "perl -MPOSIX -e 'while (1) { exit if fork; POSIX::setsid(); $0 = q(sleep 360.1) }' &",
        ];
        for hide in hides {
            let child = start(&format!("{hide} sleep 0.1"));
            await_end(child.id());
            child.reap().unwrap_or_else(|error| panic!("{hide}: {error}"));
            let is_left = |process: &Process| {
                let line = fs::read(format!("/proc/{}/cmdline", process.id)).unwrap_or_default();
                String::from_utf8_lossy(&line).contains("360.1")
            };
            assert!(!processes().iter().any(is_left), "{hide}");
        }
    }

    #[test]
    fn descendants_include_grandchildren_but_not_other_processes() {
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
    fn processes_include_this_one() {
        let found = processes().into_iter().find(|process| process.id == getpid()).unwrap();
        assert_eq!((found.parent, found.group), (getppid(), Some(getpgrp())));
    }

    #[test]
    fn variable_matches_the_whole_name() {
        let path = std::env::var("PATH").unwrap();
        assert_eq!(variable(getpid(), "PATH"), Some(path));
        assert_eq!(variable(getpid(), "PAT"), None);
    }

    #[test]
    fn parse_accepts_any_process_name() {
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
