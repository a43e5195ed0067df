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
    /// Every unit.
    pub const ALL: [Self; 4] = [Self::Nanoseconds, Self::Instructions, Self::Cycles, Self::Bytes];

    /// The unit's symbol, as reports and stored results write it.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::Bytes => "bytes",
        }
    }

    /// The unit with that symbol.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.symbol() == symbol)
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
        for unit in Unit::ALL {
            assert_eq!(serde_json::json!(unit), unit.symbol());
        }
    }
}
