//! Pairs the builds of two versions, and attributes the variance of their differences to builds and executions. Pure.

use std::fmt;

use super::{
    moments::Moments,
    summary::{BuildSummary, ExecutionEstimate, Summary},
};

/// The relation between builds with the same seed in both versions, as the caller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// They have the same layout and ran next to each other, so a seed is a block.
    BySeed,
    /// They are unrelated: layouts that cannot be matched, or stored results of another session.
    Unpaired,
}

/// The design of a comparison. It follows from the design of the experiment alone, never from the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The t test on the differences within seeds.
    Paired {
        /// The number of builds, of either version, that are left out because the other version lacks their seed.
        left_out: usize,
    },
    /// Welch's t test over all builds.
    Welch(Unpaired),
}

impl Method {
    /// True if the builds of the versions are compared in pairs.
    pub const fn is_paired(&self) -> bool {
        matches!(self, Self::Paired { .. })
    }
}

/// The reason why seeds were not compared one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpaired {
    /// The caller declared equal seeds to be unrelated.
    ByDesign,
    /// Too few seeds have builds in both versions: fewer than two, or fewer than half of the builds of the larger
    /// version.
    FewCommonSeeds { common: usize },
}

pub(super) struct Matched<'s> {
    pub(super) method: Method,
    /// The builds of base and head, in the order of seeds; those of one index are a pair if the method is paired.
    pub(super) builds: [Vec<&'s BuildSummary>; 2],
}

impl<'s> Matched<'s> {
    pub(super) fn new(base: &'s Summary, head: &'s Summary, pairing: Pairing) -> Self {
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

    /// `x[v][k] = ln b[v][k]`, from the values for comparison.
    pub(super) fn logs(&self) -> [Vec<f64>; 2] {
        self.builds
            .each_ref()
            .map(|builds| builds.iter().map(|build| build.compared.ln()).collect())
    }
}

/// Both builds of each common seed. Both lists are sorted by seed, so one walk along both finds them.
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

/// The shares of the variance of a change from each level: the builds, and the executions of each build; they add up to
/// 1.
///
/// With `e[k][j] = ln f[head][k][j] − ln f[base][k][j]` of the executions of one round, which ran next to each other,
/// the difference of a pair of builds is about `d[k] = mean_j e[k][j]`. In the manner of (15) and (16) of Kalibera et
/// al. 2006, but of differences and for any estimator, `S_e²` pools the variance of `e` within pairs, and
/// `E[S_d²] = T + W·h` with `W = E[S_e²]` and `h = mean_k(1 / m_k)`. So of `S_d²` the executions (with their
/// measurements) explain `S_e²·h`, and the builds the rest. Where versions are not paired, the same holds for `ln f`
/// of each version, and both add up.
///
/// More executions of each build only reduce the share of the executions; more builds reduce both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferenceShares {
    /// The share of the builds: layouts affect the two versions differently.
    pub builds: f64,
    /// The share of the executions with their measurements, for the present number of executions.
    pub executions: f64,
}

impl DifferenceShares {
    /// Divides `squared_error`, the variance of the mean difference. None if no build has two executions, which leaves
    /// the levels indistinguishable, or if there is no variance.
    pub(super) fn estimate(matched: &Matched<'_>, squared_error: f64) -> Option<Self> {
        let [base, head] = &matched.builds;
        let of_executions = match matched.method {
            Method::Paired { .. } => variance_of_mean(base.iter().zip(head).map(differences))?,
            Method::Welch(_) => {
                variance_of_mean(base.iter().copied().map(logs))?
                    + variance_of_mean(head.iter().copied().map(logs))?
            }
        };
        let executions = (of_executions / squared_error).min(1.0);
        (squared_error > 0.0).then_some(Self { builds: 1.0 - executions, executions })
    }
}

/// `e[j]` of a pair of builds, without executions whose round the other version lacks.
fn differences((base, head): (&&BuildSummary, &&BuildSummary)) -> Vec<f64> {
    let difference = |head: &ExecutionEstimate| {
        let base = base.estimates.iter().find(|base| base.round == head.round)?;
        Some((head.compared / base.compared).ln())
    };
    head.estimates.iter().filter_map(difference).collect()
}

/// `ln f[j]` of a build.
fn logs(build: &BuildSummary) -> Vec<f64> {
    build.estimates.iter().map(|estimate| estimate.compared.ln()).collect()
}

/// The contribution of executions to the variance of the mean over builds: `S_e² · mean_k(1 / m_k) / l`.
fn variance_of_mean(builds: impl Iterator<Item = Vec<f64>>) -> Option<f64> {
    let (mut squares, mut freedom, mut inverses, mut count) = (0.0, 0, 0.0, 0.0);
    for executions in builds {
        squares += Moments::compute(&executions).squares;
        freedom += executions.len().saturating_sub(1);
        inverses += 1.0 / executions.len().max(1) as f64;
        count += 1.0;
    }
    (freedom > 0).then(|| squares / freedom as f64 * inverses / (count * count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Comparison, Estimator, Measurements, Metric, Summary};

    /// A version whose build of seed `s` has the value `e^s · scale`.
    fn version(seeds: &[u64], scale: f64) -> Summary {
        let builds = seeds.iter().map(|&seed| (seed, [[(seed as f64).exp() * scale]]));
        Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
    }

    fn method(base: &[u64], head: &[u64]) -> Method {
        Matched::new(&version(base, 1.0), &version(head, 1.0), Pairing::BySeed).method
    }

    #[test]
    fn equal_seeds_are_paired_in_any_order() {
        let (base, head) = (version(&[5, 1, 3], 1.0), version(&[3, 5, 2, 1], 1.0));
        let matched = Matched::new(&base, &head, Pairing::BySeed);
        assert_eq!(matched.method, Method::Paired { left_out: 1 });
        let seeds = |builds: &[&BuildSummary]| builds.iter().map(|b| b.seed).collect::<Vec<_>>();
        assert_eq!(matched.builds.map(|builds| seeds(&builds)), [[1, 3, 5], [1, 3, 5]]);
    }

    #[test]
    fn one_common_seed_is_too_few_to_pair() {
        let why = Unpaired::FewCommonSeeds { common: 1 };
        assert_eq!(method(&[1, 2], &[2, 3]), Method::Welch(why));
    }

    #[test]
    fn common_seeds_must_be_half_of_the_larger_version() {
        assert_eq!(method(&[1, 2], &[1, 2, 3, 4]), Method::Paired { left_out: 2 });
        let why = Unpaired::FewCommonSeeds { common: 2 };
        assert_eq!(method(&[1, 2], &[1, 2, 3, 4, 5]), Method::Welch(why));
    }

    #[test]
    fn unpaired_design_uses_all_builds() {
        let (base, head) = (version(&[1, 2], 1.0), version(&[1, 2, 3], 1.0));
        let matched = Matched::new(&base, &head, Pairing::Unpaired);
        assert_eq!(matched.method, Method::Welch(Unpaired::ByDesign));
        assert_eq!(matched.builds.map(|builds| builds.len()), [2, 3]);
    }

    /// Builds with seeds 0, 1, … whose executions have these logarithms; an empty list is a failed execution.
    fn with_executions(builds: &[[&[f64]; 2]]) -> Summary {
        let executions = |build: &[&[f64]; 2]| {
            build.map(|logs| logs.iter().map(|log| log.exp()).collect::<Vec<f64>>())
        };
        let builds = (0..).zip(builds.iter().map(executions));
        Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
    }

    fn shares(base: &Summary, head: &Summary, pairing: Pairing) -> Option<DifferenceShares> {
        let comparison = Comparison::new(base, head, pairing, 0.05).unwrap();
        comparison.shares(&[base.clone(), head.clone()])
    }

    const SMALL: f64 = 1e-4;

    #[test]
    fn noise_shared_by_a_round_cancels_in_the_shares() {
        // Rounds differ by 100, in both versions; e = ±1 about d = 2 and -2.
        let base = with_executions(&[[&[0.0], &[100.0 * SMALL]], [&[0.0], &[100.0 * SMALL]]]);
        let head =
            with_executions(&[[&[3.0 * SMALL], &[101.0 * SMALL]], [&[-SMALL], &[97.0 * SMALL]]]);
        // S_e² = (2 + 2) / (1 + 1) = 2, S_d² = 8: 2/2 of 8.
        let found = shares(&base, &head, Pairing::BySeed).unwrap();
        assert!((found.executions - 1.0 / 8.0).abs() < 0.01, "{found:?}");
        assert!((found.builds + found.executions - 1.0).abs() < 1e-12);
        // Unpaired, each version counts alone, and its executions differ by 100.
        let unpaired = shares(&base, &head, Pairing::Unpaired).unwrap();
        assert_eq!(unpaired.executions, 1.0);
    }

    #[test]
    fn unpaired_shares_add_the_executions_of_both_versions() {
        // Within each build ±1: S_e² = 2 in both; build means ±4, variance 32 in both.
        let base = with_executions(&[
            [&[5.0 * SMALL], &[3.0 * SMALL]],
            [&[-5.0 * SMALL], &[-3.0 * SMALL]],
        ]);
        let found = shares(&base, &base, Pairing::Unpaired).unwrap();
        assert!((found.executions - 1.0 / 32.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn shares_are_unknown_with_one_execution_per_build() {
        let base = with_executions(&[[&[1.0], &[]], [&[2.0], &[]]]);
        let head = with_executions(&[[&[2.0], &[]], [&[1.0], &[]]]);
        assert_eq!(shares(&base, &head, Pairing::BySeed), None);
        // The same if the two executions of a build are of different rounds.
        let later = with_executions(&[[&[], &[2.0]], [&[], &[1.0]]]);
        assert_eq!(shares(&base, &later, Pairing::BySeed), None);
    }
}
