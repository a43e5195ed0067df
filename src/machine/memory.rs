//! The memory that is available to benchmarks.

use std::{fs, path::Path};

/// The memory in bytes that processes can use without swapping, as the kernel estimates it; no limit where it is not
/// reported.
pub fn available_memory() -> u64 {
    available(Path::new("/")).unwrap_or(u64::MAX)
}

fn available(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_in_bytes() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(available(root.path()), None);
        fs::create_dir(root.path().join("proc")).unwrap();
        let write = |text| fs::write(root.path().join("proc/meminfo"), text).unwrap();
        write("MemTotal:  9 kB\nMemAvailable:   12 kB\n");
        assert_eq!(available(root.path()), Some(12 << 10));
        write("MemTotal:  9 kB\n");
        assert_eq!(available(root.path()), None);
    }
}
