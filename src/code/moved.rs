//! Machine code from the entry of a function that can be executed elsewhere, so that a jump can take its place.
//!
//! Only x86-64, and only instructions that compilers begin functions with: others are refused, never guessed.

/// How many bytes a jump takes.
pub const JUMP: usize = 5;

/// The first instructions of a function, changed so that they do the same elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// How many bytes they take at the entry.
    pub replaced: usize,
    /// What does the same elsewhere, and then goes on behind them.
    pub code: Vec<u8>,
    /// The distances of 32 bits in it that depend on where it is.
    pub fixes: Vec<Fix>,
}

/// A distance in code that was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Where it is in the code.
    pub at: usize,
    /// Where in the code it counts from.
    pub from: usize,
    /// The address where it leads.
    pub to: u64,
}

/// The first instructions of the function at `address`, at least as many bytes as a jump takes; `code` ends where the
/// next function begins. None if they cannot be moved.
pub fn moved(code: &[u8], address: u64) -> Option<Moved> {
    let mut moved = Moved::default();
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

impl Moved {
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
                self.fixes.push(Fix { at: self.code.len() + field, from, to });
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
        self.fixes.push(Fix { at, from: at + 4, to });
    }
}

/// What of an instruction matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    length: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It is the same anywhere.
    Plain,
    /// Nothing is executed behind it, and it is the same anywhere.
    Ends,
    /// Its operand is in memory, at the distance in this field from its end.
    Relative { field: usize },
    /// A jump or call by a distance from its end: 0xe9 is a jump, 0xe8 a call, and others have a condition in their low
    /// four bits.
    Jump { opcode: u8, distance: i64 },
}

/// What may stand between an opcode and the next instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    None,
    /// An immediate operand of so many bytes.
    Immediate(usize),
    /// A register or memory, and an immediate operand of so many bytes.
    Memory(usize),
}

/// Decodes the first instruction, if it is a known one.
fn decode(code: &[u8]) -> Option<Instruction> {
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
        0x6a | 0xa8 => Immediate(1),
        0x68 => Immediate(4),
        0xa9 => Immediate(full),
        0xb0..=0xb7 => Immediate(1),
        0xb8..=0xbf if is_wide => Immediate(8),
        0xb8..=0xbf => Immediate(full),
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

/// An instruction whose operand in a register or memory is described from `at`, with so many bytes behind.
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
        assert_eq!(moved.fixes, [Fix { at: 9, from: 13, to: ENTRY + 8 }]);
    }

    #[test]
    fn distances_count_from_the_end_of_the_instruction() {
        // add qword ptr [rip + 0x10], 1
        let code = padded(&[0x48, 0x83, 0x05, 0x10, 0, 0, 0, 0x01]);
        let moved = moved(&code, ENTRY).unwrap();
        assert_eq!(moved.fixes[0], Fix { at: 3, from: 8, to: ENTRY + 8 + 0x10 });
    }

    #[test]
    fn a_short_jump_becomes_a_long_one() {
        // cmp rsi, 16; ja +32
        let mut code = padded(&[0x48, 0x83, 0xfe, 0x10, 0x77, 0x20]);
        code.resize(64, 0x90);
        let moved = moved(&code, ENTRY).unwrap();
        assert_eq!(moved.replaced, 6);
        assert_eq!(moved.code[..6], [0x48, 0x83, 0xfe, 0x10, 0x0f, 0x87]);
        assert_eq!(moved.fixes[0], Fix { at: 6, from: 10, to: ENTRY + 6 + 0x20 });
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
