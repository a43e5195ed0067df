//! Divides the false-alarm rate between interim analyses, so that all of them together keep it, and finds discoveries
//! among many tests.
//!
//! # Regressions
//!
//! The first stage *flags* a benchmark that did not change with a probability of at most `α₁` over all interim
//! analyses, in one direction with `α₁/2`; fresh builds alone then agree with a probability of at most `α₂`. With `α₂ ≤
//! 2α / (G α₁)`, a comparison of `G` benchmarks reports a false regression with a probability of at most `G ·
//! α₁/2 · α₂ ≤ α`. `α₁ = 2α`: a lenient first stage with a strict confirmation misses fewer changes than the reverse.
//!
//! # No change
//!
//! A benchmark whose true change is the smallest of interest is called unchanged with a probability of at most 5 % over
//! all analyses of both stages. They share it: the first analysis has half of it, the next a quarter, and so on; the
//! second stage has the rest.

use super::criteria::{CONFIDENCE_OF_FRESH_BUILDS, Criteria};

/// The rate, over all analyses, of calling a benchmark unchanged that changed by the smallest change of interest.
const EQUIVALENCE: f64 = 0.05;

/// The error rates of one analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlphaSpending {
    /// The rate of flagging a benchmark that did not change, in either direction.
    pub flag: f64,
    /// The rate of calling a benchmark unchanged that changed by the smallest change of interest.
    pub equivalence: f64,
    /// The confidence of the reported interval. At an interim analysis it is that of the equivalence test: the interval
    /// decides whether to go on, so 95 % at each would leave less for the one that ends. The number of fresh builds
    /// does not depend on their results, so their interval has 95 %.
    pub confidence: f64,
}

impl AlphaSpending {
    /// The rates of the analysis at `index`, from 0, of the first stage's `analyses`.
    ///
    /// The last analysis may flag as often as all others together because it has the most data; the first one flags
    /// large changes anyway.
    pub fn at_analysis(criteria: &Criteria, index: usize, analyses: usize) -> Self {
        let flag = criteria.flag_rate() * halves(analyses.saturating_sub(index.max(1)));
        let equivalence = EQUIVALENCE * halves(index + 1);
        Self { flag, equivalence, confidence: 1.0 - 2.0 * equivalence }
    }

    /// The rates of a first stage with a single analysis.
    pub fn single_analysis(criteria: &Criteria) -> Self {
        Self::at_analysis(criteria, 0, 1)
    }

    /// The share of this analysis in an error rate that all analyses of both stages keep together. Counts have no
    /// analyses, and share nothing.
    pub(super) fn share(self) -> f64 {
        self.equivalence / EQUIVALENCE
    }

    /// Scales the flagging rate, for two estimates that share `α₁`.
    #[must_use]
    pub fn flagging_with(self, share: f64) -> Self {
        Self { flag: self.flag * share, ..self }
    }

    /// The rates of the second stage after a first stage with this number of analyses.
    pub fn second_stage(criteria: &Criteria, analyses: usize) -> Self {
        let equivalence = EQUIVALENCE * halves(analyses);
        Self { flag: criteria.flag_rate(), equivalence, confidence: CONFIDENCE_OF_FRESH_BUILDS }
    }
}

/// `½ⁿ`.
pub(super) fn halves(n: usize) -> f64 {
    0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX))
}

/// The level below which p values are discoveries, so that the expected share of false ones among them is at most
/// `rate` (Benjamini & Hochberg 1995); 0 if there are none.
///
/// It is the largest `i · rate / n` that at least `i` of the `n` p values do not exceed. Holds for independent tests,
/// and for positively dependent ones, such as benchmarks of one program.
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
    fn discoveries_match_the_paper() {
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let level = discoveries(p_values, 0.05);
        assert_eq!(level, 4.0 * 0.05 / 15.0);
        assert_eq!(p_values.iter().filter(|p| **p <= level).count(), 4);
    }

    #[test]
    fn discoveries_of_one_test_use_the_rate_itself() {
        assert_eq!(discoveries([0.04], 0.05), 0.05);
        assert_eq!(discoveries([0.06], 0.05), 0.0);
        assert_eq!(discoveries([], 0.05), 0.0);
    }

    #[test]
    fn discoveries_include_p_values_lifted_by_smaller_ones() {
        assert_eq!(discoveries([0.05, 0.03], 0.05), 0.05);
        assert_eq!(discoveries([0.06, 0.03], 0.05), 0.0);
    }
}
