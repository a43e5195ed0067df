//! Bytes of an executable: of its sections, as `size` adds them up, and of its functions, as `nm -S` lists them.

use object::elf::{SHF_ALLOC, SHF_WRITE, SHT_NOBITS};
use object::read::elf::SectionHeader;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::format::{LE, Unreadable, executable};
use super::name::Name;

/// The bytes that an executable has in memory, by kind: those of `size` in the format of Berkeley.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SectionSizes {
    /// Code, and data that is only read.
    pub text: u64,
    /// Data with an initial value that can be written.
    pub data: u64,
    /// Data that begins as zeros, which is not in the file.
    pub bss: u64,
}

impl SectionSizes {
    /// The bytes that the file has for memory: text and data.
    pub const fn loaded(&self) -> u64 {
        self.text + self.data
    }

    /// Adds up the sections of an executable.
    ///
    /// # Errors
    /// [`Unreadable`] if the bytes are no ELF executable for x86-64 or aarch64.
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let elf = executable(bytes)?;
        let mut sizes = Self::default();
        for section in elf.elf_section_table().iter() {
            let (flags, size) = (section.sh_flags(LE), section.sh_size(LE));
            if !flags.contains(SHF_ALLOC) {
                continue;
            }
            let sum = match (flags.contains(SHF_WRITE), section.sh_type(LE) == SHT_NOBITS) {
                (false, _) => &mut sizes.text,
                (true, false) => &mut sizes.data,
                (true, true) => &mut sizes.bss,
            };
            *sum = sum.saturating_add(size);
        }
        Ok(sizes)
    }
}

/// The crate that defines a function: the first name of its path, or of the type whose method it is. None for functions
/// of other languages.
pub fn crate_of(function: &Name) -> Option<&str> {
    let mut path = function.as_str();
    loop {
        let start = path.trim_start_matches(['<', '&', '*', '(', '[', ' ']);
        let words = ["mut ", "const ", "dyn "];
        let rest = words.iter().find_map(|word| start.strip_prefix(word)).unwrap_or(start);
        if rest == path {
            break;
        }
        path = rest;
    }
    let (name, _) = path.split_once("::")?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty();
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;

    use super::super::placement::kept_functions;
    use super::super::testing::Scratch;
    use super::*;

    #[test]
    fn crate_is_that_of_the_path_or_the_type() {
        for (name, expected) in [
            ("own::f", Some("own")),
            ("<own::T as core::fmt::Debug>::fmt", Some("own")),
            ("<&mut own::T as core::iter::Iterator>::next", Some("own")),
            ("<[own::T] as own::Sum>::sum", Some("own")),
            ("<dyn own::T>::f", Some("own")),
            ("core::ptr::drop_in_place<own::T>", Some("core")),
            ("memcpy", None),
            ("<u8 as own::T>::f", None),
            ("", None),
        ] {
            assert_eq!(crate_of(&Name::demangle(name)), expected, "{name}");
        }
    }

    #[test]
    fn sizes_are_those_of_size_and_nm() {
        let scratch = Scratch::new();
        let source = "static mut ZEROS: [u64; 99] = [0; 99]; static mut ONES: [u64; 9] = [1; 9];\n\
            #[inline(never)] fn twice(x: u64) -> u64 { unsafe { ZEROS[x as usize] += x; ONES[2] += x; 2 * x } }\n\
            fn main() { std::process::exit(twice(std::env::args().count() as u64) as i32) }";
        let bytes = scratch.rust_program("program", source, &["-Copt-level=1"]);
        let path = scratch.path("program");
        let output = |tool: &str, option: &str| {
            let output = Command::new(tool).arg(option).arg(&path).output().expect("binutils");
            String::from_utf8(output.stdout).unwrap()
        };
        let of_size = output("size", "--format=berkeley");
        let numbers = of_size.lines().nth(1).unwrap().split_whitespace().take(3);
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        let SectionSizes { text, data, bss } = SectionSizes::read(&bytes).unwrap();
        assert_eq!([text, data, bss], numbers[..]);
        let of_nm = output("nm", "--print-size");
        let mut functions = BTreeMap::new();
        for line in of_nm.lines() {
            if let [address, size, "t" | "T" | "w" | "W", ..] =
                line.split_whitespace().collect::<Vec<_>>()[..]
            {
                functions.insert(address.to_owned(), u64::from_str_radix(size, 16).unwrap());
            }
        }
        let own = kept_functions(&bytes).unwrap();
        let sum: u64 = own.iter().map(|function| function.size).sum();
        assert_eq!(sum, functions.values().sum::<u64>());
        assert!(own.iter().any(|function| function.name.as_str() == "program::twice"));
    }
}
