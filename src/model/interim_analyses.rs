//! InterimAnalyses: after how many builds a benchmark is judged, and may be done.

use std::fmt;

use serde::{Deserialize, Serialize};

/// After how many builds of each version a benchmark is judged in the first stage: after the first few, then
/// whenever there are twice as many, and after the most that it gets. A fixed number of builds is one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InterimAnalyses {
    /// The builds at the first look.
    pub first: u32,
    /// The builds at the last look; not fewer.
    pub most: u32,
}

impl InterimAnalyses {
    /// One look, after all of so many builds.
    pub const fn fixed(builds: u32) -> Self {
        Self { first: builds, most: builds }
    }

    /// Whether there is only one look.
    pub const fn is_fixed(self) -> bool {
        self.first >= self.most
    }

    /// The builds at each look: 5, 10, 20 from 5 to 20.
    pub fn builds(self) -> impl Iterator<Item = u32> {
        let first = self.first.min(self.most);
        std::iter::successors(Some(first), move |builds| {
            (*builds < self.most).then(|| builds.saturating_mul(2).clamp(builds + 1, self.most))
        })
    }

    /// How many looks there are.
    pub fn count(self) -> usize {
        self.builds().count()
    }

    /// The builds at the look after the one with so many builds.
    pub fn after(self, builds: u32) -> Option<u32> {
        self.builds().find(|next| *next > builds)
    }
}

impl fmt::Display for InterimAnalyses {
    /// As it is typed: `5..20`, or `10`.
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
    fn each_look_has_twice_as_many_builds_up_to_the_most() {
        assert_eq!(builds(5, 20), [5, 10, 20]);
        assert_eq!(builds(5, 30), [5, 10, 20, 30]);
        assert_eq!(builds(5, 6), [5, 6]);
        assert_eq!(builds(0, 2), [0, 1, 2]);
        let looks = InterimAnalyses { first: 5, most: 20 };
        assert_eq!((looks.count(), looks.after(5), looks.after(20)), (3, Some(10), None));
        assert_eq!((looks.after(0), looks.to_string().as_str()), (Some(5), "5..20"));
    }

    #[test]
    fn a_fixed_number_of_builds_is_one_look() {
        assert_eq!(InterimAnalyses::fixed(7).builds().collect::<Vec<_>>(), [7]);
        assert_eq!(builds(9, 7), [7], "never more than the most");
        assert_eq!(builds(u32::MAX - 1, u32::MAX), [u32::MAX - 1, u32::MAX]);
        assert_eq!(InterimAnalyses::fixed(7).to_string(), "7");
        assert!(InterimAnalyses::fixed(7).is_fixed());
    }
}
