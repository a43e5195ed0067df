//! The reasons to skip the measurement of a benchmark.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a benchmark needs no measurement: it behaves the same in all versions of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The executables do not differ at all.
    Identical,
    /// The machine code that it executes and the data that it reads do not differ.
    Unaffected,
}

impl SkipReason {
    /// All reasons.
    pub const ALL: [Self; 2] = [Self::Identical, Self::Unaffected];

    /// The verdict in one word, for reports and stored results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Unaffected => "unaffected",
        }
    }

    /// Parses [`name`](Self::name); `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sameness| sameness.name() == name)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skip_reason_is_found_by_its_exchanged_name() {
        for sameness in SkipReason::ALL {
            assert_eq!(SkipReason::from_name(sameness.name()), Some(sameness));
            assert_eq!(serde_json::to_value(sameness).unwrap(), sameness.name());
        }
        assert_eq!(SkipReason::from_name("unchanged"), None);
    }
}
