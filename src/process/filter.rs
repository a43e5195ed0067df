//! Filters of system calls, as instructions for the kernel.

#![expect(unsafe_code, reason = "no maintained safe wrapper of seccomp is among the dependencies")]

use std::io;

use libc::sock_filter;

#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_00b7;

/// Offset of the system call's number in the kernel's data.
pub(super) const NUMBER: u32 = 0;
pub(super) const OF_ARCHITECTURE: u32 = 4;
/// Offset of the arguments, eight bytes each.
const ARGUMENTS: u32 = 16;

/// Loads the lower half of an argument. A non-null address whose lower half is 0 does not occur.
pub(super) fn argument(index: usize) -> sock_filter {
    load(ARGUMENTS + 8 * u32::try_from(index).unwrap_or_default())
}

pub(super) fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

/// Skips `then` instructions if the loaded value is `value`, otherwise `otherwise` instructions.
pub(super) fn if_equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, then, otherwise)
}

pub(super) fn end(action: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0)
}

pub(super) fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or_default(), jt, jf, k }
}

/// Applies a filter to this process and to all its children. It needs no privilege, because it also forbids children to
/// gain any.
pub(super) fn apply_filter(program: &[sock_filter]) -> io::Result<()> {
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
