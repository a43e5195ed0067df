//! The power of a verdict: the smallest change that an experiment reports with a power of 80 %, and how much
//! larger it must be for a change of a given size.
//!
//! A change is reported if the first stage flags it, and fresh builds alone confirm it *and* estimate it to be at
//! least the smallest change of interest. A change of just that size is estimated to be smaller half of the time,
//! so no experiment reports it with more than half the power.
//!
//! With `l` builds, `SE_D² = D² / l`, where `D²` is the variance of one build's contribution to the
//! change: of a difference `d[k]` if paired, else of both versions' `x[k]` together. Of it, `W / m` comes
//! from executions (and their measurements), as (19) of Kalibera et al. 2006 has it with unbiased
//! components, and only the rest stays when executions are added. That [share](DifferenceShares) is of the
//! *difference*: what executions of one round share has no part in it.
//!
//! `D²` is estimated, and half of the experiments vary more than that. So it is reckoned with a larger one, which
//! is exceeded in one case of five.

use super::{
    assessment::Assessment,
    components::Levels,
    criteria::Criteria,
    matching::DifferenceShares,
    power::{POWER, power_to_report},
    rule::Rule,
    sequential::fewest_builds,
    summary::Summary,
};

/// Where executions explain at least this share of the variance, more of them help nearly as much as more
/// builds, and need no further links.
const EXECUTIONS_DOMINATE: f64 = 0.9;

/// So many times the smallest change of interest is what should be reported: no experiment reports that one itself
/// with a power of more than a half, as it is estimated to be smaller half of the time.
pub const ABOVE_MIN_EFFECT: f64 = 1.5;

/// How a comparison would do with other dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// `l`, of the version that has fewer.
    builds: usize,
    /// `m`, on average; 1 at least.
    executions: f64,
    /// Where the variance comes from, if that is known.
    shares: Option<DifferenceShares>,
    /// Whether one test decides, on stored builds of two sessions.
    is_across: bool,
    /// The assured `SE_D²·l`, on the log scale.
    variance: f64,
    /// By what factor the standard deviation is larger than the one observed.
    assured: f64,
    /// The least that `SE_D` can be, because values come in steps.
    least_standard_error: f64,
    /// `ν / (l − 1)`.
    freedom_per_build: f64,
    /// The rate at which the look flags.
    flag_rate: f64,
    criteria: Criteria,
    /// How many benchmarks are judged.
    judged: usize,
}

/// What to add to an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// So many builds in all.
    Builds(usize),
    /// So many executions of each build in all.
    Executions(usize),
}

/// How many builds the second stage has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SecondStage {
    /// As many as the first.
    Equal,
    /// As many as the change needs.
    AsNeeded,
}

impl Power {
    /// From what one look saw, where so many benchmarks are judged.
    ///
    /// None by the rule `overlap`, which is no t test at the false-alarm rate.
    pub fn estimate(stage: &Assessment, judged: usize, criteria: &Criteria) -> Option<Self> {
        let comparison = &stage.comparison;
        let builds = comparison.builds[0].min(comparison.builds[1]);
        let assured = stage.assured();
        let error = comparison.standard_error * assured;
        (stage.rule == Rule::Paired).then(|| Self {
            builds,
            executions: 1.0,
            shares: None,
            is_across: stage.is_across,
            variance: error.powi(2) * builds as f64,
            assured,
            least_standard_error: comparison.least_standard_error(),
            freedom_per_build: comparison.freedom / (builds as f64 - 1.0),
            flag_rate: comparison.false_alarm_rate,
            criteria: *criteria,
            judged,
        })
    }

    /// With what the summaries tell of executions.
    #[must_use]
    pub fn with_executions_of(self, stage: &Assessment, summaries: &[Summary; 2]) -> Self {
        let shares = stage.comparison.shares(summaries);
        Self { executions: executions(summaries), shares, ..self }
    }

    /// The smallest relative increase that an experiment like this one reports with a power of 80 %, with as
    /// many fresh builds as it needs.
    pub fn smallest_reported(&self) -> f64 {
        self.smallest(self.builds, 1.0, self.flag_rate, SecondStage::AsNeeded)
    }

    /// The smallest relative increase that so many builds in each stage, with as many executions each as now,
    /// report with a power of 80 %; NaN for fewer than 2.
    pub fn with_builds(&self, builds: usize) -> f64 {
        self.smallest(builds, 1.0, self.criteria.flag_rate(), SecondStage::Equal)
    }

    /// The same for as many builds as now, with so many executions each. None where it is not known how
    /// much executions add.
    pub fn with_executions(&self, executions: usize) -> Option<f64> {
        let DifferenceShares { builds, executions: share } = self.shares?;
        let left = builds + share * self.executions / executions as f64;
        Some(self.smallest(self.builds, left, self.criteria.flag_rate(), SecondStage::Equal))
    }

    /// The least to be added for a change of `wanted` to be reported with a power of 80 %: executions where
    /// nearly all variance comes from them, else builds. None if `most` of either are not enough.
    pub fn more(&self, wanted: f64, most: usize) -> Option<More> {
        if self.shares.is_some_and(|shares| shares.executions >= EXECUTIONS_DOMINATE) {
            let reaches =
                |executions| self.with_executions(executions).is_some_and(|d| d <= wanted);
            if let Some(executions) = smallest(2, most, reaches) {
                return Some(More::Executions(executions));
            }
        }
        self.builds_for(wanted, self.builds.max(2), most).map(More::Builds)
    }

    /// The smallest number of builds, from `least` to `most`, with as many executions each as now, that reports a
    /// change of `wanted` with a power of 80 %; none if `most` are not enough.
    pub fn builds_for(&self, wanted: f64, least: usize, most: usize) -> Option<usize> {
        smallest(least.max(2), most, |builds| self.with_builds(builds) <= wanted)
    }

    /// How many builds this was estimated from.
    pub fn builds(&self) -> usize {
        self.builds
    }

    /// The observed standard deviation of what one build contributes to the change, on the log scale: `sd(d)` if paired,
    /// with as many executions of each build as now.
    pub fn deviation(&self) -> f64 {
        self.variance.sqrt() / self.assured
    }

    /// What each level adds to that variance: `version` a build, `build` one execution with its measurements,
    /// which have no level of their own here. None where it is not known how much executions add.
    pub fn levels(&self) -> Option<Levels<f64>> {
        let DifferenceShares { builds, executions } = self.shares?;
        let variance = self.deviation().powi(2);
        Some(Levels {
            version: builds * variance,
            build: executions * variance * self.executions,
            execution: 0.0,
        })
    }

    /// The same experiment with so many executions of each build. None where it is not known how much they add.
    pub fn at_executions(&self, executions: usize) -> Option<Self> {
        let DifferenceShares { builds, executions: share } = self.shares?;
        let executions = executions.max(1) as f64;
        let of_executions = share * self.executions / executions;
        let left = builds + of_executions;
        let shares = (left > 0.0).then_some(DifferenceShares {
            builds: builds / left,
            executions: of_executions / left,
        });
        Some(Self { executions, variance: self.variance * left, shares, ..*self })
    }

    /// The relative increase whose power is 80 %, by halving.
    fn smallest(&self, builds: usize, share_left: f64, flag_rate: f64, second: SecondStage) -> f64 {
        if builds < 2 {
            return f64::NAN;
        }
        let deviation = (self.variance * share_left).sqrt();
        let error_of =
            |builds: usize| (deviation / (builds as f64).sqrt()).max(self.least_standard_error);
        let alpha = self.criteria.confirmation_rate(self.judged);
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
        // A change is told with three digits at most.
        while high - low > 1e-4 * high {
            let middle = f64::midpoint(low, high);
            if power(middle) < POWER { low = middle } else { high = middle }
        }
        high.exp_m1()
    }

    /// The power of a one-sided test at rate `alpha` for a change, which must be estimated to be of interest
    /// where it is `reported` then.
    fn power(&self, change: f64, builds: usize, error: f64, alpha: f64, reported: bool) -> f64 {
        if error <= 0.0 {
            return 1.0;
        }
        let freedom = (self.freedom_per_build * (builds as f64 - 1.0)).max(1.0);
        let least = if reported { self.criteria.min_log_change() } else { 0.0 };
        power_to_report(freedom, change / error, alpha, least / error)
    }
}

/// The smallest number from `least` to `most` that reaches, where all above one that reaches do.
fn smallest(least: usize, most: usize, reaches: impl Fn(usize) -> bool) -> Option<usize> {
    let numbers: Vec<usize> = (least..=most).collect();
    numbers.get(numbers.partition_point(|&number| !reaches(number))).copied()
}

fn executions(summaries: &[Summary; 2]) -> f64 {
    let builds = || summaries.iter().flat_map(Summary::builds);
    let total: usize = builds().map(|build| build.executions).sum();
    (total as f64 / builds().count().max(1) as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Metric,
        stats::{Estimator, Measurements, Pairing, power::noncentrality_for},
    };

    /// Builds of two executions that differ by `±within` about a value of 100 that moves by `±layout`,
    /// both the other way in the other version.
    fn outlook(layout: f64, within: f64, builds: u32) -> Power {
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
        let outlook = Power::estimate(&stage, 50, &criteria).unwrap();
        outlook.with_executions_of(&stage, summaries)
    }

    #[test]
    fn what_is_reported_is_larger_than_what_is_flagged_and_than_the_smallest_change_of_interest() {
        let criteria = Criteria::default();
        for layout in [0.01, 0.3, 3.0] {
            let outlook = outlook(layout, 0.005, 8);
            let flagged = noncentrality_for(7.0, criteria.flag_rate(), POWER)
                * (outlook.variance / 8.0).sqrt();
            for reported in [outlook.smallest_reported(), outlook.with_builds(8)] {
                assert!(reported.ln_1p() > flagged, "{reported} {flagged}");
                assert!(reported > criteria.min_effect, "{reported}");
            }
        }
        // What hardly varies is reported as soon as it is of interest.
        assert!(outlook(0.01, 0.005, 8).smallest_reported() < 0.0102);
    }

    #[test]
    fn four_times_the_builds_report_about_half_the_change() {
        let outlook = outlook(5.0, 0.1, 8);
        let ratio = outlook.with_builds(32) / outlook.with_builds(8);
        assert!((0.35..0.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn builds_are_advised_where_layout_is_what_varies_and_executions_where_they_are() {
        let layout = outlook(1.0, 0.1, 10);
        let Some(More::Builds(builds)) = layout.more(0.015, 200) else { panic!("{layout:?}") };
        assert!(layout.with_builds(builds) <= 0.015 && layout.with_builds(builds - 1) > 0.015);
        let executions = outlook(0.4, 1.0, 10);
        let advised = executions.more(0.015, 200);
        let Some(More::Executions(count)) = advised else { panic!("{advised:?} {executions:?}") };
        assert!(executions.with_executions(count).unwrap() <= 0.015);
        assert!(executions.with_executions(count - 1).unwrap() > 0.015);
    }

    #[test]
    fn executions_are_not_advised_for_what_those_of_one_round_share() {
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
        let outlook = estimated(&summaries);
        assert!(matches!(outlook.more(0.015, 200), Some(More::Builds(_))), "{outlook:?}");
        let now = outlook.with_executions(2).unwrap();
        assert!(outlook.with_executions(200).unwrap() > 0.99 * now);
    }

    #[test]
    fn no_number_of_builds_sees_what_the_steps_of_the_values_hide() {
        let version = |sign: f64| {
            let values = (0..10).map(|seed: u32| {
                (u64::from(seed), [[100.0 + if seed < 5 { sign } else { -sign }]])
            });
            let data = Measurements::new(Metric::wall(), values).unwrap();
            Summary::compute(&data.with_resolution(1.0), Estimator::Minimum)
        };
        let summaries = [version(1.0), version(-1.0)];
        let outlook = estimated(&summaries);
        // 2.8 standard deviations of two uniform errors of 1 %.
        assert!(outlook.with_builds(100_000) > 0.01);
        assert_eq!(outlook.more(0.0125, 1000), None);
    }

    #[test]
    fn other_numbers_of_builds_and_executions_can_be_combined() {
        let outlook = outlook(0.4, 1.0, 10);
        let more = outlook.at_executions(8).unwrap();
        assert!((more.with_builds(10) - outlook.with_executions(8).unwrap()).abs() < 1e-12);
        let back = more.at_executions(2).unwrap();
        assert!((back.deviation() - outlook.deviation()).abs() < 1e-12);
        // What the levels add does not depend on how often they were repeated.
        let [one, other] = [&outlook, &more].map(|outlook| outlook.levels().unwrap());
        assert!(
            (one.build - other.build).abs() < 1e-15 && (one.version - other.version).abs() < 1e-15
        );
        let whole = one.version + one.build / 2.0;
        assert!((whole.sqrt() - outlook.deviation()).abs() < 1e-12);
        let builds = more.builds_for(0.012, 5, 100).unwrap();
        assert!(more.with_builds(builds) <= 0.012);
        assert!(builds == 5 || more.with_builds(builds - 1) > 0.012);
    }

    #[test]
    fn what_cannot_be_reached_is_not_advised() {
        assert_eq!(outlook(20.0, 0.1, 10).more(0.015, 100), None);
    }

    #[test]
    fn one_execution_of_each_build_says_nothing_of_executions() {
        let version = |values: [f64; 3]| {
            let builds = (0..).zip(values.map(|value| [[value]]));
            Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
        };
        let summaries = [version([1.0, 2.0, 3.0]), version([2.0, 1.0, 3.0])];
        assert_eq!(estimated(&summaries).with_executions(9), None);
    }
}
