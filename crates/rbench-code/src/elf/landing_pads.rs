//! The places where an executable's code continues if a function that it calls unwinds.

use std::ops::Range;

use gimli::{BaseAddresses, EhFrame, EndianSlice, Pointer, Reader};
use object::read::elf::SectionHeader;

use super::{
    call_frames::descriptions,
    format::{Elf, LE, Unreadable},
};

/// Addresses of instructions that may unwind, with the code that continues.
pub(super) struct LandingPads(Vec<(Range<u64>, Pad)>);

/// The code that continues after unwinding.
#[derive(Clone, Copy)]
pub(super) enum Pad {
    /// The address of that code.
    At(u64),
    Unknown,
}

impl LandingPads {
    pub(super) fn read(elf: &Elf<'_>) -> Result<Self, Unreadable> {
        let sections = elf.elf_section_table();
        let mut found = Vec::new();
        let Some((_, frames)) = sections.section_by_name(LE, b".eh_frame") else {
            return Ok(Self(found));
        };
        let table = EhFrame::new(frames.data(LE, elf.data())?, gimli::LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(frames.sh_addr(LE));
        for description in descriptions(&table, &bases) {
            let Some(at) = description.lsda() else { continue };
            let code = description.initial_address()..description.end_address();
            let known = (|| {
                let Pointer::Direct(at) = at else { return None };
                let holder = sections.iter().find(|one| {
                    at.checked_sub(one.sh_addr(LE))
                        .is_some_and(|distance| distance < one.sh_size(LE))
                })?;
                let bytes = holder.data(LE, elf.data()).ok()?;
                let start = usize::try_from(at - holder.sh_addr(LE)).ok()?;
                call_sites(bytes.get(start..)?, code.start)
            })();
            found.extend(known.unwrap_or_else(|| vec![(code, Pad::Unknown)]));
        }
        found.sort_unstable_by_key(|(code, _)| code.start);
        Ok(Self(found))
    }

    /// The code that continues if the instruction at this address unwinds, if there is any.
    pub(super) fn of(&self, at: u64) -> Option<Pad> {
        let behind = self.0.partition_point(|(code, _)| code.start <= at);
        let (code, pad) = self.0.get(behind.checked_sub(1)?)?;
        code.contains(&at).then_some(*pad)
    }
}

/// The calls in a function's table and where they continue; `None` if it has another form than that of LLVM and GCC.
fn call_sites(table: &[u8], function: u64) -> Option<Vec<(Range<u64>, Pad)>> {
    const OMITTED: u8 = 0xff;
    const ULEB128: u8 = 1;
    let mut table = EndianSlice::new(table, gimli::LittleEndian);
    if table.read_u8().ok()? != OMITTED {
        return None;
    }
    if table.read_u8().ok()? != OMITTED {
        table.read_uleb128().ok()?;
    }
    if table.read_u8().ok()? != ULEB128 {
        return None;
    }
    let length = usize::try_from(table.read_uleb128().ok()?).ok()?;
    let mut sites = table.split(length).ok()?;
    let mut found = Vec::new();
    while !sites.is_empty() {
        let mut number = || sites.read_uleb128().ok();
        let (start, length, pad, _action) = (number()?, number()?, number()?, number()?);
        if pad != 0 {
            let start = function.checked_add(start)?;
            found.push((start..start.checked_add(length)?, Pad::At(function.checked_add(pad)?)));
        }
    }
    Some(found)
}
