//! Decodes x86-64 instructions just enough to follow a function: their length and their targets. Vector instructions
//! are unknown.
//!
//! Decodes instructions just enough to find what they refer to.
//!
//! Where several functions share a section, assemblers resolve the calls between them themselves and leave no
//! relocation, so that the bytes of a call depend on the code in between. And an x86-64 distance is relative to the
//! end of the instruction, after any immediate operand.

use object::elf::{
    EM_AARCH64, EM_X86_64, Machine, R_AARCH64_CALL26, R_AARCH64_JUMP26, R_X86_64_PC32,
    RelocationType,
};

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

/// A direct call or jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// The start of the field that holds the distance.
    pub(super) field: u64,
    /// The relocation that the field would have.
    pub(super) kind: RelocationType,
    /// The relocation's addend.
    pub(super) addend: i64,
    /// The target's offset in the same section.
    pub(super) target: u64,
}

/// Possible direct calls and jumps in code.
///
/// On x86-64 this includes every byte that may start one, since instructions are not decoded; callers keep those with
/// a plausible target.
pub(super) fn branches(machine: Machine, code: &[u8]) -> Vec<Branch> {
    match machine {
        EM_X86_64 => (0..code.len()).filter_map(|offset| x86_branch(code, offset)).collect(),
        EM_AARCH64 => {
            (0..code.len()).step_by(4).filter_map(|offset| aarch64_branch(code, offset)).collect()
        }
        _ => Vec::new(),
    }
}

fn x86_branch(code: &[u8], offset: usize) -> Option<Branch> {
    let opcode = match code.get(offset..)? {
        [0xe8 | 0xe9, ..] => 1,
        [0x0f, 0x80..=0x8f, ..] => 2,
        _ => return None,
    };
    let start = offset + opcode;
    let distance = i32::from_le_bytes(code.get(start..start + 4)?.try_into().ok()?);
    let field = start as u64;
    let target = (field + 4).checked_add_signed(distance.into())?;
    Some(Branch { field, kind: R_X86_64_PC32, addend: -4, target })
}

fn aarch64_branch(code: &[u8], offset: usize) -> Option<Branch> {
    let word = u32::from_le_bytes(code.get(offset..offset + 4)?.try_into().ok()?);
    let kind = match word >> 26 {
        0b10_0101 => R_AARCH64_CALL26,
        0b00_0101 => R_AARCH64_JUMP26,
        _ => return None,
    };
    // The low 26 bits are a signed number of instructions.
    let distance = i64::from((word << 6).cast_signed() >> 6) * 4;
    let field = offset as u64;
    Some(Branch { field, kind, addend: 0, target: field.checked_add_signed(distance)? })
}

/// The size of the immediate operand after the relocated distance of an x86-64 instruction, given the bytes before the
/// distance. 0 if the instruction is not of a form with an immediate operand.
pub(super) fn immediate_behind(before: &[u8]) -> i64 {
    let byte = |back: usize| before.iter().rev().nth(back - 1).copied().unwrap_or_default();
    let (p3, p2, opcode, modrm) = (byte(4), byte(3), byte(2), byte(1));
    // The memory operand must be addressed relative to the instruction pointer.
    if modrm & 0b1100_0111 != 0b101 {
        return 0;
    }
    let short_operand = p2 == 0x66 || (p3 == 0x66 && p2 & 0xf0 == 0x40);
    let full = if short_operand { 2 } else { 4 };
    let is_test = modrm & 0b0011_0000 == 0;
    match (p3, p2, opcode) {
        (0x0f, 0x3a, _) | (_, 0x0f, 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6) => 1,
        (_, 0x0f, _) => 0,
        (_, _, 0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6) => 1,
        (_, _, 0xf6) if is_test => 1,
        (_, _, 0x69 | 0x81 | 0xc7) => full,
        (_, _, 0xf7) if is_test => full,
        _ => 0,
    }
}

/// True if bytes are padding as assemblers put it between functions: instructions without effect, zeros, and traps.
pub(super) fn is_padding(machine: Machine, mut bytes: &[u8]) -> bool {
    if machine == EM_AARCH64 {
        const FILLING: [u32; 3] = [0xd503_201f, 0, 0xd420_0000];
        let mut words = bytes.chunks(4);
        return words.all(|word| {
            let word = word.try_into().map_or(u32::MAX, u32::from_le_bytes);
            FILLING.contains(&word)
        });
    }
    while let [first, rest @ ..] = bytes {
        // The number of further bytes: none after a zero, a trap, `nop`, or a prefix, which changes none of these. A
        // `nop` with a memory operand has more; its third byte gives the number.
        let behind = match (first, rest) {
            (0 | 0xcc | 0x90 | 0x66 | 0x2e, _) => 0,
            (0x0f, [0x1f, 0x00, ..]) => 2,
            (0x0f, [0x1f, 0x40, ..]) => 3,
            (0x0f, [0x1f, 0x44, ..]) => 4,
            (0x0f, [0x1f, 0x80, ..]) => 6,
            (0x0f, [0x1f, 0x84, ..]) => 7,
            _ => return false,
        };
        let Some(rest) = rest.get(behind..) else { return false };
        bytes = rest;
    }
    true
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

#[cfg(test)]
mod instruction_tests {
    use super::*;

    #[test]
    fn is_padding_distinguishes_padding_from_code() {
        let long = [0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0, 0x90, 0xcc, 0];
        assert!(is_padding(EM_X86_64, &long));
        assert!(!is_padding(EM_X86_64, &[0x90, 0xc3]));
        assert!(!is_padding(EM_X86_64, &[0x0f, 0x1f]));
        assert!(is_padding(EM_AARCH64, &[0x1f, 0x20, 0x03, 0xd5]));
        assert!(!is_padding(EM_AARCH64, &[0xc0, 0x03, 0x5f, 0xd6]));
    }

    #[test]
    fn branches_finds_x86_calls_and_jumps() {
        let code = [0xe8, 3, 0, 0, 0, 0x90, 0x0f, 0x84, 0xf4, 0xff, 0xff, 0xff, 0xe9, 0];
        let found: Vec<_> =
            branches(EM_X86_64, &code).iter().map(|branch| (branch.field, branch.target)).collect();
        assert_eq!(found, [(1, 8), (8, 0)]);
    }

    #[test]
    fn branches_finds_aarch64_calls_and_jumps() {
        let words = [0x9400_0002_u32, 0xd503_201f, 0x17ff_fffe];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let found: Vec<_> =
            branches(EM_AARCH64, &code).iter().map(|branch| (branch.kind, branch.target)).collect();
        assert_eq!(found, [(R_AARCH64_CALL26, 8), (R_AARCH64_JUMP26, 0)]);
    }

    #[test]
    fn immediate_behind_gives_the_operand_size() {
        for (before, immediate, instruction) in [
            (&[0, 0, 0, 0x83, 0x05][..], 1, "addl $1, x(%rip)"),
            (&[0, 0, 0x48, 0x81, 0x3d], 4, "cmpq $1000, x(%rip)"),
            (&[0, 0, 0x66, 0xc7, 0x05], 2, "movw $1000, x(%rip)"),
            (&[0, 0, 0x48, 0xc7, 0x05], 4, "movq $1, x(%rip)"),
            (&[0, 0, 0, 0xf6, 0x05], 1, "testb $1, x(%rip)"),
            (&[0, 0, 0, 0xf6, 0x15], 0, "notb x(%rip)"),
            (&[0, 0x66, 0x0f, 0x70, 0x05], 1, "pshufd $1, x(%rip), %xmm0"),
            (&[0x66, 0x0f, 0x3a, 0x0f, 0x05], 1, "palignr $1, x(%rip), %xmm0"),
            (&[0, 0, 0x48, 0x8d, 0x05], 0, "lea x(%rip), %rax"),
            (&[0, 0, 0, 0, 0xe8], 0, "call x"),
            (&[0x83, 0x05], 1, "addl $1, x(%rip), the first instruction"),
            (&[], 0, "no instruction at all"),
        ] {
            assert_eq!(immediate_behind(before), immediate, "{instruction}");
        }
    }
}
