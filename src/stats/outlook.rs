//! The power of larger experiments: the smallest change that one flags with a power of 80 %, and how much
//! larger it must be for a change of a given size.
//!
//! With `l` builds, `SE_D² = D² / l`, where `D²` is the variance of one build's contribution to the
//! change: of a difference `d[k]` if paired, else of both versions' `x[k]` together. Of it, `W / m` comes
//! from executions (and their measurements), as (19) of Kalibera et al. 2006 has it with unbiased
//! components, and only the rest stays when executions are added. That [share](DifferenceShares) is of the
//! *difference*: what executions of one round share has no part in it.

use super::{
    assessment::{Assessment, POWER},
    components::Levels,
    matching::Method,
    power::noncentrality_for,
    shares::DifferenceShares,
    summary::Summary,
};

/// Where executions explain at least this share of the variance, more of them help nearly as much as more
/// builds, and need no further links.
const EXECUTIONS_DOMINATE: f64 = 0.9;

/// How a comparison would do with other dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// `l`, of the version that has fewer.
    builds: usize,
    /// `m`, on average; 1 at least.
    executions: f64,
    /// `SE_D²·l`, on the log scale.
    variance: f64,
    /// The least that `SE_D` can be, because values come in steps.
    least_standard_error: f64,
    shares: Option<DifferenceShares>,
    /// `ν / (l − 1)`.
    freedom_per_build: f64,
    false_alarm_rate: f64,
}

/// What to add to an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// So many builds in all.
    Builds(usize),
    /// So many executions of each build in all.
    Executions(usize),
}

impl Outlook {
    /// From what one stage saw of base and head.
    pub fn of(stage: &Assessment, summaries: &[Summary; 2]) -> Self {
        let comparison = &stage.comparison;
        let builds = comparison.builds[0].min(comparison.builds[1]);
        let variance = comparison.standard_error.powi(2) * builds as f64;
        let pairs = builds as f64 - 1.0;
        Self {
            builds,
            executions: executions(summaries),
            variance,
            least_standard_error: comparison.least_standard_error(),
            shares: comparison.shares(summaries),
            freedom_per_build: match comparison.method {
                Method::Paired { .. } => 1.0,
                Method::Welch(_) => comparison.freedom / pairs,
            },
            false_alarm_rate: comparison.false_alarm_rate,
        }
    }

    /// The smallest relative increase that so many builds, with as many executions each as now, flag with
    /// a power of 80 %; NaN for fewer than 2.
    pub fn with_builds(&self, builds: usize) -> f64 {
        self.detectable(builds, 1.0)
    }

    /// The same for as many builds as now, with so many executions each. None where it is not known how
    /// much executions add.
    pub fn with_executions(&self, executions: usize) -> Option<f64> {
        let DifferenceShares { builds, executions: share } = self.shares?;
        let left = builds + share * self.executions / executions as f64;
        Some(self.detectable(self.builds, left))
    }

    /// The least to be added for a change of `wanted` to be flagged with a power of 80 %: executions where
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

    /// The smallest number of builds, from `least` to `most`, with as many executions each as now, that flags a
    /// change of `wanted` with a power of 80 %; none if `most` are not enough.
    pub fn builds_for(&self, wanted: f64, least: usize, most: usize) -> Option<usize> {
        smallest(least.max(2), most, |builds| self.with_builds(builds) <= wanted)
    }

    /// How many builds this was estimated from.
    pub fn builds(&self) -> usize {
        self.builds
    }

    /// The standard deviation of what one build contributes to the change, on the log scale: `sd(d)` if paired,
    /// with as many executions of each build as now.
    pub fn deviation(&self) -> f64 {
        self.variance.sqrt()
    }

    /// What each level adds to that variance: `version` a build, `build` one execution with its measurements,
    /// which have no level of their own here. None where it is not known how much executions add.
    pub fn levels(&self) -> Option<Levels<f64>> {
        let DifferenceShares { builds, executions } = self.shares?;
        Some(Levels {
            version: builds * self.variance,
            build: executions * self.variance * self.executions,
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

    fn detectable(&self, builds: usize, share_left: f64) -> f64 {
        if self.false_alarm_rate >= POWER {
            return 0.0;
        }
        let freedom = self.freedom_per_build * (builds as f64 - 1.0);
        let error = (self.variance * share_left / builds as f64).sqrt();
        let error = error.max(self.least_standard_error);
        (noncentrality_for(freedom, self.false_alarm_rate, POWER) * error).exp_m1()
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
        stats::{Criteria, Estimator, Measurements, Pairing},
    };

    /// Builds of two executions that differ by `±within` about a value of 100 that moves by `±layout`,
    /// both the other way in the other version.
    fn outlook(layout: f64, within: f64, builds: u32) -> (Outlook, Assessment) {
        let version = |sign: f64| {
            let values = (0..builds).map(|seed| {
                let value = 100.0 + if seed % 2 == 0 { sign * layout } else { -sign * layout };
                (u64::from(seed), [[value - sign * within], [value + sign * within]])
            });
            Summary::of(&Measurements::new(Metric::wall(), values).unwrap(), Estimator::Minimum)
        };
        let summaries = [version(1.0), version(-1.0)];
        let stage =
            Assessment::new(&summaries[0], &summaries[1], Pairing::BySeed, &Criteria::default())
                .unwrap();
        (Outlook::of(&stage, &summaries), stage)
    }

    #[test]
    fn as_many_builds_as_there_were_see_what_the_stage_says() {
        let (outlook, stage) = outlook(3.0, 0.5, 8);
        assert!((outlook.with_builds(8) - stage.smallest_detectable().unwrap()).abs() < 1e-12);
    }

    #[test]
    fn four_times_the_builds_see_less_than_half_the_change() {
        let (outlook, _) = outlook(1.0, 0.1, 8);
        assert!(outlook.with_builds(32) < outlook.with_builds(8) / 2.0);
    }

    #[test]
    fn builds_are_advised_where_layout_is_what_varies_and_executions_where_they_are() {
        let (layout, _) = outlook(1.0, 0.1, 10);
        let Some(More::Builds(builds)) = layout.more(0.01, 200) else { panic!("{layout:?}") };
        assert!(layout.with_builds(builds) <= 0.01 && layout.with_builds(builds - 1) > 0.01);
        let (executions, _) = outlook(0.4, 1.0, 10);
        let advised = executions.more(0.005, 200);
        let Some(More::Executions(count)) = advised else { panic!("{advised:?} {executions:?}") };
        assert!(executions.with_executions(count).unwrap() <= 0.005);
        assert!(executions.with_executions(count - 1).unwrap() > 0.005);
    }

    #[test]
    fn executions_are_not_advised_for_what_those_of_one_round_share() {
        // The second execution of every build takes 2 % longer, in both versions: it ran at another time.
        let version = |sign: f64| {
            let values = (0..10).map(|seed: u32| {
                let layout = if seed.is_multiple_of(2) { sign } else { -sign };
                (u64::from(seed), [[100.0 + layout], [102.0 + layout]])
            });
            Summary::of(&Measurements::new(Metric::wall(), values).unwrap(), Estimator::Minimum)
        };
        let summaries = [version(1.0), version(-1.0)];
        let stage =
            Assessment::new(&summaries[0], &summaries[1], Pairing::BySeed, &Criteria::default())
                .unwrap();
        let outlook = Outlook::of(&stage, &summaries);
        assert!(matches!(outlook.more(0.01, 200), Some(More::Builds(_))), "{outlook:?}");
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
            Summary::of(&data.with_resolution(1.0), Estimator::Minimum)
        };
        let summaries = [version(1.0), version(-1.0)];
        let stage =
            Assessment::new(&summaries[0], &summaries[1], Pairing::BySeed, &Criteria::default())
                .unwrap();
        let outlook = Outlook::of(&stage, &summaries);
        // 2.8 standard deviations of two uniform errors of 1 %.
        assert!(outlook.with_builds(100_000) > 0.01);
        assert_eq!(outlook.more(0.01, 1000), None);
    }

    #[test]
    fn other_numbers_of_builds_and_executions_can_be_combined() {
        let (outlook, _) = outlook(0.4, 1.0, 10);
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
        let builds = more.builds_for(0.01, 5, 100).unwrap();
        assert!(more.with_builds(builds) <= 0.01);
        assert!(builds == 5 || more.with_builds(builds - 1) > 0.01);
    }

    #[test]
    fn what_cannot_be_reached_is_not_advised() {
        let (outlook, _) = outlook(20.0, 0.1, 10);
        assert_eq!(outlook.more(0.001, 100), None);
    }

    #[test]
    fn one_execution_of_each_build_says_nothing_of_executions() {
        let version = |values: [f64; 3]| {
            let builds = (0..).zip(values.map(|value| [[value]]));
            Summary::of(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
        };
        let summaries = [version([1.0, 2.0, 3.0]), version([2.0, 1.0, 3.0])];
        let stage =
            Assessment::new(&summaries[0], &summaries[1], Pairing::BySeed, &Criteria::default())
                .unwrap();
        assert_eq!(Outlook::of(&stage, &summaries).with_executions(9), None);
    }
}
