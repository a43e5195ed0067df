//! Decodes x86-64 instructions just enough to follow a function: their length and their targets. Vector instructions
//! are unknown.

/// The relevant properties of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// Its length in bytes.
    pub(super) length: usize,
    pub(super) kind: Kind,
}

/// What runs next. Distances are relative to the end of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The next instruction, possibly after a call to an unknown place.
    Plain,
    /// The caller, or an unknown place.
    Ends,
    /// Nothing: the program stops.
    Traps,
    /// The code at this distance.
    Jump(i64),
    /// The code at this distance, or the next instruction.
    Branch(i64),
    /// The code at this distance, and then the next instruction.
    Call(i64),
    /// The code to which the pointer at this distance points.
    JumpThrough(i64),
    /// The same, and then the next instruction.
    CallThrough(i64),
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
    let is_prefix = |byte: &u8| matches!(byte, 0x66 | 0x67 | 0xf2 | 0xf3 | 0xf0 | 0x2e | 0x64);
    let mut at = code.iter().take_while(|byte| is_prefix(byte)).count();
    let is_short = code[..at].contains(&0x66);
    let rex = code.get(at).copied().filter(|byte| byte & 0xf0 == 0x40);
    at += usize::from(rex.is_some());
    let is_wide = rex.is_some_and(|rex| rex & 8 != 0);
    let full = if is_short { 2 } else { 4 };
    let opcode = *code.get(at)?;
    at += 1;
    let near = |at: usize, kind: fn(i64) -> Kind| {
        let distance = i64::from(code.get(at)?.cast_signed());
        Some(Instruction { length: at + 1, kind: kind(distance) })
    };
    let far = |at: usize, kind: fn(i64) -> Kind| {
        Some(Instruction { length: at + 4, kind: kind(distance(code, at)?) })
    };
    let operands = match opcode {
        0x70..=0x7f => return near(at, Kind::Branch),
        0xeb => return near(at, Kind::Jump),
        0xe8 => return far(at, Kind::Call),
        0xe9 => return far(at, Kind::Jump),
        0xc3 => return Some(Instruction { length: at, kind: Kind::Ends }),
        0xcc => return Some(Instruction { length: at, kind: Kind::Traps }),
        0x0f => {
            let second = *code.get(at)?;
            at += 1;
            match second {
                0x80..=0x8f => return far(at, Kind::Branch),
                0x0b => return Some(Instruction { length: at, kind: Kind::Traps }),
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
            let (length, place) = memory(code, at, 0)?;
            let kind = match ((code.get(at)? >> 3) & 7, place) {
                (2, Some(place)) => Kind::CallThrough(place),
                (4, Some(place)) => Kind::JumpThrough(place),
                (4, None) => Kind::Ends,
                _ => Kind::Plain,
            };
            return Some(Instruction { length, kind });
        }
        _ => return None,
    };
    let length = match operands {
        Nothing => at,
        Immediate(size) => at + size,
        Memory(immediate) => memory(code, at, immediate)?.0,
    };
    Some(Instruction { length, kind: Kind::Plain })
}

/// The end of an instruction whose register or memory operand is described at `at`, followed by `immediate` bytes; and
/// the distance of the operand if it is relative to that end.
fn memory(code: &[u8], at: usize, immediate: usize) -> Option<(usize, Option<i64>)> {
    let description = *code.get(at)?;
    let (mode, register) = (description >> 6, description & 7);
    let mut length = at + 1;
    let mut base = register;
    if mode != 3 && register == 4 {
        base = code.get(length)? & 7;
        length += 1;
    }
    if mode == 0 && register == 5 {
        return Some((length + 4 + immediate, Some(distance(code, length)?)));
    }
    length += match mode {
        0 if register == 4 && base == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some((length + immediate, None))
}

fn distance(code: &[u8], at: usize) -> Option<i64> {
    Some(i32::from_le_bytes(code.get(at..at + 4)?.try_into().ok()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_finds_length_and_targets() {
        for (code, length, kind) in [
            (&[0x55][..], 1, Kind::Plain),               // push rbp
            (&[0x48, 0x89, 0xe5], 3, Kind::Plain),       // mov rbp, rsp
            (&[0x48, 0x83, 0xec, 0x10], 4, Kind::Plain), // sub rsp, 16
            (&[0x66, 0xc7, 0x04, 0x25, 8, 0, 0, 0, 1, 0], 10, Kind::Plain), // mov word ptr [8], 1
            (&[0x48, 0x83, 0x05, 0x10, 0, 0, 0, 1], 8, Kind::Plain), // add qword ptr [rip + 16], 1
            (&[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8], 10, Kind::Plain), // movabs rax, …
            (&[0xff, 0xe0], 2, Kind::Ends),              // jmp rax
            (&[0xff, 0xd0], 2, Kind::Plain),             // call rax
            (&[0xff, 0x25, 4, 0, 0, 0], 6, Kind::JumpThrough(4)), // jmp [rip + 4]
            (&[0x67, 0xe8, 0xfc, 0xff, 0xff, 0xff], 6, Kind::Call(-4)), // addr32 call
            (&[0x0f, 0x84, 1, 0, 0, 0], 6, Kind::Branch(1)), // je
            (&[0x0f, 0x0b], 2, Kind::Traps),             // ud2
        ] {
            assert_eq!(decode(code), Some(Instruction { length, kind }), "{code:x?}");
        }
        // vmovaps
        assert_eq!(decode(&[0xc5, 0xf8, 0x28, 0xc1, 0xc3]), None);
        assert_eq!(decode(&[]), None);
    }
}
