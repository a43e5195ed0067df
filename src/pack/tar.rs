//! Headers of a tar archive: regular files with short names, and nothing else.

/// The size of a block, of which each file fills several.
pub const BLOCK: usize = 512;

/// The two empty blocks at the end.
pub const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];

/// The header of a file with this name, of at most 100 bytes, and size. The same file has the same header everywhere, so
/// that who reads an archive compares headers instead of believing them.
pub fn header(name: &str, size: u64) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |offset: usize, bytes: &[u8]| {
        header[offset..offset + bytes.len()].copy_from_slice(bytes);
    };
    put(0, &name.as_bytes()[..name.len().min(100)]);
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, &size_field(size));
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// The size as eleven octal digits, or, from 8 GiB, as GNU tar writes it: a number of twelve bytes with the highest bit set.
fn size_field(size: u64) -> [u8; 12] {
    let mut field = [0; 12];
    if size < 1 << 33 {
        field.copy_from_slice(format!("{size:011o}\0").as_bytes());
    } else {
        field[0] = 0x80;
        field[4..].copy_from_slice(&size.to_be_bytes());
    }
    field
}

/// The size of a file that [`header`] wrote; `None` for any other header.
pub fn size_in(header: &[u8; BLOCK], name: &str) -> Option<u64> {
    let digits = std::str::from_utf8(&header[124..135]).ok()?;
    let size = u64::from_str_radix(digits, 8).ok()?;
    (*header == self::header(name, size)).then_some(size)
}

/// The number of zero bytes after the contents of a file of this size.
pub fn padding(size: u64) -> usize {
    let rest = usize::try_from(size % BLOCK as u64).unwrap_or_default();
    (BLOCK - rest) % BLOCK
}
