//! What tracing depends on the processor for.

pub(super) use of_this_processor::{
    BREAKPOINT, Registers, address_of_breakpoint, argument, go_to, stack_pointer, system_call,
};

#[cfg(target_arch = "x86_64")]
mod of_this_processor {
    pub use libc::user_regs_struct as Registers;

    /// The instruction that stops: `int3`.
    pub const BREAKPOINT: [u8; 1] = [0xcc];

    /// Where the breakpoint stands that has just stopped a thread: the processor is one byte behind it.
    pub const fn address_of_breakpoint(registers: &Registers) -> u64 {
        registers.rip.wrapping_sub(1)
    }

    pub const fn go_to(registers: &mut Registers, address: u64) {
        registers.rip = address;
    }

    pub const fn stack_pointer(registers: &Registers) -> u64 {
        registers.rsp
    }

    /// The first argument of a function that has just been entered.
    pub const fn argument(registers: &Registers) -> u64 {
        registers.rdi
    }

    /// The number of a system call that is about to be made, and its first three arguments.
    pub const fn system_call(registers: &Registers) -> (u64, [u64; 3]) {
        (registers.orig_rax, [registers.rdi, registers.rsi, registers.rdx])
    }
}

#[cfg(target_arch = "aarch64")]
mod of_this_processor {
    pub use libc::user_regs_struct as Registers;

    /// The instruction that stops: `brk #0`.
    pub const BREAKPOINT: [u8; 4] = 0xd420_0000_u32.to_le_bytes();

    /// Where the breakpoint stands that has just stopped a thread: the processor has not gone on.
    pub const fn address_of_breakpoint(registers: &Registers) -> u64 {
        registers.pc
    }

    pub const fn go_to(registers: &mut Registers, address: u64) {
        registers.pc = address;
    }

    pub const fn stack_pointer(registers: &Registers) -> u64 {
        registers.sp
    }

    /// The first argument of a function that has just been entered.
    pub const fn argument(registers: &Registers) -> u64 {
        registers.regs[0]
    }

    /// The number of a system call that is about to be made, and its first three arguments.
    pub const fn system_call(registers: &Registers) -> (u64, [u64; 3]) {
        (registers.regs[8], [registers.regs[0], registers.regs[1], registers.regs[2]])
    }
}
