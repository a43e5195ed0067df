//! Computes the stack frame sizes of functions from the call frame information of their objects.
//!
//! For each instruction of a function, this gives the distance of the stack pointer from its value before the call. It
//! may give the distance of another register instead: a frame pointer, which does not show how far the stack extends.

use std::collections::{BTreeMap, HashMap};

use gimli::{
    AArch64, BaseAddresses, CfaRule, EhFrame, FrameDescriptionEntry, LittleEndian, Register,
    UnwindContext, Vendor, X86_64,
};
use object::elf::EM_AARCH64;
use rayon::prelude::*;

use super::call_frames::{Bytes, descriptions};
use super::relocatable::Relocatable;
use super::target::Piece;

/// The offset of the function's address within an entry, in bytes: it follows the entry's length and the offset of its
/// shared part.
const LOCATION: u64 = 8;

/// The frame size of each of these functions in bytes, if known: the largest distance of the stack pointer from its
/// value before the call. So the return address counts on x86-64, where the call pushes it; on aarch64 it counts if
/// the function saves it. Memory beyond the stack pointer (the red zone of 128 bytes that x86-64 allows) does not
/// count, nor do the frames of callees.
pub(super) fn frame_sizes(objects: &[Relocatable<'_>], functions: &[Piece]) -> Vec<Option<u64>> {
    let mut by_object: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, piece) in functions.iter().enumerate() {
        by_object.entry(piece.object).or_default().push(index);
    }
    let of_object = |(object, indices): (usize, Vec<usize>)| {
        let mut frames = Frames::read(&objects[object]);
        let size = |index| Some((index, frames.size(functions[index])?));
        indices.into_iter().filter_map(size).collect::<Vec<_>>()
    };
    let known: Vec<_> = by_object.into_par_iter().flat_map_iter(of_object).collect();
    let mut sizes = vec![None; functions.len()];
    for (index, size) in known {
        sizes[index] = Some(size);
    }
    sizes
}

/// The call frame information of one object.
struct Frames<'data> {
    registers: Registers,
    bases: BaseAddresses,
    /// By section and offset of the described function; `None` if two entries contradict each other.
    entries: HashMap<(usize, u64), Option<Entry<'data>>>,
    context: Box<UnwindContext<usize>>,
}

/// The object's entry for one function.
struct Entry<'data> {
    table: EhFrame<Bytes<'data>>,
    description: FrameDescriptionEntry<Bytes<'data>>,
}

#[derive(Clone, Copy)]
struct Registers {
    stack_pointer: Register,
    /// The register that compilers use while they extend the stack page by page, for frames of many pages: it holds
    /// the final value of the stack pointer, and callees do not preserve it.
    probing: Register,
}

impl<'data> Frames<'data> {
    /// Reads all entries up to the first damaged one.
    fn read(object: &Relocatable<'data>) -> Self {
        let is_aarch64 = object.machine == EM_AARCH64;
        let registers = if is_aarch64 {
            Registers { stack_pointer: AArch64::SP, probing: AArch64::X9 }
        } else {
            Registers { stack_pointer: X86_64::RSP, probing: X86_64::R11 }
        };
        // Addresses are relative to the section itself, because the linker has not relocated it.
        let bases = BaseAddresses::default().set_eh_frame(0);
        let mut entries = HashMap::new();
        for (index, section) in object.sections.iter().enumerate() {
            if section.name != b".eh_frame" {
                continue;
            }
            let mut table = EhFrame::new(section.bytes, LittleEndian);
            if is_aarch64 {
                table.set_vendor(Vendor::AArch64);
            }
            for description in descriptions(&table, &bases) {
                let at = description.offset() as u64 + LOCATION;
                if let Some(place) = target_at(object, index, at) {
                    let entry = Entry { table, description };
                    let contradicts = entries.insert(place, Some(entry)).is_some();
                    if contradicts {
                        entries.insert(place, None);
                    }
                }
            }
        }
        Self { registers, bases, entries, context: Box::default() }
    }

    /// The frame size of a function in bytes.
    fn size(&mut self, function: Piece) -> Option<u64> {
        let Piece { section, start, end, .. } = function;
        let Entry { table, description } = self.entries.get(&(section, start))?.as_ref()?;
        let behind = description.initial_address().checked_add(end.checked_sub(start)?)?;
        if behind > description.end_address() {
            return None;
        }
        let Registers { stack_pointer, probing } = self.registers;
        let mut rows = description.rows(table, &self.bases, &mut self.context).ok()?;
        let mut largest = None;
        // The least distance that the stack pointer will reach, according to the probing register.
        let mut announced = None;
        while let Some(row) = rows.next_row().ok()? {
            if row.start_address() >= behind {
                break;
            }
            let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
            let distance = u64::try_from(offset).ok()?;
            if register == probing {
                announced = announced.max(Some(distance));
            } else if register == stack_pointer && announced.is_none_or(|least| distance >= least) {
                announced = None;
                largest = largest.max(Some(distance));
            } else {
                return None;
            }
        }
        largest.filter(|_| announced.is_none())
    }
}

/// The section and offset that the linker fills in at `offset` of a section.
fn target_at(object: &Relocatable<'_>, section: usize, offset: u64) -> Option<(usize, u64)> {
    let relocation = object.relocations_in(section, offset, offset.checked_add(1)?).first()?;
    let symbol = object.symbols.get(relocation.symbol)?;
    Some((symbol.section?, symbol.value.checked_add_signed(relocation.addend)?))
}

#[cfg(test)]
mod tests;
