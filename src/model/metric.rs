//! What is measured, and in which unit.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The unit of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
}

impl Unit {
    /// The unit's symbol, as reports and stored results write it.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::Bytes => "bytes",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// One quantity of a benchmark, for instance its wall time per iteration in nanoseconds.
///
/// Values of different metrics are never put into one data set or compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Metric {
    /// A short name, unique within a benchmark: `wall`, `instructions`, `peak-memory`.
    pub name: String,
    /// The unit of every value.
    pub unit: Unit,
}

impl Metric {
    /// Wall time per iteration in nanoseconds: what nearly every harness measures.
    pub fn wall() -> Self {
        Self { name: "wall".to_owned(), unit: Unit::Nanoseconds }
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
    fn a_unit_is_exchanged_as_its_symbol() {
        for unit in [Unit::Nanoseconds, Unit::Instructions, Unit::Cycles, Unit::Bytes] {
            assert_eq!(serde_json::json!(unit), unit.symbol());
        }
    }
}
