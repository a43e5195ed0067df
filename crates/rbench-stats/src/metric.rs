//! Metrics and their units.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The unit of one measurement.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds per iteration.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Retired instructions per iteration.
    Instructions,
    /// CPU cycles per iteration.
    Cycles,
    /// Bytes.
    Bytes,
    /// Calls that allocated memory, per iteration.
    Allocations,
}

impl Unit {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::Bytes => "bytes",
            Self::Allocations => "allocations",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A measured quantity of a benchmark, for instance its wall time per iteration in nanoseconds.
///
/// Values of different metrics are never mixed in one data set or compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Metric {
    /// A short name, unique within a benchmark: `wall`, `instructions`, `peak-memory`.
    pub name: String,
    /// The unit of every value.
    pub unit: Unit,
}

impl Metric {
    /// Wall time per iteration in nanoseconds: the metric of nearly every harness.
    pub fn wall() -> Self {
        Self { name: "wall".to_owned(), unit: Unit::Nanoseconds }
    }

    /// CPU time of a whole program in nanoseconds: in user mode and in the kernel, with the processes it waits for.
    pub fn cpu() -> Self {
        Self { name: "cpu".to_owned(), unit: Unit::Nanoseconds }
    }

    /// Executed instructions per iteration, counted exactly.
    pub fn instructions() -> Self {
        Self { name: "instructions".to_owned(), unit: Unit::Instructions }
    }

    /// Allocations per iteration, counted exactly.
    pub fn allocations() -> Self {
        Self { name: "allocations".to_owned(), unit: Unit::Allocations }
    }

    /// Allocated bytes per iteration, counted exactly.
    pub fn allocated_bytes() -> Self {
        Self { name: "allocated-bytes".to_owned(), unit: Unit::Bytes }
    }

    /// The bytes of an executable that are loaded: its code and its initialized data.
    pub fn size() -> Self {
        Self { name: "size".to_owned(), unit: Unit::Bytes }
    }

    /// Time of compiling and linking in nanoseconds, with every CPU that cargo uses.
    pub fn compile_time() -> Self {
        Self { name: "compile-time".to_owned(), unit: Unit::Nanoseconds }
    }

    /// CPU time of compiling and linking in nanoseconds: of cargo and everything it starts, in user mode and in the kernel.
    pub fn compile_cpu() -> Self {
        Self { name: "compile-cpu".to_owned(), unit: Unit::Nanoseconds }
    }

    /// True if compilations give it, and no benchmark runs for it.
    pub fn is_of_compilations(&self) -> bool {
        *self == Self::size() || self.is_compile_time()
    }

    /// True if it is a time of compiling.
    pub fn is_compile_time(&self) -> bool {
        [Self::compile_time(), Self::compile_cpu()].contains(self)
    }

    /// True if it is counted exactly, and nothing is timed for it.
    pub fn is_counted(&self) -> bool {
        *self == Self::size()
            || [Self::instructions(), Self::allocations(), Self::allocated_bytes()].contains(self)
    }

    /// True if it is decided and shown unless the user asks for other metrics. The two parts of CPU time are not:
    /// many kernels estimate them from a few samples.
    pub fn is_default(&self) -> bool {
        !["user", "system"].contains(&&*self.name)
    }

    /// True if 0 is a valid value.
    pub fn may_be_nothing(&self) -> bool {
        [Self::allocations(), Self::allocated_bytes()].contains(self)
    }

    /// The names of several metrics, as a list in prose.
    pub fn names(metrics: &[Self]) -> String {
        metrics.iter().map(|metric| &*metric.name).collect::<Vec<_>>().join(", ")
    }

    /// The name and unit of every metric that a harness can report.
    const KNOWN: [(&str, Unit); 13] = [
        ("wall", Unit::Nanoseconds),
        ("cpu", Unit::Nanoseconds),
        ("user", Unit::Nanoseconds),
        ("system", Unit::Nanoseconds),
        ("peak-memory", Unit::Bytes),
        ("cycles", Unit::Cycles),
        ("instructions", Unit::Instructions),
        ("bytes", Unit::Bytes),
        ("allocations", Unit::Allocations),
        ("allocated-bytes", Unit::Bytes),
        ("size", Unit::Bytes),
        ("compile-time", Unit::Nanoseconds),
        ("compile-cpu", Unit::Nanoseconds),
    ];
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let name = if name == "wall-time" { "wall" } else { name };
        let found = Self::KNOWN.into_iter().find(|(known, _)| *known == name);
        let (name, unit) = found.ok_or_else(|| {
            let known = Self::KNOWN.map(|(name, _)| name).join(", ");
            format!("no metric is called `{name}`; there are {known}")
        })?;
        Ok(Self { name: name.to_owned(), unit })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.name, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_is_exchanged_as_its_name() {
        for unit in
            [Unit::Nanoseconds, Unit::Instructions, Unit::Cycles, Unit::Bytes, Unit::Allocations]
        {
            assert_eq!(serde_json::json!(unit), unit.name());
        }
    }

    #[test]
    fn metric_name_determines_its_unit() {
        assert_eq!("wall".parse(), Ok(Metric::wall()));
        assert_eq!("peak-memory".parse::<Metric>().unwrap().unit, Unit::Bytes);
        let refusal = "memory".parse::<Metric>().unwrap_err();
        assert!(
            refusal.contains("`memory`; there are wall, cpu, user, system, peak-memory,"),
            "{refusal}"
        );
    }
}
