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

mod search;
mod strategy;

pub use {
    search::{Conclusion, Decision, Ending, Found, Search, Task, decide, steps},
    strategy::{Question, Strategy},
};

use super::{
    Change,
    counted::relative,
    distribution::{t_quantile, t_survival},
};

/// Two compared commits, by their numbers in the range: the older one first.
pub type Pair = [usize; 2];

/// The result of a comparison for one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It changed by at least the smallest change of interest.
    Changed,
    Unchanged,
    Unsure,
}

/// The comparison of two commits in one subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub estimate: Estimate,
    pub finding: Finding,
}

/// Knowledge about two commits without measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The subject behaves the same in both.
    Same,
    Differs,
    /// This commit cannot be compared in this subject: it does not build, or lacks the benchmark.
    Lacks(usize),
}

/// The result of measuring two commits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Measured(Measured),
    /// This commit cannot be compared in this subject: the benchmark fails in it.
    Lacks(usize),
}

/// The remainder of a change counts as something to explain if its p value is at most this.
const LEFT: f64 = 0.05;

/// A change on the logarithmic scale with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// `D`: the difference of the mean logarithms, newer less older.
    pub log_change: f64,
    /// `SE_D`, at least 0.
    pub standard_error: f64,
    /// `ν`.
    pub freedom: f64,
}

impl Estimate {
    /// The change of the rest, where `self` is of the whole and `part` of a part of it.
    #[must_use]
    pub fn minus(self, part: Self) -> Self {
        self.weighted(1.0, part, -1.0)
    }

    /// The change of both parts together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.weighted(1.0, other, 1.0)
    }

    /// Combines two estimates of the same change, weighted by their precision.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let [own, others] = [self, other].map(|one| one.standard_error.powi(2));
        if own <= 0.0 {
            return self;
        }
        let weight = others / (own + others);
        self.weighted(weight, other, 1.0 - weight)
    }

    /// `a·self + b·other`, with Welch's degrees of freedom.
    fn weighted(self, a: f64, other: Self, b: f64) -> Self {
        let log_change = a * self.log_change + b * other.log_change;
        let [own, others] =
            [(a, self), (b, other)].map(|(weight, one)| (weight * one.standard_error).powi(2));
        let variance = own + others;
        let spread = own.powi(2) / self.freedom + others.powi(2) / other.freedom;
        let freedom =
            if spread > 0.0 { variance.powi(2) / spread } else { self.freedom.min(other.freedom) };
        Self { log_change, standard_error: variance.sqrt(), freedom }
    }

    /// The two-sided p value of "no change".
    pub fn p(self) -> f64 {
        if self.standard_error > 0.0 {
            2.0 * t_survival(self.log_change.abs() / self.standard_error, self.freedom)
        } else if self.log_change == 0.0 {
            1.0
        } else {
            0.0
        }
    }

    /// True if the change is at least `min_change`, on logarithms, with a p value of at most `rate`.
    pub fn shows(self, min_change: f64, rate: f64) -> bool {
        self.log_change.abs() >= min_change && self.p() <= rate
    }

    /// True if it is worth explaining, as the remainder of a change without its known parts.
    pub fn is_left(self, min_change: f64) -> bool {
        self.shows(min_change, LEFT)
    }

    /// The relative change with its interval at this confidence; infinite if the base is 0.
    pub fn change(self, confidence: f64) -> Change {
        let half_width =
            t_quantile(f64::midpoint(1.0, confidence), self.freedom) * self.standard_error;
        let log_change = self.log_change;
        let [estimate, low, high] =
            [log_change, log_change - half_width, log_change + half_width].map(relative);
        Change { estimate, low, high }
    }
}

#[cfg(test)]
mod estimate_tests {
    use super::*;

    fn estimate(log_change: f64, standard_error: f64) -> Estimate {
        Estimate { log_change, standard_error, freedom: 9.0 }
    }

    #[test]
    fn minus_is_less_certain_than_whole_and_part() {
        let rest = estimate(0.05, 0.003).minus(estimate(0.02, 0.004));
        assert!((rest.log_change - 0.03).abs() < 1e-12);
        assert!((rest.standard_error - 0.005).abs() < 1e-12);
        assert!(rest.freedom > 9.0 && rest.freedom < 18.0);
    }

    #[test]
    fn with_is_more_certain_than_either_estimate() {
        let both = estimate(0.05, 0.003).with(estimate(0.02, 0.004));
        assert!(both.log_change > 0.035 && both.log_change < 0.05);
        assert!(both.standard_error < 0.003);
        assert_eq!(estimate(0.05, 0.0).with(estimate(0.02, 0.004)), estimate(0.05, 0.0));
        assert_eq!(estimate(0.05, 0.003).with(estimate(0.02, 0.0)).log_change, 0.02);
    }

    #[test]
    fn estimate_without_variance_is_certain() {
        assert_eq!([estimate(0.01, 0.0).p(), estimate(0.0, 0.0).p()], [0.0, 1.0]);
        let nothing = Change { estimate: 0.0, low: 0.0, high: 0.0 };
        assert_eq!(estimate(0.0, 0.0).change(0.95), nothing);
        assert_eq!(estimate(0.0, 0.0).minus(estimate(0.0, 0.0)).freedom, 9.0);
    }
}

#[cfg(test)]
mod tests;
