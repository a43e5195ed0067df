//! The power of a verdict: the smallest change that an experiment reports with a power of 80 %, and the builds or
//! executions that a smaller one needs.
//!
//! A change is reported if the first stage flags it, and fresh builds alone confirm it *and* estimate it to be at least
//! the smallest change of interest. A change of exactly that size is estimated to be smaller half of the time, so no
//! experiment reports it with a power above one half.
//!
//! With `l` builds, `SE_D² = D² / l`, where `D²` is the variance of one build's contribution to the change: of a
//! difference `d[k]` if paired, else of both versions' `x[k]` together. Executions and their measurements contribute `W
//! / m` of it, as in (19) of Kalibera et al. 2006 with unbiased components; more executions leave only the rest. That
//! [share](DifferenceShares) is of the *difference*: the noise that executions of one round share cancels.
//!
//! `D²` is an estimate, and half of all experiments vary more than it. So the power is computed with a larger value,
//! exceeded in one case of five.

use super::{
    assessment::Assessment,
    criteria::Criteria,
    matching::DifferenceShares,
    power::{POWER, power_to_report, smallest},
    rule::Rule,
    sequential::fewest_builds,
    summary::Summary,
};

/// Where executions explain at least this share of the variance, more of them help nearly as much as more
/// builds, and need no further links.
const EXECUTIONS_DOMINATE: f64 = 0.9;

/// A change of this many times the smallest change of interest should be reported. No experiment reports the smallest
/// change itself with a power above one half, because it is estimated to be smaller half of the time.
pub const ABOVE_MIN_EFFECT: f64 = 1.5;

/// The power of a comparison, and how other sample sizes would change it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// `l`, of the version with fewer builds.
    builds: usize,
    /// `m`, the mean number of executions of a build; at least 1.
    executions: f64,
    /// The sources of the variance, if known.
    shares: Option<DifferenceShares>,
    /// True for stored builds of two sessions, which a single test decides.
    is_across: bool,
    /// The assured `SE_D²·l`, on the log scale.
    variance: f64,
    /// The lower limit of `SE_D`, because values come in steps.
    least_standard_error: f64,
    /// `ν / (l − 1)`.
    freedom_per_build: f64,
    flag_rate: f64,
    criteria: Criteria,
    benchmarks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    Builds(usize),
    /// The total number of executions of each build.
    Executions(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SecondStage {
    /// The number of the first stage.
    Equal,
    AsNeeded,
}

impl Power {
    /// Estimates the power from one analysis of a comparison that decides this number of benchmarks.
    ///
    /// None for the rule `overlap`, which is no t test at the false-alarm rate.
    pub fn estimate(stage: &Assessment, benchmarks: usize, criteria: &Criteria) -> Option<Self> {
        let comparison = &stage.comparison;
        let builds = comparison.builds[0].min(comparison.builds[1]);
        let error = comparison.standard_error * stage.assured();
        (stage.rule == Rule::Paired).then(|| Self {
            builds,
            executions: 1.0,
            shares: None,
            is_across: stage.is_across,
            variance: error.powi(2) * builds as f64,
            least_standard_error: comparison.least_standard_error(),
            freedom_per_build: comparison.freedom / (builds as f64 - 1.0),
            flag_rate: comparison.false_alarm_rate,
            criteria: *criteria,
            benchmarks,
        })
    }

    /// Adds the share of executions in the variance, estimated from the summaries.
    #[must_use]
    pub fn with_executions_of(self, stage: &Assessment, summaries: &[Summary; 2]) -> Self {
        let shares = stage.comparison.shares(summaries);
        Self { executions: executions(summaries), shares, ..self }
    }

    /// The smallest relative increase that an experiment like this one reports with a power of 80 %, given as many
    /// fresh builds as it needs.
    pub fn smallest_reported(&self) -> f64 {
        self.smallest(self.builds, self.flag_rate, SecondStage::AsNeeded)
    }

    /// The smallest relative increase that `builds` builds in each stage report with a power of 80 %, with the present
    /// number of executions; NaN below 2.
    pub fn with_builds(&self, builds: usize) -> f64 {
        self.smallest(builds, self.criteria.flag_rate(), SecondStage::Equal)
    }

    /// Like [`with_builds`](Self::with_builds), for the present number of builds with `executions` executions each.
    /// None if the share of executions in the variance is unknown.
    pub fn with_executions(&self, executions: usize) -> Option<f64> {
        let DifferenceShares { builds, executions: share } = self.shares?;
        let left = builds + share * self.executions / executions.max(1) as f64;
        Some(Self { variance: self.variance * left, ..*self }.with_builds(self.builds))
    }

    /// The smallest addition that makes a change of `wanted` reported with a power of 80 %: executions where they cause
    /// nearly all variance, else builds. None if `most` of either are not enough.
    pub fn more(&self, wanted: f64, most: usize) -> Option<More> {
        if self.shares.is_some_and(|shares| shares.executions >= EXECUTIONS_DOMINATE) {
            let is_enough =
                |executions| self.with_executions(executions).is_some_and(|d| d <= wanted);
            if let Some(executions) = smallest(2..=most, is_enough) {
                return Some(More::Executions(executions));
            }
        }
        let is_enough = |builds| self.with_builds(builds) <= wanted;
        smallest(self.builds.max(2)..=most, is_enough).map(More::Builds)
    }

    /// The relative increase with a power of 80 %, by bisection.
    fn smallest(&self, builds: usize, flag_rate: f64, second: SecondStage) -> f64 {
        if builds < 2 {
            return f64::NAN;
        }
        let deviation = self.variance.sqrt();
        let error_of =
            |builds: usize| (deviation / (builds as f64).sqrt()).max(self.least_standard_error);
        let alpha = self.criteria.confirmation_rate(self.benchmarks);
        let power = |change: f64| {
            let one_test =
                |alpha, reported| self.power(change, builds, error_of(builds), alpha, reported);
            match (self.criteria.confirm, self.is_across) {
                (false, _) => one_test(flag_rate / 2.0, true),
                (true, true) => one_test(flag_rate / 2.0 * alpha, true),
                (true, false) => {
                    let fresh = match second {
                        SecondStage::Equal => builds,
                        SecondStage::AsNeeded => {
                            fewest_builds(change, deviation, alpha, 4 * builds)
                        }
                    };
                    let confirmed = self.power(change, fresh, error_of(fresh), alpha, true);
                    one_test(flag_rate / 2.0, false) * confirmed
                }
            }
        };
        let (mut low, mut step) = (self.criteria.min_log_change(), 4.0 * error_of(builds));
        while power(low + step) < POWER {
            low += step;
            step *= 2.0;
        }
        let mut high = low + step;
        // Reports show a change with at most three digits.
        while high - low > 1e-4 * high {
            let middle = f64::midpoint(low, high);
            if power(middle) < POWER { low = middle } else { high = middle }
        }
        high.exp_m1()
    }

    /// The power of a one-sided test at rate `alpha` for a change; if `reported`, the change must also be estimated to
    /// be of interest.
    fn power(&self, change: f64, builds: usize, error: f64, alpha: f64, reported: bool) -> f64 {
        if error <= 0.0 {
            return 1.0;
        }
        let freedom = (self.freedom_per_build * (builds as f64 - 1.0)).max(1.0);
        let least = if reported { self.criteria.min_log_change() } else { 0.0 };
        power_to_report(freedom, change / error, alpha, least / error)
    }
}

fn executions(summaries: &[Summary; 2]) -> f64 {
    let builds = || summaries.iter().flat_map(Summary::builds);
    let total: usize = builds().map(|build| build.executions).sum();
    (total as f64 / builds().count().max(1) as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimator, Measurements, Metric, Pairing, power::noncentrality_for};

    /// Builds of two executions that differ by `±within` about a value of 100 that moves by `±layout`; both move the
    /// other way in the other version.
    fn power(layout: f64, within: f64, builds: u32) -> Power {
        let version = |sign: f64| {
            let values = (0..builds).map(|seed| {
                let value = 100.0 + if seed % 2 == 0 { sign * layout } else { -sign * layout };
                (u64::from(seed), [[value - sign * within], [value + sign * within]])
            });
            Summary::compute(
                &Measurements::new(Metric::wall(), values).unwrap(),
                Estimator::Minimum,
            )
        };
        let summaries = [version(1.0), version(-1.0)];
        estimated(&summaries)
    }

    fn estimated(summaries: &[Summary; 2]) -> Power {
        let (criteria, [base, head]) = (Criteria::default(), summaries);
        let stage = Assessment::new(base, head, Pairing::BySeed, &criteria).unwrap();
        let power = Power::estimate(&stage, 50, &criteria).unwrap();
        power.with_executions_of(&stage, summaries)
    }

    #[test]
    fn smallest_reported_exceeds_smallest_flagged_and_min_effect() {
        let criteria = Criteria::default();
        for layout in [0.01, 0.3, 3.0] {
            let power = power(layout, 0.005, 8);
            let flagged =
                noncentrality_for(7.0, criteria.flag_rate(), POWER) * (power.variance / 8.0).sqrt();
            for reported in [power.smallest_reported(), power.with_builds(8)] {
                assert!(reported.ln_1p() > flagged, "{reported} {flagged}");
                assert!(reported > criteria.min_effect, "{reported}");
            }
        }
        // Values that hardly vary are reported as soon as they are of interest.
        assert!(power(0.01, 0.005, 8).smallest_reported() < 0.0102);
    }

    #[test]
    fn four_times_the_builds_halve_the_smallest_reported() {
        let power = power(5.0, 0.1, 8);
        let ratio = power.with_builds(32) / power.with_builds(8);
        assert!((0.35..0.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn more_advises_the_level_with_most_variance() {
        let layout = power(1.0, 0.1, 10);
        let Some(More::Builds(builds)) = layout.more(0.015, 200) else { panic!("{layout:?}") };
        assert!(layout.with_builds(builds) <= 0.015 && layout.with_builds(builds - 1) > 0.015);
        let executions = power(0.4, 1.0, 10);
        let advised = executions.more(0.015, 200);
        let Some(More::Executions(count)) = advised else { panic!("{advised:?} {executions:?}") };
        assert!(executions.with_executions(count).unwrap() <= 0.015);
        assert!(executions.with_executions(count - 1).unwrap() > 0.015);
    }

    #[test]
    fn more_ignores_noise_shared_by_a_round() {
        // The second execution of every build takes 2 % longer, in both versions: it ran at another time.
        let version = |sign: f64| {
            let values = (0..10).map(|seed: u32| {
                let layout = if seed.is_multiple_of(2) { sign } else { -sign };
                (u64::from(seed), [[100.0 + layout], [102.0 + layout]])
            });
            Summary::compute(
                &Measurements::new(Metric::wall(), values).unwrap(),
                Estimator::Minimum,
            )
        };
        let summaries = [version(1.0), version(-1.0)];
        let power = estimated(&summaries);
        assert!(matches!(power.more(0.015, 200), Some(More::Builds(_))), "{power:?}");
        let now = power.with_executions(2).unwrap();
        assert!(power.with_executions(200).unwrap() > 0.99 * now);
    }

    #[test]
    fn coarse_steps_limit_power_for_any_number_of_builds() {
        let version = |sign: f64| {
            let values = (0..10).map(|seed: u32| {
                (u64::from(seed), [[100.0 + if seed < 5 { sign } else { -sign }]])
            });
            let data = Measurements::new(Metric::wall(), values).unwrap();
            Summary::compute(&data.with_resolution(1.0), Estimator::Minimum)
        };
        let summaries = [version(1.0), version(-1.0)];
        let power = estimated(&summaries);
        // 2.8 standard deviations of two uniform errors of 1 %.
        assert!(power.with_builds(100_000) > 0.01);
        assert_eq!(power.more(0.0125, 1000), None);
    }

    #[test]
    fn more_is_none_for_unattainable_changes() {
        assert_eq!(power(20.0, 0.1, 10).more(0.015, 100), None);
    }

    #[test]
    fn single_executions_leave_their_share_unknown() {
        let version = |values: [f64; 3]| {
            let builds = (0..).zip(values.map(|value| [[value]]));
            Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
        };
        let summaries = [version([1.0, 2.0, 3.0]), version([2.0, 1.0, 3.0])];
        assert_eq!(estimated(&summaries).with_executions(9), None);
    }
}
