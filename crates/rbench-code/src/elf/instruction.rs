//! Decodes instructions just enough to find what they refer to.
//!
//! Where several functions share a section, assemblers resolve the calls between them themselves and leave no
//! relocation, so that the bytes of a call depend on the code in between. And an x86-64 distance is relative to the
//! end of the instruction, after any immediate operand.

use object::elf::{
    EM_AARCH64, EM_X86_64, Machine, R_AARCH64_CALL26, R_AARCH64_JUMP26, R_X86_64_PC32,
    RelocationType,
};

/// A direct call or jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// The start of the field that holds the distance.
    pub(super) field: u64,
    pub(super) kind: RelocationType,
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
