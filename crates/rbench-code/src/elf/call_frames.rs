//! Reads tables of call frame information.

use std::collections::HashMap;

use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, EhFrame, EhFrameOffset, EndianSlice, Error,
    FrameDescriptionEntry, LittleEndian, UnwindSection,
};

/// The longest shared part of entries, in bytes. It is evaluated again for each entry, so it must be short; compilers
/// emit about 30 bytes.
const LONGEST_SHARED: usize = 1024;

pub(super) type Bytes<'data> = EndianSlice<'data, LittleEndian>;
type Shared<'data> = CommonInformationEntry<Bytes<'data>>;

/// The entries of a table that describe functions, up to the first damaged one.
pub(super) fn descriptions<'data>(
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
                // The shared part precedes the entries that use it. To follow the offset in each entry would be slow
                // if every entry named another place.
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
