//! The class and role of each kind of verdict in a report.

use super::style::Role;
use crate::verdict::VerdictKind;

impl VerdictKind {
    /// The class in a style sheet.
    pub const fn class(self) -> &'static str {
        match self {
            Self::NotComparable => "incomparable",
            other => other.name(),
        }
    }

    /// The role in a text.
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
