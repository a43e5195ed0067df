//! Follows the addresses of constants through machine code: into registers, and on to other functions.
//!
//! A compiler passes the address of a source location to each function that may panic. The location is only printed if
//! everything that gets its address does nothing but pass it on, in the end to a function of the standard library that
//! panics. Whatever is not understood is a use: a comparison, an address that is stored in memory, a call to an
//! unknown place.

use std::collections::{BTreeMap, HashMap, HashSet};

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};
use object::{
    elf::{EM_X86_64, SHF_EXECINSTR, STT_FUNC},
    read::elf::{SectionHeader, Sym},
};
use rayon::prelude::*;

use super::{
    format::{Elf, LE, Unreadable},
    landing_pads::{LandingPads, Pad},
    name::Name,
};

/// The instructions that are followed from one place, and the functions that are entered one in the other. Real
/// paths to a panic are much shorter.
const MOST_INSTRUCTIONS: usize = 4000;
const DEEPEST: usize = 12;

/// The registers, as bits in the order of their encoding, that a call may change and so may pass to a function.
const CALLER_SAVED: u16 = 0b0000_1111_1100_0111;
/// The registers `rax` and `rdx`, in which a function returns values.
const RETURNED: u16 = 0b101;

/// The constants at these addresses, in ascending order and each `size` bytes long, whose addresses code only passes
/// on to functions that panic. `pointers` has the pointers in data, as (address, target).
///
/// Finds nothing in an executable without symbols, or for another machine than x86-64.
pub(super) fn passed_to_panics(
    elf: &Elf<'_>,
    constants: &[u64],
    size: u64,
    pointers: &[(u64, u64)],
) -> Result<HashSet<u64>, Unreadable> {
    if elf.elf_header().e_machine.get(LE) != EM_X86_64 {
        return Ok(HashSet::new());
    }
    let constants = Constants { starts: constants, size };
    let program = Program::read(elf, pointers)?;
    let blocks = program.blocks();
    let found: Vec<_> = blocks.par_iter().map(|block| constants.uses_in(block)).collect();
    let mut uses: BTreeMap<u64, Vec<Use>> = BTreeMap::new();
    for (constant, one) in found.into_iter().flatten() {
        uses.entry(constant).or_default().push(one);
    }
    for constant in pointers.iter().filter_map(|&(_, target)| constants.containing(target)) {
        uses.entry(constant).or_default().push(Use::Other);
    }
    let is_passed_on = |uses: &Vec<Use>| {
        let mut paths = Paths { program: &program, known: HashMap::new() };
        uses.iter().all(|one| match *one {
            Use::Register { register, next } => {
                paths.lead_to_panics(next, Held::register(register), 0)
            }
            Use::Other => false,
        })
    };
    Ok(uses.into_par_iter().filter(|(_, uses)| is_passed_on(uses)).map(|(at, _)| at).collect())
}

/// Constants of one size, in bytes, by their addresses in ascending order.
struct Constants<'a> {
    starts: &'a [u64],
    size: u64,
}

#[derive(Clone, Copy)]
enum Use {
    /// The instruction before `next` puts it into a register, given by its number.
    Register {
        register: usize,
        next: u64,
    },
    Other,
}

impl Constants<'_> {
    fn containing(&self, address: u64) -> Option<u64> {
        let behind = self.starts.partition_point(|&start| start <= address);
        let start = *self.starts.get(behind.checked_sub(1)?)?;
        (address - start < self.size).then_some(start)
    }

    /// The uses in a block of code, with the constants that they concern.
    fn uses_in(&self, block: &Block<'_>) -> Vec<(u64, Use)> {
        if !self.may_be_used_in(block) {
            return Vec::new();
        }
        let mut decoder = Decoder::with_ip(64, block.bytes, block.start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        let mut uses = Vec::new();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            let destination = (instruction.op0_kind() == OpKind::Register)
                .then(|| number(instruction.op0_register()))
                .flatten();
            let mut add = |address: u64, is_address_taken: bool| {
                let Some(constant) = self.containing(address) else { return };
                let next = instruction.next_ip();
                uses.push(match destination {
                    Some(register) if is_address_taken && address == constant => {
                        (constant, Use::Register { register, next })
                    }
                    _ => (constant, Use::Other),
                });
            };
            if instruction.is_ip_rel_memory_operand() {
                let address = instruction.ip_rel_memory_address();
                add(address, instruction.mnemonic() == Mnemonic::Lea);
            } else if instruction.op_kinds().any(|kind| kind == OpKind::Memory) {
                add(instruction.memory_displacement64(), false);
            }
            for operand in 0..instruction.op_count() {
                if let Ok(value) = instruction.try_immediate(operand) {
                    add(value, instruction.mnemonic() == Mnemonic::Mov);
                }
            }
        }
        uses
    }

    /// True if four bytes of the code may be the address of a constant or the distance to one. Decoding is slower.
    fn may_be_used_in(&self, block: &Block<'_>) -> bool {
        let (Some(first), Some(last)) = (self.starts.first(), self.starts.last()) else {
            return false;
        };
        // An immediate operand of up to 4 bytes may follow the distance.
        let near = |address: u64| {
            first.saturating_sub(4) <= address && address < last.saturating_add(self.size)
        };
        block.bytes.windows(4).zip(block.start..).any(|(bytes, at)| {
            let number = i32::from_le_bytes(bytes.try_into().unwrap_or_default());
            near(i64::from(number).cast_unsigned())
                || near(at.wrapping_add(4).wrapping_add_signed(number.into()))
        })
    }
}

struct Program<'p> {
    code: Vec<Block<'p>>,
    /// The symbols of functions, in the order of addresses, with the end of the function.
    functions: Vec<(u64, u64, &'p [u8])>,
    pointers: HashMap<u64, u64>,
    landing_pads: LandingPads,
}

struct Block<'p> {
    start: u64,
    bytes: &'p [u8],
}

impl<'p> Program<'p> {
    fn read(elf: &Elf<'p>, pointers: &[(u64, u64)]) -> Result<Self, Unreadable> {
        let mut code = Vec::new();
        for section in elf.elf_section_table().iter() {
            if section.sh_flags(LE).contains(SHF_EXECINSTR) {
                code.push(Block {
                    start: section.sh_addr(LE),
                    bytes: section.data(LE, elf.data())?,
                });
            }
        }
        let table = elf.elf_symbol_table();
        let mut functions = Vec::new();
        for symbol in table.iter().filter(|symbol| symbol.st_type() == STT_FUNC) {
            let start = symbol.st_value(LE);
            let end = start.saturating_add(symbol.st_size(LE));
            functions.push((start, end, table.symbol_name(LE, symbol)?));
        }
        functions.sort_unstable();
        let landing_pads = LandingPads::read(elf)?;
        Ok(Self { code, functions, pointers: pointers.iter().copied().collect(), landing_pads })
    }

    /// The code between any two symbols of functions; none without symbols.
    fn blocks(&self) -> Vec<Block<'p>> {
        let mut blocks = Vec::new();
        if self.functions.is_empty() {
            return blocks;
        }
        for &Block { start, bytes } in &self.code {
            let end = start.saturating_add(bytes.len() as u64);
            let first = self.functions.partition_point(|&(at, ..)| at <= start);
            let inside = self.functions[first..].iter().map(|&(at, ..)| at);
            let mut begin = start;
            for next in inside.take_while(|&at| at < end).chain([end]) {
                let offset = |at: u64| usize::try_from(at - start).unwrap_or(usize::MAX);
                let bytes = bytes.get(offset(begin)..offset(next)).unwrap_or_default();
                blocks.push(Block { start: begin, bytes });
                begin = next;
            }
        }
        blocks
    }

    fn instruction(&self, at: u64) -> Option<Instruction> {
        let bytes = self.code.iter().find_map(|block| {
            block.bytes.get(usize::try_from(at.checked_sub(block.start)?).ok()?..)
        })?;
        let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
        (instruction.code() != Code::INVALID).then_some(instruction)
    }

    fn symbols_at(&self, at: u64) -> impl Iterator<Item = &'p [u8]> {
        let first = self.functions.partition_point(|&(start, ..)| start < at);
        let here = self.functions[first..].iter().take_while(move |&&(start, ..)| start == at);
        here.map(|&(.., name)| name)
    }

    /// True if a word in the frame of the function at `at`, given by its distance from the stack pointer, is no argument
    /// of a call and in no object whose address the function takes. (An object reaches up from its address. Arguments
    /// reach from the stack pointer without a gap.)
    fn is_private(&self, at: u64, word: i64) -> bool {
        let behind = self.functions.partition_point(|&(start, ..)| start <= at);
        let Some(&(start, end, _)) = self.functions[..behind].last() else { return false };
        let mut next = start;
        let mut is_frame_complete = false;
        let mut accessed = BTreeMap::new();
        while next < end {
            let Some(instruction) = self.instruction(next) else { return false };
            next = instruction.next_ip();
            let is_in_frame = instruction.memory_base() == Register::RSP;
            let is_shared = match instruction.mnemonic() {
                Mnemonic::Sub if instruction.op0_register() == Register::RSP => {
                    is_frame_complete = true;
                    false
                }
                // Distances from the stack pointer change.
                Mnemonic::Push => is_frame_complete,
                Mnemonic::Mov if instruction.op1_register() == Register::RSP => true,
                Mnemonic::Lea if is_in_frame => {
                    instruction.memory_index() != Register::None
                        || displacement(&instruction) <= word
                }
                _ => false,
            };
            if is_shared {
                return false;
            }
            if is_in_frame {
                let at = displacement(&instruction);
                // An argument occupies whole words.
                let size = instruction.memory_size().size().next_multiple_of(8);
                let end = accessed.entry(at).or_insert(at);
                *end = at.saturating_add_unsigned(size as u64).max(*end);
            }
        }
        let arguments_end = accessed.into_iter().fold(0, |filled, (at, end)| {
            if (0..=filled).contains(&at) { end.max(filled) } else { filled }
        });
        arguments_end < word
    }

    /// True if the function that starts at an address has an instruction that returns, or one that is unknown.
    fn returns(&self, start: u64) -> bool {
        let first = self.functions.partition_point(|&(at, ..)| at < start);
        let end = self.functions.get(first).map_or(start, |&(_, end, _)| end);
        let mut next = start;
        while next < end {
            let Some(instruction) = self.instruction(next) else { return true };
            if instruction.flow_control() == FlowControl::Return {
                return true;
            }
            next = instruction.next_ip();
        }
        false
    }

    /// The start of the code that a jump or a call leads to, if known.
    fn target(&self, instruction: &Instruction) -> Option<u64> {
        if instruction.op0_kind() == OpKind::NearBranch64 {
            return Some(instruction.near_branch_target());
        }
        let pointer = instruction.is_ip_rel_memory_operand();
        self.pointers.get(&pointer.then(|| instruction.ip_rel_memory_address())?).copied()
    }
}

/// The places that hold a constant's address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Held {
    registers: u16,
    /// Words of the frame, by their distances from the stack pointer.
    words: Vec<i64>,
    /// The register that was last loaded with the address of a function, and that address: unoptimized code calls
    /// through it.
    function: Option<(usize, u64)>,
}

impl Held {
    fn register(number: usize) -> Self {
        Self { registers: 1 << number, ..Self::default() }
    }

    fn is_nothing(&self) -> bool {
        self.registers == 0 && self.words.is_empty()
    }

    fn has(&self, register: Register) -> bool {
        number(register).is_some_and(|number| self.registers & 1 << number != 0)
    }

    fn set(&mut self, register: Register, holds: bool) {
        let bit = number(register).map_or(0, |number| 1 << number);
        self.registers = if holds { self.registers | bit } else { self.registers & !bit };
    }
}

/// The bit of a general register, or of a part of it.
fn number(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

fn displacement(instruction: &Instruction) -> i64 {
    instruction.memory_displacement64().cast_signed()
}

/// The paths of addresses through a program.
struct Paths<'p, 'a> {
    program: &'p Program<'a>,
    known: HashMap<(u64, Held), bool>,
}

impl Paths<'_, '_> {
    /// True if code that starts at an address passes what it holds on to functions that panic, on all paths, and does
    /// nothing else with it.
    fn lead_to_panics(&mut self, start: u64, held: Held, depth: usize) -> bool {
        if let Some(&known) = self.known.get(&(start, held.clone())) {
            return known;
        }
        // In a recursion, the other calls decide.
        self.known.insert((start, held.clone()), true);
        let lead = depth < DEEPEST && self.follow(start, held.clone(), depth).is_some();
        self.known.insert((start, held), lead);
        lead
    }

    fn follow(&mut self, start: u64, held: Held, depth: usize) -> Option<()> {
        let mut met = HashSet::new();
        let mut waiting = vec![(start, held)];
        while let Some((at, held)) = waiting.pop() {
            if held.is_nothing() || !met.insert((at, held.clone())) {
                continue;
            }
            if met.len() > MOST_INSTRUCTIONS {
                return None;
            }
            let instruction = self.program.instruction(at)?;
            let next = instruction.next_ip();
            match instruction.flow_control() {
                FlowControl::Next => {
                    let mut held = self.after(&instruction, held)?;
                    held.function = self.function_after(&instruction, held.function);
                    waiting.push((next, held));
                }
                FlowControl::ConditionalBranch => {
                    waiting.push((instruction.near_branch_target(), held.clone()));
                    waiting.push((next, held));
                }
                FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {
                    let target = self.program.target(&instruction)?;
                    if self.program.symbols_at(target).next().is_none() {
                        waiting.push((target, held));
                    } else if held.registers & !CALLER_SAVED == 0 && held.words.is_empty() {
                        self.call(Some(target), held.registers, depth)?;
                    } else {
                        // No call at the end of a function, but a part of it that has its own symbol.
                        return None;
                    }
                }
                FlowControl::Call | FlowControl::IndirectCall => {
                    let Held { registers, words, function } = held;
                    let called = number(instruction.op0_register());
                    let loaded = function.filter(|&(register, _)| Some(register) == called);
                    let target = self.program.target(&instruction).or(loaded.map(|(_, at)| at));
                    self.call(target, registers, depth)?;
                    let registers = registers & !CALLER_SAVED;
                    let held = Held { registers, words, function: None };
                    if let Some(pad) = self.program.landing_pads.of(at)
                        && !held.is_nothing()
                    {
                        let Pad::At(pad) = pad else { return None };
                        waiting.push((pad, held.clone()));
                    }
                    waiting.push((next, held));
                }
                FlowControl::Return if held.registers & RETURNED != 0 => return None,
                FlowControl::Return | FlowControl::Exception | FlowControl::Interrupt => {}
                FlowControl::XbeginXabortXend => return None,
            }
        }
        Some(())
    }

    /// `None` unless the function at `target` passes on what these registers hold.
    fn call(&mut self, target: Option<u64>, registers: u16, depth: usize) -> Option<()> {
        let held = Held { registers: registers & CALLER_SAVED, ..Held::default() };
        if held.is_nothing() {
            return Some(());
        }
        let target = target?;
        let mut symbols = self.program.symbols_at(target).peekable();
        // A crate of the user's may have the name of one of the standard library's.
        let is_panic =
            symbols.peek().is_some() && symbols.all(is_panic) && !self.program.returns(target);
        (is_panic || self.lead_to_panics(target, held, depth + 1)).then_some(())
    }

    /// What is held after an instruction that is no jump; `None` if it uses what is held otherwise than by copying it.
    fn after(&self, instruction: &Instruction, mut held: Held) -> Option<Held> {
        let kinds = (instruction.op0_kind(), instruction.op1_kind());
        let (to, from) = (instruction.op0_register(), instruction.op1_register());
        let is_in_frame = instruction.memory_base() == Register::RSP
            && instruction.memory_index() == Register::None;
        match (instruction.mnemonic(), kinds) {
            (Mnemonic::Mov, (OpKind::Register, OpKind::Register))
                if to.is_gpr64() && from.is_gpr64() =>
            {
                let holds = held.has(from);
                held.set(to, holds);
                return Some(held);
            }
            (Mnemonic::Mov, (OpKind::Register, OpKind::Memory))
                if to.is_gpr64()
                    && is_in_frame
                    && held.words.contains(&displacement(instruction)) =>
            {
                held.set(to, true);
                return Some(held);
            }
            (Mnemonic::Mov, (OpKind::Memory, OpKind::Register))
                if from.is_gpr64() && is_in_frame && held.has(from) =>
            {
                let word = displacement(instruction);
                if word < 0 || !self.program.is_private(instruction.ip(), word) {
                    return None;
                }
                if !held.words.contains(&word) {
                    held.words.push(word);
                    held.words.sort_unstable();
                }
                return Some(held);
            }
            _ => {}
        }
        Self::after_other(instruction, held)
    }

    /// The register that holds the address of a function after an instruction.
    fn function_after(
        &self,
        instruction: &Instruction,
        before: Option<(usize, u64)>,
    ) -> Option<(usize, u64)> {
        let to = number(instruction.op0_register());
        if instruction.mnemonic() == Mnemonic::Mov
            && let Some(to) = to
            && let Some(target) = self.program.target(instruction)
        {
            return Some((to, target));
        }
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(instruction);
        let is_written = |register| {
            let mut used = info.used_registers().iter();
            used.any(|one| {
                number(one.register()) == Some(register) && one.access() != OpAccess::Read
            })
        };
        before.filter(|&(register, _)| !is_written(register))
    }

    fn after_other(instruction: &Instruction, mut held: Held) -> Option<Held> {
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(instruction);
        for used in info.used_registers() {
            let register = used.register();
            if register == Register::RSP && !held.words.is_empty() {
                match (used.access(), instruction.mnemonic()) {
                    (OpAccess::Read, _) => {}
                    // The frame ends.
                    (_, Mnemonic::Add | Mnemonic::Pop) => held.words.clear(),
                    _ => return None,
                }
            } else if held.has(register) {
                match used.access() {
                    OpAccess::Write if register.is_gpr64() || register.is_gpr32() => {
                        held.set(register, false);
                    }
                    OpAccess::CondWrite | OpAccess::None | OpAccess::NoMemAccess => {}
                    _ => return None,
                }
            }
        }
        let mut overwritten = Vec::new();
        for used in info.used_memory() {
            let at = used.displacement().cast_signed();
            let end = at.saturating_add_unsigned(used.memory_size().size() as u64);
            let is_in_frame = used.base() == Register::RSP && used.index() == Register::None;
            for &word in held.words.iter().filter(|&&word| word < end && at < word + 8) {
                match used.access() {
                    _ if !is_in_frame => {}
                    OpAccess::Write if (at, end) == (word, word + 8) => overwritten.push(word),
                    _ => return None,
                }
            }
        }
        held.words.retain(|word| !overwritten.contains(word));
        Some(held)
    }
}

/// True for a function of the standard library that only panics. Names have the crates of all types and traits; one
/// that anybody else defined has another crate among them.
fn is_panic(symbol: &[u8]) -> bool {
    const MODULE: &str = "core::panicking::";
    let name = Name::demangle(&String::from_utf8_lossy(symbol));
    let name = name.as_str();
    let is_root = |(end, _): (usize, &str)| {
        let before = &name[..end];
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        (!before[..start].ends_with("::") && start < end).then(|| &before[start..])
    };
    let mut roots = name.match_indices("::").filter_map(is_root).peekable();
    let is_of_std =
        roots.peek().is_some() && roots.all(|root| matches!(root, "core" | "alloc" | "std"));
    let last = name.rsplit("::").next().unwrap_or_default();
    let panics = name.starts_with(MODULE)
        || last.contains("panic")
        || ["_fail", "_failed", "handle_error"].iter().any(|end| last.ends_with(end));
    is_of_std && panics
}
