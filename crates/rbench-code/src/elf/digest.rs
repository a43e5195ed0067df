//! A 256-bit digest that identifies machine code. That of everything that an executable loads into memory decides
//! whether two executables are the same program.

use std::{borrow::Cow, fmt, ops::Range, str::FromStr};

use object::{
    elf::{SHF_ALLOC, SHT_NOBITS},
    read::elf::SectionHeader,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{
    format::{Elf, LE, Unreadable, executable},
    source_location::lines_and_columns,
};

/// The digest of everything that a linked executable loads: machine, entry point, and of each loaded section the name,
/// address, flags, size and bytes.
///
/// Code, data and their addresses count. Information for debuggers and people does not: symbols, debug info,
/// `.comment` and the build id; and lines and columns that only locate something in the source, so that a comment
/// changes nothing. (In a stripped program, nothing shows which these are, so all count.)
///
/// # Errors
/// [`Unreadable`] if the bytes are no ELF executable for x86-64 or aarch64, or have no sections.
pub fn loadable_digest(bytes: &[u8]) -> Result<Digest, Unreadable> {
    let elf = executable(bytes)?;
    let header = elf.elf_header();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&header.e_type.get(LE).0.to_le_bytes());
    hasher.update(&header.e_machine.get(LE).0.to_le_bytes());
    hasher.update(&header.e_entry.get(LE).to_le_bytes());

    let unread = lines_and_columns(&elf)?;
    let mut loaded = 0_u32;
    for section in elf.elf_section_table().iter() {
        if hash_section(&elf, section, &unread, &mut hasher)? {
            loaded += 1;
        }
    }
    match loaded {
        0 => Err(Unreadable::Damaged("it has no loaded sections".to_owned())),
        _ => Ok(hasher.finalize().into()),
    }
}

/// Hashes a section if it is loaded and counts; returns true if so. For the address ranges `unread`, only their
/// presence counts.
fn hash_section(
    elf: &Elf<'_>,
    section: &object::elf::SectionHeader64<object::LittleEndian>,
    unread: &[Range<u64>],
    hasher: &mut blake3::Hasher,
) -> Result<bool, Unreadable> {
    let flags = section.sh_flags(LE);
    let name = elf.elf_section_table().section_name(LE, section)?;
    if !flags.contains(SHF_ALLOC) || is_debug_section(name) {
        return Ok(false);
    }
    let kind = section.sh_type(LE);
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name);
    hasher.update(&kind.0.to_le_bytes());
    for number in [flags.0, section.sh_addr(LE), section.sh_size(LE)] {
        hasher.update(&number.to_le_bytes());
    }
    if kind != SHT_NOBITS {
        let mut data = Cow::Borrowed(section.data(LE, elf.data())?);
        for range in unread {
            let offset =
                |address: u64| usize::try_from(address.checked_sub(section.sh_addr(LE))?).ok();
            if let (Some(start), Some(end)) = (offset(range.start), offset(range.end))
                && data.get(start..end).is_some()
            {
                data.to_mut()[start..end].fill(0);
            }
        }
        hasher.update(&data);
    }
    Ok(true)
}

/// True for sections that only debuggers and people read. (`.debug_gdb_scripts` is loaded.)
fn is_debug_section(name: &[u8]) -> bool {
    matches!(name, b".note.gnu.build-id" | b".comment") || name.starts_with(b".debug_")
}

/// The BLAKE3 digest of machine code.
///
/// Written as 64 hexadecimal digits; `{:.12}` or [`Digest::short`] gives the first 12, enough to distinguish the
/// builds of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct Digest([u8; 32]);

/// The error for text that is not the 64 hexadecimal digits of a [`Digest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest has 64 hexadecimal digits")]
pub struct NotADigest;

impl Digest {
    /// The digest of `bytes`.
    pub fn compute(bytes: &[u8]) -> Self {
        blake3::hash(bytes).into()
    }

    /// The first 12 hexadecimal digits.
    pub fn short(&self) -> String {
        format!("{self:.12}")
    }

    /// The first 64 bits.
    pub(super) fn first_bits(&self) -> u64 {
        self.0.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// The 32 bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self:.12})")
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        blake3::Hash::from_hex(text).map(Self::from).map_err(|_| NotADigest)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::testing::Scratch;

    const PROGRAM: &str = "int twice(int x) { return 2 * x; }\n\
        int table[4] = {1, 2, 3, 4};\n\
        int main(int argc, char **argv) { return twice(table[argc & 3]); }\n";

    fn digest_of(scratch: &Scratch, source: &str, options: &[&str]) -> Digest {
        loadable_digest(&scratch.c_program("program", source, options)).unwrap()
    }

    #[test]
    fn same_program_linked_twice_has_the_same_digest() {
        let scratch = Scratch::new();
        assert_eq!(digest_of(&scratch, PROGRAM, &[]), digest_of(&scratch, PROGRAM, &[]));
    }

    #[test]
    fn loadable_digest_depends_on_code_data_and_addresses() {
        let scratch = Scratch::new();
        let digest = digest_of(&scratch, PROGRAM, &[]);
        let other_code = PROGRAM.replace("2 * x", "3 * x");
        assert_ne!(digest_of(&scratch, &other_code, &[]), digest);
        let other_data = PROGRAM.replace("3, 4", "3, 5");
        assert_ne!(digest_of(&scratch, &other_data, &[]), digest);
        assert_ne!(digest_of(&scratch, PROGRAM, &["-Wl,-Ttext-segment=0x800000"]), digest);
    }

    #[test]
    fn loadable_digest_ignores_debug_info_and_build_id() {
        let scratch = Scratch::new();
        let digest = digest_of(&scratch, PROGRAM, &["-Wl,--build-id=0x1111"]);
        for options in [
            &["-Wl,--build-id=0x2222"][..],
            &["-g", "-Wl,--build-id=0x1111"],
            &["-s", "-Wl,--build-id=0x1111"],
            &["-fno-ident", "-Wl,--build-id=0x1111"],
        ] {
            assert_eq!(digest_of(&scratch, PROGRAM, options), digest, "{options:?}");
        }
    }

    #[test]
    fn object_is_refused_as_an_executable() {
        let scratch = Scratch::new();
        let object = scratch.c_object("object", PROGRAM, &[]);
        assert_eq!(loadable_digest(&object), Err(Unreadable::Type(1)));
    }
}

#[cfg(test)]
mod digest_tests {
    use super::*;

    #[test]
    fn digest_is_written_in_full_or_by_its_first_twelve_digits() {
        let digest = Digest::compute(b"");
        assert_eq!(
            digest.to_string(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
        assert_eq!(digest.short(), "af1349b9f5f9");
    }

    #[test]
    fn digest_survives_json_as_hexadecimal_digits() {
        let digest = Digest::compute(b"code");
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json, format!("\"{digest}\""));
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
    }

    #[test]
    fn digest_refuses_short_or_foreign_strings() {
        assert_eq!("af1349b9f5f9".parse::<Digest>(), Err(NotADigest));
        let error = serde_json::from_str::<Digest>("\"zz\"").unwrap_err().to_string();
        assert!(error.contains("64 hexadecimal digits"), "{error}");
    }
}
