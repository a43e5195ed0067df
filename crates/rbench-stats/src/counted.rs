//! Decides verdicts on counts: every repetition of an execution gives the same count, so no time is estimated. Pure.
//!
//! The counts of a version differ by layouts and initial states alone, and their range is the only uncertainty: a
//! difference is a change if the ranges of both versions do not overlap, and if it is at least the smallest change of
//! interest. Its interval is the range of the changes from a count of the base to the count of the head in the same
//! layout and initial state.
//!
//! Nearly all counts are the same in all layouts and states, and then a change is certain. But some depend on the order
//! of a hash map, and a commit can change that order without changing the average work. Layouts and states are drawn at
//! random, so the ranges of such counts lie apart by chance: three and three in 10 % of all cases, six and six in 0.2 %
//! ([`apart_by_chance`]). So where the counts of a version [vary](varies), ranges of fewer than six prove nothing.

use std::collections::BTreeMap;

use super::{
    alpha_spending::AlphaSpending,
    assessment::Assessment,
    comparison::{Change, Comparison, Direction},
    components::Interval,
    criteria::Criteria,
    rule::Rule,
    summary::Summary,
    verdict::{Evidence, InconclusiveReason, Verdict},
};

/// Replaces a count of 0 in logarithms: less than any count. Changes from and to 0 then add up with others: from 0 to 1
/// and from there to 3 is from 0 to 3.
const NOTHING: f64 = 1e-15;

/// A difference of logarithms above that of any two counts is a change from 0.
const FROM_NOTHING: f64 = 24.0;

/// The least number of counts of each version for ranges of counts that vary.
const FEWEST_COUNTS: usize = 6;

/// The probability, over a whole comparison, that the ranges of any benchmark may lie apart by chance.
const ANY_APART: f64 = 0.01;

/// The counts of one version vary if they differ by more than this share of the smallest change of interest.
const VARYING_SHARE: f64 = 0.25;

/// The probability that the ranges of these numbers of counts of two versions lie apart, in either direction, although
/// all have the same distribution: 2 of all the ways to choose the counts of one version.
pub fn apart_by_chance([base, head]: [usize; 2]) -> f64 {
    (1..=base).fold(2.0, |chance, k| chance * k as f64 / (head + k) as f64)
}

/// The number of layouts and initial states in which to count each version of a benchmark whose counts vary, given the
/// number of verdicts of the comparison: at least six, and enough that any ranges lie apart by chance in at most 1 % of
/// all comparisons.
///
/// All verdicts count, even those on counts that do not vary: it is unknown beforehand which of them vary, and a number
/// that depended on it would favour those that seem to have changed.
pub fn counts_needed(verdicts: usize) -> usize {
    let mut counts = FEWEST_COUNTS;
    while verdicts as f64 * apart_by_chance([counts; 2]) > ANY_APART {
        counts += 1;
    }
    counts
}

/// True if the counts of a version differ by more than a quarter of the smallest change of interest; where that is 0,
/// if they differ at all.
pub fn varies(version: &Summary, min_effect: f64) -> bool {
    range(&counts(version))
        .is_some_and(|range| change(range.low, range.high) > VARYING_SHARE * min_effect)
}

/// The number of counts of a version, each in another layout and initial state.
pub fn times_counted(version: &Summary) -> usize {
    version.builds().iter().map(|build| build.estimates.len()).sum()
}

/// Converts a difference of logarithms into a relative change: 0.05 is 5 % more; infinite from 0.
pub(super) fn relative(log_change: f64) -> f64 {
    if log_change > FROM_NOTHING { f64::INFINITY } else { log_change.exp_m1() }
}

/// Compares the counts of two versions, and decides by the smallest change of interest of the criteria. None if a
/// version has no counts.
pub fn decide_counts(
    base: &Summary,
    head: &Summary,
    criteria: &Criteria,
) -> Option<(Assessment, Verdict)> {
    let counts = [counts(base), counts(head)];
    let changes = changes(&counts);
    let ranges = [range(&counts[0])?, range(&counts[1])?];
    let center = change(ranges[0].center, ranges[1].center);
    let ends = |pick: fn(f64, f64) -> f64| changes.iter().copied().fold(center, pick);
    let change = Change { estimate: center, low: ends(f64::min), high: ends(f64::max) };
    let [before, after] = ranges.map(|range| range.center.max(NOTHING).ln());
    // Rounding must not make a change of equal counts.
    let log_change = if change.estimate == 0.0 { 0.0 } else { after - before };
    let apart = ranges[0].high < ranges[1].low || ranges[1].high < ranges[0].low;
    let limit = criteria.min_effect;
    let by_chance = if varies(base, limit) || varies(head, limit) {
        apart_by_chance([base, head].map(times_counted))
    } else {
        0.0
    };
    let is_shown = apart && by_chance <= apart_by_chance([FEWEST_COUNTS; 2]);
    let flag = Direction::from_difference(log_change).filter(|_| is_shown);
    // A decrease counts as much as the increase that undoes it, as with times.
    let least = -limit / (1.0 + limit);
    let equivalent = if limit > 0.0 {
        change.low > least && change.high < limit
    } else {
        change.low == 0.0 && change.high == 0.0
    };
    let comparison = Comparison::from_counts(
        [base, head].map(|one| one.builds().len()),
        change,
        log_change,
        is_shown,
        ranges,
    );
    let assessment = Assessment {
        comparison,
        change,
        alpha: AlphaSpending { flag: 0.0, equivalence: 0.0, confidence: 1.0 },
        rule: Rule::Paired,
        is_across: false,
        flag,
        min_effect: limit,
        equivalent,
    };
    let is_small = change.estimate > least && change.estimate < limit;
    let evidence = Evidence::Counted { by_chance };
    let verdict = match flag {
        _ if equivalent => {
            Verdict::Unchanged { change, min_effect: limit, difference: flag.map(|_| evidence) }
        }
        Some(Direction::Worse) if !is_small => Verdict::Regressed { change, evidence },
        Some(Direction::Better) if !is_small => Verdict::Improved { change, evidence },
        Some(_) => Verdict::Inconclusive {
            change,
            detectable: None,
            reason: InconclusiveReason::Small { min_effect: limit },
        },
        None => {
            let reason = InconclusiveReason::Varies { by_chance: apart.then_some(by_chance) };
            Verdict::Inconclusive { change, detectable: None, reason }
        }
    };
    Some((assessment, verdict))
}

/// All counts, by layout and initial state.
fn counts(version: &Summary) -> BTreeMap<(u64, usize), f64> {
    let of_build = |build: &super::summary::BuildSummary| {
        let seed = build.seed;
        let counts: Vec<_> =
            build.estimates.iter().map(|one| ((seed, one.round), one.value)).collect();
        counts
    };
    version.builds().iter().flat_map(of_build).collect()
}

/// The changes from one count to the other of the same layout and initial state.
fn changes([base, head]: &[BTreeMap<(u64, usize), f64>; 2]) -> Vec<f64> {
    base.iter().filter_map(|(place, one)| Some(change(*one, *head.get(place)?))).collect()
}

/// The relative change from one count to another; infinite from 0 to anything else.
fn change(base: f64, head: f64) -> f64 {
    match (base > 0.0, head > 0.0) {
        (true, _) => (head - base) / base,
        (false, true) => f64::INFINITY,
        (false, false) => 0.0,
    }
}

/// The mean of counts with their range; none if there are no counts.
fn range(counts: &BTreeMap<(u64, usize), f64>) -> Option<Interval> {
    let low = counts.values().copied().reduce(f64::min)?;
    let high = counts.values().copied().reduce(f64::max)?;
    let above = counts.values().map(|count| count - low).sum::<f64>();
    let center = low + above / counts.len() as f64;
    Some(Interval { center, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimator, Measurements, Metric};

    /// A version whose builds have two executions each.
    fn summary(counts: &[[f64; 2]]) -> Summary {
        let builds = (1..).zip(counts).map(|(seed, build)| {
            (seed, build.iter().map(|count| vec![*count]).collect::<Vec<Vec<f64>>>())
        });
        let data = Measurements::new(Metric::allocations(), builds.collect::<Vec<_>>()).unwrap();
        Summary::compute(&data, Estimator::Mean)
    }

    fn decided(base: &[[f64; 2]], head: &[[f64; 2]], min_effect: f64) -> Verdict {
        // The caller chooses the criteria of the metric.
        let criteria = Criteria { min_effect, ..Criteria::default() };
        decide_counts(&summary(base), &summary(head), &criteria).unwrap().1
    }

    #[test]
    fn equal_counts_are_unchanged_even_from_one_execution() {
        let same = decided(&[[1000.0, 1000.0]], &[[1000.0, 1000.0]], 0.005);
        assert!(matches!(same, Verdict::Unchanged { difference: None, .. }), "{same:?}");
    }

    #[test]
    fn change_at_the_limit_counts_and_a_smaller_is_a_difference() {
        let head = |count: f64| decided(&[[1000.0, 1000.0]], &[[count, count]], 0.005);
        assert!(matches!(
            head(1005.0),
            Verdict::Regressed { evidence: Evidence::Counted { .. }, .. }
        ));
        assert!(matches!(head(995.0), Verdict::Improved { .. }));
        let smaller = head(1004.0);
        assert!(
            matches!(
                smaller,
                Verdict::Unchanged { difference: Some(Evidence::Counted { .. }), .. }
            ),
            "{smaller:?}"
        );
    }

    #[test]
    fn overlapping_ranges_show_no_change() {
        let verdict = decided(&[[1000.0, 1100.0]], &[[1050.0, 1200.0]], 0.005);
        assert!(
            matches!(
                verdict,
                Verdict::Inconclusive {
                    reason: InconclusiveReason::Varies { by_chance: None },
                    ..
                }
            ),
            "{verdict:?}"
        );
        let verdict = decided(
            &[[1000.0, 1100.0], [1010.0, 1090.0]],
            &[[1000.0, 1100.0], [1010.0, 1090.0]],
            0.005,
        );
        assert!(matches!(verdict, Verdict::Unchanged { .. }), "{verdict:?}");
    }

    #[test]
    fn apart_by_chance_falls_with_the_number_of_counts() {
        for (counts, ways) in
            [([1, 1], 2.0), ([3, 3], 20.0), ([2, 2], 6.0), ([3, 6], 84.0), ([6, 6], 924.0)]
        {
            let chance = apart_by_chance(counts);
            assert!((chance * ways / 2.0 - 1.0).abs() < 1e-12, "{counts:?}: {chance}");
        }
        assert_eq!([1, 4, 5, 17, 18, 64, 65, 1000].map(counts_needed), [6, 6, 7, 7, 8, 8, 9, 11]);
        for verdicts in [1, 20, 100, 5000] {
            let chance = apart_by_chance([counts_needed(verdicts); 2]);
            assert!(verdicts as f64 * chance <= 0.01);
        }
    }

    #[test]
    fn counts_vary_above_a_quarter_of_the_limit() {
        let varies = |counts: [f64; 2], limit| varies(&summary(&[counts]), limit);
        assert!(!varies([1000.0, 1001.0], 0.005));
        assert!(varies([1000.0, 1002.0], 0.005));
        assert!(varies([10.0, 11.0], 0.0) && varies([0.0, 1.0], 0.0));
        assert!(!varies([10.0, 10.0], 0.0) && !varies([0.0, 0.0], 0.0));
    }

    #[test]
    fn three_varying_counts_prove_no_change() {
        let three = |first: f64| [0.0, 5.0, 20.0].map(|more| vec![first + more]);
        let one_each = |counts: &[Vec<f64>]| {
            let builds = (1..).zip(counts.iter().map(|count| vec![count.clone()]));
            let metric = Metric::instructions();
            let data = Measurements::new(metric, builds.collect::<Vec<_>>()).unwrap();
            Summary::compute(&data, Estimator::Mean)
        };
        let criteria = Criteria { min_effect: 0.005, ..Criteria::default() };
        let verdict = |[base, head]: [&[Vec<f64>]; 2]| {
            decide_counts(&one_each(base), &one_each(head), &criteria).unwrap()
        };
        let [low, high] = [three(1000.0), three(1100.0)];
        for pair in [[&low[..], &high[..]], [&high[..], &low[..]]] {
            let (assessment, verdict) = verdict(pair);
            assert_eq!(assessment.flag, None);
            let Verdict::Inconclusive {
                reason: InconclusiveReason::Varies { by_chance: Some(chance) },
                ..
            } = verdict
            else {
                panic!("{verdict:?}");
            };
            assert!((chance - 0.1).abs() < 1e-12);
        }
        let six = |three: &[Vec<f64>; 3]| [&three[..], &three[..]].concat();
        let [base, head] = [six(&low), six(&high)];
        let Verdict::Regressed { evidence: Evidence::Counted { by_chance }, .. } =
            verdict([&base, &head]).1
        else {
            panic!("six counts of each version lie apart");
        };
        assert!((by_chance - 2.0 / 924.0).abs() < 1e-12);
        // A version with fewer counts does not become sufficient by that.
        assert!(matches!(verdict([&low, &head]).1, Verdict::Inconclusive { .. }));
        // Counts that do not vary still need only one.
        let same = [vec![1000.0], vec![1000.0], vec![1001.0]];
        let more = [vec![1100.0], vec![1100.0], vec![1101.0]];
        let verdict = verdict([&same, &more]).1;
        assert!(
            matches!(
                verdict,
                Verdict::Regressed { evidence: Evidence::Counted { by_chance: 0.0 }, .. }
            ),
            "{verdict:?}"
        );
    }

    #[test]
    fn zero_limit_makes_any_difference_a_change() {
        for (base, head, estimate) in [(2.0, 3.0, 0.5), (0.0, 3.0, f64::INFINITY)] {
            let Verdict::Regressed { change, .. } = decided(&[[base; 2]], &[[head; 2]], 0.0) else {
                panic!("{base} {head}");
            };
            assert_eq!([change.estimate, change.low, change.high], [estimate; 3]);
        }
        assert!(matches!(decided(&[[3.0; 2]], &[[0.0; 2]], 0.0), Verdict::Improved { .. }));
        assert!(matches!(decided(&[[0.0; 2]], &[[0.0; 2]], 0.0), Verdict::Unchanged { .. }));
    }

    #[test]
    fn changes_from_and_to_zero_add_up_with_others() {
        let log = |base: f64, head: f64| {
            let [base, head] = [base, head].map(|count| summary(&[[count; 2]]));
            decide_counts(&base, &head, &Criteria::default()).unwrap().0.comparison.log_change
        };
        for [first, second, third] in [[0.0, 1.0, 3.0], [3.0, 0.0, 5.0], [0.5, 0.0, 1e9]] {
            let whole = log(first, third);
            assert!((log(first, second) + log(second, third) - whole).abs() < 1e-9);
            let expected = if first > 0.0 { third / first - 1.0 } else { f64::INFINITY };
            assert!(relative(whole) == expected || (relative(whole) / expected - 1.0).abs() < 1e-9);
        }
        assert_eq!(relative(log(0.0, 0.001)), f64::INFINITY);
        assert!(relative(log(1.0, 1e10)).is_finite());
        assert!((relative(log(3.0, 0.0)) + 1.0).abs() < 1e-12);
    }
}
