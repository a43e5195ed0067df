//! Plans the next step after an interim analysis: the probability that the next analysis decides a benchmark, and the
//! number of fresh builds that confirm a change. Pure.

use super::{
    alpha_spending::{AlphaSpending, halves},
    assessment::Assessment,
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

const SECOND_STAGE_POWER: f64 = 0.95;

/// The probability that builds do not vary more than assumed.
const ASSURANCE: f64 = 0.80;

impl Assessment {
    /// The probability that an analysis of `next_builds` builds at these rates calls the benchmark unchanged or flags
    /// it, if its true change is the present estimate.
    ///
    /// The estimate of the next analysis differs from the present one by `t_ν · SE · √(Δ / l')` where `Δ` of its `l'`
    /// builds are new.
    pub fn chance_to_be_decided(&self, next_builds: usize, rates: AlphaSpending) -> f64 {
        let comparison = &self.comparison;
        let builds = self.builds();
        let next = next_builds as f64;
        if next <= builds {
            return 0.0;
        }
        let (next_error, next_freedom) = self.next_error(next_builds, 1);
        let freedom = comparison.freedom;
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

    /// The probability that an analysis of `next_builds` builds, with `repeats` times as many executions of each, calls the benchmark
    /// unchanged if it is.
    pub(super) fn power_if_unchanged(
        &self,
        next_builds: usize,
        repeats: u32,
        rates: AlphaSpending,
    ) -> f64 {
        let (error, freedom) = self.next_error(next_builds, repeats);
        let most = self.min_effect.ln_1p() / error - t_quantile(1.0 - rates.equivalence, freedom);
        (1.0 - 2.0 * t_survival(most, freedom)).max(0.0)
    }

    /// The probability that such an analysis flags a change of `change` smallest changes of interest.
    pub(super) fn power_if_changed(
        &self,
        change: f64,
        next_builds: usize,
        repeats: u32,
        rates: AlphaSpending,
    ) -> f64 {
        let (error, freedom) = self.next_error(next_builds, repeats);
        let least = t_quantile(1.0 - rates.flag / 2.0, freedom);
        t_survival(least - change * self.min_effect.ln_1p() / error, freedom)
    }

    /// The standard error of the change in a later analysis, and its degrees of freedom.
    ///
    /// Of `l` builds, it has `l'` with `r` times as many executions: `√(l / r l')` of the present error. With one execution of
    /// each build, the variance between executions is not known apart from that between builds. Both builds of a pair have the
    /// same layout, so it is taken to be all of it.
    fn next_error(&self, next_builds: usize, repeats: u32) -> (f64, f64) {
        let comparison = &self.comparison;
        let (builds, next) = (self.builds(), next_builds as f64);
        let error = comparison.standard_error * (builds / (next * f64::from(repeats))).sqrt();
        let freedom = comparison.freedom * (next - 1.0) / (builds - 1.0);
        (error.max(comparison.least_standard_error()), freedom)
    }

    fn builds(&self) -> f64 {
        self.comparison.builds[0].min(self.comparison.builds[1]) as f64
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

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::{Estimator, Measurements, Metric, Pairing, Summary};

    /// An analysis of builds whose changes are `percent` ± `spread` percent.
    pub fn assessment(builds: u64, percent: f64, spread: f64) -> Assessment {
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
}
