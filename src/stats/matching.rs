//! Which builds of two versions are compared with each other.

use std::fmt;

use super::summary::{BuildSummary, Summary};

/// What the caller knows about builds with the same seed in both versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// They have the same layout and ran next to each other, so a seed is a block.
    BySeed,
    /// They have no more in common than others: layouts that cannot be matched, or stored results of
    /// another session.
    Unpaired,
}

/// How two versions were compared. It follows from the design alone, never from the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The t test on the differences within seeds.
    Paired {
        /// Builds whose seed the other version lacks, of either version. They are left out.
        left_out: usize,
    },
    /// Welch's t test over all builds.
    Welch(Unpaired),
}

/// Why seeds were not compared one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpaired {
    /// The caller said that equal seeds mean nothing.
    ByDesign,
    /// Too few seeds have builds in both versions: less than two, or less than half of the builds of
    /// the version that has more.
    FewCommonSeeds {
        /// How many have.
        common: usize,
    },
}

/// The builds that are compared.
pub(super) struct Matched<'s> {
    pub(super) method: Method,
    /// Of base and head, in the order of seeds; those of one index are a pair if the method is paired.
    pub(super) builds: [Vec<&'s BuildSummary>; 2],
}

impl<'s> Matched<'s> {
    pub(super) fn of(base: &'s Summary, head: &'s Summary, pairing: Pairing) -> Self {
        if pairing == Pairing::Unpaired {
            return Self::unpaired(base, head, Unpaired::ByDesign);
        }
        let pairs = common_seeds(base, head);
        let common = pairs.len();
        let (l_base, l_head) = (base.builds().len(), head.builds().len());
        if common < 2 || 2 * common < l_base.max(l_head) {
            return Self::unpaired(base, head, Unpaired::FewCommonSeeds { common });
        }
        let (base, head) = pairs.into_iter().unzip();
        let left_out = l_base + l_head - 2 * common;
        Self { method: Method::Paired { left_out }, builds: [base, head] }
    }

    fn unpaired(base: &'s Summary, head: &'s Summary, why: Unpaired) -> Self {
        let builds = [base, head].map(|version| version.builds().iter().collect());
        Self { method: Method::Welch(why), builds }
    }

    /// `x[v][k] = ln b[v][k]`, by what is compared.
    pub(super) fn logs(&self) -> [Vec<f64>; 2] {
        self.builds
            .each_ref()
            .map(|builds| builds.iter().map(|build| build.compared.ln()).collect())
    }
}

/// Both builds of each seed that both versions have. Both lists are in the order of their seeds, so one
/// walk along both finds them.
fn common_seeds<'s>(
    base: &'s Summary,
    head: &'s Summary,
) -> Vec<(&'s BuildSummary, &'s BuildSummary)> {
    let mut heads = head.builds().iter().peekable();
    let mut pairs = Vec::with_capacity(base.builds().len());
    for build in base.builds() {
        while heads.next_if(|head| head.seed < build.seed).is_some() {}
        if let Some(head) = heads.next_if(|head| head.seed == build.seed) {
            pairs.push((build, head));
        }
    }
    pairs
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paired { left_out: 0 } => f.write_str("paired by layout seed"),
            Self::Paired { left_out } => {
                write!(f, "paired by layout seed ({left_out} builds without a partner left out)")
            }
            Self::Welch(Unpaired::ByDesign) => f.write_str("unpaired (layouts are not matched)"),
            Self::Welch(Unpaired::FewCommonSeeds { common }) => {
                write!(f, "unpaired (only {common} layout seeds have builds of both versions)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Metric,
        stats::{Estimator, Measurements},
    };

    /// A version whose build of seed `s` has the value `e^s · scale`.
    fn version(seeds: &[u64], scale: f64) -> Summary {
        let builds = seeds.iter().map(|&seed| (seed, [[(seed as f64).exp() * scale]]));
        Summary::of(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
    }

    fn method(base: &[u64], head: &[u64]) -> Method {
        Matched::of(&version(base, 1.0), &version(head, 1.0), Pairing::BySeed).method
    }

    #[test]
    fn equal_seeds_stand_against_each_other_in_whatever_order_they_came() {
        let (base, head) = (version(&[5, 1, 3], 1.0), version(&[3, 5, 2, 1], 1.0));
        let matched = Matched::of(&base, &head, Pairing::BySeed);
        assert_eq!(matched.method, Method::Paired { left_out: 1 });
        let seeds = |builds: &[&BuildSummary]| builds.iter().map(|b| b.seed).collect::<Vec<_>>();
        assert_eq!(matched.builds.map(|builds| seeds(&builds)), [[1, 3, 5], [1, 3, 5]]);
    }

    #[test]
    fn one_common_seed_is_too_few() {
        let why = Unpaired::FewCommonSeeds { common: 1 };
        assert_eq!(method(&[1, 2], &[2, 3]), Method::Welch(why));
    }

    #[test]
    fn the_common_seeds_must_be_half_of_the_larger_version() {
        assert_eq!(method(&[1, 2], &[1, 2, 3, 4]), Method::Paired { left_out: 2 });
        let why = Unpaired::FewCommonSeeds { common: 2 };
        assert_eq!(method(&[1, 2], &[1, 2, 3, 4, 5]), Method::Welch(why));
    }

    #[test]
    fn all_builds_count_where_seeds_mean_nothing() {
        let (base, head) = (version(&[1, 2], 1.0), version(&[1, 2, 3], 1.0));
        let matched = Matched::of(&base, &head, Pairing::Unpaired);
        assert_eq!(matched.method, Method::Welch(Unpaired::ByDesign));
        assert_eq!(matched.builds.map(|builds| builds.len()), [2, 3]);
    }
}
