//! Finds the commits of a range that changed a benchmark, by comparisons of two commits at a time.
//!
//! The range is `0..=n`: 0 is the version before it, `n` its end. A [`Search`] is of one subject (a benchmark in
//! one metric). It asks for comparisons and never measures. A [`Strategy`] puts the questions of many searches together,
//! so that they share comparisons.
//!
//! # The search
//!
//! First 0 is compared with `n`. If that shows a change, the commit in the middle is compared with the older end.
//! The half that has the change is searched in the same way: the older half if it is shown to have changed, the
//! newer half if what is left of the whole is. Both are searched if both are. If neither is shown, the middle is
//! compared with the newer end too, and all three comparisons decide together ([`decide`]). Where they do not, the
//! search ends with all commits of the segment. A single commit is only named if it was compared with the usable
//! one before it.
//!
//! Commits that cannot be compared are passed over: a neighbour takes their place. If a subject does the same in
//! two commits, nothing between them is searched.
//!
//! # The promise
//!
//! All searches together name something that is no change with a probability of at most `α`: not one in so many of
//! them, but in any. Of it, the first comparison takes `α / (⌈log₂ n⌉ + 2)`, shared evenly by the `G` subjects that may
//! differ at the ends. The rest is shared evenly by those `G'` of them that it shows to have changed: each has a budget
//! of `β = α (⌈log₂ n⌉ + 1) / (⌈log₂ n⌉ + 2) / G'`, and spends it as it goes on. Of a segment of `s` commits with `β`
//! left, one step takes `β / (⌈log₂ s⌉ + 1)`, half for each of its two comparisons; where both halves are searched, each
//! gets half of what is left; and what is left at the end is for the comparison of the single commit. So all steps
//! together never take more than `β`, however many changes there are, and each step of a search for one change
//! takes the same. Whoever answers must say [`Finding::Changed`] of what did not change with a probability of at
//! most the rate that is asked for.

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

/// Two commits that are compared, by their numbers in the range: the older one first.
pub type Pair = [usize; 2];

/// What a comparison says of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It changed, by at least the smallest change of interest.
    Changed,
    /// It did not change by as much as that.
    Unchanged,
    /// Neither is shown.
    Unsure,
}

/// The comparison of two commits in one subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The change.
    pub estimate: Estimate,
    /// What is shown.
    pub finding: Finding,
}

/// What is known of two commits without measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The subject does the same in both.
    Same,
    /// It may differ.
    Differs,
    /// This commit cannot be compared in this subject: it does not build, or lacks the benchmark.
    Lacks(usize),
}

/// What came of measuring two commits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// A comparison.
    Measured(Measured),
    /// This commit cannot be compared in this subject: the benchmark fails in it.
    Lacks(usize),
}
