//! Whether a function always asks another one: whichever way it takes, it calls one of some others before it returns.
//!
//! Only x86-64. What is not known counts as a way that does not.

use std::collections::BTreeSet;

use super::x86::{Kind, decode};

/// How many instructions are looked at: allocators that do more have memory of their own.
const MOST: usize = 2000;
/// How many calls lie in each other.
const DEEPEST: usize = 4;

/// A program, and what is to be called.
pub(super) struct Program<'p> {
    /// The code from an address on.
    pub(super) code_at: &'p dyn Fn(u64) -> Option<&'p [u8]>,
    /// Where the addresses of the functions are kept by which they are called.
    pub(super) places: &'p BTreeSet<u64>,
}

impl Program<'_> {
    /// Whether the function at this address always calls one of those.
    pub(super) fn forwards(&self, function: u64) -> bool {
        self.always_calls(function, 0).unwrap_or(false)
    }

    /// None if that is not known.
    fn always_calls(&self, function: u64, depth: usize) -> Option<bool> {
        let (mut begun, mut ahead) = (BTreeSet::new(), vec![function]);
        let mut left = MOST;
        while let Some(mut address) = ahead.pop() {
            if !begun.insert(address) {
                continue;
            }
            loop {
                left = left.checked_sub(1)?;
                let code = (self.code_at)(address)?;
                let instruction = decode(code)?;
                let behind = address + instruction.length as u64;
                match instruction.kind {
                    Kind::Plain => {}
                    Kind::Ends if is_trap(code) => break,
                    Kind::Ends => return Some(false),
                    Kind::Relative { field } => {
                        let distance = code.get(field..field + 4)?.try_into().ok()?;
                        let distance = i64::from(i32::from_le_bytes(distance));
                        let is_called = self.places.contains(&behind.wrapping_add_signed(distance));
                        match code {
                            [0xff, 0x15 | 0x25, ..] if is_called => break,
                            [0xff, 0x25, ..] => return Some(false),
                            _ => {}
                        }
                    }
                    Kind::Jump { opcode, distance } => {
                        let target = behind.wrapping_add_signed(distance);
                        match opcode {
                            0xe8 => {
                                let is_deep = depth >= DEEPEST;
                                if !is_deep && self.always_calls(target, depth + 1) == Some(true) {
                                    break;
                                }
                            }
                            0xe9 => {
                                ahead.push(target);
                                break;
                            }
                            _ => ahead.push(target),
                        }
                    }
                }
                address = behind;
            }
        }
        Some(true)
    }
}

/// Whether an instruction that ends code stops the program.
fn is_trap(code: &[u8]) -> bool {
    matches!(code, [0x0f, 0x0b, ..] | [0xcc, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x1000;
    /// Where the address of what is to be called is kept.
    const PLACE: u64 = 0x2000;

    fn forwards(code: &[u8]) -> bool {
        let code_at = |address: u64| code.get(usize::try_from(address.checked_sub(START)?).ok()?..);
        let places = BTreeSet::from([PLACE]);
        Program { code_at: &code_at, places: &places }.forwards(START)
    }

    /// A call, or a jump, by what is kept at the place, at this offset.
    fn indirect_jump(opcode: u8, offset: usize) -> Vec<u8> {
        let distance = i32::try_from(PLACE - START).unwrap() - i32::try_from(offset + 6).unwrap();
        [&[0xff, opcode][..], &distance.to_le_bytes()].concat()
    }

    #[test]
    fn a_function_forwards_if_all_its_ways_call() {
        // cmp rsi, 16; ja over; jump; over: push rax; call; ret
        let mut code = vec![0x48, 0x83, 0xfe, 0x10, 0x77, 6];
        code.extend(indirect_jump(0x25, code.len()));
        code.push(0x50);
        code.extend(indirect_jump(0x15, code.len()));
        code.push(0xc3);
        assert!(forwards(&code));
    }

    #[test]
    fn a_function_with_a_way_of_its_own_does_not() {
        // cmp rsi, 16; ja over; xor eax, eax; ret; over: jump
        let mut code = vec![0x48, 0x83, 0xfe, 0x10, 0x77, 3, 0x31, 0xc0, 0xc3];
        code.extend(indirect_jump(0x25, code.len()));
        assert!(!forwards(&code));
        assert!(!forwards(&[0xff, 0x25, 0, 0, 0, 0]), "another function");
        assert!(!forwards(&[0xc5, 0xf8, 0x28, 0xc1]), "not known");
        assert!(!forwards(&[]));
    }

    #[test]
    fn calls_and_jumps_to_functions_that_forward_count() {
        // jmp over; over: call next; ret; next: jump
        let mut code = vec![0xeb, 0, 0xe8, 1, 0, 0, 0, 0xc3];
        code.extend(indirect_jump(0x25, code.len()));
        assert!(forwards(&code));
    }

    #[test]
    fn a_loop_ends() {
        assert!(forwards(&[0xeb, 0xfe]), "it never returns");
        assert!(!forwards(&[0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3]), "it calls itself");
    }
}
