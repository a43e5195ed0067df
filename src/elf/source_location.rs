//! Finds the source lines and columns that an executable stores for messages to people.
//!
//! A comment added above moves all of them and nothing else: they locate a panic, or one of libtest's benchmarks, and
//! no address depends on them.

use std::collections::HashSet;
use std::ops::Range;

use object::elf::{
    ET_DYN, R_AARCH64_RELATIVE, R_X86_64_RELATIVE, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE,
    SHT_PROGBITS, STT_OBJECT,
};
use object::read::elf::{Rela, SectionHeader, Sym};

use super::format::{Elf, LE, Unreadable};

type Section = object::elf::SectionHeader64<object::LittleEndian>;

/// The longest path of a source file, in bytes.
const LONGEST_PATH: u64 = 4096;
/// The offsets of lines and columns in libtest's `TestDesc`, in bytes from the path of the file.
pub(super) const IN_TEST: Range<u32> = 32..64;
/// The first word of a `TestName` that is a `&'static str`.
const STATIC_TEST_NAME: u64 = 1 << 63 | 1;

/// The address ranges of lines and columns that only locate something in the source for people: those of each
/// `core::panic::Location`, and those in libtest's description of each benchmark.
///
/// A location is a constant without a name that holds a pointer to the path of a `.rs` file, its length, and two
/// numbers of 32 bits other than 0. A program's own unnamed constant with the same contents, such as `(file!(),
/// line!(), column!())`, counts as one too; a lone number does not.
pub(super) fn lines_and_columns(elf: &Elf<'_>) -> Result<Vec<Range<u64>>, Unreadable> {
    let memory = Memory { elf, sections: elf.elf_section_table().iter().collect() };
    let pointers = memory.pointers()?;
    // Without relocations, pointers cannot be distinguished from numbers.
    let relocated: HashSet<u64> = if memory.is_relocated() {
        pointers.iter().map(|&(place, _)| place).collect()
    } else {
        HashSet::new()
    };
    let are_numbers =
        |mut places: std::iter::StepBy<Range<u64>>| places.all(|place| !relocated.contains(&place));
    let named = named_constants(elf);
    let is_named = |place: u64| {
        let before = named.partition_point(|one| one.start <= place);
        named[..before].last().is_some_and(|one| one.contains(&place))
    };
    let mut found = Vec::new();
    for &(place, path) in &pointers {
        // No address is that large.
        let Some(end) = place.checked_add(IN_TEST.end.into()) else { continue };
        if !memory.is_path(path, memory.word(place + 8)) {
            continue;
        }
        let location = place + 16..place + 24;
        let description = place + u64::from(IN_TEST.start)..end;
        if are_numbers((place + 8..location.end).step_by(8))
            && memory.is_line_and_column(location.start)
            && !is_named(place)
        {
            found.push(location);
        } else if are_numbers(description.clone().step_by(8))
            && is_in_test(|offset| memory.word(place.wrapping_add_signed(offset)))
        {
            found.push(description);
        }
    }
    Ok(found)
}

/// The loaded contents of an executable, by address.
struct Memory<'e, 'data> {
    elf: &'e Elf<'data>,
    sections: Vec<&'data Section>,
}

impl Memory<'_, '_> {
    /// True if it can be loaded at any address, so that pointers have relocations.
    fn is_relocated(&self) -> bool {
        self.elf.elf_header().e_type.get(LE) == ET_DYN
    }

    /// The pointers in constants, as (address, target). Without relocations, every word.
    fn pointers(&self) -> Result<Vec<(u64, u64)>, Unreadable> {
        let mut pointers = Vec::new();
        if !self.is_relocated() {
            for section in self.sections.iter().filter(|section| self.has_constants(section)) {
                let (start, size) = (section.sh_addr(LE).next_multiple_of(8), section.sh_size(LE));
                let places = (start..section.sh_addr(LE).saturating_add(size)).step_by(8);
                pointers.extend(places.filter_map(|place| Some((place, self.word(place)?))));
            }
            return Ok(pointers);
        }
        for section in self.sections.iter().filter(|one| one.sh_flags(LE).contains(SHF_ALLOC)) {
            if let Some((relocations, _)) = section.rela(LE, self.elf.data())? {
                let own = relocations.iter().filter(|one| {
                    matches!(one.r_type(LE, false), R_X86_64_RELATIVE | R_AARCH64_RELATIVE)
                });
                pointers
                    .extend(own.map(|one| (one.r_offset(LE), one.r_addend(LE).cast_unsigned())));
            }
            if let Some(places) = section.relr(LE, self.elf.data())? {
                pointers.extend(places.filter_map(|place| Some((place, self.word(place)?))));
            }
        }
        pointers.retain(|&(place, _)| {
            place % 8 == 0 && self.section_at(place).is_some_and(|one| self.has_constants(one))
        });
        Ok(pointers)
    }

    /// True if the program never writes to the section.
    fn has_constants(&self, section: &Section) -> bool {
        let name = self.elf.elf_section_table().section_name(LE, section).unwrap_or_default();
        name.starts_with(b".data.rel.ro") || name.starts_with(b".rodata")
    }

    fn is_path(&self, address: u64, length: Option<u64>) -> bool {
        let Some(length) = length.filter(|length| *length <= LONGEST_PATH) else { return false };
        let flags = self.section_at(address).map(|section| section.sh_flags(LE));
        let is_constant =
            flags.is_some_and(|flags| !flags.contains(SHF_WRITE) && !flags.contains(SHF_EXECINSTR));
        let text = self.bytes(address, length).and_then(|bytes| std::str::from_utf8(bytes).ok());
        is_constant
            && text.is_some_and(|text| {
                text.len() > 3
                    && text.as_bytes().ends_with(b".rs")
                    && !text.contains(char::is_control)
            })
    }

    /// True if there are two numbers of 32 bits other than 0.
    fn is_line_and_column(&self, place: u64) -> bool {
        self.word(place).is_some_and(|both| both >> 32 != 0 && both & u64::from(u32::MAX) != 0)
    }

    fn word(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(address, 8)?.try_into().ok()?))
    }

    fn bytes(&self, address: u64, length: u64) -> Option<&[u8]> {
        let section = self.section_at(address)?;
        let start = usize::try_from(address - section.sh_addr(LE)).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        section.data(LE, self.elf.data()).ok()?.get(start..end)
    }

    fn section_at(&self, address: u64) -> Option<&Section> {
        self.sections.iter().copied().find(|section| {
            section.sh_type(LE) == SHT_PROGBITS
                && section.sh_flags(LE).contains(SHF_ALLOC)
                && address
                    .checked_sub(section.sh_addr(LE))
                    .is_some_and(|offset| offset < section.sh_size(LE))
        })
    }
}

/// True if the path of a file is part of a `TestDesc`: after the name of the benchmark, and before its first and last
/// line and column, of 64 bits each. `word` reads the word at a distance in bytes from the path.
pub(super) fn is_in_test(word: impl Fn(i64) -> Option<u64>) -> bool {
    let number = |offset| word(offset).filter(|number| (1..1 << 32).contains(number));
    let (Some(start), Some(_), Some(end), Some(_)) =
        (number(32), number(40), number(48), number(56))
    else {
        return false;
    };
    word(-32) == Some(STATIC_TEST_NAME) && start <= end
}

/// The address ranges of statics with names, in the order of addresses.
fn named_constants(elf: &Elf<'_>) -> Vec<Range<u64>> {
    let symbols = elf.elf_symbol_table();
    let named = symbols.iter().filter(|symbol| {
        let name = symbols.symbol_name(LE, symbol).unwrap_or_default();
        symbol.st_type() == STT_OBJECT
            && symbol.st_size(LE) != 0
            && !["anon.", "alloc_", ".L"].iter().any(|prefix| name.starts_with(prefix.as_bytes()))
    });
    let mut named: Vec<_> = named
        .map(|symbol| {
            let start = symbol.st_value(LE);
            start..start.saturating_add(symbol.st_size(LE))
        })
        .collect();
    named.sort_unstable_by_key(|one| one.start);
    named
}

#[cfg(test)]
mod tests {
    use super::super::testing::Scratch;
    use crate::elf::digest::loadable_digest;

    /// True if two programs count as the same.
    fn is_same(sources: [&str; 2], options: &[&str]) -> bool {
        let scratch = Scratch::new();
        let [one, other] = sources.map(|source| {
            let program = scratch.rust_program("program", source, options);
            loadable_digest(&program).unwrap()
        });
        one == other
    }

    const PANICS: &str = "fn main() {\n\
        let all: Vec<String> = std::env::args().collect();\n\
        println!(\"{} {:?}\", all[2], std::panic::Location::caller());\n\
        assert!(all.len() > 3);\n}\n\
        #[test]\nfn something() { main() }\n";

    #[test]
    fn comment_above_a_panic_keeps_the_digest() {
        let moved = format!("// A comment.\n{PANICS}");
        for options in [
            &["-Copt-level=2"][..],
            &["-Copt-level=0"],
            &["-Crelocation-model=static"],
            &["-Clink-arg=-Wl,-z,pack-relative-relocs"],
        ] {
            assert!(is_same([PANICS, &moved], options), "{options:?}");
        }
    }

    #[test]
    fn comment_above_a_test_keeps_the_digest() {
        let moved = format!("// A comment.\n{PANICS}");
        assert!(is_same([PANICS, &moved], &["--test"]));
    }

    #[test]
    fn source_location_that_a_program_can_read_counts() {
        for (constant, kind) in [
            ("line!()", "u32"),
            ("line!() as usize", "usize"),
            ("(file!(), line!())", "(&str, u32)"),
            ("(file!(), line!() as u64, 1)", "(&str, u64, u64)"),
            ("[(file!(), line!(), column!())]", "[(&str, u32, u32); 1]"),
        ] {
            let program = format!(
                "static READ: {kind} = {constant};\n\
                 fn main() {{ println!(\"{{:?}}\", std::hint::black_box(&READ)); }}\n"
            );
            let moved = format!("// A comment.\n{program}");
            assert!(!is_same([&program, &moved], &[]), "{constant}");
        }
        let program = "fn main() { print!(\"{}\", include_str!(\"program.rs\")) }\n";
        assert!(!is_same([program, &format!("// A comment.\n{program}")], &[]));
    }

    #[test]
    fn numbers_after_other_texts_count() {
        for (text, first, second) in [("a.txt", 1, 2), ("a.rs", 0, 2), ("a.rs", 1, 0), ("rs", 1, 2)]
        {
            let program = |third: u32| {
                format!(
                    "fn main() {{\n\
                     let read: &(&str, u32, u32, u32) = &({text:?}, {first}, {second}, {third});\n\
                     println!(\"{{:?}}\", std::hint::black_box(read)); }}\n"
                )
            };
            assert!(!is_same([&program(1), &program(3)], &[]), "{text}");
        }
    }
}
