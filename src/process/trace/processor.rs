//! What tracing depends on the processor for.

/// What an instruction does besides changing registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// It leaves this on the stack.
    Pushed(u64),
}

pub(super) use of_this_processor::{
    BREAKPOINT, INSTRUCTION, Registers, address_of_breakpoint, argument, execute, go_to,
    stack_pointer, system_call,
};

#[cfg(target_arch = "x86_64")]
mod of_this_processor {
    pub use libc::user_regs_struct as Registers;

    use super::Effect;

    /// The instruction that stops: `int3`.
    pub const BREAKPOINT: [u8; 1] = [0xcc];

    /// How many bytes it takes to know an instruction that [`execute`] knows.
    pub const INSTRUCTION: usize = 4;

    /// Does what an instruction does to the registers, if it is one that functions often begin with; and returns
    /// what else it does.
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

    use super::Effect;

    /// The instruction that stops: `brk #0`.
    pub const BREAKPOINT: [u8; 4] = 0xd420_0000_u32.to_le_bytes();

    /// How many bytes an instruction has.
    pub const INSTRUCTION: usize = 4;

    /// Does what an instruction does to the registers, if it is one that functions often begin with; and returns
    /// what else it does.
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
