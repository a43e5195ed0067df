//! Identifies the machine, so that results of different machines are never compared.

use std::{env, fs, path::Path};

use super::root::numbers;
use crate::{
    error::{Error, Exit, Result},
    model::Machine,
};

/// The environment variable with the name of the machine's class. It is not in `bench.toml`, which machines share.
const CLASS_VARIABLE: &str = "RBENCH_CLASS";

/// The longest name of a class in bytes.
const LONGEST_CLASS: usize = 64;

/// Files with the installation's unique name, the first of which counts.
const NAMES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// This machine. Values that the operating system does not report are left empty or 0.
pub fn this_machine() -> Machine {
    let read = |path: &str| fs::read_to_string(Path::new(path)).unwrap_or_default();
    let name = NAMES.map(read).into_iter().find(|name| !name.trim().is_empty());
    Machine {
        cpu: cpu_model(&read("/proc/cpuinfo")),
        // All CPUs online: affinity and quotas are settings of a run, not of the machine.
        cores: numbers(&read("/sys/devices/system/cpu/online")).len().try_into().unwrap_or(0),
        memory: Machine::round_memory(memory("MemTotal:", &read("/proc/meminfo"))),
        os: env::consts::OS.to_owned(),
        architecture: env::consts::ARCH.to_owned(),
        id: name.map(|name| installation(&name)).unwrap_or_default(),
        // A name that is none was refused at the start.
        class: class().unwrap_or_default(),
    }
}

/// The class that this machine's owner gave it, empty if there is none: with it, `history` shows the results of alike
/// machines of one class together. An error if it is no word.
pub fn class() -> Result<String> {
    let class = env::var_os(CLASS_VARIABLE).unwrap_or_default();
    let class = class.to_string_lossy();
    let is_part = |part: char| part.is_ascii_alphanumeric() || "-_.".contains(part);
    if class.len() <= LONGEST_CLASS && class.chars().all(is_part) {
        return Ok(class.into_owned());
    }
    let what = format!("{CLASS_VARIABLE} is no name of a class of machines");
    Err(Error::new(Exit::Usage, what).hint(format!(
        "use at most {LONGEST_CLASS} letters, digits, `-`, `_` and `.`, for example ax42"
    )))
}

/// Makers of ARM processors, by their numbers in `/proc/cpuinfo`.
const MAKERS: [(&str, &str); 6] = [
    ("0x41", "Arm"),
    ("0x4e", "NVIDIA"),
    ("0x51", "Qualcomm"),
    ("0x61", "Apple"),
    ("0x6d", "Microsoft"),
    ("0xc0", "Ampere"),
];

/// Their models for servers, runners and boards, by the numbers of maker and part.
const MODELS: [(&str, &str, &str); 13] = [
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse-N1"),
    ("0x41", "0xd40", "Neoverse-V1"),
    ("0x41", "0xd49", "Neoverse-N2"),
    ("0x41", "0xd4f", "Neoverse-V2"),
    ("0x41", "0xd84", "Neoverse-V3"),
    ("0x41", "0xd8e", "Neoverse-N3"),
    ("0x51", "0x001", "Oryon"),
    ("0x6d", "0xd49", "Azure Cobalt 100"),
    ("0xc0", "0xac3", "Ampere-1"),
    ("0xc0", "0xac4", "Ampere-1a"),
];

/// The model name of x86 kernels, or else that which the numbers of ARM kernels mean.
fn cpu_model(cpuinfo: &str) -> String {
    let fields = || cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let value =
        |name: &str| fields().find(|(field, _)| field.trim() == name).map(|(_, v)| v.trim());
    if let Some(model) = value("model name") {
        return model.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let numbers = ["CPU implementer", "CPU part", "CPU variant", "CPU revision"].map(value);
    let [Some(maker), Some(part), Some(variant), Some(revision)] = numbers else {
        return String::new();
    };
    let name = MAKERS.iter().find(|(number, _)| *number == maker).map(|(_, name)| *name);
    let name = name.map_or_else(|| format!("ARM maker {maker}"), str::to_owned);
    let model = MODELS.iter().find(|(by, number, _)| (*by, *number) == (maker, part));
    let model = model.map_or_else(|| format!("part {part}"), |(.., model)| (*model).to_owned());
    format!("{name} {model} r{}p{revision}", variant.trim_start_matches("0x"))
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
        assert_eq!(cpu_model(arm), "Arm Neoverse-N1 r3p1");
        assert_eq!(cpu_model(&arm.replace("0xd0c", "0xfff")), "Arm part 0xfff r3p1");
        assert_eq!(cpu_model(&arm.replace("0x41", "0x00")), "ARM maker 0x00 part 0xd0c r3p1");
        assert_eq!(cpu_model(""), "");
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
