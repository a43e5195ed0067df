//! The version of the GNU C library that an executable needs.

use object::read::elf::FileHeader as _;

use super::format::{LE, Unreadable, executable};

/// The prefix of the names of its versions.
const PREFIX: &[u8] = b"GLIBC_";

/// A version, such as 2.34.
pub type CLibraryVersion = (u32, u32);

/// The newest version of the GNU C library whose symbols an executable or a library uses; `None` if it uses none.
pub fn needed_c_library(bytes: &[u8]) -> Result<Option<CLibraryVersion>, Unreadable> {
    let elf = executable(bytes)?;
    let sections = elf.elf_header().sections(LE, bytes)?;
    let Some((mut libraries, strings)) = sections.gnu_verneed(LE, bytes)? else { return Ok(None) };
    let strings = sections.strings(LE, bytes, strings)?;
    let mut newest = None;
    while let Some((_, mut versions)) = libraries.next()? {
        while let Some(version) = versions.next()? {
            newest = newest.max(c_library_version(version.name(LE, strings)?));
        }
    }
    Ok(newest)
}

/// The version in such a name: `GLIBC_2.34`, or `GLIBC_2.2.5`.
fn c_library_version(name: &[u8]) -> Option<CLibraryVersion> {
    parse_c_library_version(std::str::from_utf8(name.strip_prefix(PREFIX)?).ok()?)
}

/// The first two numbers of a version: of 2.34 or 2.2.5.
pub fn parse_c_library_version(text: &str) -> Option<CLibraryVersion> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_its_name() {
        assert_eq!(c_library_version(b"GLIBC_2.34"), Some((2, 34)));
        assert_eq!(c_library_version(b"GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(c_library_version(b"GLIBC_PRIVATE"), None);
        assert_eq!(c_library_version(b"GCC_3.0"), None);
        assert!(c_library_version(b"GLIBC_2.9") < c_library_version(b"GLIBC_2.34"));
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn program_needs_a_c_library() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert!(needed_c_library(&own).unwrap() >= Some((2, 2)));
    }
}
