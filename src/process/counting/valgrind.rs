//! Sends requests to valgrind, by an instruction sequence that does nothing on a real processor.

use core::arch::asm;

const RUNNING_ON_VALGRIND: usize = 0x1001;
const MONITOR_COMMAND: usize = 0x1202;
/// Prefix of callgrind's own request numbers.
const CALLGRIND: usize = (b'C' as usize) << 24 | (b'T' as usize) << 16;
const DUMP: usize = CALLGRIND;
const TOGGLE: usize = CALLGRIND + 2;

/// True if valgrind executes this process.
pub fn is_there() -> bool {
    request(RUNNING_ON_VALGRIND, 0) != 0
}

/// Starts or stops counting in this thread.
pub fn toggle() {
    request(TOGGLE, 0);
}

/// Makes callgrind write the instructions since the last dump, by function, and restart at zero.
pub fn dump() {
    request(DUMP, 0);
}

/// Makes callgrind answer a command in its log. The command ends with a zero.
pub fn monitor(command: &'static [u8]) {
    request(MONITOR_COMMAND, command.as_ptr() as usize);
}

#[inline(never)]
fn request(number: usize, argument: usize) -> usize {
    let words = [number, argument, 0, 0, 0, 0];
    let mut answer: usize = 0;
    // SAFETY: it changes no register but that of the answer; valgrind reads the words, and a command that they point
    // to.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            inout("rdx") answer, in("rax") words.as_ptr(),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61",
            "orr x10, x10, x10",
            inout("x3") answer, in("x4") words.as_ptr(),
        );
    }
    answer
}
