//! Plans the next step after an interim analysis: the probability that the next analysis decides a benchmark, and the
//! number of fresh builds that confirm a change. Pure.

use super::{
    analysis::Assessment,
    criteria::Criteria,
    distribution::{chi_squared_quantile, t_quantile, t_survival},
    power::{power_to_report, smallest},
};

/// The least number of fresh builds for a confirmation, at any rate.
const FEWEST: usize = 6;

/// The number of builds for a rate that no number of builds attains: `2^−64` is below the error rate of any experiment.
const MOST_AT_ANY_RATE: usize = 64;

/// The most fresh builds, as a multiple of the builds of the first stage.
const MOST: usize = 4;

/// The intended power of the second stage.
const SECOND_STAGE_POWER: f64 = 0.95;

/// The probability that builds do not vary more than assumed.
const ASSURANCE: f64 = 0.80;

/// A benchmark is measured further if the next analysis decides it with at least this probability.
pub const WORTHWHILE: f64 = 0.395;

impl Assessment {
    /// The probability that an analysis of `next_builds` builds at these rates calls the benchmark unchanged or flags
    /// it, if its true change is the present estimate.
    ///
    /// The estimate of the next analysis differs from the present one by `t_ν · SE · √(Δ / l')` where `Δ` of its `l'`
    /// builds are new.
    pub fn chance_to_be_decided(&self, next_builds: usize, rates: AlphaSpending) -> f64 {
        let comparison = &self.comparison;
        let builds = comparison.builds[0].min(comparison.builds[1]) as f64;
        let next = next_builds as f64;
        if next <= builds {
            return 0.0;
        }
        let freedom = comparison.freedom;
        let next_freedom = freedom * (next - 1.0) / (builds - 1.0);
        let next_error = (comparison.standard_error * (builds / next).sqrt())
            .max(comparison.least_standard_error());
        let step = comparison.standard_error * ((next - builds) / next).sqrt();
        let estimate = comparison.log_change.abs();
        // P(next estimate <= bound).
        let below = |bound: f64| {
            if step > 0.0 {
                1.0 - t_survival((bound - estimate) / step, freedom)
            } else {
                f64::from(estimate <= bound)
            }
        };
        let inside = self.min_effect.ln_1p()
            - t_quantile(1.0 - rates.equivalence, next_freedom) * next_error;
        let unchanged = if inside > 0.0 { below(inside) - below(-inside) } else { 0.0 };
        let outside = t_quantile(1.0 - rates.flag / 2.0, next_freedom) * next_error;
        let flagged = 1.0 - below(outside) + below(-outside);
        (unchanged + flagged).min(1.0)
    }

    /// The number of fresh builds that confirm a flagged change in a comparison of this number of benchmarks: the
    /// fewest, from 6 to four times the present number, that show the change with a power of 95 %.
    ///
    /// The assumed change is the smallest of interest or, if that is larger, the estimate less its standard error; the
    /// assumed variance of builds is exceeded in one case of five. The second stage is decided by its own builds alone,
    /// so their number may depend on the first in any way.
    pub fn confirmation_builds(&self, benchmarks: usize, criteria: &Criteria) -> usize {
        let comparison = &self.comparison;
        let builds = comparison.builds[0].min(comparison.builds[1]);
        let effect =
            (comparison.log_change.abs() - comparison.standard_error).max(self.min_effect.ln_1p());
        let deviation = comparison.standard_error * (builds as f64).sqrt() * self.assured();
        let alpha = criteria.confirmation_rate(benchmarks);
        let most = (MOST * builds).max(fewest_at(alpha));
        fewest_builds(effect, deviation, alpha, most)
    }

    /// The factor by which the deviation of builds exceeds the observed one in only one case of five: `√(ν / χ²_{.2,
    /// ν})`.
    pub(super) fn assured(&self) -> f64 {
        let freedom = self.comparison.freedom;
        (freedom / chi_squared_quantile(1.0 - ASSURANCE, freedom)).sqrt()
    }
}

/// The fewest fresh builds that can confirm a change at rate `alpha`: `log₂ 1/α`, rounded up.
///
/// Where just one version of each pair of builds is slow by chance, differences are `±a`: `l` of them have the same
/// sign with probability `2^−l`, and then hardly vary, so that the t test rejects at any rate.
pub(super) fn fewest_at(alpha: f64) -> usize {
    let is_enough = |builds: &usize| halves(*builds) <= alpha;
    (FEWEST..MOST_AT_ANY_RATE).find(is_enough).unwrap_or(MOST_AT_ANY_RATE)
}

/// The fewest builds, up to `most`, that show an effect with the power of the second stage by a one-sided paired t test
/// at rate `alpha`, for this deviation of the differences of builds.
pub(super) fn fewest_builds(effect: f64, deviation: f64, alpha: f64, most: usize) -> usize {
    let is_enough = |builds: usize| {
        let l = builds as f64;
        let noncentrality = effect * l.sqrt() / deviation.max(f64::MIN_POSITIVE);
        // Beyond, no test misses it.
        noncentrality > 40.0
            || power_to_report(l - 1.0, noncentrality, alpha, 0.0) >= SECOND_STAGE_POWER
    };
    smallest(fewest_at(alpha)..=most, is_enough).unwrap_or(most)
}

/// The rate, over all analyses, of calling a benchmark unchanged that changed by the smallest change of interest.
const EQUIVALENCE: f64 = 0.05;

/// The confidence of the interval of fresh builds.
const CONFIDENCE: f64 = 0.95;

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

    /// Scales the flagging rate, for two estimates that share `α₁`.
    #[must_use]
    pub fn flagging_with(self, share: f64) -> Self {
        Self { flag: self.flag * share, ..self }
    }

    /// The rates of the second stage after a first stage with this number of analyses.
    pub fn second_stage(criteria: &Criteria, analyses: usize) -> Self {
        let equivalence = EQUIVALENCE * halves(analyses);
        Self { flag: criteria.flag_rate(), equivalence, confidence: CONFIDENCE }
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
    use crate::{
        model::Metric,
        stats::{Estimator, Measurements, Pairing, Summary},
    };

    /// An analysis of builds whose changes are `percent` ± `spread` percent.
    fn assessment(builds: u64, percent: f64, spread: f64) -> Assessment {
        let version = |is_head: bool| {
            let value = |build: u64| {
                let sign = if build.is_multiple_of(2) { 1.0 } else { -1.0 };
                let change: f64 = (percent + sign * spread) / 100.0;
                if is_head { 100.0 * change.exp() } else { 100.0 }
            };
            let builds = (0..builds).map(|build| (build, [[value(build)]]));
            let data = Measurements::new(Metric::wall(), builds).unwrap();
            Summary::compute(&data, Estimator::Mean)
        };
        let criteria = Criteria::default();
        Assessment::new(&version(false), &version(true), Pairing::BySeed, &criteria).unwrap()
    }

    #[test]
    fn confirmation_builds_grow_as_the_change_shrinks() {
        let criteria = Criteria::default();
        let builds = |assessment: Assessment| assessment.confirmation_builds(20, &criteria);
        assert_eq!(builds(assessment(6, 10.0, 0.5)), 6);
        assert!((7..24).contains(&builds(assessment(6, 2.0, 0.7))));
        assert_eq!(builds(assessment(6, 1.0, 5.0)), 24, "no more than four times as many");
        assert_eq!(builds(assessment(2, 1.0, 5.0)), 8);
    }

    #[test]
    fn confirmation_builds_make_equal_signs_rarer_than_the_rate() {
        let criteria = Criteria::default();
        let builds =
            |benchmarks| assessment(6, 10.0, 0.5).confirmation_builds(benchmarks, &criteria);
        assert_eq!([1, 20, 32, 100, 1000].map(builds), [6, 6, 6, 7, 10]);
        assert_eq!(fewest_at(0.0), MOST_AT_ANY_RATE);
    }

    #[test]
    fn confirmation_builds_grow_with_the_number_of_benchmarks() {
        let (assessment, criteria) = (assessment(10, 2.0, 1.0), Criteria::default());
        assert!(
            assessment.confirmation_builds(500, &criteria)
                > assessment.confirmation_builds(1, &criteria)
        );
    }

    #[test]
    fn chance_to_be_decided_falls_with_the_variance() {
        let rates = AlphaSpending::at_analysis(&Criteria::default(), 1, 3);
        let chance = |assessment: Assessment| assessment.chance_to_be_decided(12, rates);
        assert!(chance(assessment(6, 0.0, 0.3)) > 0.99);
        assert!(chance(assessment(6, 5.0, 1.0)) > 0.99);
        assert!(chance(assessment(6, 0.0, 20.0)) < 0.1);
        assert_eq!(assessment(6, 0.0, 0.3).chance_to_be_decided(6, rates), 0.0);
    }

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
