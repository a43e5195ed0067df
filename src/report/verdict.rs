//! The roles of the kinds of verdicts in a report.

use super::style::Role;
use crate::verdict::VerdictKind;

impl VerdictKind {
    /// Its name as a word of a style sheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::NotComparable => "incomparable",
            other => other.name(),
        }
    }

    /// What it is among the texts of a report.
    pub const fn role(self) -> Role {
        match self {
            Self::Regressed => Role::Bad,
            Self::Improved => Role::Good,
            Self::Failed | Self::Accepted | Self::NotComparable | Self::Inconclusive => {
                Role::Doubtful
            }
            Self::Unchanged | Self::Unaffected | Self::Identical | Self::Skipped => Role::Plain,
        }
    }
}
