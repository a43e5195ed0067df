//! The processor-specific parts of tracing.

/// The effect of an instruction besides changes of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// It pushes these values.
    Pushed([u64; PUSHED]),
}

pub(super) use of_this_processor::{
    BREAKPOINT, INSTRUCTION, PUSHED, RETURN, Registers, address_of_breakpoint, arguments, caller,
    execute, go_to, program_counter, return_with, set_argument, stack_pointer, system_call,
    unsigned, watchable,
};

#[cfg(target_arch = "x86_64")]
mod of_this_processor {
    pub use libc::user_regs_struct as Registers;

    use super::Effect;

    /// The breakpoint instruction: `int3`.
    pub const BREAKPOINT: [u8; 1] = [0xcc];

    /// Number of bytes that identify each instruction known to [`execute`].
    pub const INSTRUCTION: usize = 4;

    /// Number of values that one instruction pushes.
    pub const PUSHED: usize = 1;

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
            [0x53, ..] => (1, Effect::Pushed([registers.rbx])),
            [0x55, ..] => (1, Effect::Pushed([registers.rbp])),
            // push r12 to r15
            [0x41, 0x54, ..] => (2, Effect::Pushed([registers.r12])),
            [0x41, 0x55, ..] => (2, Effect::Pushed([registers.r13])),
            [0x41, 0x56, ..] => (2, Effect::Pushed([registers.r14])),
            [0x41, 0x57, ..] => (2, Effect::Pushed([registers.r15])),
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

    /// The address of the next instruction.
    pub const fn program_counter(registers: &Registers) -> u64 {
        registers.rip
    }

    pub const fn stack_pointer(registers: &Registers) -> u64 {
        registers.rsp
    }

    /// The first two arguments of a function that has just been entered.
    pub const fn arguments(registers: &Registers) -> [u64; 2] {
        [registers.rdi, registers.rsi]
    }

    /// The return address of such a function, if it is not on the stack.
    pub const fn caller(_: &Registers) -> Option<u64> {
        None
    }

    /// A return address as a call leaves it.
    pub const fn unsigned(address: u64) -> u64 {
        address
    }

    /// Bytes between a function's entry and the place of a breakpoint that tells of it, given the first instruction.
    pub const fn watchable(_: [u8; INSTRUCTION]) -> u64 {
        0
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

    pub const INSTRUCTION: usize = 4;

    /// The bits that an indirect branch sets until the next instruction, which must be a landing pad (BTI) if so.
    const BRANCHED: u64 = 0b11 << 10;

    /// Number of values that one instruction pushes.
    pub const PUSHED: usize = 2;

    /// Emulates an instruction, if it is one with which functions often begin: changes the registers and returns the
    /// further effect.
    pub fn execute(instruction: [u8; INSTRUCTION], registers: &mut Registers) -> Option<Effect> {
        let instruction = u32::from_le_bytes(instruction);
        let effect = match instruction {
            // bti c
            0xd503_245f => Effect::Nothing,
            // stp x29, x30, [sp, -n]!
            _ if instruction & 0xffe0_7fff == 0xa9a0_7bfd => {
                let eights = 128 - (instruction >> 15 & 127);
                registers.sp = registers.sp.wrapping_sub(8 * u64::from(eights));
                Effect::Pushed([registers.regs[29], registers.regs[30]])
            }
            _ => return None,
        };
        registers.pc = registers.pc.wrapping_add(4);
        registers.pstate &= !BRANCHED;
        Some(effect)
    }

    /// The address of the breakpoint that has just stopped a thread: the program counter still points to it.
    pub const fn address_of_breakpoint(registers: &Registers) -> u64 {
        registers.pc
    }

    pub const fn go_to(registers: &mut Registers, address: u64) {
        registers.pc = address;
    }

    /// The address of the next instruction.
    pub const fn program_counter(registers: &Registers) -> u64 {
        registers.pc
    }

    pub const fn stack_pointer(registers: &Registers) -> u64 {
        registers.sp
    }

    /// The first two arguments of a function that has just been entered.
    pub const fn arguments(registers: &Registers) -> [u64; 2] {
        [registers.regs[0], registers.regs[1]]
    }

    /// The return address of such a function, which is not on the stack.
    pub const fn caller(registers: &Registers) -> Option<u64> {
        Some(registers.regs[30])
    }

    /// A return address as a call leaves it: functions may sign the one they save, in the bits that addresses do not use.
    pub const fn unsigned(address: u64) -> u64 {
        address & 0x0000_ffff_ffff_ffff
    }

    /// Bytes between a function's entry and the place of a breakpoint that tells of it, given the first instruction. What
    /// signs the return address cannot be emulated, and changes no argument.
    pub const fn watchable(instruction: [u8; INSTRUCTION]) -> u64 {
        // paciasp, pacibsp
        if matches!(u32::from_le_bytes(instruction), 0xd503_233f | 0xd503_237f) { 4 } else { 0 }
    }

    /// Bytes of the return address on the stack at a function's entry: it is in a register.
    pub const RETURN: usize = 0;

    /// Makes such a function return `value`.
    pub const fn return_with(value: u64, _: [u8; RETURN], registers: &mut Registers) {
        registers.regs[0] = value;
        registers.pc = unsigned(registers.regs[30]);
        registers.pstate &= !BRANCHED;
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
