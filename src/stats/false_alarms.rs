//! How often equal versions would be called different: the study of Kalibera et al. 2006, figure 2,
//! for any benchmark of which many builds of *one* version were measured.
//!
//! Two random disjoint groups of k builds are compared as if they were two versions; every difference
//! found is a false alarm. Beside it stands what a tool does that measures one binary per version.

use super::{
    BuildSummary, Comparison, Criteria, Interval, Measurements, Pairing, Random, Refusal, Rule,
    Summary, distribution::normal_quantile,
};

/// What to study.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// The numbers of builds per group, each 2 or more.
    pub groups: Vec<usize>,
    /// The rules to judge each pair of groups by.
    pub rules: Vec<Rule>,
    /// How many random pairs of groups to compare for each number of builds.
    pub repetitions: usize,
    /// Rates, confidence and estimator; the rule in them is not used.
    pub criteria: Criteria,
}

/// How often something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Times that it happened.
    pub count: usize,
    /// Times that it might have.
    pub of: usize,
}

impl Rate {
    /// `count / of`; NaN of nothing.
    pub fn share(self) -> f64 {
        self.count as f64 / self.of as f64
    }
}

/// The false alarms among the builds of one version.
#[derive(Clone, Debug, PartialEq)]
pub struct FalseAlarms {
    /// By interval (5) of Kalibera et al. 2005 from one build each, over all pairs of builds that
    /// have two executions or more; none if there is no such pair.
    pub single_build: Option<Rate>,
    /// One for each number of builds that was asked for, in that order.
    pub groups: Vec<GroupAlarms>,
}

/// The false alarms of groups of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupAlarms {
    /// `k`, builds per group.
    pub builds: usize,
    /// The rate for each rule, in the order of the study; none if two disjoint groups of so many builds
    /// cannot be taken from those that were measured.
    pub rates: Option<Vec<Rate>>,
}

/// Studies the builds of one version.
///
/// Groups are compared as unpaired: different builds have different layouts. Repetitions share builds,
/// so the rates tell about these builds; how far they hold for the benchmark depends on how many there
/// are. The measurements are read once, whatever the repetitions. The exact permutation test of two
/// groups of 10 takes milliseconds, all other rules microseconds.
///
/// Refuses criteria out of range and groups of less than 2 builds.
pub fn false_alarms(
    data: &Measurements,
    study: &Study,
    random: &mut Random,
) -> Result<FalseAlarms, Refusal> {
    let criteria = study.criteria.checked()?;
    let summary = Summary::of(data, criteria.estimator);
    let mut groups = vec![];
    for &builds in &study.groups {
        let rates = if 2 * builds > summary.builds().len() {
            None
        } else {
            Some(group_rates(&summary, builds, study, random)?)
        };
        groups.push(GroupAlarms { builds, rates });
    }
    Ok(FalseAlarms { single_build: single_build_rate(&summary, criteria.confidence), groups })
}

fn group_rates(
    summary: &Summary,
    builds: usize,
    study: &Study,
    random: &mut Random,
) -> Result<Vec<Rate>, Refusal> {
    let mut pool = summary.builds().to_vec();
    let mut rates = vec![Rate { count: 0, of: study.repetitions }; study.rules.len()];
    for _ in 0..study.repetitions {
        let chosen = random.choose_front(&mut pool, 2 * builds);
        let version = |group: &[BuildSummary]| {
            Summary::from_builds(summary.metric().clone(), summary.estimator(), group.to_vec())
        };
        let (one, other) = chosen.split_at(builds);
        let (one, other) = (version(one), version(other));
        let alpha = study.criteria.false_alarm_rate;
        let comparison = Comparison::new(&one, &other, Pairing::Unpaired, alpha)?;
        for (rate, rule) in rates.iter_mut().zip(&study.rules) {
            let flag = rule.flags(&one, &other, &comparison, &study.criteria)?;
            rate.count += usize::from(flag.is_some());
        }
    }
    Ok(rates)
}

/// Over all pairs of builds that have an interval.
fn single_build_rate(summary: &Summary, confidence: f64) -> Option<Rate> {
    let intervals: Vec<Interval> = summary
        .builds()
        .iter()
        .filter_map(|build| single_build_interval(build, confidence))
        .collect();
    let mut rate = Rate { count: 0, of: 0 };
    for (index, one) in intervals.iter().enumerate() {
        for other in &intervals[index + 1..] {
            rate.of += 1;
            rate.count += usize::from(!one.overlaps(other));
        }
    }
    (rate.of > 0).then_some(rate)
}

/// The interval (5) of Kalibera et al. 2005 from the executions of one build, verbatim and therefore of
/// means: `r ± z_{1−δ/2} · sqrt((n·S(A)² + S(X)²) / (k·n))` for `k` executions of `n` measurements.
///
/// `S(A)²` is the variance of execution means, `S(X)²` that within executions; where these have not
/// equally many measurements, `1/n` is `mean_j(1/n_j)`. It knows nothing of other layouts, which is why
/// it is studied here and used nowhere. None for a single execution.
pub fn single_build_interval(build: &BuildSummary, confidence: f64) -> Option<Interval> {
    let k = build.executions as f64;
    if build.executions < 2 {
        return None;
    }
    let between = build.squares_between_executions / (k - 1.0);
    let freedom = (build.measurements - build.executions).max(1) as f64;
    let within = build.squares_within_executions / freedom;
    let z = normal_quantile(f64::midpoint(1.0, confidence));
    let variance = (between + within * build.inverse_measurements) / k;
    Some(Interval::about(build.mean, z * variance.sqrt()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        model::Metric,
        stats::{Estimator, Levels, plan::Dimensions, simulation::Simulation},
    };

    fn study(groups: &[usize]) -> Study {
        let criteria = Criteria { estimator: Estimator::Mean, ..Criteria::default() };
        let rules = vec![Rule::Overlap, Rule::Overlap95, Rule::Paper];
        Study { groups: groups.to_vec(), rules, repetitions: 400, criteria }
    }

    fn builds_that_differ(seed: u64) -> Measurements {
        let components = Levels { execution: 1.0, build: 1.0, version: 25.0 };
        let dimensions = Dimensions { builds: 40, executions: 5, measurements: 5 };
        Simulation::new(components, dimensions).one(&mut Random::new(seed)).unwrap()
    }

    #[test]
    fn one_binary_per_version_cries_wolf_and_groups_of_builds_do_not() {
        let found = false_alarms(&builds_that_differ(1), &study(&[5, 10, 20]), &mut Random::new(1))
            .unwrap();
        // Builds differ with sd 5 sqrt(2), intervals reach about ±1.
        let single = found.single_build.unwrap();
        assert_eq!(single.of, 40 * 39 / 2);
        assert!(single.share() > 0.6, "{single:?}");
        for group in &found.groups[..2] {
            let rates = group.rates.as_ref().unwrap();
            // 5 %, up to 4 standard errors of 400 repetitions.
            assert!(rates[0].share() < 0.094, "{group:?}");
            assert!(rates[1].share() <= rates[0].share(), "{group:?}");
        }
    }

    #[test]
    fn groups_that_cannot_be_disjoint_have_no_rate() {
        let found =
            false_alarms(&builds_that_differ(2), &study(&[21, 20]), &mut Random::new(2)).unwrap();
        assert_eq!(found.groups[0], GroupAlarms { builds: 21, rates: None });
        assert!(found.groups[1].rates.is_some());
    }

    #[test]
    fn groups_of_one_build_are_refused() {
        let refusal = false_alarms(&builds_that_differ(3), &study(&[1]), &mut Random::new(3));
        assert_eq!(refusal, Err(Refusal::TooFewBuilds { builds: 1 }));
    }

    #[test]
    fn equal_builds_raise_no_alarm_by_any_rule() {
        let builds = (0..12).map(|seed| (seed, vec![vec![0.1, 0.3]; 3]));
        let data = Measurements::new(Metric::wall(), builds).unwrap();
        let all = Study { rules: Rule::ALL.to_vec(), repetitions: 9, ..study(&[2, 6]) };
        let found = false_alarms(&data, &all, &mut Random::new(4)).unwrap();
        assert_eq!(found.single_build, Some(Rate { count: 0, of: 66 }));
        for group in found.groups {
            assert_eq!(group.rates, Some(vec![Rate { count: 0, of: 9 }; 4]));
        }
    }

    #[test]
    fn single_executions_have_no_interval_of_one_build() {
        let builds = (0..4).map(|seed| (seed, [[1.0 + seed as f64, 2.0]]));
        let data = Measurements::new(Metric::wall(), builds).unwrap();
        let found = false_alarms(&data, &study(&[2]), &mut Random::new(5)).unwrap();
        assert_eq!(found.single_build, None);
    }

    #[test]
    fn the_interval_of_one_build_agrees_with_a_case_computed_by_hand() {
        let data = Measurements::new(Metric::wall(), [(1, [[3.0, 5.0], [7.0, 9.0]])]).unwrap();
        let summary = Summary::of(&data, Estimator::Mean);
        let interval = single_build_interval(&summary.builds()[0], 0.95).unwrap();
        // S(A)² = 8, S(X)² = 2, k = n = 2: sqrt((16 + 2)/4).
        assert_eq!(interval.center, 6.0);
        assert!((interval.half_width() - 1.959_964 * 4.5_f64.sqrt()).abs() < 1e-5);
    }

    proptest! {
        #[test]
        fn whatever_was_measured_can_be_studied(
            builds in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(1e-9..1e12, 1..4), 1..4), 2..9),
            group in 2_usize..5,
        ) {
            let l = builds.len();
            let data = Measurements::new(Metric::wall(), (0..).zip(builds)).unwrap();
            let all = Study { rules: Rule::ALL.to_vec(), repetitions: 3, ..study(&[group]) };
            let found = false_alarms(&data, &all, &mut Random::new(6)).unwrap();
            let rates = &found.groups[0].rates;
            prop_assert_eq!(rates.is_some(), 2 * group <= l);
            for rate in rates.iter().flatten().chain(&found.single_build) {
                prop_assert!(rate.count <= rate.of && (0.0..=1.0).contains(&rate.share()));
            }
        }
    }
}
