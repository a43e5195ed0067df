//! Reads a linker's map file, which shows where each input section went, and the sections of an executable that are
//! loaded into memory.

use object::{
    elf::{PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE},
    read::elf::{ProgramHeader, SectionHeader},
};
use serde::{Deserialize, Serialize};

use super::format::{LE, Unreadable, executable};

/// The map of a link, as LLD writes it (`-Map=FILE`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkMap {
    pub sections: Vec<OutputSection>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSection {
    pub name: String,
    pub inputs: Vec<InputSection>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSection {
    /// The file that it comes from, with `(member)` if that is an archive.
    pub origin: String,
    pub name: String,
    pub span: Span,
}

/// An address range in the executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The address, relative to the load address of the executable, in bytes.
    pub address: u64,
    /// The size in bytes.
    pub size: u64,
    /// The address is a multiple of this number of bytes.
    pub alignment: u64,
}

/// The error for text that is not a map of LLD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the linker's map file is not in the format of LLD")]
pub struct NoMap;

/// The part of a section's name by which linkers group code: `.text.unlikely` of `.text.unlikely.f`.
pub fn code_group(section: &str) -> &str {
    const GROUPS: [&str; 7] = [
        ".text.hot",
        ".text.unlikely",
        ".text.startup",
        ".text.exit",
        ".text.split",
        ".text.sorted",
        ".text",
    ];
    let is_of = |group: &&&str| {
        section.strip_prefix(**group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    GROUPS.iter().find(is_of).map_or(section, |group| *group)
}

impl LinkMap {
    /// Reads a map; its entries for single symbols are skipped.
    ///
    /// # Errors
    /// [`NoMap`] if the text is something else.
    pub fn parse(text: &str) -> Result<Self, NoMap> {
        let mut lines = text.lines();
        let columns: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        if columns != ["VMA", "LMA", "Size", "Align", "Out", "In", "Symbol"] {
            return Err(NoMap);
        }
        let mut map = Self::default();
        for line in lines {
            let Some((span, text)) = columns_of(line) else { return Err(NoMap) };
            match text.bytes().take_while(|&byte| byte == b' ').count() {
                0 => {
                    let (name, inputs) = (text.to_owned(), Vec::new());
                    map.sections.push(OutputSection { name, inputs });
                }
                8 => {
                    let section = map.sections.last_mut().ok_or(NoMap)?;
                    // A linker script's assignment has the same form, without a section.
                    if let Some((origin, name)) = text.trim_start().rsplit_once(":(") {
                        let name = name.strip_suffix(')').unwrap_or(name).to_owned();
                        section.inputs.push(InputSection { origin: origin.to_owned(), name, span });
                    }
                }
                _ => {}
            }
        }
        Ok(map)
    }

    pub fn section(&self, name: &str) -> Option<&OutputSection> {
        self.sections.iter().find(|section| section.name == name)
    }
}

/// The address range and the rest of a map line. A line starts with four numbers, the second of which is another
/// address.
fn columns_of(line: &str) -> Option<(Span, &str)> {
    let mut rest = line;
    let mut number = |radix| {
        rest = rest.trim_start_matches(' ');
        let (digits, behind) = rest.split_once(' ')?;
        rest = behind;
        u64::from_str_radix(digits, radix).ok()
    };
    let (address, _, size, alignment) = (number(16)?, number(16)?, number(16)?, number(10)?);
    Some((Span { address, size, alignment }, rest))
}

impl Span {
    /// The first address after the range.
    pub const fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// The loaded sections of an executable, in the order of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sections {
    pub all: Vec<LoadedSection>,
    /// The page size in bytes: sections with different permissions are in different pages.
    pub page: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedSection {
    pub name: String,
    pub span: Span,
    /// True if the program or its loader writes to it.
    pub writable: bool,
    pub executable: bool,
}

impl Sections {
    /// Reads the sections of a linked executable.
    ///
    /// # Errors
    /// [`Unreadable`] if the bytes are no ELF executable for x86-64 or aarch64.
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let elf = executable(bytes)?;
        let table = elf.elf_section_table();
        let mut all = Vec::new();
        for section in table.iter() {
            let flags = section.sh_flags(LE);
            if !flags.contains(SHF_ALLOC) {
                continue;
            }
            all.push(LoadedSection {
                name: String::from_utf8_lossy(table.section_name(LE, section)?).into_owned(),
                span: Span {
                    address: section.sh_addr(LE),
                    size: section.sh_size(LE),
                    alignment: section.sh_addralign(LE).max(1),
                },
                writable: flags.contains(SHF_WRITE),
                executable: flags.contains(SHF_EXECINSTR),
            });
        }
        all.sort_by_key(|section| section.span.address);
        let loads = elf.elf_program_headers().iter();
        let loads = loads.filter(|segment| segment.p_type(LE) == PT_LOAD);
        let page = loads.map(|segment| segment.p_align(LE)).max().unwrap_or(1).max(1);
        Ok(Self { all, page })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::testing::Scratch;

    const MAP: &str = "             VMA              LMA     Size Align Out     In      Symbol
             2e0              2e0       1c     1 .interp
             2e0              2e0       1c     1         <internal>:(.interp)
           7a610            7a610   20c087    16 .text
           7a610            7a610       26    16         /lib/x (y)/Scrt1.o:(.text)
           7a610            7a610        0     1                 _start
           7a640            7a640       61    16         /lib/libstd.rlib(std-1.o):(.text.f)
           7a640            7a640       61     1                 core::f(a: b)
               0                0    16728     8 .symtab
";

    #[test]
    fn link_map_lists_the_inputs_of_each_section() {
        let map = LinkMap::parse(MAP).unwrap();
        let names: Vec<&str> = map.sections.iter().map(|section| &*section.name).collect();
        assert_eq!(names, [".interp", ".text", ".symtab"]);
        let text = map.section(".text").unwrap();
        let input = |origin: &str, name: &str, address, size| InputSection {
            origin: origin.to_owned(),
            name: name.to_owned(),
            span: Span { address, size, alignment: 16 },
        };
        let expected = [
            input("/lib/x (y)/Scrt1.o", ".text", 0x7_a610, 0x26),
            input("/lib/libstd.rlib(std-1.o)", ".text.f", 0x7_a640, 0x61),
        ];
        assert_eq!(text.inputs, expected);
    }

    #[test]
    fn link_map_refuses_other_text() {
        assert_eq!(LinkMap::parse(""), Err(NoMap));
        assert_eq!(LinkMap::parse("Memory Configuration\n\nName Origin"), Err(NoMap));
        assert_eq!(LinkMap::parse(&MAP.replace("1c     1 .interp", "1c .interp")), Err(NoMap));
    }

    #[test]
    fn sections_include_loaded_ones_only() {
        let source = "const int fixed[] = {1, 2};\nint table[] = {1, 2, 3};\n\
            int main(int argc, char **argv) { return fixed[argc] + table[argc]; }\n";
        let bytes = Scratch::new().c_program("program", source, &[]);
        let Sections { all, page } = Sections::read(&bytes).unwrap();
        assert!(page >= 4096);
        let find = |name: &str| all.iter().find(|section| section.name == name);
        assert!(find(".text").is_some_and(|text| text.executable && !text.writable));
        assert!(find(".rodata").is_some_and(|constants| !constants.executable));
        assert!(find(".data").is_some_and(|data| data.writable && data.span.size >= 12));
        assert_eq!(find(".symtab"), None);
        assert!(all.is_sorted_by_key(|section| section.span.address));
    }

    #[test]
    fn group_of_code_is_its_section_without_the_function() {
        for (section, expected) in [
            (".text", ".text"),
            (".text.f", ".text"),
            (".text.unlikely.f", ".text.unlikely"),
            (".text.unlikely", ".text.unlikely"),
            (".text.unlikelyf", ".text"),
            ("fast", "fast"),
        ] {
            assert_eq!(code_group(section), expected, "{section}");
        }
    }
}
