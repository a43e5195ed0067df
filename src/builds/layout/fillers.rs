//! Object files with fillers: bytes that are never executed or read, and keep other sections at their addresses.

use object::{
    Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope, elf,
    write::{Object, Symbol, SymbolSection},
};

use super::BOUNDARY;

/// The number of sections in one object. ELF counts differently from 65,280 on, which is more complicated and not
/// needed.
const SECTIONS_PER_OBJECT: usize = 30_000;

/// The symbol of filler `index` among code, with which the linker puts it before its function.
pub fn symbol(index: usize) -> String {
    format!("rbench.filler.{index}")
}

/// Objects with one filler for each of `sizes`, in bytes: a section of code that starts on a boundary, so that a
/// function directly behind it starts at this distance from the boundary.
pub fn among_code(
    sizes: &[u64],
    architecture: Architecture,
) -> Result<Vec<Vec<u8>>, object::write::Error> {
    // x86's breakpoint, and an undefined instruction on most other architectures.
    let byte = if architecture == Architecture::X86_64 { 0xcc } else { 0 };
    let chunks = sizes.chunks(SECTIONS_PER_OBJECT).enumerate();
    let objects = chunks.map(|(chunk, sizes)| {
        let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
        for (offset, &size) in sizes.iter().enumerate() {
            let name = symbol(chunk * SECTIONS_PER_OBJECT + offset);
            let (section, kind) = (format!(".text.{name}"), SectionKind::Text);
            let filler = Filler { section, kind, size, byte, alignment: BOUNDARY };
            let section = filler.add_to(&mut object);
            object.add_symbol(Symbol {
                name: name.into_bytes(),
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
    });
    objects.collect()
}

/// An object with fillers for sections of data, given by name and size in bytes.
pub fn among_data(
    sections: &[(String, u64)],
    architecture: Architecture,
) -> Result<Vec<u8>, object::write::Error> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    for (section, size) in sections {
        let (section, kind) = (section.clone(), SectionKind::Data);
        Filler { section, kind, size: *size, byte: 0, alignment: 1 }.add_to(&mut object);
    }
    object.write()
}

struct Filler {
    section: String,
    kind: SectionKind,
    size: u64,
    byte: u8,
    alignment: u64,
}

impl Filler {
    fn add_to(self, object: &mut Object<'_>) -> object::write::SectionId {
        let section = object.add_section(Vec::new(), self.section.into_bytes(), self.kind);
        let access =
            if self.kind == SectionKind::Text { elf::SHF_EXECINSTR } else { elf::SHF_WRITE };
        // Retained, because the linker would drop fillers, to which nothing refers.
        let sh_flags = elf::SHF_ALLOC | access | elf::SHF_GNU_RETAIN;
        object.section_mut(section).flags =
            SectionFlags::Elf { sh_type: elf::SHT_PROGBITS, sh_flags };
        let bytes = vec![self.byte; usize::try_from(self.size).unwrap_or(usize::MAX)];
        object.append_section_data(section, &bytes, self.alignment);
        section
    }
}
