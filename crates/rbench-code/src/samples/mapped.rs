//! The list of files that are mapped into a process.

use std::ops::Range;

/// A part of the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Its addresses.
    pub addresses: Range<u64>,
    /// Its place in the file, in bytes.
    pub offset: u64,
    /// True if it may be executed.
    pub is_code: bool,
    /// The path of its file, or the kernel's name for it; may be empty.
    pub path: String,
}

/// Reads the kernel's list of a process's memory, as in `/proc/PID/maps`.
pub fn mapped_files(list: &str) -> Vec<Mapped> {
    list.lines().filter_map(mapped).collect()
}

/// `55e0-55f0 r-xp 00001000 fe:00 1234   /usr/bin/cat`.
fn mapped(line: &str) -> Option<Mapped> {
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = hexadecimal(words.next()?)?;
    let path = words.nth(2).unwrap_or_default().trim();
    Some(Mapped {
        addresses: hexadecimal(start)?..hexadecimal(end)?,
        offset,
        is_code: permissions.as_bytes().get(2) == Some(&b'x'),
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_files_and_other_memory_are_read() {
        let list = "55e0-55f0 r-xp 00001000 fe:00 1234                  /a b/bench\n\
                    7f00-7f10 rw-p 00000000 00:00 0 \n\
                    7f10-7f20 r--p 00000000 00:00 0                     [vdso]\n\
                    7f20-7f30 r--p 00000000 fe:00 7                     /lib/libc.so.6\n\
                    garbage\n";
        let found = mapped_files(list);
        let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["/a b/bench", "", "[vdso]", "/lib/libc.so.6"]);
        let expected = Mapped {
            addresses: 0x55e0..0x55f0,
            offset: 0x1000,
            is_code: true,
            path: "/a b/bench".to_owned(),
        };
        assert_eq!(found[0], expected);
        assert!(!found[3].is_code);
    }
}
