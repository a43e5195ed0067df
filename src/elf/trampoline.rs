//! Machine code from the entry of a function that can be executed elsewhere, so that a jump can take its place.
//!
//! Only x86-64, and only instructions that compilers begin functions with: others are refused, never guessed.

use super::x86::{Kind, decode};

/// How many bytes a jump takes.
pub const JUMP: usize = 5;

/// The first instructions of a function, changed so that they do the same elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trampoline {
    /// How many bytes they take at the entry.
    pub replaced: usize,
    /// What does the same elsewhere, and then goes on behind them.
    pub code: Vec<u8>,
    /// The distances of 32 bits in it that depend on where it is.
    pub fixes: Vec<Fixup>,
}

/// A distance in code that was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixup {
    /// Where it is in the code.
    pub at: usize,
    /// Where in the code it counts from.
    pub from: usize,
    /// The address where it leads.
    pub to: u64,
}

/// The first instructions of the function at `address`, at least as many bytes as a jump takes; `code` ends where the
/// next function begins. None if they cannot be moved.
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
        // What stands between two functions is never executed, and may be written over.
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

/// Whether code jumps to these addresses, as far as it can be decoded.
fn leads_into(code: &[u8], address: u64, addresses: &std::ops::Range<u64>) -> bool {
    let mut at = 0;
    while let Some(instruction) = code.get(at..).and_then(decode) {
        at += instruction.length;
        if let Kind::Jump { distance, .. } = instruction.kind {
            let target = (address + at as u64).wrapping_add_signed(distance);
            // A jump to the very start is a call of the function.
            if addresses.contains(&target) && target != addresses.start {
                return true;
            }
        }
    }
    false
}

impl Trampoline {
    /// Appends an instruction that ends at `behind`; whether nothing is executed behind it. None if it cannot be moved.
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

    /// Appends an instruction with a distance of 32 bits.
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

    /// Code with padding behind.
    fn padded(code: &[u8]) -> Vec<u8> {
        let mut padded = code.to_vec();
        padded.resize(code.len().next_multiple_of(16), 0xcc);
        padded
    }

    #[test]
    fn whole_instructions_are_moved_and_a_jump_leads_back() {
        // push rbp; mov rbp, rsp; sub rsp, 16; ret
        let code = padded(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc3]);
        let moved = moved(&code, ENTRY).unwrap();
        assert_eq!(moved.replaced, 8);
        assert_eq!(moved.code[..8], code[..8]);
        assert_eq!(moved.code[8..], [0xe9, 0, 0, 0, 0]);
        assert_eq!(moved.fixes, [Fixup { at: 9, from: 13, to: ENTRY + 8 }]);
    }

    #[test]
    fn distances_count_from_the_end_of_the_instruction() {
        // add qword ptr [rip + 0x10], 1
        let code = padded(&[0x48, 0x83, 0x05, 0x10, 0, 0, 0, 0x01]);
        let moved = moved(&code, ENTRY).unwrap();
        assert_eq!(moved.fixes[0], Fixup { at: 3, from: 8, to: ENTRY + 8 + 0x10 });
    }

    #[test]
    fn a_short_jump_becomes_a_long_one() {
        // cmp rsi, 16; ja +32
        let mut code = padded(&[0x48, 0x83, 0xfe, 0x10, 0x77, 0x20]);
        code.resize(64, 0x90);
        let moved = moved(&code, ENTRY).unwrap();
        assert_eq!(moved.replaced, 6);
        assert_eq!(moved.code[..6], [0x48, 0x83, 0xfe, 0x10, 0x0f, 0x87]);
        assert_eq!(moved.fixes[0], Fixup { at: 6, from: 10, to: ENTRY + 6 + 0x20 });
    }

    #[test]
    fn a_function_that_only_jumps_or_returns_is_moved_without_a_way_back() {
        let jumps = moved(&padded(&[0xe9, 0x10, 0, 0, 0]), ENTRY).unwrap();
        assert_eq!((jumps.code.len(), jumps.fixes.len()), (5, 1));
        let returns = moved(&padded(&[0xc3]), ENTRY).unwrap();
        assert_eq!((returns.replaced, &returns.code[..]), (JUMP, &[0xc3][..]));
        assert_eq!(moved(&[0xc3, 0x55, 0x55, 0x55, 0x55], ENTRY), None, "the next function");
    }

    #[test]
    fn what_is_jumped_back_into_or_not_known_is_not_moved() {
        // dec edi; jne -4 (the dec's second byte does not matter: into what is replaced)
        let into = padded(&[0x48, 0x31, 0xc0, 0xff, 0xcf, 0x75, 0xfc]);
        assert_eq!(moved(&into, ENTRY), None);
        // vmovaps
        assert_eq!(moved(&padded(&[0xc5, 0xf8, 0x28, 0xc1, 0xc3]), ENTRY), None);
        assert_eq!(moved(&[0x55], ENTRY), None);
    }
}
