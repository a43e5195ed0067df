//! The running processes, as `/proc` lists them.

use std::{fs, thread, time::Duration};

use rustix::process::Pid;

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

#[cfg(test)]
mod tests {
    use rustix::process::{getpgrp, getpid, getppid};

    use super::*;

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
