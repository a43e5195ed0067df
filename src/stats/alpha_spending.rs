//! How often each look at a benchmark may err, so that all looks together err as rarely as is promised, and which
//! of many tests are discoveries.
//!
//! # Regressions
//!
//! A benchmark that did not change is *flagged* by the first stage at one of its looks with a probability of at
//! most `α₁`, in one direction with `α₁/2`, and fresh builds alone then agree with a probability of at most `α₂`.
//! With `α₂ = min(α, 2α / (G α₁))`, a comparison of `G` benchmarks reports a regression that is none with a
//! probability of at most `G · α₁/2 · α₂ ≤ α`. `α₁ = 2α`: a first stage that flags more easily, confirmed more
//! strictly, misses fewer changes than the other way round.
//!
//! # No change
//!
//! A benchmark whose true change is the smallest of interest is called unchanged with a probability of at most
//! 5 % over all looks of both stages, which share it between them: the first look has half of it, the next a
//! quarter, and so on, and the second stage what is left.

use super::criteria::Criteria;

/// How often a benchmark that changed by the smallest change of interest may be called unchanged, over all looks.
const EQUIVALENCE: f64 = 0.05;

/// The confidence of the interval of fresh builds.
const CONFIDENCE: f64 = 0.95;

/// How often one look may err.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlphaSpending {
    /// In flagging a benchmark that did not change, in either direction.
    pub flag: f64,
    /// In calling a benchmark unchanged that changed by the smallest change of interest.
    pub equivalence: f64,
    /// The confidence of the interval that is reported. At an interim analysis it is that of the equivalence test: it
    /// decides whether to measure on, so that 95 % at each would be less for the one that ends. The number of fresh
    /// builds depends on nothing that they show, so their interval has 95 %.
    pub confidence: f64,
}

impl AlphaSpending {
    /// Of the look with this index, of so many looks of the first stage.
    ///
    /// The last look may flag as often as all others together, as it knows most: what is large is flagged by the
    /// first one all the same.
    pub fn at_analysis(criteria: &Criteria, look: usize, looks: usize) -> Self {
        let flag = criteria.flag_rate() * halves(looks.saturating_sub(look.max(1)));
        let equivalence = EQUIVALENCE * halves(look + 1);
        Self { flag, equivalence, confidence: 1.0 - 2.0 * equivalence }
    }

    /// Of the only look of a first stage.
    pub fn single_analysis(criteria: &Criteria) -> Self {
        Self::at_analysis(criteria, 0, 1)
    }

    /// With a share of the rate at which it flags, where two estimates flag and share `α₁`.
    #[must_use]
    pub fn flagging_with(self, share: f64) -> Self {
        Self { flag: self.flag * share, ..self }
    }

    /// Of the second stage after a first stage of so many looks.
    pub fn second_stage(criteria: &Criteria, looks: usize) -> Self {
        let equivalence = EQUIVALENCE * halves(looks);
        Self { flag: criteria.flag_rate(), equivalence, confidence: CONFIDENCE }
    }
}

/// `½ⁿ`.
pub(super) fn halves(n: usize) -> f64 {
    0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX))
}

/// The level that the p values of discoveries do not exceed, so that the expected share of false ones among all
/// discoveries is at most `rate` (Benjamini & Hochberg 1995); 0 if nothing is a discovery.
///
/// It is the largest `i · rate / n` that at least `i` of the `n` p values do not exceed. Holds for independent tests, and for
/// those that are positively dependent, as benchmarks of one program are.
pub fn discoveries(p_values: impl IntoIterator<Item = f64>, rate: f64) -> f64 {
    let mut sorted: Vec<f64> = p_values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let level = |rank: usize| (rank + 1) as f64 * rate / count;
    let last = sorted.iter().enumerate().rev().find(|(rank, p)| **p <= level(*rank));
    last.map_or(0.0, |(rank, _)| level(rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The p values of the example in section 3.2 of the paper: four of fifteen are discoveries at 5 %.
    #[test]
    fn the_papers_example_has_four_discoveries() {
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let level = discoveries(p_values, 0.05);
        assert_eq!(level, 4.0 * 0.05 / 15.0);
        assert_eq!(p_values.iter().filter(|p| **p <= level).count(), 4);
    }

    #[test]
    fn one_test_is_judged_at_the_rate_itself() {
        assert_eq!(discoveries([0.04], 0.05), 0.05);
        assert_eq!(discoveries([0.06], 0.05), 0.0);
        assert_eq!(discoveries([], 0.05), 0.0);
    }

    #[test]
    fn a_p_value_may_be_lifted_by_smaller_ones() {
        assert_eq!(discoveries([0.05, 0.03], 0.05), 0.05);
        assert_eq!(discoveries([0.06, 0.03], 0.05), 0.0);
    }
}
