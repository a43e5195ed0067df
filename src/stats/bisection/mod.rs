//! Finds the commits of a range that changed a benchmark, by comparisons of two commits at a time. Pure: it asks for
//! measurements and never takes them.
//!
//! The range is `0..=n`: 0 is the version before it, `n` its end. A [`Search`] has one subject (a benchmark in one
//! metric) and asks for comparisons. A [`Strategy`] combines the questions of many searches, so that they share
//! comparisons.
//!
//! # The search
//!
//! First 0 is compared with `n`. If that shows a change, the commit in the middle is compared with the older end. The
//! half with the change is searched in the same way: the older half if it is shown to have changed, the newer half if
//! the remainder of the whole is, and both if both are. If neither is shown, the middle is compared with the newer end
//! too, and all three comparisons decide together ([`decide`]). If they leave it open, the search ends with all commits
//! of the segment. A single commit is only named if it was compared with the usable one before it.
//!
//! Commits that cannot be compared are skipped in favour of a neighbour. If a subject behaves the same in two commits,
//! nothing between them is searched.
//!
//! # Error rate
//!
//! All searches together name a commit without a change with a probability of at most `α` (a familywise rate). The
//! first comparison takes `α / (⌈log₂ n⌉ + 2)`, shared evenly by the `G` subjects that may differ at the ends. The rest
//! is shared evenly by those `G'` of them that it shows to have changed: each has a budget of `β = α (⌈log₂ n⌉ + 1) /
//! (⌈log₂ n⌉ + 2) / G'`, and spends it step by step. Of a segment of `s` commits with `β` left, one step takes `β /
//! (⌈log₂ s⌉ + 1)`, half for each of its two comparisons; where both halves are searched, each gets half of what is
//! left; and what is left at the end is for the comparison of the single commit. So all steps together never take more
//! than `β`, however many changes there are, and each step of a search for one change takes the same. The caller must
//! answer [`Finding::Changed`] for an unchanged subject with at most the requested probability.

mod decision;
mod estimate;
mod search;
mod strategy;
#[cfg(test)]
mod tests;

pub use decision::{Decision, decide};
pub use estimate::Estimate;
pub use search::{Conclusion, Ending, Found, Search, Task, steps};
pub use strategy::{Question, Strategy};

/// Two compared commits, by their numbers in the range: the older one first.
pub type Pair = [usize; 2];

/// The result of a comparison for one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It changed by at least the smallest change of interest.
    Changed,
    /// It changed by less than that.
    Unchanged,
    /// Neither is shown.
    Unsure,
}

/// The comparison of two commits in one subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The change.
    pub estimate: Estimate,
    /// The conclusion.
    pub finding: Finding,
}

/// Knowledge about two commits without measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The subject behaves the same in both.
    Same,
    /// It may differ.
    Differs,
    /// This commit cannot be compared in this subject: it does not build, or lacks the benchmark.
    Lacks(usize),
}

/// The result of measuring two commits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// A comparison.
    Measured(Measured),
    /// This commit cannot be compared in this subject: the benchmark fails in it.
    Lacks(usize),
}
