//! Versions of the GNU C library: the one that an executable needs, and the one that a file of the library is.

use object::read::elf::FileHeader as _;

use super::format::{LE, Unreadable, executable};

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
    let numbers = std::str::from_utf8(name.strip_prefix(PREFIX)?).ok()?;
    let mut numbers = numbers.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The newest version whose symbols the GNU C library in these bytes has; `None` if it is another library.
pub fn provided_c_library(bytes: &[u8]) -> Result<Option<CLibraryVersion>, Unreadable> {
    let elf = executable(bytes)?;
    let sections = elf.elf_header().sections(LE, bytes)?;
    let Some((mut versions, strings)) = sections.gnu_verdef(LE, bytes)? else { return Ok(None) };
    let strings = sections.strings(LE, bytes, strings)?;
    let mut newest = None;
    while let Some((_, mut names)) = versions.next()? {
        while let Some(name) = names.next()? {
            newest = newest.max(c_library_version(name.name(LE, strings)?));
        }
    }
    Ok(newest)
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

    #[test]
    fn library_of_a_program_provides_what_it_needs() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let needed = needed_c_library(&own).unwrap();
        assert!(needed >= Some((2, 2)), "{needed:?}");
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let library = maps.lines().find(|line| line.ends_with("/libc.so.6")).unwrap();
        let library = std::fs::read(&library[library.find('/').unwrap()..]).unwrap();
        assert!(provided_c_library(&library).unwrap() >= needed);
        assert_eq!(provided_c_library(&own), Ok(None), "a program provides none");
    }
}
