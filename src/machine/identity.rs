//! Identifies the machine, so that results of different machines are never compared.

use std::{fs, path::Path};

use crate::model::Machine;

/// Files with the installation's unique name, the first of which counts.
const NAMES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// This machine. Values that the operating system does not report are left empty or 0.
pub fn this_machine() -> Machine {
    let read = |path: &str| fs::read_to_string(Path::new(path)).unwrap_or_default();
    let name = NAMES.map(read).into_iter().find(|name| !name.trim().is_empty());
    Machine {
        cpu: cpu_model(&read("/proc/cpuinfo")),
        // All CPUs online: affinity and quotas are settings of a run, not of the machine.
        cores: processors(&read("/sys/devices/system/cpu/online")),
        memory: Machine::round_memory(memory("MemTotal:", &read("/proc/meminfo"))),
        os: std::env::consts::OS.to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        id: name.map(|name| installation(&name)).unwrap_or_default(),
    }
}

/// The model name of x86 kernels, or else the numbers that ARM kernels give.
fn cpu_model(cpuinfo: &str) -> String {
    let fields = || cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let value =
        |name: &str| fields().find(|(field, _)| field.trim() == name).map(|(_, v)| v.trim());
    if let Some(model) = value("model name") {
        return model.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let parts = ["CPU implementer", "CPU part", "CPU variant", "CPU revision"];
    parts.into_iter().filter_map(value).collect::<Vec<_>>().join(" ")
}

/// The number of CPUs in a list such as `0-3,6`.
pub(super) fn processors(list: &str) -> u32 {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)?.saturating_add(1))
    };
    list.trim().split(',').filter_map(range).fold(0, u32::saturating_add)
}

/// The memory that programs can get now without swapping, in bytes; no limit if it is unknown.
pub fn available_memory() -> u64 {
    match memory("MemAvailable:", &fs::read_to_string("/proc/meminfo").unwrap_or_default()) {
        0 => u64::MAX,
        known => known,
    }
}

/// A line of `/proc/meminfo`, in bytes; 0 if it is missing.
fn memory(name: &str, meminfo: &str) -> u64 {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = value.and_then(|value| value.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes.saturating_mul(1024))
}

/// Hashes the name of an installation, which must be kept confidential (`man machine-id`): a keyed
/// hash identifies it as well.
fn installation(name: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("cargo-rbench machine v1");
    hasher.update(name.trim().as_bytes());
    hasher.finalize().to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_is_the_same_each_time() {
        let machine = this_machine();
        assert_eq!(machine, this_machine());
        assert!(machine.cores > 0 && machine.memory > 0);
    }

    #[test]
    fn cpu_model_excludes_the_clock_rate() {
        let x86 = "processor\t: 0\nmodel name\t: Example(R)  CPU   9000\ncpu MHz\t\t: 2345.678\n";
        assert_eq!(cpu_model(x86), "Example(R) CPU 9000");
        let arm = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n\
                   CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n";
        assert_eq!(cpu_model(arm), "0x41 0xd0c 0x3 1");
        assert_eq!(cpu_model(""), "");
    }

    #[test]
    fn processors_are_counted_from_ranges() {
        for (list, count) in [("0-3\n", 4), ("0", 1), ("0-3,6,8-9", 7), ("", 0), ("3-0,x", 0)] {
            assert_eq!(processors(list), count, "{list:?}");
        }
    }

    #[test]
    fn memory_is_in_bytes() {
        let meminfo = "MemFree: 1 kB\nMemTotal:       16000000 kB\n";
        assert_eq!(memory("MemTotal:", meminfo), 16_384_000_000);
        assert_eq!(memory("MemTotal:", "MemTotal: many kB"), 0);
        assert!((1..=this_machine().memory).contains(&available_memory()));
    }

    #[test]
    fn installation_is_a_hash_of_its_name() {
        assert_eq!(installation("abc\n"), installation("abc"));
        assert_ne!(installation("abc"), installation("abd"));
        assert!(!installation("abc").contains("abc"));
    }
}
