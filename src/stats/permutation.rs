//! Permutation tests: exact p values without any assumption on the distribution of builds.

mod splits;

use self::splits::Splits;
use super::random::Random;

/// Up to so many pairs, every pattern of signs is tried.
const EXACT_PAIRS: usize = 16;

/// Otherwise so many random arrangements stand for all.
const RANDOM_ARRANGEMENTS: u32 = 9_999;

/// Two statistics closer than this, relative to their size, are ties: they differ by rounding.
const TIE: f64 = 1e-9;

/// The p value of a permutation test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permutation {
    /// The share of arrangements at least as extreme as the observed one, which counts itself.
    pub p: f64,
    /// True if every arrangement was tried; false if 9,999 random ones were.
    pub exact: bool,
}

impl Permutation {
    fn exact(extreme: u64, all: u64) -> Self {
        Self { p: extreme as f64 / all as f64, exact: true }
    }

    /// `(1 + count) / (1 + arrangements)`: the observed arrangement is one of those possible.
    fn random(mut is_extreme: impl FnMut() -> bool) -> Self {
        let count: u32 = (0..RANDOM_ARRANGEMENTS).map(|_| u32::from(is_extreme())).sum();
        Self { p: f64::from(1 + count) / f64::from(1 + RANDOM_ARRANGEMENTS), exact: false }
    }

    /// The two-sided paired test: under no change each difference is as likely to have the other sign.
    ///
    /// The statistic is `|Σ d|`, which orders the patterns of signs as `|t|` does, since `Σ d²` is the
    /// same for all. Exact up to 16 pairs; the smallest p is then `2 / 2^l`, so fewer than 6 pairs
    /// never reach 5 %.
    pub(super) fn sign_flips(differences: &[f64], random: &mut Random) -> Self {
        let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
        let total: f64 = sizes.iter().sum();
        let least = differences.iter().sum::<f64>().abs() - TIE * total;
        match sizes.split_first() {
            None => Self::exact(1, 1),
            // Turning every sign round leaves the statistic alone: the first may stay.
            Some((first, rest)) if sizes.len() <= EXACT_PAIRS => {
                Self::exact(patterns_from(*first, rest, least), 1 << rest.len())
            }
            Some(_) => {
                let mut sizes = sizes;
                // The same draws must mean the same whatever the order of the builds.
                sizes.sort_unstable_by(f64::total_cmp);
                Self::random(|| random_sum(&sizes, random).abs() >= least)
            }
        }
    }

    /// The two-sided unpaired test: under no change any split of all builds into two groups of these
    /// sizes is equally likely.
    ///
    /// The statistic is Welch's `|t|`, so that the test stays valid (asymptotically) where only the
    /// variances of the versions differ. Exact up to C(20, 10) splits. A version with fewer than two
    /// builds has no variance, and p is 1.
    pub fn splits(a: &[f64], b: &[f64], random: &mut Random) -> Self {
        if a.len().min(b.len()) < 2 {
            return Self::exact(1, 1);
        }
        let splits = Splits::new(a, b);
        if let Some((extreme, all)) = splits.count_extreme() {
            return Self::exact(extreme, all);
        }
        let mut indices = splits.indices();
        Self::random(|| splits.is_random_extreme(&mut indices, random))
    }
}

/// How many patterns of signs of `rest` bring `sum` to a size of at least `least`.
fn patterns_from(sum: f64, rest: &[f64], least: f64) -> u64 {
    match rest.split_first() {
        None => u64::from(sum.abs() >= least),
        Some((size, rest)) => {
            patterns_from(sum + size, rest, least) + patterns_from(sum - size, rest, least)
        }
    }
}

/// The sum of `sizes` with random signs.
fn random_sum(sizes: &[f64], random: &mut Random) -> f64 {
    let signed = |chunk: &[f64]| {
        let signs = random.bits();
        let sign = |bit: usize| if signs >> bit & 1 == 1 { -1.0 } else { 1.0 };
        chunk.iter().enumerate().map(|(bit, size)| sign(bit) * size).sum::<f64>()
    };
    sizes.chunks(64).map(signed).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flips(differences: &[f64]) -> Permutation {
        Permutation::sign_flips(differences, &mut Random::new(1))
    }

    fn splits(a: &[f64], b: &[f64]) -> Permutation {
        Permutation::splits(a, b, &mut Random::new(1))
    }

    #[test]
    fn the_smallest_p_of_l_against_l_builds_is_two_over_the_number_of_splits() {
        for (l, p) in
            [(3, 0.1), (4, 0.0286), (5, 0.0079), (6, 0.0022), (7, 0.00058), (8, 0.000_155)]
        {
            let a: Vec<f64> = (0..l).map(|k| 1.0 + 0.001 * f64::from(k * k)).collect();
            let b: Vec<f64> = a.iter().map(|value| value + 1.0).collect();
            let Permutation { p: obtained, exact } = splits(&a, &b);
            assert!(exact);
            assert!((obtained - p).abs() < 0.02 * p, "l = {l}: {obtained} instead of {p}");
        }
    }

    #[test]
    fn differences_of_one_sign_are_the_most_extreme_of_all_patterns() {
        assert_eq!(flips(&[1.0, 2.0, 3.0]), Permutation { p: 0.25, exact: true });
        assert_eq!(flips(&[-1.0; 16]), Permutation { p: 2.0 / 65536.0, exact: true });
    }

    #[test]
    fn ties_count_as_extreme() {
        // |Σ| is 1 for six of the eight patterns and 3 for two, the observed one has 1.
        assert_eq!(flips(&[1.0, 1.0, -1.0]).p, 1.0);
        assert_eq!(flips(&[0.0, 0.0]).p, 1.0);
        assert_eq!(splits(&[2.0, 2.0], &[2.0, 2.0, 2.0]).p, 1.0);
    }

    #[test]
    fn two_constant_versions_that_differ_are_the_most_extreme_split() {
        let third = 1.0 / 3.0;
        assert_eq!(splits(&[third; 4], &[3.0 * third; 4]).p, 2.0 / 70.0);
    }

    #[test]
    fn beyond_the_limits_random_arrangements_come_close_to_the_exact_p() {
        // Only 2 of 2^17 patterns are as extreme, so (with this seed) no random one is.
        let mut differences = [1.0; 17];
        assert_eq!(flips(&differences), Permutation { p: 1e-4, exact: false });
        differences[..6].fill(-1.0);
        // P(|S| ≥ 5) for 17 fair signs is 2·P(X ≥ 11) = 0.3323; standard error 0.0047.
        let Permutation { p, exact } = flips(&differences);
        assert!(!exact && (p - 0.3323).abs() < 0.015, "{p}");
    }

    #[test]
    fn random_splits_come_close_to_the_t_test() {
        // Var = 20 in both, so t = 2.832 / sqrt(40/15) = 1.734, with p = 0.0939 at 28 degrees of freedom.
        let a: Vec<f64> = (0..15).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|value| value + 2.832).collect();
        let Permutation { p, exact } = splits(&a, &b);
        assert!(!exact && (p - 0.0939).abs() < 0.015, "{p}");
    }

    #[test]
    fn a_version_of_one_build_cannot_be_told_from_another() {
        assert_eq!(splits(&[1.0], &[2.0, 3.0, 4.0]).p, 1.0);
    }

    proptest! {
        #[test]
        fn swapping_the_versions_and_reordering_builds_leaves_p_alone(
            a in prop::collection::vec(0.5..2.0, 2..14),
            b in prop::collection::vec(0.5..2.0, 2..5),
        ) {
            let p = splits(&a, &b);
            let reversed: Vec<f64> = a.iter().rev().copied().collect();
            prop_assert_eq!(splits(&b, &a), p);
            prop_assert_eq!(splits(&reversed, &b), p);
            let negated: Vec<f64> = reversed.iter().map(|d| 1.0 - d).collect();
            let differences: Vec<f64> = a.iter().map(|d| d - 1.0).collect();
            prop_assert_eq!(flips(&negated), flips(&differences));
        }
    }
}
