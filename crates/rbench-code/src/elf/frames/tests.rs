//! Frame sizes of hand-made and of compiled tables.

use object::elf::{R_AARCH64_PREL32, R_X86_64_PC32};
use object::write::{Object, Relocation, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use proptest::prelude::*;

use super::super::functions::FunctionSet;
use super::super::source_location::PrintedLocations;
use super::super::testing::{Scratch, all_kept};

const RSP: u8 = 7;
const RBP: u8 = 6;
const R10: u8 = 10;
const R11: u8 = 11;
const X9: u8 = 9;
const X29: u8 = 29;
const SP: u8 = 31;

/// The stack pointer at the entry of a function.
const ENTRY: (u8, u64) = (RSP, 8);
const ENTRY_OF_AARCH64: (u8, u64) = (SP, 0);

/// The size of each function of a hand-made object, in bytes.
const SIZE: u8 = 16;

/// The instruction that advances by one byte.
const STEP: u8 = 0x41;

fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// The instruction that sets the register, and its distance from the stack pointer before the call.
fn distance((register, bytes): (u8, u64)) -> Vec<u8> {
    [vec![0x0c, register], number(bytes)].concat()
}

/// Instructions for a function with these distances, each one byte after the previous one.
fn rows(rows: &[(u8, u64)]) -> Vec<u8> {
    rows.iter().flat_map(|&row| [vec![STEP], distance(row)].concat()).collect()
}

/// An entry with its length, padded with instructions without effect.
fn entry(mut body: Vec<u8>) -> Vec<u8> {
    body.resize(body.len().next_multiple_of(4), 0);
    [u32::try_from(body.len()).unwrap().to_le_bytes().to_vec(), body].concat()
}

/// The shared part of entries: addresses are four-byte distances, and functions begin with `at_entry`.
fn shared(at_entry: (u8, u64), padding: usize) -> Vec<u8> {
    let head = [&[0, 0, 0, 0, 1][..], b"zR\0", &[1, 0x78, 16, 1, 0x1b]].concat();
    entry([head, distance(at_entry), vec![0; padding]].concat())
}

/// A table, and for each entry its offset and the function that it describes.
#[derive(Clone)]
struct Table {
    bytes: Vec<u8>,
    about: Vec<(u64, usize)>,
}

impl Table {
    fn new(at_entry: (u8, u64)) -> Self {
        Self { bytes: shared(at_entry, 0), about: Vec::new() }
    }

    /// Adds an entry that describes `length` bytes from the start of a function.
    fn with(mut self, function: usize, length: u8, instructions: &[u8]) -> Self {
        let offset = self.bytes.len();
        let back = u32::try_from(offset + 4).unwrap().to_le_bytes();
        let body = [&back[..], &[0; 4], &[length, 0, 0, 0], &[0], instructions].concat();
        self.bytes.extend(entry(body));
        self.about.push((offset as u64, function));
        self
    }

    /// An object with this table and this number of functions.
    fn object(&self, machine: Architecture, functions: usize) -> Vec<u8> {
        let mut object = Object::new(BinaryFormat::Elf, machine, Endianness::Little);
        let text = object.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        let size = u64::from(SIZE);
        object.append_section_data(text, &vec![0x90; functions * usize::from(SIZE)], 16);
        for function in 0..functions {
            object.add_symbol(Symbol {
                name: format!("f{function}").into_bytes(),
                value: function as u64 * size,
                size,
                kind: SymbolKind::Text,
                scope: SymbolScope::Linkage,
                weak: false,
                section: SymbolSection::Section(text),
                flags: SymbolFlags::None,
            });
        }
        let kind = SectionKind::ReadOnlyData;
        let table = object.add_section(Vec::new(), b".eh_frame".to_vec(), kind);
        object.append_section_data(table, &self.bytes, 8);
        let symbol = object.section_symbol(text);
        let r_type = match machine {
            Architecture::Aarch64 => R_AARCH64_PREL32,
            _ => R_X86_64_PC32,
        };
        for &(offset, function) in &self.about {
            let addend = i64::try_from(function as u64 * size).unwrap();
            let flags = RelocationFlags::Elf { r_type };
            let relocation = Relocation { offset: offset + 8, symbol, addend, flags };
            object.add_relocation(table, relocation).unwrap();
        }
        object.write().unwrap()
    }

    fn sizes(&self, functions: usize) -> Vec<Option<u64>> {
        sizes(&self.object(Architecture::X86_64, functions))
    }
}

/// The frame sizes of all functions of an object, in the order of their names.
fn sizes(object: &[u8]) -> Vec<Option<u64>> {
    let set = FunctionSet::from_link_inputs(
        [("object.o", object)],
        &all_kept(&[object]),
        &PrintedLocations::default(),
    );
    set.functions().iter().map(|function| function.stack).collect()
}

/// The frame size of one function with these rows after its entry.
fn size(machine: Architecture, after_entry: &[(u8, u64)]) -> Option<u64> {
    let at_entry = if machine == Architecture::Aarch64 { ENTRY_OF_AARCH64 } else { ENTRY };
    let table = Table::new(at_entry).with(0, SIZE, &rows(after_entry));
    sizes(&table.object(machine, 1))[0]
}

fn size_on_x86_64(after_entry: &[(u8, u64)]) -> Option<u64> {
    size(Architecture::X86_64, after_entry)
}

fn size_on_aarch64(after_entry: &[(u8, u64)]) -> Option<u64> {
    size(Architecture::Aarch64, after_entry)
}

#[test]
fn frame_size_is_the_largest_stack_pointer_distance() {
    assert_eq!(size_on_x86_64(&[]), Some(8), "the return address alone");
    assert_eq!(size_on_x86_64(&[(RSP, 16), (RSP, 4120), (RSP, 16), (RSP, 8)]), Some(4120));
    assert_eq!(size_on_aarch64(&[]), Some(0));
    assert_eq!(size_on_aarch64(&[(SP, 96), (SP, 0)]), Some(96));
}

#[test]
fn frame_size_is_unknown_with_a_frame_pointer() {
    assert_eq!(size_on_x86_64(&[(RSP, 16), (RBP, 16), (RSP, 8)]), None);
    // The frame may have been larger in between.
    assert_eq!(size_on_aarch64(&[(SP, 32), (X29, 32), (SP, 32), (SP, 0)]), None);
    let expression = [STEP, 0x0f, 2, 0x76, 0x78];
    let table = Table::new(ENTRY).with(0, SIZE, &expression);
    assert_eq!(table.sizes(1), [None]);
}

#[test]
fn frame_size_is_known_with_stack_probing() {
    assert_eq!(size_on_x86_64(&[(R11, 798_728), (RSP, 800_016), (RSP, 8)]), Some(800_016));
    assert_eq!(size_on_aarch64(&[(X9, 65_536), (SP, 65_552)]), Some(65_552));
    for unclear in [&[(R11, 798_728)][..], &[(R11, 798_728), (RSP, 8)], &[(R10, 0), (RSP, 8)]] {
        assert_eq!(size_on_x86_64(unclear), None, "{unclear:?}");
    }
}

#[test]
fn frame_size_is_known_with_signed_return_addresses() {
    let signed = [&[STEP, 0x2d][..], &rows(&[(SP, 48)])].concat();
    let table = Table::new(ENTRY_OF_AARCH64).with(0, SIZE, &signed);
    assert_eq!(sizes(&table.object(Architecture::Aarch64, 1)), [Some(48)]);
}

#[test]
fn frame_size_comes_from_the_entry_of_the_function() {
    let grown = |bytes| rows(&[(RSP, bytes)]);
    let table = Table::new(ENTRY).with(2, SIZE, &grown(24)).with(0, SIZE, &grown(40));
    assert_eq!(table.sizes(3), [Some(40), None, Some(24)]);
    let twice = table.with(0, SIZE, &grown(40));
    assert_eq!(twice.sizes(3), [None, None, Some(24)], "two entries for one function");
}

#[test]
fn frame_size_needs_an_entry_for_the_whole_function() {
    let table = Table::new(ENTRY).with(0, SIZE - 1, &rows(&[(RSP, 24)]));
    assert_eq!(table.sizes(1), [None]);
    let behind = [rows(&[(RSP, 24)]), vec![0x40 | (SIZE - 1)], distance((RSP, 999))].concat();
    let table = Table::new(ENTRY).with(0, 2 * SIZE, &behind);
    assert_eq!(table.sizes(2), [Some(24), None]);
}

#[test]
fn damaged_entries_affect_only_their_own_functions() {
    let table = Table::new(ENTRY).with(0, SIZE, &rows(&[(RSP, 24)]));
    let unknown_instruction = table.clone().with(1, SIZE, &[0x3f]);
    assert_eq!(unknown_instruction.sizes(2), [Some(24), None]);
    let without_saved = table.clone().with(1, SIZE, &[STEP, 0x0b]);
    assert_eq!(without_saved.sizes(2), [Some(24), None]);
    let mut cut_off = table.clone().with(1, SIZE, &rows(&[(RSP, 32)]));
    cut_off.bytes.truncate(cut_off.bytes.len() - 4);
    assert_eq!(cut_off.sizes(2), [Some(24), None]);
    let mut astray = table.with(1, SIZE, &rows(&[(RSP, 32)]));
    let at = usize::try_from(astray.about[1].0).unwrap() + 4;
    astray.bytes[at] -= 4;
    assert_eq!(astray.sizes(2), [Some(24), None]);
}

#[test]
fn long_shared_parts_are_not_evaluated() {
    for (padding, size) in [(512, Some(24)), (2048, None)] {
        let table = Table { bytes: shared(ENTRY, padding), about: Vec::new() };
        assert_eq!(table.with(0, SIZE, &rows(&[(RSP, 24)])).sizes(1), [size]);
    }
}

proptest! {
    #[test]
    fn frame_sizes_never_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let all = rows(&[(RSP, 16), (R11, 70_000), (RSP, 70_008), (RBP, 16), (RSP, 8)]);
        let mut table = Table::new(ENTRY).with(0, SIZE, &all).with(1, SIZE, &all[..3]);
        for (place, value) in damage {
            let place = place.index(table.bytes.len());
            table.bytes[place] = value;
        }
        if cut {
            table.bytes.truncate(length.index(table.bytes.len()));
        }
        for machine in [Architecture::X86_64, Architecture::Aarch64] {
            prop_assert_eq!(sizes(&table.object(machine, 2)).len(), 2);
        }
    }
}

/// A function with a local array of this size.
fn with_array(bytes: usize) -> String {
    format!(
        "#[inline(never)] pub fn fill(x: u8) -> u8 {{ let all = std::hint::black_box([x; {bytes}]); all[7] }}"
    )
}

/// The frame size of that function.
fn size_with_array(bytes: usize, options: &[&str]) -> Option<u64> {
    let object = Scratch::new().rust_object("object", &with_array(bytes), options);
    let set = FunctionSet::from_link_inputs(
        [("object.o", &*object)],
        &all_kept(&[&object]),
        &PrintedLocations::default(),
    );
    set.functions().iter().find(|one| one.name.as_str() == "object::fill").unwrap().stack
}

#[test]
fn rust_frame_size_includes_local_arrays() {
    for options in [&[][..], &["-Cpanic=abort"]] {
        for bytes in [1000, 20_000, 400_000] {
            let stack = size_with_array(bytes, options);
            let room = bytes as u64..3 * bytes as u64 + 200;
            let is_right = stack.is_some_and(|stack| room.contains(&stack));
            // Compilers for aarch64 use frame pointers wherever a function calls another.
            let is_unknown = cfg!(target_arch = "aarch64") && stack.is_none();
            assert!(is_right || is_unknown, "{bytes}, {options:?}: {stack:?}");
        }
    }
    assert_eq!(size_with_array(1000, &["-Cforce-frame-pointers=yes"]), None);
    assert_eq!(size_with_array(1000, &["-Cpanic=abort", "-Cforce-unwind-tables=no"]), None);
}
