//! System calls that concern nobody but the process that makes them. Executions that make only such calls cannot
//! notice each other, so each of them takes the path that it would take alone.

use std::{ffi::OsStr, net::Ipv4Addr, os::unix::ffi::OsStrExt as _, path::Path};

use super::{
    OWN_DIRECTORY, RUNNER_PORT,
    processor::{Registers, system_call},
    ptrace::Memory,
};

/// Calls that are private with any arguments, on descriptors that only private calls have opened: about the process's
/// own memory, threads, time, signals and descriptors.
pub(super) const PRIVATE: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_munlock,
    libc::SYS_mlockall,
    libc::SYS_munlockall,
    libc::SYS_set_mempolicy,
    libc::SYS_mbind,
    libc::SYS_umask,
    libc::SYS_membarrier,
    libc::SYS_memfd_create,
    libc::SYS_ftruncate,
    libc::SYS_clone,
    libc::SYS_clone3,
    // The program makes its calls under the same filter.
    libc::SYS_execve,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_restart_syscall,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrusage,
    libc::SYS_prlimit64,
    libc::SYS_prctl,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_sched_yield,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_getcpu,
    libc::SYS_clock_getres,
    libc::SYS_times,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_setitimer,
    libc::SYS_getitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_delete,
    // `abort` signals a thread of its own process; a program does not know the number of another one's.
    libc::SYS_tgkill,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_socketpair,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_fstat,
    libc::SYS_getdents64,
    libc::SYS_fadvise64,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_fallocate,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_copy_file_range,
    // On stream sockets, whose `connect`, `bind` and `listen` are not private.
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_shutdown,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_alarm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pipe,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_create,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getdents,
];

/// A call that is private, and of no other interest, if some bits of an argument have a value.
pub(super) struct PrivateIf {
    pub(super) number: libc::c_long,
    pub(super) argument: usize,
    pub(super) mask: u32,
    pub(super) value: u32,
}

const fn unless_it_connects(number: libc::c_long, flags: usize) -> PrivateIf {
    let mask = libc::MSG_FASTOPEN.cast_unsigned();
    PrivateIf { number, argument: flags, mask, value: 0 }
}

/// The calls that send through a socket, unless they connect it; and readings of the two clocks of CPU time.
pub(super) const PRIVATE_IF: [PrivateIf; 4] = [
    unless_it_connects(libc::SYS_sendto, 3),
    unless_it_connects(libc::SYS_sendmsg, 2),
    unless_it_connects(libc::SYS_sendmmsg, 3),
    PrivateIf {
        number: libc::SYS_clock_gettime,
        argument: 0,
        mask: !1,
        value: libc::CLOCK_PROCESS_CPUTIME_ID.cast_unsigned(),
    },
];

/// Commands of `fcntl` that are private; others lock files, for example.
const OF_DESCRIPTORS: [libc::c_int; 6] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
];

/// Requests of `ioctl` that are private; others control devices.
#[allow(clippy::unnecessary_cast, reason = "their type depends on the C library")]
const OF_STREAMS: [u64; 6] = [
    libc::TCGETS as u64,
    libc::TIOCGWINSZ as u64,
    libc::FIONREAD as u64,
    libc::FIONBIO as u64,
    libc::FIOCLEX as u64,
    libc::FIONCLEX as u64,
];

/// True if a system call, before which a thread has stopped, is private.
pub(super) fn is_private(memory: &Memory, registers: &Registers) -> bool {
    let (number, [first, second, third, _]) = system_call(registers);
    match libc::c_long::try_from(number) {
        Ok(libc::SYS_fcntl) => OF_DESCRIPTORS.iter().any(|one| is_low(second, *one)),
        Ok(libc::SYS_ioctl) => OF_STREAMS.contains(&second),
        Ok(libc::SYS_socket) => is_stream(first, second, third),
        Ok(libc::SYS_connect) => is_known_peer(memory, second),
        Ok(libc::SYS_openat) => only_reads(memory, second, third),
        #[cfg(target_arch = "x86_64")]
        Ok(libc::SYS_open) => only_reads(memory, first, second),
        #[cfg(target_arch = "x86_64")]
        Ok(
            libc::SYS_stat
            | libc::SYS_lstat
            | libc::SYS_access
            | libc::SYS_readlink
            | libc::SYS_time,
        ) => true,
        Ok(
            libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_faccessat
            | libc::SYS_faccessat2
            | libc::SYS_readlinkat
            | libc::SYS_sched_getaffinity
            | libc::SYS_clock_gettime
            | libc::SYS_gettimeofday,
        ) => true,
        // The kernel stops at private calls too if they wait for a deadline.
        Ok(number) => PRIVATE.contains(&number),
        Err(_) => false,
    }
}

/// True if an argument, of which only the lower half counts, has this value.
fn is_low(argument: u64, value: libc::c_int) -> bool {
    argument & u64::from(u32::MAX) == u64::from(value.cast_unsigned())
}

/// True for a socket that reaches nobody before it is connected.
fn is_stream(family: u64, kind: u64, protocol: u64) -> bool {
    let kind = kind & !u64::from((libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK).cast_unsigned());
    [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6].iter().any(|one| is_low(family, *one))
        && is_low(kind, libc::SOCK_STREAM)
        && [0, libc::IPPROTO_TCP].iter().any(|one| is_low(protocol, *one))
}

/// True if the file at a path is opened to be read, and not created or changed; or if no other process uses it.
fn only_reads(memory: &Memory, path: u64, flags: u64) -> bool {
    let changes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
    flags & u64::from(changes.cast_unsigned()) == 0
        || memory.string(path).is_some_and(|path| path == b"/dev/null" || is_own(&path))
}

/// True for a file in a directory that rbench has made for this process alone.
fn is_own(path: &[u8]) -> bool {
    let directory = Path::new(OsStr::from_bytes(path)).parent().and_then(Path::file_name);
    directory.is_some_and(|name| name.as_bytes().starts_with(OWN_DIRECTORY.as_bytes()))
}

/// True if a socket's address is that of this run of rbench, which listens to each process at another port, or of the
/// cache in which the C library looks for the names of users and hosts.
fn is_known_peer(memory: &Memory, address: u64) -> bool {
    const CACHE: &[u8] = b"/var/run/nscd/socket";
    let mut bytes = [0; 8];
    if memory.read(address, &mut bytes).is_err() {
        return false;
    }
    let [family_low, family_high, port_high, port_low, ip @ ..] = bytes;
    match libc::c_int::from(u16::from_ne_bytes([family_low, family_high])) {
        libc::AF_INET => {
            let port = std::env::var(RUNNER_PORT).ok().and_then(|port| port.parse::<u16>().ok());
            port == Some(u16::from_be_bytes([port_high, port_low]))
                && Ipv4Addr::from(ip).is_loopback()
        }
        libc::AF_UNIX => {
            let path = memory.string(address.saturating_add(size_of::<u16>() as u64));
            path.is_some_and(|path| path == CACHE)
        }
        _ => false,
    }
}
