//! Opens ELF files and names the formats that are not supported.

use object::LittleEndian;
use object::elf::{EM_AARCH64, EM_X86_64, ET_DYN, ET_EXEC, ET_REL, FileType, Machine};
use object::read::elf::ElfFile64;
use serde::{Deserialize, Serialize};

pub(super) type Elf<'data> = ElfFile64<'data, LittleEndian>;

/// The byte order of every file read here.
pub(super) const LE: LittleEndian = LittleEndian;

/// The reason why bytes say nothing about machine code.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
#[serde(rename_all = "kebab-case")]
pub enum Unreadable {
    /// Another file format, for instance Mach-O; only ELF is supported.
    #[error("{0} is not supported, only ELF is")]
    Format(String),
    /// ELF for a machine other than x86-64 and aarch64; holds its `e_machine`.
    #[error("ELF machine {0} is not supported, only x86-64 and aarch64 are")]
    Machine(u16),
    /// An ELF file of another type, for instance an object where an executable was expected; holds its `e_type`.
    #[error("an ELF file of type {0} is not expected here")]
    Type(u16),
    /// A compiler's bitcode without machine code (linker-plugin LTO), from which the linker makes the code.
    #[error("it contains bitcode and no machine code")]
    Bitcode,
    /// A thin archive: its members are separate files, which must be given themselves.
    #[error("it is a thin archive, whose members are separate files")]
    ThinArchive,
    /// The executable has no symbol table.
    #[error("its symbols were stripped")]
    Stripped,
    /// The bytes contradict their own format.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

impl From<object::read::Error> for Unreadable {
    fn from(error: object::read::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Opens a linked executable. Also opens shared objects, since a position-independent executable has the same ELF
/// type.
pub(super) fn executable(bytes: &[u8]) -> Result<Elf<'_>, Unreadable> {
    open(bytes, |kind| kind == ET_EXEC || kind == ET_DYN)
}

pub(super) fn relocatable(bytes: &[u8]) -> Result<Elf<'_>, Unreadable> {
    open(bytes, |kind| kind == ET_REL)
}

fn open(bytes: &[u8], expected: impl Fn(FileType) -> bool) -> Result<Elf<'_>, Unreadable> {
    if let Some(reason) = foreign(bytes) {
        return Err(reason);
    }
    let elf = Elf::parse(bytes)?;
    let header = elf.elf_header();
    let machine: Machine = header.e_machine.get(LE);
    if machine != EM_X86_64 && machine != EM_AARCH64 {
        return Err(Unreadable::Machine(machine.0));
    }
    let kind = header.e_type.get(LE);
    if expected(kind) { Ok(elf) } else { Err(Unreadable::Type(kind.0)) }
}

/// Identifies bytes that are not 64-bit little-endian ELF, by their first bytes.
fn foreign(bytes: &[u8]) -> Option<Unreadable> {
    let format = |name: &str| Some(Unreadable::Format(name.to_owned()));
    match bytes {
        [0x7f, b'E', b'L', b'F', 2, 1, ..] => None,
        [0x7f, b'E', b'L', b'F', 1, ..] => format("32-bit ELF"),
        [0x7f, b'E', b'L', b'F', 2, 2, ..] => format("big-endian ELF"),
        [b'B', b'C', 0xc0, 0xde, ..] | [0xde, 0xc0, 0x17, 0x0b, ..] => Some(Unreadable::Bitcode),
        [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..]
        | [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..]
        | [0xca, 0xfe, 0xba, 0xbe, ..] => format("Mach-O"),
        [b'M', b'Z', ..] | [0x64, 0x86 | 0xaa, ..] | [0, 0, 0xff, 0xff, ..] => format("COFF"),
        [0, b'a', b's', b'm', ..] => format("WebAssembly"),
        _ => format("an unknown file format"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_names_other_formats_and_does_not_parse_them() {
        let reason = |bytes: &[u8]| executable(bytes).err().unwrap().to_string();
        assert_eq!(reason(b"\xcf\xfa\xed\xfe...."), "Mach-O is not supported, only ELF is");
        assert_eq!(reason(b"MZ......"), "COFF is not supported, only ELF is");
        assert_eq!(reason(b"BC\xc0\xde"), "it contains bitcode and no machine code");
        assert_eq!(reason(b""), "an unknown file format is not supported, only ELF is");
        assert!(reason(b"\x7fELF\x02\x01").starts_with("it is damaged"));
    }
}
