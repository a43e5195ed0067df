//! The class and role of each kind of verdict in a report, and the numbers of verdicts in words.

use super::{quantity::count, style::Role};
use crate::verdict::{Counts, VerdictKind};

impl Counts {
    /// The numbers of these verdicts, without those that there are none of: `2 regressed, 7
    /// unchanged`.
    pub fn words(&self, kinds: &[VerdictKind]) -> String {
        let there = kinds.iter().filter(|kind| self.with_verdict(**kind) > 0);
        let words = there.map(|kind| format!("{} {}", self.with_verdict(*kind), kind.name()));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The numbers of all verdicts and of failed bench targets: `2 regressed, 1 failed bench
    /// target`.
    pub fn all_words(&self) -> String {
        let targets = self.failed_targets;
        let targets = (targets > 0).then(|| count(targets, "failed bench target"));
        let words = [self.words(&VerdictKind::ALL), targets.unwrap_or_default()];
        let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
        if words.is_empty() { "no benchmark in both versions".to_owned() } else { words.join(", ") }
    }
}

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
