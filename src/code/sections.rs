//! The sections of an executable that are loaded into memory.

use object::elf::{PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE};
use object::read::elf::{ProgramHeader, SectionHeader};
use serde::{Deserialize, Serialize};

use super::elf::{LE, Unreadable, executable};
use super::link_map::Span;

/// The loaded sections of an executable, in the order of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sections {
    /// The sections.
    pub all: Vec<LoadedSection>,
    /// What is loaded with different permissions lies in different pages of this size, in bytes.
    pub page: u64,
}

/// A section that is loaded into memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedSection {
    /// Its name.
    pub name: String,
    /// Where it is loaded.
    pub span: Span,
    /// Whether the program, or what loads it, writes to it.
    pub writable: bool,
    /// Whether it is code.
    pub executable: bool,
}

impl Sections {
    /// Reads the sections of a linked executable.
    ///
    /// # Errors
    /// [`Unreadable`] if the bytes are no ELF executable for x86-64 or aarch64.
    pub fn of_executable(bytes: &[u8]) -> Result<Self, Unreadable> {
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
    use super::super::testing::Scratch;
    use super::*;

    #[test]
    fn code_constants_and_data_are_loaded_and_symbols_are_not() {
        let source = "const int fixed[] = {1, 2};\nint table[] = {1, 2, 3};\n\
            int main(int argc, char **argv) { return fixed[argc] + table[argc]; }\n";
        let bytes = Scratch::new().c_program("program", source, &[]);
        let Sections { all, page } = Sections::of_executable(&bytes).unwrap();
        assert!(page >= 4096);
        let find = |name: &str| all.iter().find(|section| section.name == name);
        assert!(find(".text").is_some_and(|text| text.executable && !text.writable));
        assert!(find(".rodata").is_some_and(|constants| !constants.executable));
        assert!(find(".data").is_some_and(|data| data.writable && data.span.size >= 12));
        assert_eq!(find(".symtab"), None);
        assert!(all.is_sorted_by_key(|section| section.span.address));
    }
}
