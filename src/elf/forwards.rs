//! Decides whether a function always calls one of a set of functions, on every path before it returns.
//!
//! Only x86-64. Anything unknown counts as a path without such a call.

use std::collections::BTreeSet;

use super::x86::{Kind, decode};

/// The number of instructions to follow: allocators with more code have their own memory.
const MOST: usize = 2000;
/// The depth of nested calls to follow.
const DEEPEST: usize = 4;

/// A program, and the functions that must be called.
pub(super) struct Program<'p> {
    /// Returns the code from an address on.
    pub(super) code_at: &'p dyn Fn(u64) -> Option<&'p [u8]>,
    /// The addresses of the pointers through which the functions are called.
    pub(super) places: &'p BTreeSet<u64>,
}

impl Program<'_> {
    /// True if the function at this address always calls one of them.
    pub(super) fn forwards(&self, function: u64) -> bool {
        self.always_calls(function, 0).unwrap_or(false)
    }

    /// `None` if the answer is unknown.
    fn always_calls(&self, function: u64, depth: usize) -> Option<bool> {
        let (mut visited, mut pending) = (BTreeSet::new(), vec![function]);
        let mut left = MOST;
        while let Some(mut address) = pending.pop() {
            if !visited.insert(address) {
                continue;
            }
            loop {
                left = left.checked_sub(1)?;
                let instruction = decode((self.code_at)(address)?)?;
                let behind = address + instruction.length as u64;
                let target = |distance: i64| behind.wrapping_add_signed(distance);
                match instruction.kind {
                    Kind::CallThrough(place) | Kind::JumpThrough(place)
                        if self.places.contains(&target(place)) =>
                    {
                        break;
                    }
                    Kind::Plain | Kind::CallThrough(_) => {}
                    Kind::Ends | Kind::JumpThrough(_) => return Some(false),
                    Kind::Traps => break,
                    Kind::Jump(distance) => {
                        pending.push(target(distance));
                        break;
                    }
                    Kind::Branch(distance) => pending.push(target(distance)),
                    Kind::Call(distance) => {
                        let function = target(distance);
                        if depth < DEEPEST && self.always_calls(function, depth + 1) == Some(true) {
                            break;
                        }
                    }
                }
                address = behind;
            }
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x1000;
    /// The address of the pointer to the function that must be called.
    const PLACE: u64 = 0x2000;

    fn forwards(code: &[u8]) -> bool {
        let code_at = |address: u64| code.get(usize::try_from(address.checked_sub(START)?).ok()?..);
        let places = BTreeSet::from([PLACE]);
        Program { code_at: &code_at, places: &places }.forwards(START)
    }

    /// An indirect call or jump through the pointer at [`PLACE`]; `offset` is its position in the code.
    fn indirect_jump(opcode: u8, offset: usize) -> Vec<u8> {
        let distance = i32::try_from(PLACE - START).unwrap() - i32::try_from(offset + 6).unwrap();
        [&[0xff, opcode][..], &distance.to_le_bytes()].concat()
    }

    #[test]
    fn function_forwards_if_every_path_calls() {
        // cmp rsi, 16; ja over; jump; over: push rax; call; ret
        let mut code = vec![0x48, 0x83, 0xfe, 0x10, 0x77, 6];
        code.extend(indirect_jump(0x25, code.len()));
        code.push(0x50);
        code.extend(indirect_jump(0x15, code.len()));
        code.push(0xc3);
        assert!(forwards(&code));
    }

    #[test]
    fn function_with_another_path_does_not_forward() {
        // cmp rsi, 16; ja over; xor eax, eax; ret; over: jump
        let mut code = vec![0x48, 0x83, 0xfe, 0x10, 0x77, 3, 0x31, 0xc0, 0xc3];
        code.extend(indirect_jump(0x25, code.len()));
        assert!(!forwards(&code));
        assert!(!forwards(&[0xff, 0x25, 0, 0, 0, 0]), "another function");
        assert!(!forwards(&[0xc5, 0xf8, 0x28, 0xc1]), "not known");
        assert!(!forwards(&[]));
    }

    #[test]
    fn calls_and_jumps_to_forwarding_functions_count() {
        // jmp over; over: call next; ret; next: jump
        let mut code = vec![0xeb, 0, 0xe8, 1, 0, 0, 0, 0xc3];
        code.extend(indirect_jump(0x25, code.len()));
        assert!(forwards(&code));
    }

    #[test]
    fn forwards_handles_loops_and_recursion() {
        assert!(forwards(&[0xeb, 0xfe]), "it never returns");
        assert!(!forwards(&[0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3]), "it calls itself");
    }
}
