//! The kinds of verdicts, their names, and their order of importance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::Verdict;

/// A verdict without its reason, the most important first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The head costs more.
    Regressed,
    /// There are no measurements.
    Failed,
    /// The head costs more, and that was accepted.
    Accepted,
    /// The head costs less.
    Improved,
    /// The measurements must not be compared.
    NotComparable,
    /// Neither a change nor its absence is shown.
    Inconclusive,
    /// Both versions cost the same, within the smallest change of interest.
    Unchanged,
    /// The benchmark neither executes nor reads anything that differs; it was skipped.
    Unaffected,
    /// Both versions have the same machine code.
    Identical,
    /// The benchmark chose not to be measured.
    Skipped,
}

impl VerdictKind {
    /// Every kind, in order of importance.
    pub const ALL: [Self; 10] = [
        Self::Regressed,
        Self::Failed,
        Self::Accepted,
        Self::Improved,
        Self::NotComparable,
        Self::Inconclusive,
        Self::Unchanged,
        Self::Unaffected,
        Self::Identical,
        Self::Skipped,
    ];

    /// The kind of a verdict.
    pub const fn new(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Regressed { .. } => Self::Regressed,
            Verdict::Accepted { .. } => Self::Accepted,
            Verdict::Improved { .. } => Self::Improved,
            Verdict::Unchanged { .. } => Self::Unchanged,
            Verdict::Inconclusive { .. } => Self::Inconclusive,
            Verdict::Identical => Self::Identical,
            Verdict::Unaffected => Self::Unaffected,
            Verdict::Skipped { .. } => Self::Skipped,
            Verdict::Failed { .. } => Self::Failed,
            Verdict::NotComparable { .. } => Self::NotComparable,
        }
    }

    /// True if the verdict reports a change.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Regressed | Self::Accepted | Self::Improved)
    }

    /// The name in reports for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regressed => "regressed",
            Self::Failed => "failed",
            Self::Accepted => "accepted",
            Self::Improved => "improved",
            Self::NotComparable => "not comparable",
            Self::Inconclusive => "inconclusive",
            Self::Unchanged => "unchanged",
            Self::Unaffected => "unaffected",
            Self::Identical => "identical",
            Self::Skipped => "skipped",
        }
    }
}
