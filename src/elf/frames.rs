//! How many bytes of the stack functions take, as the call frame information of their objects tells it.
//!
//! For each instruction of a function it says how far the stack pointer is from where it was before the call. It may
//! say so of another register instead: a frame pointer, from which nobody knows how far the stack reaches.

use std::collections::{BTreeMap, HashMap};

use gimli::{
    AArch64, BaseAddresses, CfaRule, CieOrFde, CommonInformationEntry, EhFrame, EhFrameOffset,
    EndianSlice, Error, FrameDescriptionEntry, LittleEndian, Register, UnwindContext,
    UnwindSection, Vendor, X86_64,
};
use object::elf::EM_AARCH64;
use rayon::prelude::*;

use super::relocatable::Relocatable;
use super::target::Piece;

/// Where an entry has the address of its function, in bytes from its start: behind its length and the offset of what
/// it shares with others.
const LOCATION: u64 = 8;

/// What entries share is evaluated again for each of them, so it must be short. That of compilers has some 30 bytes.
const LONGEST_SHARED: usize = 1024;

type Bytes<'data> = EndianSlice<'data, LittleEndian>;
type Shared<'data> = CommonInformationEntry<Bytes<'data>>;

/// The size of the frame of each of these functions, in bytes, where it is known: the largest distance of the
/// stack pointer from where it was before the call. So the return address counts on x86-64, where the call puts it on
/// the stack; on aarch64 it counts where the function saves it. What a function uses beyond the stack pointer
/// (the 128 bytes that x86-64 allows) does not count, nor what other functions that it calls take.
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
    /// By section and offset of what it is about; nothing where two contradict each other.
    entries: HashMap<(usize, u64), Option<Entry<'data>>>,
    context: Box<UnwindContext<usize>>,
}

/// What the object says of one function.
struct Entry<'data> {
    table: EhFrame<Bytes<'data>>,
    description: FrameDescriptionEntry<Bytes<'data>>,
}

/// The registers of a machine.
#[derive(Clone, Copy)]
struct Registers {
    stack_pointer: Register,
    /// The one that compilers use while they extend the stack page by page, for frames of many pages: it is
    /// where the stack pointer gets to, and no function that is called keeps it.
    probing: Register,
}

impl<'data> Frames<'data> {
    /// Reads what there is, up to the first entry that is damaged.
    fn read(object: &Relocatable<'data>) -> Self {
        let is_aarch64 = object.machine == EM_AARCH64;
        let registers = if is_aarch64 {
            Registers { stack_pointer: AArch64::SP, probing: AArch64::X9 }
        } else {
            Registers { stack_pointer: X86_64::RSP, probing: X86_64::R11 }
        };
        // Addresses are relative to the section itself, where the linker has filled nothing in.
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

    /// The size of a function's frame in bytes.
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
        // How far the stack pointer goes at least, as was told of the other register.
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

/// The entries of a table that are about functions, up to the first that is damaged.
fn descriptions<'data>(
    table: &EhFrame<Bytes<'data>>,
    bases: &BaseAddresses,
) -> Vec<FrameDescriptionEntry<Bytes<'data>>> {
    let mut all_shared: HashMap<usize, Shared<'data>> = HashMap::new();
    let mut found = Vec::new();
    let mut entries = table.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        match entry {
            CieOrFde::Cie(shared) if shared.entry_len() <= LONGEST_SHARED => {
                all_shared.insert(shared.offset(), shared);
            }
            CieOrFde::Cie(_) => {}
            CieOrFde::Fde(description) => {
                // It stands before the entries that share it. Reading it where they say would take long if each
                // of them named another place.
                let description = description.parse(|_, _, EhFrameOffset(offset)| {
                    let known = all_shared.get(&offset).cloned();
                    known.ok_or(Error::NoEntryAtGivenOffset(offset as u64))
                });
                found.extend(description);
            }
        }
    }
    found
}

/// The section and offset that the linker fills in at `offset` of a section.
fn target_at(object: &Relocatable<'_>, section: usize, offset: u64) -> Option<(usize, u64)> {
    let relocation = object.relocations_in(section, offset, offset.checked_add(1)?).first()?;
    let symbol = object.symbols.get(relocation.symbol)?;
    Some((symbol.section?, symbol.value.checked_add_signed(relocation.addend)?))
}

#[cfg(test)]
mod tests;
