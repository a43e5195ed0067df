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
    pub unit: Unit,
}

/// Where the values of a metric come from. The executions of one source give nothing for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricSource {
    /// Timed executions of the benchmark.
    Execution,
    /// Executions under valgrind.
    InstructionCount,
    /// Executions with an allocator that counts.
    AllocationCount,
    /// The executable: nothing runs.
    Executable,
    /// Compilations: no benchmark runs.
    Compilation,
}

/// A row of [`Metric::KNOWN`].
#[derive(Clone, Copy, Debug)]
pub struct KnownMetric {
    pub name: &'static str,
    unit: Unit,
    source: MetricSource,
    /// False for a metric that is decided and shown only on request.
    is_default: bool,
    /// False for a metric that is measured beside times and affects the exit code only on request.
    decides: bool,
    /// True if 0 is a valid value.
    may_be_zero: bool,
    /// The default min-effect, which `[metric.NAME]` changes. Absent for metrics that follow `[verdict]`.
    pub min_effect: Option<f64>,
}

impl KnownMetric {
    /// The columns that a row leaves out.
    const TIMED: Self = Self {
        name: "",
        unit: Unit::Nanoseconds,
        source: MetricSource::Execution,
        is_default: true,
        decides: true,
        may_be_zero: false,
        min_effect: None,
    };
}

/// Makes a table of metrics, and a constructor for each.
macro_rules! metrics {
    ($($(#[$doc:meta])* $constructor:ident: $name:literal { $($column:ident: $value:expr),* $(,)? })*) => {
        impl Metric {
            /// Every metric that can be measured. What rbench knows about a metric is in its row and nowhere else.
            pub const KNOWN: [KnownMetric; [$($name),*].len()] = [
                $(KnownMetric { name: $name, $($column: $value,)* ..KnownMetric::TIMED },)*
            ];

            $($(#[$doc])*
            pub fn $constructor() -> Self {
                KnownMetric { name: $name, $($column: $value,)* ..KnownMetric::TIMED }.into()
            })*
        }
    };
}

metrics! {
    /// Wall time per iteration: the metric of nearly every harness.
    wall: "wall" {}
    /// CPU time of a whole program: in user mode and in the kernel, with the processes it waits for.
    cpu: "cpu" {}
    /// The part of the CPU time in user mode. Many kernels estimate both parts from a few samples.
    user: "user" { is_default: false }
    /// The part of the CPU time in the kernel.
    system: "system" { is_default: false }
    /// Peak memory of a whole program. With threads, chance and speed move it by percents.
    peak_memory: "peak-memory" { unit: Unit::Bytes, decides: false, min_effect: Some(0.05) }
    /// CPU cycles per iteration, by a custom measurement of criterion.
    cycles: "cycles" { unit: Unit::Cycles }
    /// Executed instructions per iteration, counted exactly. Nearly every commit changes a few.
    instructions: "instructions" {
        unit: Unit::Instructions,
        source: MetricSource::InstructionCount,
        min_effect: Some(0.005),
    }
    /// Bytes per iteration, by a custom measurement of criterion.
    bytes: "bytes" { unit: Unit::Bytes }
    /// Allocations per iteration, counted exactly. One more is a regression.
    allocations: "allocations" {
        unit: Unit::Allocations,
        source: MetricSource::AllocationCount,
        may_be_zero: true,
        min_effect: Some(0.0),
    }
    /// Allocated bytes per iteration, counted exactly.
    allocated_bytes: "allocated-bytes" {
        unit: Unit::Bytes,
        source: MetricSource::AllocationCount,
        may_be_zero: true,
        min_effect: Some(0.0),
    }
    /// The bytes of an executable that are loaded: its code and its initialized data.
    size: "size" {
        unit: Unit::Bytes,
        source: MetricSource::Executable,
        min_effect: Some(0.005),
    }
    /// Time of compiling and linking, with every CPU that cargo uses. It varies, and more compilations take long.
    compile_time: "compile-time" { source: MetricSource::Compilation, min_effect: Some(0.02) }
    /// CPU time of compiling and linking: of cargo and everything it starts, in user mode and in the kernel.
    compile_cpu: "compile-cpu" { source: MetricSource::Compilation, min_effect: Some(0.02) }
}

impl Metric {
    fn known(&self) -> Option<&'static KnownMetric> {
        Self::KNOWN.iter().find(|known| known.name == self.name && known.unit == self.unit)
    }

    pub fn source(&self) -> MetricSource {
        self.known().map_or(MetricSource::Execution, |known| known.source)
    }

    pub fn with_source(source: MetricSource) -> Vec<Self> {
        let known = Self::KNOWN.into_iter().filter(|known| known.source == source);
        known.map(Self::from).collect()
    }

    /// True if compilations give it, and no benchmark runs for it.
    pub fn is_of_compilations(&self) -> bool {
        matches!(self.source(), MetricSource::Executable | MetricSource::Compilation)
    }

    pub fn is_compile_time(&self) -> bool {
        self.source() == MetricSource::Compilation
    }

    /// True if it is counted exactly, and nothing is timed for it.
    pub fn is_counted(&self) -> bool {
        !matches!(self.source(), MetricSource::Execution | MetricSource::Compilation)
    }

    /// True if it is decided and shown unless the user asks for other metrics.
    pub fn is_default(&self) -> bool {
        self.known().is_none_or(|known| known.is_default)
    }

    /// True if it affects the exit code beside times, unless the user says otherwise: a gate fails on what it was asked
    /// about.
    pub fn decides(&self) -> bool {
        !self.is_counted() && self.known().is_none_or(|known| known.decides)
    }

    /// True if 0 is a valid value.
    pub fn may_be_zero(&self) -> bool {
        self.known().is_some_and(|known| known.may_be_zero)
    }

    /// The names of several metrics, as a list in prose.
    pub fn names(metrics: &[Self]) -> String {
        metrics.iter().map(|metric| &*metric.name).collect::<Vec<_>>().join(", ")
    }
}

impl From<KnownMetric> for Metric {
    fn from(known: KnownMetric) -> Self {
        Self { name: known.name.to_owned(), unit: known.unit }
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let name = if name == "wall-time" { "wall" } else { name };
        let found = Self::KNOWN.into_iter().find(|known| known.name == name);
        found.map(Self::from).ok_or_else(|| {
            let known = Self::KNOWN.map(|known| known.name).join(", ");
            format!("no metric is called `{name}`; there are {known}")
        })
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
