//! Has the kernel stop a program where it looks for a file, and nowhere else.

#![expect(unsafe_code, reason = "no maintained safe wrapper of seccomp is among the dependencies")]

use std::io;

use libc::sock_filter;

use super::lookup::SYSTEM_CALLS;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The filter, as instructions for the kernel: made before a fork, since it takes memory.
pub(super) fn program() -> Vec<sock_filter> {
    const NUMBER: u32 = 0;
    const OF_ARCHITECTURE: u32 = 4;
    let load = |offset| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0);
    let is = |value, jump| instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, jump, 0);
    let end = |action| instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0);
    let all = SYSTEM_CALLS.iter().filter_map(|call| u32::try_from(call.number).ok());
    let all: Vec<u32> = all.collect();
    let mut program = vec![load(OF_ARCHITECTURE), is(ARCHITECTURE, 1)];
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program.push(load(NUMBER));
    let mut left = u8::try_from(all.len()).unwrap_or(u8::MAX);
    for number in all {
        // To the end, behind those that follow and the one that allows.
        program.push(is(number, left));
        left -= 1;
    }
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program.push(end(libc::SECCOMP_RET_TRACE));
    program
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or_default(), jt, jf, k }
}

/// Applies a filter to this process and to all that it starts. It takes no privilege where nothing that
/// is started can gain any.
pub(super) fn apply(program: &[sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap_or_default(),
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads as many instructions as there are, and writes nothing.
    let result = unsafe {
        match libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) {
            0 => libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
            failed => failed,
        }
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
