//! The processor-specific parts of tracing.

/// The effect of an instruction besides changes of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// It pushes this value.
    Pushed(u64),
}

pub(super) use of_this_processor::{
    BREAKPOINT, INSTRUCTION, RETURN, Registers, address_of_breakpoint, arguments, execute, go_to,
    return_with, set_argument, stack_pointer, system_call,
};

#[cfg(target_arch = "x86_64")]
mod of_this_processor {
    pub use libc::user_regs_struct as Registers;

    use super::Effect;

    /// The breakpoint instruction: `int3`.
    pub const BREAKPOINT: [u8; 1] = [0xcc];

    /// Number of bytes that identify each instruction known to [`execute`].
    pub const INSTRUCTION: usize = 4;

    /// Emulates an instruction, if it is one with which functions often begin: changes the registers and returns the
    /// further effect.
    pub const fn execute(
        instruction: [u8; INSTRUCTION],
        registers: &mut Registers,
    ) -> Option<Effect> {
        let (length, effect) = match instruction {
            // endbr64
            [0xf3, 0x0f, 0x1e, 0xfa] => (4, Effect::Nothing),
            // push rbx, push rbp
            [0x53, ..] => (1, Effect::Pushed(registers.rbx)),
            [0x55, ..] => (1, Effect::Pushed(registers.rbp)),
            // push r12 to r15
            [0x41, 0x54, ..] => (2, Effect::Pushed(registers.r12)),
            [0x41, 0x55, ..] => (2, Effect::Pushed(registers.r13)),
            [0x41, 0x56, ..] => (2, Effect::Pushed(registers.r14)),
            [0x41, 0x57, ..] => (2, Effect::Pushed(registers.r15)),
            _ => return None,
        };
        registers.rip = registers.rip.wrapping_add(length);
        if let Effect::Pushed(_) = effect {
            registers.rsp = registers.rsp.wrapping_sub(8);
        }
        Some(effect)
    }

    /// The address of the breakpoint that has just stopped a thread: the program counter is one byte behind it.
    pub const fn address_of_breakpoint(registers: &Registers) -> u64 {
        registers.rip.wrapping_sub(1)
    }

    pub const fn go_to(registers: &mut Registers, address: u64) {
        registers.rip = address;
    }

    pub const fn stack_pointer(registers: &Registers) -> u64 {
        registers.rsp
    }

    /// The first two arguments of a function that has just been entered.
    pub const fn arguments(registers: &Registers) -> [u64; 2] {
        [registers.rdi, registers.rsi]
    }

    /// Bytes of the return address on the stack at a function's entry.
    pub const RETURN: usize = 8;

    /// Makes such a function return `value`; `address` is the return address from the stack.
    pub const fn return_with(value: u64, address: [u8; RETURN], registers: &mut Registers) {
        registers.rax = value;
        registers.rip = u64::from_ne_bytes(address);
        registers.rsp = registers.rsp.wrapping_add(8);
    }

    /// The number and the first four arguments of a system call that is about to be made.
    pub const fn system_call(registers: &Registers) -> (u64, [u64; 4]) {
        let Registers { rdi, rsi, rdx, r10, .. } = *registers;
        (registers.orig_rax, [rdi, rsi, rdx, r10])
    }

    /// Changes an argument of the system call.
    pub const fn set_argument(index: usize, value: u64, registers: &mut Registers) {
        match index {
            0 => registers.rdi = value,
            1 => registers.rsi = value,
            2 => registers.rdx = value,
            _ => registers.r10 = value,
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod of_this_processor {
    pub use libc::user_regs_struct as Registers;

    use super::Effect;

    /// The breakpoint instruction: `brk #0`.
    pub const BREAKPOINT: [u8; 4] = 0xd420_0000_u32.to_le_bytes();

    /// Bytes of an instruction.
    pub const INSTRUCTION: usize = 4;

    /// Emulates an instruction, if it is one with which functions often begin: changes the registers and returns the
    /// further effect.
    pub const fn execute(
        instruction: [u8; INSTRUCTION],
        registers: &mut Registers,
    ) -> Option<Effect> {
        // bti c
        if u32::from_le_bytes(instruction) == 0xd503_245f {
            registers.pc = registers.pc.wrapping_add(4);
            return Some(Effect::Nothing);
        }
        None
    }

    /// The address of the breakpoint that has just stopped a thread: the program counter still points to it.
    pub const fn address_of_breakpoint(registers: &Registers) -> u64 {
        registers.pc
    }

    pub const fn go_to(registers: &mut Registers, address: u64) {
        registers.pc = address;
    }

    pub const fn stack_pointer(registers: &Registers) -> u64 {
        registers.sp
    }

    /// The first two arguments of a function that has just been entered.
    pub const fn arguments(registers: &Registers) -> [u64; 2] {
        [registers.regs[0], registers.regs[1]]
    }

    /// Bytes of the return address on the stack at a function's entry: it is in a register.
    pub const RETURN: usize = 0;

    /// Makes such a function return `value`.
    pub const fn return_with(value: u64, _: [u8; RETURN], registers: &mut Registers) {
        registers.regs[0] = value;
        registers.pc = registers.regs[30];
    }

    /// The number and the first four arguments of a system call that is about to be made.
    pub const fn system_call(registers: &Registers) -> (u64, [u64; 4]) {
        let [first, second, third, fourth, ..] = registers.regs;
        (registers.regs[8], [first, second, third, fourth])
    }

    /// Changes an argument of the system call.
    pub const fn set_argument(index: usize, value: u64, registers: &mut Registers) {
        registers.regs[index] = value;
    }
}
