//! Finds what a process holds or changes and another process could meet: ports and sockets, keys of shared memory and
//! semaphores, devices, and files.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Component, Path, PathBuf},
};

use super::{
    OWN_DIRECTORY,
    lookup::{Lookup, lookup_path},
    processor::{Registers, system_call},
    ptrace::{Memory, Tid},
};

/// The subject of a system call that other processes may notice.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Something without a file, in words: `port 80`.
    Thing(String),
    /// Files that are locked, written, created or removed. Those that are missing are to be created.
    Files(Vec<PathBuf>),
    Nothing,
}

/// Commands of `fcntl` that lock a file.
const LOCKS: [libc::c_int; 5] =
    [libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW, libc::F_SETLEASE];

/// Devices of which each process has its own, or that hold nothing.
const OF_EVERYBODY: [&str; 12] = [
    "null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "fd", "stdin", "stdout",
    "stderr",
];

/// What a thread, which has stopped before a system call, holds or changes by it.
pub(super) fn held(tid: Tid, memory: &Memory, registers: &Registers) -> Held {
    let (number, [first, second, third, fourth]) = system_call(registers);
    let file = |path, directory| file(tid, memory, path, directory);
    let opened = |path, directory, flags| match low(flags) {
        flags if !changes(flags) => Held::Nothing,
        flags if flags & libc::O_CREAT == 0 => file(path, directory).existing(),
        _ => file(path, directory).unless_directory(),
    };
    match libc::c_long::try_from(number) {
        Ok(libc::SYS_bind) => address(tid, memory, second, third, Use::Bound),
        Ok(libc::SYS_connect) => address(tid, memory, second, third, Use::Connected),
        Ok(libc::SYS_flock) => descriptor(tid, first),
        Ok(libc::SYS_fcntl) if LOCKS.contains(&low(second)) => descriptor(tid, first),
        Ok(libc::SYS_shmget | libc::SYS_semget | libc::SYS_msgget) if low(first) != 0 => {
            Held::Thing(format!("the System V key {:#x}", low(first)))
        }
        Ok(libc::SYS_mq_open) => match memory.string(first).map(String::from_utf8) {
            Some(Ok(name)) => Held::Thing(format!("the message queue {name}")),
            _ => Held::Nothing,
        },
        Ok(libc::SYS_openat) => opened(second, Some(first), third),
        Ok(libc::SYS_openat2) => {
            let mut flags = [0; 8];
            match memory.read(third, &mut flags) {
                Ok(()) => opened(second, Some(first), u64::from_ne_bytes(flags)),
                Err(_) => Held::Nothing,
            }
        }
        Ok(libc::SYS_mkdirat) => file(second, Some(first)).unless_directory(),
        Ok(libc::SYS_mknodat) => file(second, Some(first)),
        Ok(libc::SYS_unlinkat | libc::SYS_fchmodat) => file(second, Some(first)).existing(),
        Ok(libc::SYS_truncate) => file(first, None).existing(),
        Ok(libc::SYS_symlinkat) => file(third, Some(second)),
        Ok(libc::SYS_linkat) => file(fourth, Some(third)),
        Ok(libc::SYS_renameat | libc::SYS_renameat2) => {
            file(second, Some(first)).existing().and(file(fourth, Some(third)))
        }
        #[cfg(target_arch = "x86_64")]
        Ok(libc::SYS_open) => opened(first, None, second),
        #[cfg(target_arch = "x86_64")]
        Ok(libc::SYS_mkdir) => file(first, None).unless_directory(),
        #[cfg(target_arch = "x86_64")]
        Ok(libc::SYS_creat | libc::SYS_mknod) => file(first, None),
        #[cfg(target_arch = "x86_64")]
        Ok(libc::SYS_unlink | libc::SYS_rmdir | libc::SYS_chmod) => file(first, None).existing(),
        #[cfg(target_arch = "x86_64")]
        Ok(libc::SYS_symlink | libc::SYS_link) => file(second, None),
        #[cfg(target_arch = "x86_64")]
        Ok(libc::SYS_rename) => file(first, None).existing().and(file(second, None)),
        _ => Held::Nothing,
    }
}

impl Held {
    /// Without files that are missing: such a call does not create them.
    fn existing(self) -> Self {
        self.only(|path| path.symlink_metadata().is_ok())
    }

    /// Without directories. One that is there is there for others too, who also only try to create it.
    fn unless_directory(self) -> Self {
        self.only(|path| !path.is_dir())
    }

    fn only(mut self, wanted: impl Fn(&Path) -> bool) -> Self {
        if let Self::Files(paths) = &mut self {
            paths.retain(|path| wanted(path));
        }
        self
    }

    /// Both of two; where one is no file, the first.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Files(one), Self::Files(other)) => Self::Files([one, other].concat()),
            (one, _) => one,
        }
    }
}

/// The lower half of a register, as an `int`.
fn low(argument: u64) -> libc::c_int {
    let [a, b, c, d, ..] = argument.to_le_bytes();
    libc::c_int::from_le_bytes([a, b, c, d])
}

/// True if a file is opened to be written or created; one without a name cannot be met.
fn changes(flags: libc::c_int) -> bool {
    flags & (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC) != 0
        && flags & libc::O_TMPFILE != libc::O_TMPFILE
}

/// What a socket does with an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Bound,
    Connected,
}

/// The address that a socket is bound or connected to, unless the kernel chooses it.
fn address(tid: Tid, memory: &Memory, address: u64, length: u64, usage: Use) -> Held {
    const FAMILY: usize = size_of::<libc::sa_family_t>();
    let length = usize::try_from(length & u64::from(u16::MAX)).unwrap_or_default();
    let mut bytes = memory.read_at_most(address, length.min(size_of::<libc::sockaddr_un>()));
    if bytes.len() <= FAMILY {
        return Held::Nothing;
    }
    let rest = bytes.split_off(FAMILY);
    let family = [bytes[0], bytes[1]];
    match (libc::c_int::from(u16::from_ne_bytes(family)), rest.as_slice()) {
        (libc::AF_INET | libc::AF_INET6, [high, low, ..]) => {
            match u16::from_be_bytes([*high, *low]) {
                0 => Held::Nothing,
                port => Held::Thing(format!("port {port}")),
            }
        }
        (libc::AF_UNIX, [0, name @ ..]) => {
            Held::Thing(format!("the abstract socket {}", String::from_utf8_lossy(name)))
        }
        (libc::AF_UNIX, path) => {
            let path = path.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
            let path = PathBuf::from(OsString::from_vec(path));
            let from = fs::read_link(format!("/proc/{tid}/cwd"));
            let socket = from.map_or(Held::Nothing, |from| at(&from.join(path)));
            match (usage, socket) {
                // Its server may have a state, but the file has none.
                (Use::Connected, Held::Files(paths)) => match paths.first() {
                    Some(path) => Held::Thing(format!("the socket {}", path.display())),
                    None => Held::Nothing,
                },
                (_, socket) => socket,
            }
        }
        _ => Held::Nothing,
    }
}

/// The file behind a descriptor.
fn descriptor(tid: Tid, number: u64) -> Held {
    let path = fs::read_link(format!("/proc/{tid}/fd/{}", low(number)));
    path.map_or(Held::Nothing, |path| at(&path)).existing()
}

/// The file at a path that is a system call's argument.
fn file(tid: Tid, memory: &Memory, path: u64, directory: Option<u64>) -> Held {
    match lookup_path(tid, memory, path, directory, Lookup::Named) {
        Lookup::Named(path) => at(&path),
        _ => Held::Nothing,
    }
}

/// What is at a path, if the other version could use the same: a device or setting of the kernel, or a file, by its path
/// without symbolic links but the last component.
fn at(path: &Path) -> Held {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Held::Nothing;
    };
    // Where the directory is missing, nothing is created.
    let Ok(parent) = parent.canonicalize() else { return Held::Nothing };
    let path = parent.join(name);
    let is_own = path.components().any(|one| {
        matches!(one, Component::Normal(name) if name.as_encoded_bytes().starts_with(OWN_DIRECTORY.as_bytes()))
    });
    let is_below = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    let of_everybody = |device: &Path| OF_EVERYBODY.iter().any(|one| device.starts_with(one));
    if is_own || path.to_str().is_none() || path.strip_prefix("/dev").is_ok_and(of_everybody) {
        Held::Nothing
    } else if is_below(&["/dev/shm", "/dev/mqueue"]) {
        Held::Files(vec![path])
    } else if is_below(&["/dev", "/sys", "/proc/sys"]) {
        Held::Thing(path.display().to_string())
    } else if is_below(&["/proc"]) {
        Held::Nothing
    } else {
        Held::Files(vec![path])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_at(path: &str) -> Held {
        at(Path::new(path))
    }

    #[test]
    fn each_process_has_its_own_files_in_proc_and_terminals() {
        let none = ["/dev/null", "/dev/pts/0", "/proc/self/comm", "/proc/1/fd/1"];
        for own in [&none[..], &["/no/such/directory"]].concat() {
            assert_eq!(held_at(own), Held::Nothing, "{own}");
        }
        let own = std::env::temp_dir().join(format!("{OWN_DIRECTORY}held"));
        fs::create_dir_all(&own).unwrap();
        assert_eq!(at(&own.join("estimates.json")), Held::Nothing);
        fs::remove_dir(own).unwrap();
    }

    #[test]
    fn devices_and_settings_are_no_files() {
        for thing in ["/dev/kvm", "/proc/sys/kernel/x"] {
            assert_eq!(held_at(thing), Held::Thing(thing.to_owned()));
        }
        let file = |path| Held::Files(vec![PathBuf::from(path)]);
        assert_eq!(held_at("/usr/../etc/x"), file("/etc/x"));
        assert_eq!(held_at("/etc/x").existing(), Held::Files(Vec::new()));
        assert_eq!(held_at("/etc").and(held_at("/etc/x")).unless_directory(), file("/etc/x"));
    }

    #[test]
    fn only_named_files_are_changed() {
        assert!(changes(libc::O_WRONLY) && changes(libc::O_RDWR) && changes(libc::O_CREAT));
        assert!(!changes(libc::O_RDONLY | libc::O_CLOEXEC));
        assert!(!changes(libc::O_TMPFILE | libc::O_RDWR));
    }
}
