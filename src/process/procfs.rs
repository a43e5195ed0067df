//! The running processes, as `/proc` lists them.

use std::fs;

use rustix::process::Pid;

/// One process, zombies included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: Pid,
    /// The name of its executable, cut at 15 bytes by the kernel; may hold anything.
    pub(super) name: String,
    pub(super) parent: Option<Pid>,
    pub(super) group: Option<Pid>,
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
    let mut fields = rest.split_whitespace().skip(1);
    let mut next = || Some(Pid::from_raw(fields.next()?.parse().ok()?));
    Some(Process { id, name: name.to_owned(), parent: next()?, group: next()? })
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
    fn a_name_may_hold_anything() {
        let process = parse(getpid(), "7 (a) b (c) S 12 0 99 0").unwrap();
        assert_eq!(process.name, "a) b (c");
        assert_eq!((process.parent, process.group), (Pid::from_raw(12), None));
        for damaged in ["", "7", "7 (a", "7 (a) S", "7 (a) S x 1"] {
            assert_eq!(parse(getpid(), damaged), None, "{damaged:?}");
        }
    }
}
