//! Where the sections of an executable start: at the same addresses in all versions that are built
//! together.

use crate::code::{LoadedSection, Sections};

/// Bytes before the first section for what the linker may add to the headers: a segment for each section
/// that is given an address.
const HEADERS: u64 = 1024;
/// A section may become larger by its size divided by this, and by [`SMALLEST_ROOM`].
const ROOM: u64 = 16;
/// See [`ROOM`]; in bytes.
const SMALLEST_ROOM: u64 = 64;
/// Sections of data behind which others follow, and which differ in size between versions.
const FILLED: [&str; 2] = [".data.rel.ro", ".data"];

/// What one version's link needs so that its sections start where those of the others do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The addresses of the sections that are not written to, the same for all versions.
    pub starts: Vec<(String, u64)>,
    /// How many bytes the others are filled up by.
    pub fillers: Vec<(String, u64)>,
}

/// The frame of each version. `code` is the most that all code takes, in bytes.
///
/// Sections that are not written to get their addresses: linkers put such sections before all others. Those
/// that are written to follow at the next page; they are filled up to one size.
pub fn frames(versions: &[&Sections], code: u64) -> Vec<Frame> {
    let starts = starts(versions, code);
    let frame =
        |version: &&Sections| Frame { starts: starts.clone(), fillers: fillers(versions, version) };
    versions.iter().map(frame).collect()
}

fn starts(versions: &[&Sections], code: u64) -> Vec<(String, u64)> {
    let Some(first) = versions.first() else { return Vec::new() };
    let begin = versions.iter().filter_map(|version| version.all.first());
    let mut address = begin.map(|section| section.span.address).max().unwrap_or(0) + HEADERS;
    let page = versions.iter().map(|version| version.page).max().unwrap_or(1);
    let mut was_code = false;
    let mut starts = Vec::new();
    for section in first.all.iter().take_while(|section| !section.writable) {
        let others = versions.iter().filter_map(|version| find(version, &section.name));
        let (size, alignment) = others.fold((0, 1), |(size, alignment), other| {
            (other.span.size.max(size), other.span.alignment.max(alignment))
        });
        let boundary = if section.executable == was_code { SMALLEST_ROOM } else { page };
        was_code = section.executable;
        address = address.next_multiple_of(boundary.max(alignment));
        starts.push((section.name.clone(), address));
        let size = if section.name == ".text" { code } else { size };
        address += size + size / ROOM + SMALLEST_ROOM;
    }
    starts
}

fn fillers(versions: &[&Sections], own: &Sections) -> Vec<(String, u64)> {
    let size = |version: &Sections, name: &str| find(version, name).map_or(0, |one| one.span.size);
    let fillers = FILLED.iter().map(|name| {
        let largest = versions.iter().map(|version| size(version, name)).max().unwrap_or(0);
        ((*name).to_owned(), largest - size(own, name))
    });
    fillers.filter(|(_, missing)| *missing > 0).collect()
}

fn find<'s>(version: &'s Sections, name: &str) -> Option<&'s LoadedSection> {
    version.all.iter().find(|section| section.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Span;

    fn sections(sizes: [u64; 4]) -> Sections {
        let mut address = 0x2e0;
        let names =
            [(".rodata", false, false), (".text", false, true), (".data.rel.ro", true, false)];
        let all = names.into_iter().chain([(".data", true, false)]).zip(sizes);
        let all = all.map(|((name, writable, executable), size)| {
            let span = Span { address, size, alignment: 16 };
            address += size;
            LoadedSection { name: name.to_owned(), span, writable, executable }
        });
        Sections { all: all.collect(), page: 4096 }
    }

    #[test]
    fn all_versions_start_at_the_same_addresses_with_room_for_the_larger() {
        let (base, head) = (sections([100, 5000, 64, 32]), sections([900, 4000, 60, 40]));
        let [of_base, of_head] = frames(&[&base, &head], 6000).try_into().unwrap();
        assert_eq!(of_base.starts, of_head.starts);
        let [(rodata, at), (text, code)] = of_base.starts.try_into().unwrap();
        assert_eq!((rodata.as_str(), text.as_str()), (".rodata", ".text"));
        assert!(at >= 0x2e0 + HEADERS && code >= at + 900, "{at} {code}");
        assert_eq!(code % 4096, 0, "code is in pages of its own");
        assert_eq!(of_base.fillers, [(".data".to_owned(), 8)]);
        assert_eq!(of_head.fillers, [(".data.rel.ro".to_owned(), 4)]);
    }
}
