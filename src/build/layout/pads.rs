//! The object file with the fillers that give functions their phase.

use object::{
    Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope, elf,
    write::{Object, Symbol, SymbolSection},
};

use super::position::BOUNDARY;

/// Sections in one object. ELF has a second, clumsier way to count from 65,280 on; it is not needed.
const SECTIONS_PER_OBJECT: usize = 30_000;

/// The symbol of filler `index`, by which the linker puts it before its function.
pub fn symbol(index: usize) -> String {
    format!("rbench.pad.{index}")
}

/// Objects with one filler for each of `phases`: a section of that many bytes that starts on a
/// boundary, so that a function put right behind it starts at that phase. The fillers are never
/// executed.
pub fn objects(
    phases: &[u8],
    architecture: Architecture,
) -> Result<Vec<Vec<u8>>, object::write::Error> {
    phases
        .chunks(SECTIONS_PER_OBJECT)
        .enumerate()
        .map(|(chunk, phases)| object(chunk * SECTIONS_PER_OBJECT, phases, architecture))
        .collect()
}

fn object(
    first: usize,
    phases: &[u8],
    architecture: Architecture,
) -> Result<Vec<u8>, object::write::Error> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    // x86's breakpoint, and an undefined instruction on most others.
    let filler = if architecture == Architecture::X86_64 { 0xcc } else { 0 };
    let bytes = [filler; BOUNDARY];
    for (offset, &phase) in phases.iter().enumerate() {
        let name = symbol(first + offset).into_bytes();
        let section_name = [b".text.", name.as_slice()].concat();
        let section = object.add_section(Vec::new(), section_name, SectionKind::Text);
        // Retained: nothing refers to a filler, and the linker drops what nothing refers to.
        let flags = elf::SHF_ALLOC | elf::SHF_EXECINSTR | elf::SHF_GNU_RETAIN;
        object.section_mut(section).flags =
            SectionFlags::Elf { sh_type: elf::SHT_PROGBITS, sh_flags: flags };
        object.append_section_data(section, &bytes[..usize::from(phase)], BOUNDARY as u64);
        object.add_symbol(Symbol {
            name,
            value: 0,
            size: 0,
            kind: SymbolKind::Label,
            scope: SymbolScope::Compilation,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    object.write()
}
