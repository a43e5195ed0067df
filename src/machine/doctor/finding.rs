//! What a check finds, and the files of the machine that it reads.

use std::{fs, path::Path};

/// What was found by one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the check, for programs and people: `governor`.
    pub check: &'static str,
    /// What is there: `powersave (driver intel_pstate)`.
    pub found: String,
    /// What follows.
    pub grade: Severity,
    /// Whether it may change or blur what a comparison says, as rbench makes comparisons.
    pub matters: bool,
}

impl Finding {
    /// All is well.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, found: found.into(), grade: Severity::Ok, matters: false }
    }

    /// rbench deals with it.
    pub fn rbench(check: &'static str, found: impl Into<String>, how: impl Into<String>) -> Self {
        Self { grade: Severity::Rbench(how.into()), ..Self::ok(check, found) }
    }

    /// Only the user can deal with it.
    pub fn user(check: &'static str, found: impl Into<String>, what: impl Into<String>) -> Self {
        Self { grade: Severity::User(what.into()), ..Self::ok(check, found) }
    }

    /// Nobody can deal with it here.
    pub fn never(check: &'static str, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self { grade: Severity::Never(why.into()), ..Self::ok(check, found) }
    }

    /// The same, and it matters to comparisons.
    #[must_use]
    pub fn that_matters(self) -> Self {
        Self { matters: true, ..self }
    }
}

/// What can be done about what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing has to be.
    Ok,
    /// rbench can, or does: how.
    Rbench(String),
    /// Only the user can: the command, or where there is none, what to do.
    User(String),
    /// Nobody can on this machine: why.
    Never(String),
}

/// A root directory.
pub struct Root<'r>(&'r Path);

impl<'r> Root<'r> {
    pub const fn new(path: &'r Path) -> Self {
        Self(path)
    }

    /// The text of a file without blanks at its ends; none if it cannot be read or is empty.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// A whole number in a file.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The names in a directory whose rest after `prefix` is a number, in the order of the numbers.
    pub fn numbered(&self, directory: &str, prefix: &str) -> Vec<(u32, String)> {
        let entries = fs::read_dir(self.0.join(directory)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<(u32, String)> = names
            .filter_map(|name| Some((name.strip_prefix(prefix)?.parse().ok()?, name)))
            .collect();
        names.sort_unstable();
        names
    }

    /// The CPUs' directories.
    pub fn cpus(&self) -> Vec<String> {
        const ALL: &str = "sys/devices/system/cpu";
        let names = self.numbered(ALL, "cpu").into_iter();
        names.map(|(_, name)| format!("{ALL}/{name}")).collect()
    }

    /// Whether a host lies below the machine.
    pub fn is_virtual(&self) -> bool {
        let info = self.text("proc/cpuinfo").unwrap_or_default();
        let mut flags = info.lines().filter(|line| line.starts_with("flags"));
        flags.any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
    }
}

/// The numbers of a list such as `0-3,6`.
pub fn numbers(list: &str) -> Vec<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // No machine has more.
        Some(first..=last)
            .filter(|range: &std::ops::RangeInclusive<u32>| range.clone().count() < 65_536)
    };
    list.split(',').filter_map(range).flatten().collect()
}
