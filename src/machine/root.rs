//! Access to the machine's files below a root directory.

use std::{fs, path::Path};

/// A root directory; tests use one with made-up files.
pub struct Root<'r>(&'r Path);

impl<'r> Root<'r> {
    pub const fn new(path: &'r Path) -> Self {
        Self(path)
    }

    /// The trimmed text of a file; none if it is unreadable or empty.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The names in a directory that are `prefix` followed by a number, in the order of the
    /// numbers.
    pub fn numbered(&self, directory: &str, prefix: &str) -> Vec<(u32, String)> {
        let entries = fs::read_dir(self.0.join(directory)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<(u32, String)> = names
            .filter_map(|name| Some((name.strip_prefix(prefix)?.parse().ok()?, name)))
            .collect();
        names.sort_unstable();
        names
    }

    pub fn cpus(&self) -> Vec<String> {
        const ALL: &str = "sys/devices/system/cpu";
        let names = self.numbered(ALL, "cpu").into_iter();
        names.map(|(_, name)| format!("{ALL}/{name}")).collect()
    }

    /// True if the machine is virtual: x86 CPUs have a flag for that, others are known by their firmware.
    pub fn is_virtual(&self) -> bool {
        /// The words in names that only virtual machines have.
        const VIRTUAL: [&str; 8] = [
            "dummy-virt",
            "QEMU",
            "KVM",
            "Virtual",
            "VMware",
            "Amazon EC2",
            "Google Compute",
            "Parallels",
        ];
        let info = self.text("proc/cpuinfo").unwrap_or_default();
        let mut flags = info.lines().filter(|line| line.starts_with("flags"));
        let names = [
            "sys/class/dmi/id/sys_vendor",
            "sys/class/dmi/id/product_name",
            "proc/device-tree/compatible",
        ];
        let is_in = |name: String| VIRTUAL.iter().any(|word| name.contains(word));
        flags.any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
            || names.iter().filter_map(|name| self.text(name)).any(is_in)
    }
}

/// The numbers of a list such as `0-3,6`.
pub fn numbers(list: &str) -> Vec<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // No machine has more CPUs.
        Some(first..=last)
            .filter(|range: &std::ops::RangeInclusive<u32>| range.clone().count() < 65_536)
    };
    list.split(',').filter_map(range).flatten().collect()
}
