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
};

/// How long what was left behind has to end after it was killed.
const GRACE: Duration = Duration::from_secs(2);

/// The children of this process that were not left behind by others. Locked while one is started, so
/// that nobody takes it for such a one.
static CHILDREN: Mutex<Children> = Mutex::new(Children { running: Vec::new(), before: Vec::new() });

struct Children {
    /// Those that run.
    running: Vec<Pid>,
    /// Those that were there before the first was started: of whoever became this process by an exec.
    before: Vec<Pid>,
}

/// A child that leads a process group. Dropped, it is killed with its group, and reaped.
#[derive(Debug)]
pub(super) struct Child(Pid);

impl Child {
    /// Starts `command`, which must make a process group of its own.
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut children = lock();
        if children.running.is_empty() {
            children.before =
                children.adopted(None).into_iter().map(|process| process.id).collect();
            // Without it, what is left behind is only not noticed.
            let _ = set_child_subreaper(Some(getpid()));
        }
        let child = Pid::from_child(&command.spawn()?);
        children.running.push(child);
        Ok(Self(child))
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
    lock().running.clone()
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
    children.running.retain(|other| *other != child);
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
        let children = lock();
        let adopted = children.adopted(Some(group));
        if adopted.is_empty() || Instant::now() >= until {
            return names.into_values().collect();
        }
        for process in adopted {
            let _ = kill_process(process.id, Signal::KILL);
            let _ = waitid(WaitId::Pid(process.id), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            if process.group != Some(group) {
                names.insert(process.id.as_raw_pid(), process.name);
            }
        }
        drop(children);
        thread::sleep(Duration::from_millis(1));
    }
}

impl Children {
    /// The children of this process that were left to it: it starts none but those that run here, and
    /// others in its own group. What is in the group of a running child is left to that one, unless it
    /// is `group`.
    fn adopted(&self, group: Option<Pid>) -> Vec<Process> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(waitid(WaitId::All, options), Err(Errno::CHILD)) {
            // The common case: it has no children at all.
            return Vec::new();
        }
        let (own_id, own_group) = (Some(getpid()), Some(getpgrp()));
        let mut all = procfs::processes();
        all.retain(|process| {
            let is_known = self.running.contains(&process.id) || self.before.contains(&process.id);
            let is_of_another = process.group != group
                && process.group.is_some_and(|group| self.running.contains(&group));
            let is_own = process.parent == own_id && process.group != own_group;
            is_own && !is_known && !is_of_another
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    fn start(script: &str) -> Child {
        let mut command = Command::new("sh");
        Child::spawn(command.args(["-c", script]).process_group(0)).unwrap()
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
