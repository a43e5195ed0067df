//! Preloads a library into a process, which inherits it and memory shared with rbench as open files with fixed numbers.
//!
//! rustc compiles each library from one source, since users have their own compilers. `system.rs`, `random.rs`
//! and `waits.rs` are parts of these sources, and of no crate.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::{
        fd::{AsFd, AsRawFd as _, OwnedFd, RawFd},
        unix::{fs::FileExt as _, process::CommandExt as _},
    },
    path::Path,
    process::Command,
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::fcntl_dupfd_cloexec,
};

use crate::error::{Context, Exit, Result};

/// The flags with which rustc compiles each library. With LTO, no code is left that needs Rust's own runtime.
pub const LIBRARY_FLAGS: &str =
    "--edition 2021 --crate-type cdylib -O -C panic=abort -C lto -C strip=symbols";

/// The source of a library: its root, and its modules with their files.
macro_rules! library_source {
    ($root:literal $(, $module:literal: $file:literal)*) => {
        concat!(
            include_str!($root),
            $("mod ", $module, " {\n", include_str!($file), "}\n"),*
        )
    };
}
pub(super) use library_source;

/// The number of a file that belongs to the process itself. Small enough for usual limits of open files, and above the
/// first numbers that a program opens.
pub(super) const OWN: RawFd = 250;
/// The number of the shared memory, which the library closes.
const PAGE: RawFd = 251;
/// The number of the library's own file, which the library closes.
const LIBRARY: RawFd = 252;
/// The first number above these.
const FIRST_FREE: RawFd = 253;

/// Memory that rbench shares with processes that preload a library. It has the layout of a type `Page` that is also
/// part of the library's source, and is zeroed at first. The methods get offsets in this type, in bytes.
#[derive(Debug)]
pub(super) struct SharedMemory {
    page: File,
    library: OwnedFd,
}

impl SharedMemory {
    /// Creates memory for a `Page`, for processes that preload `library`.
    pub(super) fn new<Page>(library: &Path) -> Result<Self> {
        let what = || "cannot create memory to share with a process";
        let file = File::open(library)
            .context(Exit::Internal, || format!("cannot open {}", library.display()))?;
        let page = memfd_create("rbench", MemfdFlags::CLOEXEC).context(Exit::Internal, what)?;
        let page: File = moved(page)?.into();
        page.set_len(size_of::<Page>() as u64).context(Exit::Internal, what)?;
        Ok(Self { page, library: moved(file)? })
    }

    pub(super) fn write(&self, at: usize, bytes: &[u8]) -> Result<()> {
        self.page
            .write_all_at(bytes, at as u64)
            .context(Exit::Internal, || "cannot write to memory shared with a process")
    }

    pub(super) fn read<const LENGTH: usize>(&self, at: usize) -> Result<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.page
            .read_exact_at(&mut bytes, at as u64)
            .context(Exit::Internal, || "cannot read memory shared with a process")?;
        Ok(bytes)
    }

    /// So many bytes there.
    pub(super) fn bytes(&self, at: usize, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.page
            .read_exact_at(&mut bytes, at as u64)
            .context(Exit::Internal, || "cannot read memory shared with a process")?;
        Ok(bytes)
    }

    /// The number of 8 bytes there.
    pub(super) fn number(&self, at: usize) -> Result<u64> {
        Ok(u64::from_ne_bytes(self.read(at)?))
    }

    /// Its file, and that of the library, each with its number in the process.
    pub(super) fn files(&self) -> [(RawFd, RawFd); 2] {
        [(self.page.as_raw_fd(), PAGE), (self.library.as_raw_fd(), LIBRARY)]
    }
}

/// Duplicates a file to a number that no child uses: under one of those numbers it would be replaced before it is
/// duplicated.
pub(super) fn moved(file: impl AsFd) -> Result<OwnedFd> {
    fcntl_dupfd_cloexec(file, FIRST_FREE).context(Exit::Internal, || {
        format!("cannot open a file under the number {FIRST_FREE} (see `ulimit -n`)")
    })
}

/// Makes `command` preload the library, before any other preloaded one. `variable` starts it: it holds the index of the
/// process, and the numbers of the files of the memory and of the library.
pub(super) fn preload(command: &mut Command, variable: &str, index: usize) {
    command.env(variable, format!("{index},{PAGE},{LIBRARY}"));
    let mut preload = OsString::from(format!("/proc/self/fd/{LIBRARY}"));
    let set = command.get_envs().find(|(name, _)| *name == "LD_PRELOAD");
    let others = match set {
        Some((_, value)) => value.map(OsString::from),
        None => std::env::var_os("LD_PRELOAD"),
    };
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    command.env("LD_PRELOAD", preload);
}

/// Makes `command` inherit files under these numbers; `owner` keeps them open. `prepare` runs before that, in the
/// child: it may make system calls, and must not allocate.
#[expect(unsafe_code, reason = "there is no safe way to give a child a file under a number")]
pub(super) fn inherit<T: Send + Sync + 'static, const COUNT: usize>(
    command: &mut Command,
    owner: T,
    files: [(RawFd, RawFd); COUNT],
    prepare: impl Fn(&T) + Send + Sync + 'static,
) {
    let duplicate = move || {
        prepare(&owner);
        for (file, number) in files {
            // SAFETY: it only makes a system call.
            if unsafe { libc::dup2(file, number) } == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec, the closure makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(duplicate);
    }
}
