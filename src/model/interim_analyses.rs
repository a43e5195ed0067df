//! The schedule of interim analyses: the numbers of builds after which a benchmark gets a verdict and may be finished.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The numbers of builds of each version after which a benchmark gets a verdict in the first stage: the first
/// analysis, then one at every doubling, and the last. A fixed number of builds has one analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InterimAnalyses {
    /// The number of builds at the first analysis.
    pub first: u32,
    /// The number of builds at the last analysis; at least `first`.
    pub most: u32,
}

impl InterimAnalyses {
    /// One analysis, after all `builds`.
    pub const fn fixed(builds: u32) -> Self {
        Self { first: builds, most: builds }
    }

    /// True if there is only one analysis.
    pub const fn is_fixed(self) -> bool {
        self.first >= self.most
    }

    /// The number of builds at each analysis: 5, 10, 20 for `5..20`.
    pub fn builds(self) -> impl Iterator<Item = u32> {
        let first = self.first.min(self.most);
        std::iter::successors(Some(first), move |builds| {
            (*builds < self.most).then(|| builds.saturating_mul(2).clamp(builds + 1, self.most))
        })
    }

    /// The number of analyses.
    pub fn count(self) -> usize {
        self.builds().count()
    }

    /// The number of builds at the next analysis after `builds`; `None` after the last.
    pub fn after(self, builds: u32) -> Option<u32> {
        self.builds().find(|next| *next > builds)
    }
}

impl fmt::Display for InterimAnalyses {
    /// Writes it as users type it: `5..20`, or `10`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_fixed() {
            write!(f, "{}", self.most)
        } else {
            write!(f, "{}..{}", self.first, self.most)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builds(first: u32, most: u32) -> Vec<u32> {
        InterimAnalyses { first, most }.builds().collect()
    }

    #[test]
    fn each_analysis_doubles_the_builds_up_to_the_last() {
        assert_eq!(builds(5, 20), [5, 10, 20]);
        assert_eq!(builds(5, 30), [5, 10, 20, 30]);
        assert_eq!(builds(5, 6), [5, 6]);
        assert_eq!(builds(0, 2), [0, 1, 2]);
        let analyses = InterimAnalyses { first: 5, most: 20 };
        assert_eq!((analyses.count(), analyses.after(5), analyses.after(20)), (3, Some(10), None));
        assert_eq!((analyses.after(0), analyses.to_string().as_str()), (Some(5), "5..20"));
    }

    #[test]
    fn fixed_build_count_has_one_analysis() {
        assert_eq!(InterimAnalyses::fixed(7).builds().collect::<Vec<_>>(), [7]);
        assert_eq!(builds(9, 7), [7], "never more than the most");
        assert_eq!(builds(u32::MAX - 1, u32::MAX), [u32::MAX - 1, u32::MAX]);
        assert_eq!(InterimAnalyses::fixed(7).to_string(), "7");
        assert!(InterimAnalyses::fixed(7).is_fixed());
    }
}
