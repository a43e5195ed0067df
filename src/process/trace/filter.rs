//! Has the kernel stop a program where it looks for a file or, if its clock is not the real one, waits until a point
//! in time, and nowhere else.

#![expect(unsafe_code, reason = "no maintained safe wrapper of seccomp is among the dependencies")]

use std::io;

use libc::sock_filter;

use super::{
    clock::{WAITS, Wait},
    lookup::SYSTEM_CALLS,
};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Where the kernel has the number of a system call.
const NUMBER: u32 = 0;
/// Where it has the architecture.
const OF_ARCHITECTURE: u32 = 4;
/// Where it has the arguments, of eight bytes each.
const ARGUMENTS: u32 = 16;

/// The filter, as instructions for the kernel: made before a fork, since it takes memory.
pub(super) fn program(stops_at_waits: bool) -> Vec<sock_filter> {
    let is = |value, jump| if_equal(value, jump, 0);
    let all = SYSTEM_CALLS.iter().filter_map(|call| u32::try_from(call.number).ok());
    let all: Vec<u32> = all.collect();
    let mut program = vec![load(OF_ARCHITECTURE), is(ARCHITECTURE, 1)];
    program.push(end(libc::SECCOMP_RET_ALLOW));
    if stops_at_waits {
        program.extend(WAITS.iter().flat_map(stop_at));
    }
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

/// Stops at a system call that waits until a point in time, and goes on behind these instructions otherwise.
fn stop_at(wait: &Wait) -> [sock_filter; 8] {
    // The lower half of an argument; that of an address is 0 for no address alone.
    let argument = |index: usize| load(ARGUMENTS + 8 * u32::try_from(index).unwrap_or_default());
    [
        load(NUMBER),
        if_equal(u32::try_from(wait.number).unwrap_or_default(), 0, 6),
        argument(1),
        instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, wait.mask, 0, 0),
        if_equal(wait.value, 0, 3),
        argument(wait.until),
        if_equal(0, 1, 0),
        end(libc::SECCOMP_RET_TRACE),
    ]
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

/// Passes over so many instructions if what was loaded is `value`, and over so many if it is not.
fn if_equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, then, otherwise)
}

fn end(action: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0)
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
