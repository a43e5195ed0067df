//! Why a benchmark of an experiment needs no measurement.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a benchmark need not be measured: it does the same in all versions of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Nothing at all differs.
    Identical,
    /// None of the machine code that it executes, and none of the data that it reads, differs.
    Unaffected,
}

impl SkipReason {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Identical, Self::Unaffected];

    /// The verdict in a word, as reports and stored results write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Unaffected => "unaffected",
        }
    }

    /// The one of that name.
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
    fn each_is_found_by_its_name_which_is_the_one_that_is_exchanged() {
        for sameness in SkipReason::ALL {
            assert_eq!(SkipReason::from_name(sameness.name()), Some(sameness));
            assert_eq!(serde_json::to_value(sameness).unwrap(), sameness.name());
        }
        assert_eq!(SkipReason::from_name("unchanged"), None);
    }
}
