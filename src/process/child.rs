//! A child process with all its descendants: started, signalled, reaped, and never left behind.
//!
//! While a child runs, this process is a subreaper: descendants of the child whose own parents have
//! ended become children of this process, even those that made themselves a session of their own. They
//! are ended with the child.

use std::{
    collections::BTreeMap,
    io,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, kill_process, kill_process_group,
        set_child_subreaper, waitid,
    },
};

use super::{
    procfs::{self, Process},
    reap::{self, Usage},
    turns::MEMBER_VARIABLE,
};

/// How long what was left behind has to end after it was killed.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// The children of this process that were not left behind by others. Locked while one is started, so
/// that nobody takes it for such a one.
static CHILDREN: Mutex<Children> =
    Mutex::new(Children { running: Vec::new(), before: Vec::new(), left_behind: BTreeMap::new() });

struct Children {
    /// Those that run.
    running: Vec<Running>,
    /// Those that were there before the first was started: of whoever became this process by an exec.
    before: Vec<Pid>,
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
            children.before =
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
        let usage = reap::reap(self.0)?;
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
            let _ = reap::reap(id);
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
    let mut others = procfs::processes();
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
        let mut all = procfs::processes();
        all.retain(|process| {
            let is_known = self.runs(process.id) || self.before.contains(&process.id);
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
            let member = procfs::variable(process.id, MEMBER_VARIABLE)?.parse().ok();
            let mut members = self.running.iter().filter(|child| child.member.is_some());
            members.find(|child| child.member == member).map(|child| child.id)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

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
        let is_there = || procfs::processes().iter().any(|process| process.id == id);
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
            if let Some(found) = procfs::processes().into_iter().find(of_child) {
                break found.id;
            }
            thread::sleep(Duration::from_millis(5));
        };
        assert!(running().contains(&child.id()));
        assert!(descendants().contains(&grandchild));
        assert!(!descendants().contains(&getpid()));
    }
}
