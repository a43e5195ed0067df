//! Moves the machine code at a function's entry, so that a jump can replace it.
//!
//! Only x86-64, and only the instructions with which compilers begin functions: others are refused, never guessed.

use super::x86::{Kind, decode};

/// The size of a jump in bytes.
pub const JUMP: usize = 5;

/// The first instructions of a function, changed to do the same at another address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trampoline {
    /// The number of bytes that they occupy at the entry.
    pub replaced: usize,
    /// The code that does the same elsewhere and then continues after the replaced bytes.
    pub code: Vec<u8>,
    /// The 32-bit distances in `code` that depend on its address.
    pub fixes: Vec<Fixup>,
}

/// A distance in moved code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixup {
    /// Its offset in the code.
    pub at: usize,
    /// The offset in the code that it is relative to.
    pub from: usize,
    /// The address of its target.
    pub to: u64,
}

/// Moves the first instructions of the function at `address`, at least as many bytes as a jump occupies. `code` ends
/// where the next function begins. `None` if they cannot be moved.
pub fn moved(code: &[u8], address: u64) -> Option<Trampoline> {
    let mut moved = Trampoline::default();
    let mut has_ended = false;
    while moved.replaced < JUMP && !has_ended {
        let instruction = decode(code.get(moved.replaced..)?)?;
        let own = code.get(moved.replaced..moved.replaced + instruction.length)?;
        moved.replaced += instruction.length;
        let behind = address + moved.replaced as u64;
        has_ended = moved.take(own, instruction.kind, behind)?;
    }
    if moved.replaced < JUMP {
        // Bytes between two functions are never executed and may be overwritten.
        let between = code.get(moved.replaced..JUMP)?;
        if !super::instruction::is_padding(object::elf::EM_X86_64, between) {
            return None;
        }
        moved.replaced = JUMP;
    } else if !has_ended {
        moved.jump(&[0xe9], address + moved.replaced as u64);
    }
    let replaced = address..address + moved.replaced as u64;
    let into_itself = moved.fixes.iter().any(|fix| replaced.contains(&fix.to));
    (!into_itself && !leads_into(code, address, &replaced)).then_some(moved)
}

/// True if code jumps to one of these addresses. Code that cannot be decoded is ignored.
fn leads_into(code: &[u8], address: u64, addresses: &std::ops::Range<u64>) -> bool {
    let mut at = 0;
    while let Some(instruction) = code.get(at..).and_then(decode) {
        at += instruction.length;
        if let Kind::Jump { distance, .. } = instruction.kind {
            let target = (address + at as u64).wrapping_add_signed(distance);
            // A jump to the start itself is a recursive call.
            if addresses.contains(&target) && target != addresses.start {
                return true;
            }
        }
    }
    false
}

impl Trampoline {
    /// Appends an instruction that ends at `behind`; true if no code runs after it. `None` if it cannot be moved.
    fn take(&mut self, own: &[u8], kind: Kind, behind: u64) -> Option<bool> {
        match kind {
            Kind::Plain => self.code.extend(own),
            Kind::Ends => {
                self.code.extend(own);
                return Some(true);
            }
            Kind::Relative { field } => {
                let bytes = own.get(field..field + 4)?.try_into().ok()?;
                let distance = i32::from_le_bytes(bytes);
                let from = self.code.len() + own.len();
                let to = behind.wrapping_add_signed(distance.into());
                self.fixes.push(Fixup { at: self.code.len() + field, from, to });
                self.code.extend(own);
            }
            Kind::Jump { opcode, distance } => {
                let to = behind.wrapping_add_signed(distance);
                match opcode {
                    0xe8 | 0xe9 => self.jump(&[opcode], to),
                    _ => self.jump(&[0x0f, 0x80 | (opcode & 0xf)], to),
                }
                return Some(opcode == 0xe9);
            }
        }
        Some(false)
    }

    /// Appends an instruction with a 32-bit distance.
    fn jump(&mut self, opcode: &[u8], to: u64) {
        self.code.extend(opcode);
        let at = self.code.len();
        self.code.extend([0; 4]);
        self.fixes.push(Fixup { at, from: at + 4, to });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: u64 = 0x1000;

    /// The code, followed by padding.
    fn padded(code: &[u8]) -> Vec<u8> {
        let mut padded = code.to_vec();
        padded.resize(code.len().next_multiple_of(16), 0xcc);
        padded
    }

    #[test]
    fn moved_code_has_whole_instructions_and_a_jump_back() {
        // push rbp; mov rbp, rsp; sub rsp, 16; ret
        let code = padded(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc3]);
        let moved = moved(&code, ENTRY).unwrap();
        assert_eq!(moved.replaced, 8);
        assert_eq!(moved.code[..8], code[..8]);
        assert_eq!(moved.code[8..], [0xe9, 0, 0, 0, 0]);
        assert_eq!(moved.fixes, [Fixup { at: 9, from: 13, to: ENTRY + 8 }]);
    }

    #[test]
    fn moved_distances_are_relative_to_the_instruction_end() {
        // add qword ptr [rip + 0x10], 1
        let code = padded(&[0x48, 0x83, 0x05, 0x10, 0, 0, 0, 0x01]);
        let moved = moved(&code, ENTRY).unwrap();
        assert_eq!(moved.fixes[0], Fixup { at: 3, from: 8, to: ENTRY + 8 + 0x10 });
    }

    #[test]
    fn moved_short_jump_becomes_a_long_one() {
        // cmp rsi, 16; ja +32
        let mut code = padded(&[0x48, 0x83, 0xfe, 0x10, 0x77, 0x20]);
        code.resize(64, 0x90);
        let moved = moved(&code, ENTRY).unwrap();
        assert_eq!(moved.replaced, 6);
        assert_eq!(moved.code[..6], [0x48, 0x83, 0xfe, 0x10, 0x0f, 0x87]);
        assert_eq!(moved.fixes[0], Fixup { at: 6, from: 10, to: ENTRY + 6 + 0x20 });
    }

    #[test]
    fn moved_jump_or_return_needs_no_jump_back() {
        let jumps = moved(&padded(&[0xe9, 0x10, 0, 0, 0]), ENTRY).unwrap();
        assert_eq!((jumps.code.len(), jumps.fixes.len()), (5, 1));
        let returns = moved(&padded(&[0xc3]), ENTRY).unwrap();
        assert_eq!((returns.replaced, &returns.code[..]), (JUMP, &[0xc3][..]));
        assert_eq!(moved(&[0xc3, 0x55, 0x55, 0x55, 0x55], ENTRY), None, "the next function");
    }

    #[test]
    fn moved_refuses_jump_targets_and_unknown_instructions() {
        // dec edi; jne -4 (jumps into the replaced bytes; the second byte of `dec` does not matter)
        let into = padded(&[0x48, 0x31, 0xc0, 0xff, 0xcf, 0x75, 0xfc]);
        assert_eq!(moved(&into, ENTRY), None);
        // vmovaps
        assert_eq!(moved(&padded(&[0xc5, 0xf8, 0x28, 0xc1, 0xc3]), ENTRY), None);
        assert_eq!(moved(&[0x55], ENTRY), None);
    }
}
