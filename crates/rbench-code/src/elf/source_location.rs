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

use super::address_use::passed_to_panics;
use super::format::{Elf, LE, Unreadable};

type Section = object::elf::SectionHeader64<object::LittleEndian>;

/// The longest path of a source file, in bytes.
const LONGEST_PATH: u64 = 4096;
/// The offsets of lines and columns in libtest's `TestDesc`, in bytes from the path of the file.
pub(super) const IN_TEST: Range<u32> = 32..64;
/// The first word of a `TestName` that is a `&'static str`.
const STATIC_TEST_NAME: u64 = 1 << 63 | 1;

/// The address ranges of lines and columns that only locate something in the source for people: those of each
/// `core::panic::Location` that is only printed, and those in libtest's description of each benchmark.
///
/// A location is a constant without a name that holds a pointer to the path of a `.rs` file, its length, and two
/// numbers of 32 bits other than 0. A constant of the program may look the same, and a program may compute with the
/// line of a caller. So only those count that code passes to nothing but [panics](passed_to_panics).
pub(super) fn lines_and_columns(elf: &Elf<'_>) -> Result<Vec<Range<u64>>, Unreadable> {
    let memory = Memory { elf, sections: elf.elf_section_table().iter().collect() };
    let Found { printed, tests, .. } = memory.find()?;
    Ok(printed.into_iter().map(|(place, _)| place + 16..place + LOCATION).chain(tests).collect())
}

/// The source locations of an executable that are only printed, by their contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedLocations(HashSet<(Vec<u8>, [u8; 8])>);

impl PrintedLocations {
    /// Finds them in a linked executable.
    ///
    /// # Errors
    /// [`Unreadable`] if the bytes are no ELF executable for x86-64 or aarch64.
    pub fn read(executable: &[u8]) -> Result<Self, Unreadable> {
        let elf = super::format::executable(executable)?;
        let memory = Memory { elf: &elf, sections: elf.elf_section_table().iter().collect() };
        let Found { printed, others, .. } = memory.find()?;
        let contents = |found: Vec<_>| -> HashSet<_> {
            found.into_iter().filter_map(|(place, path)| memory.location(place, path)).collect()
        };
        let others = contents(others);
        let mut printed = contents(printed);
        printed.retain(|location| !others.contains(location));
        Ok(Self(printed))
    }

    /// True if a source location with this path, and these bytes of its line and column, is only printed.
    pub(super) fn contains(&self, path: &[u8], numbers: &[u8]) -> bool {
        numbers.try_into().is_ok_and(|numbers| self.0.contains(&(path.to_vec(), numbers)))
    }
}

#[cfg(test)]
impl PrintedLocations {
    /// All locations in the first lines and columns of a file.
    pub(super) fn all_in(path: &str) -> Self {
        let numbers = (1..200_u64).flat_map(|line| (1..200).map(move |column| column << 32 | line));
        Self(numbers.map(|both| (path.as_bytes().to_vec(), both.to_le_bytes())).collect())
    }
}

/// The size of a source location in bytes.
pub(super) const LOCATION: u64 = 24;

/// What has the contents of a source location.
struct Found {
    /// Those that are only printed, as the addresses of the location and of its path.
    printed: Vec<(u64, u64)>,
    /// All others.
    others: Vec<(u64, u64)>,
    /// The lines and columns in descriptions of tests.
    tests: Vec<Range<u64>>,
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

    fn find(&self) -> Result<Found, Unreadable> {
        let pointers = self.pointers()?;
        // Without relocations, pointers cannot be distinguished from numbers.
        let relocated: HashSet<u64> = if self.is_relocated() {
            pointers.iter().map(|&(place, _)| place).collect()
        } else {
            HashSet::new()
        };
        let are_numbers = |mut places: std::iter::StepBy<Range<u64>>| {
            places.all(|place| !relocated.contains(&place))
        };
        let named = named_constants(self.elf);
        let is_named = |place: u64| {
            let before = named.partition_point(|one| one.start <= place);
            named[..before].last().is_some_and(|one| one.contains(&place))
        };
        let (mut unnamed, mut others, mut tests) = (Vec::new(), Vec::new(), Vec::new());
        for &(place, path) in &pointers {
            // No address is that large.
            let Some(end) = place.checked_add(IN_TEST.end.into()) else { continue };
            if place % 8 != 0
                || !self.section_at(place).is_some_and(|one| self.has_constants(one))
                || !self.is_path(path, self.word(place + 8))
            {
                continue;
            }
            let numbers = (place + 8..place + LOCATION).step_by(8);
            let description = place + u64::from(IN_TEST.start)..end;
            if are_numbers(numbers) && self.is_line_and_column(place + 16) {
                let found = if is_named(place) { &mut others } else { &mut unnamed };
                found.push((place, path));
            } else if are_numbers(description.clone().step_by(8))
                && is_in_test(|offset| self.word(place.wrapping_add_signed(offset)))
            {
                tests.push(description);
            }
        }
        unnamed.sort_unstable();
        let places: Vec<u64> = unnamed.iter().map(|&(place, _)| place).collect();
        let only_printed = passed_to_panics(self.elf, &places, LOCATION, &pointers)?;
        let (printed, rest): (Vec<_>, Vec<_>) =
            unnamed.into_iter().partition(|(place, _)| only_printed.contains(place));
        others.extend(rest);
        Ok(Found { printed, others, tests })
    }

    /// The path of a source location, and the bytes of its line and column.
    fn location(&self, place: u64, path: u64) -> Option<(Vec<u8>, [u8; 8])> {
        let path = self.bytes(path, self.word(place + 8)?)?;
        Some((path.to_vec(), self.bytes(place + 16, 8)?.try_into().ok()?))
    }

    /// The pointers in data, as (address, target). Without relocations, every word.
    fn pointers(&self) -> Result<Vec<(u64, u64)>, Unreadable> {
        let mut pointers = Vec::new();
        let loaded = || self.sections.iter().filter(|one| one.sh_flags(LE).contains(SHF_ALLOC));
        if !self.is_relocated() {
            for section in loaded().filter(|one| !one.sh_flags(LE).contains(SHF_EXECINSTR)) {
                let (start, size) = (section.sh_addr(LE).next_multiple_of(8), section.sh_size(LE));
                let places = (start..section.sh_addr(LE).saturating_add(size)).step_by(8);
                pointers.extend(places.filter_map(|place| Some((place, self.word(place)?))));
            }
            return Ok(pointers);
        }
        for section in loaded() {
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
        println!(\"{}\", all[2]);\n\
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

    /// A program with these items, which calls `run` with the number of its arguments.
    fn program(items: &str) -> String {
        format!(
            "fn main() {{ std::process::exit(run(std::env::args().count() as u32) as i32) }}\n{items}"
        )
    }

    #[test]
    fn constant_that_looks_like_a_location_counts() {
        const CASE: &str = "#[derive(Clone, Copy)] pub struct Case { file: &'static str, rounds: u32, seed: u32 }\n\
            #[inline(never)] fn work(case: &Case) -> u32 { (0..case.rounds).fold(case.seed, |a, b| a ^ b) + case.file.len() as u32 }\n";
        let panics = "fn fail(case: &'static Case, n: u32) { if n > 9 { Err::<u32, _>(case.rounds).unwrap(); } }\n";
        for run in [
            "fn run(_: u32) -> u32 { work(const { &Case { file: \"corpus.rs\", rounds: 1000, seed: 7 } }) }",
            "static CASE: Case = Case { file: \"corpus.rs\", rounds: 1000, seed: 7 };\n\
             fn run(_: u32) -> u32 { work(&CASE) }",
            "static CASE: &Case = &Case { file: \"corpus.rs\", rounds: 1000, seed: 7 };\n\
             fn run(_: u32) -> u32 { work(std::hint::black_box(CASE)) }",
            "fn run(n: u32) -> u32 { let all: &[Case] = &[Case { file: \"one.rs\", rounds: 5, seed: 7 }, \
             Case { file: \"two.rs\", rounds: 1000, seed: 7 }]; work(&all[n as usize & 1]) }",
            "fn run(n: u32) -> u32 { std::hint::black_box(const { &[Case { file: \"one.rs\", rounds: 1000, seed: 7 }] })\
             .to_vec()[n as usize - 1].rounds }",
            "fn run(n: u32) -> u32 { Box::new(std::hint::black_box(const { &Case { file: \"one.rs\", rounds: 1000, seed: 7 } })).rounds + n }",
        ] {
            for options in
                [&["-Copt-level=2"][..], &["-Copt-level=0"], &["-Crelocation-model=static"]]
            {
                let one = program(&[CASE, panics, run].concat());
                let other = one.replace("1000", "2000");
                assert!(is_same([&one, &one], options));
                assert!(!is_same([&one, &other], options), "{run} {options:?}");
            }
        }
    }

    #[test]
    fn line_that_a_program_computes_with_counts() {
        const ID: &str = "#[inline(never)] #[track_caller]\n\
            fn id(n: u32) -> u32 { if n > 9 { panic!(\"many\") } std::panic::Location::caller().line() }\n";
        for run in [
            "fn run(n: u32) -> u32 { id(n) }",
            "#[track_caller] #[inline(never)] fn other(n: u32) -> u32 { id(n + 1) }\n\
             fn run(n: u32) -> u32 { other(n) }",
            "fn run(n: u32) -> u32 { let f: fn(u32) -> u32 = id; std::hint::black_box(f)(n) }",
            "static HERE: &std::panic::Location = std::panic::Location::caller();\n\
             fn run(n: u32) -> u32 { std::hint::black_box(HERE).line() + n }",
            "fn run(n: u32) -> u32 { let here = std::panic::Location::caller(); \
             std::hint::black_box(here).to_string().len() as u32 + n }",
            "#[inline(never)] #[track_caller] fn seventh(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32) -> u32 { \
             std::panic::Location::caller().line() + a + b + c + d + e + f }\n\
             fn run(n: u32) -> u32 { seventh(n, n + 1, n + 2, n + 3, n + 4, n + 5) }",
            "#[inline(never)] fn fail(n: u32) -> u32 { if n < 9 { panic!(\"few\") } n }\n\
             #[inline(never)] #[track_caller] fn caught(n: u32) -> u32 { std::panic::catch_unwind(|| fail(n)).map_or_else(\
             |_| std::panic::Location::caller().line(), |n| n) }\n\
             fn run(n: u32) -> u32 { caught(n) }",
        ] {
            for options in [&["-Copt-level=2"][..], &["-Copt-level=0"]] {
                let one = program(&format!("{ID}{run}"));
                let moved = program(&format!("{ID}// A comment.\n{run}"));
                let moved_id = format!("// A comment.\n{one}");
                let other = if run.contains("black_box(f)") { &moved_id } else { &moved };
                assert!(!is_same([&one, other], options), "{run} {options:?}");
            }
        }
    }

    #[test]
    fn crate_with_the_name_of_the_standard_library_does_not_panic() {
        let one = program(
            "pub struct Case { file: &'static str, rounds: u32, seed: u32 }\n\
             #[inline(never)] fn check_failed(case: &'static Case) -> u32 { case.rounds ^ case.seed + case.file.len() as u32 }\n\
             fn run(_: u32) -> u32 { check_failed(const { &Case { file: \"one.rs\", rounds: 1000, seed: 7 } }) }",
        );
        let other = one.replace("1000", "2000");
        for options in
            [["--crate-name=std", "-Copt-level=2"], ["--crate-name=core", "-Copt-level=0"]]
        {
            assert!(!is_same([&one, &other], &options), "{options:?}");
        }
    }

    #[test]
    fn caller_that_is_only_printed_does_not_count() {
        let one = program(
            "#[inline(never)] #[track_caller] fn get(all: &[u32], n: u32) -> u32 { all[n as usize] }\n\
             #[inline(never)] #[track_caller] fn part(n: u32) -> u32 { assert!(n < 9); get(&[1, 2, 3], n) }\n\
             fn run(n: u32) -> u32 { part(n).checked_add(3).expect(\"small\") }",
        );
        let moved = format!("// A comment.\n{one}");
        assert!(is_same([&one, &moved], &["-Copt-level=2"]));
    }
}
