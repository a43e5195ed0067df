//! Decodes x86-64 instructions just enough to follow a function: their length and their targets. Vector instructions are
//! unknown.

/// The relevant properties of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// Its length in bytes.
    pub(super) length: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Independent of its address.
    Plain,
    /// Independent of its address, and no code runs after it.
    Ends,
    /// Its memory operand is relative to its end; `field` is the offset of the distance.
    Relative { field: usize },
    /// A jump or call relative to its end: 0xe9 is a jump, 0xe8 a call, and others have a condition in their low four
    /// bits.
    Jump { opcode: u8, distance: i64 },
}

/// The operands between an opcode and the next instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    None,
    /// An immediate operand of this number of bytes.
    Immediate(usize),
    /// A register or memory, and an immediate operand of this number of bytes.
    Memory(usize),
}

/// Decodes the first instruction; `None` if it is unknown.
pub(super) fn decode(code: &[u8]) -> Option<Instruction> {
    use Operands::{Immediate, Memory, None as Nothing};
    let is_prefix = |byte: &u8| matches!(byte, 0x66 | 0xf2 | 0xf3 | 0xf0 | 0x2e | 0x64);
    let mut at = code.iter().take_while(|byte| is_prefix(byte)).count();
    let is_short = code[..at].contains(&0x66);
    let rex = code.get(at).copied().filter(|byte| byte & 0xf0 == 0x40);
    at += usize::from(rex.is_some());
    let is_wide = rex.is_some_and(|rex| rex & 8 != 0);
    let full = if is_short { 2 } else { 4 };
    let opcode = *code.get(at)?;
    at += 1;
    let distance = |at: usize, opcode: u8, wide: bool| {
        let (distance, length) = if wide {
            (i32::from_le_bytes(code.get(at..at + 4)?.try_into().ok()?).into(), at + 4)
        } else {
            (i64::from(code.get(at)?.cast_signed()), at + 1)
        };
        Some(Instruction { length, kind: Kind::Jump { opcode, distance } })
    };
    let ends = |length: usize| Some(Instruction { length, kind: Kind::Ends });
    let operands = match opcode {
        0x70..=0x7f => return distance(at, opcode, false),
        0xeb => return distance(at, 0xe9, false),
        0xe8 | 0xe9 => return distance(at, opcode, true),
        0xc3 | 0xcc => return ends(at),
        0x0f => {
            let second = *code.get(at)?;
            at += 1;
            match second {
                0x80..=0x8f => return distance(at, second & 0x7f, true),
                0x0b => return ends(at),
                0x05 | 0xa2 | 0xc8..=0xcf => Nothing,
                0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => Memory(1),
                0x10..=0x17
                | 0x18..=0x1f
                | 0x28..=0x2f
                | 0x40..=0x6f
                | 0x74..=0x76
                | 0x7e
                | 0x7f
                | 0x90..=0x9f
                | 0xa3
                | 0xa5
                | 0xab
                | 0xad..=0xb1
                | 0xb3
                | 0xb6..=0xb8
                | 0xbb..=0xc1
                | 0xd0..=0xfe => Memory(0),
                _ => return None,
            }
        }
        0x50..=0x5f | 0x90 | 0x98 | 0x99 => Nothing,
        0x6a | 0xa8 | 0xb0..=0xb7 => Immediate(1),
        0x68 => Immediate(4),
        0xb8..=0xbf if is_wide => Immediate(8),
        0xa9 | 0xb8..=0xbf => Immediate(full),
        0x00..=0x3f => match opcode & 7 {
            0..=3 => Memory(0),
            4 => Immediate(1),
            5 => Immediate(full),
            _ => return None,
        },
        0x63 | 0x84..=0x8b | 0x8d | 0xd0..=0xd3 | 0xfe => Memory(0),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => Memory(1),
        0x69 | 0x81 | 0xc7 => Memory(full),
        0xf6 | 0xf7 => {
            let is_test = code.get(at)? & 0b0011_0000 == 0;
            Memory(if !is_test {
                0
            } else if opcode == 0xf6 {
                1
            } else {
                full
            })
        }
        0xff => {
            let instruction = with_memory(code, at, 0)?;
            // An indirect jump.
            let is_jump = code.get(at)? & 0b0011_1000 == 0b0010_0000;
            let is_plain = instruction.kind == Kind::Plain;
            return Some(if is_jump && is_plain {
                Instruction { kind: Kind::Ends, ..instruction }
            } else {
                instruction
            });
        }
        _ => return None,
    };
    match operands {
        Nothing => Some(Instruction { length: at, kind: Kind::Plain }),
        Immediate(size) => Some(Instruction { length: at + size, kind: Kind::Plain }),
        Memory(immediate) => with_memory(code, at, immediate),
    }
}

/// An instruction whose register or memory operand is described at `at`, followed by `immediate` bytes.
fn with_memory(code: &[u8], at: usize, immediate: usize) -> Option<Instruction> {
    let description = *code.get(at)?;
    let (mode, register) = (description >> 6, description & 7);
    let mut length = at + 1;
    let mut kind = Kind::Plain;
    let mut base = register;
    if mode != 3 && register == 4 {
        base = code.get(length)? & 7;
        length += 1;
    }
    length += match mode {
        0 if register == 5 => {
            kind = Kind::Relative { field: length };
            4
        }
        0 if register == 4 && base == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(Instruction { length: length + immediate, kind })
}
