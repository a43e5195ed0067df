//! The sample sizes of an experiment, and its interim analyses.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sample sizes `l × m × n`: builds, executions of each build, measurements of each execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampleSizes {
    /// The number of builds at the first interim analysis, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_analysis: Option<usize>,
    /// `l`: the number of builds at the last analysis.
    pub builds: usize,
    /// `m`: executions of each build.
    pub executions: usize,
    /// `n`: measurements of each execution.
    pub measurements: usize,
}

impl SampleSizes {
    /// The numbers of builds after which a benchmark gets a verdict.
    pub fn interim_analyses(&self) -> InterimAnalyses {
        let number = |builds: usize| u32::try_from(builds).unwrap_or(u32::MAX);
        let most = number(self.builds);
        InterimAnalyses { first: self.first_analysis.map_or(most, number), most }
    }
}

impl fmt::Display for SampleSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} × {}", self.interim_analyses(), self.executions, self.measurements)
    }
}

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
