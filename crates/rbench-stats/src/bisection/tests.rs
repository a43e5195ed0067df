//! Tests of whole searches, with oracles that know the truth, some of them with noise.

use std::collections::BTreeSet;

use proptest::{collection::btree_map, prelude::*};

use super::*;
use crate::{Random, distribution::t_survival};

/// The smallest change of interest.
const MIN_EFFECT: f64 = 0.01;

/// The degrees of freedom of a comparison of ten builds.
const FREEDOM: f64 = 9.0;

/// A range whose changes are known.
struct Range {
    /// The change by each commit, on logarithms; `changes[0]` is 0, for the version before.
    changes: Vec<f64>,
    /// The commits that cannot be compared.
    unusable: BTreeSet<usize>,
    /// The standard error of a comparison.
    noise: f64,
    /// True if commits without a change are known to behave the same.
    same_is_known: bool,
    random: Random,
    /// The comparisons made, each with its number of subjects.
    compared: Vec<(Pair, usize)>,
}

impl Range {
    fn new(commits: usize, changes: &[(usize, f64)], noise: f64, seed: u64) -> Self {
        let mut all = vec![0.0; commits + 1];
        for (commit, change) in changes {
            all[*commit] = *change;
        }
        Self {
            changes: all,
            unusable: BTreeSet::new(),
            noise,
            same_is_known: false,
            random: Random::new(seed),
            compared: Vec::new(),
        }
    }

    fn search(&mut self) -> Conclusion {
        let searches = self.answer(vec![self.begin()], 0.05);
        searches[0].conclusion().unwrap()
    }

    fn begin(&self) -> Search {
        Search::new(self.changes.len() - 1, MIN_EFFECT)
    }

    fn change(&self, [older, newer]: Pair) -> f64 {
        self.changes[older + 1..=newer].iter().sum()
    }

    /// One comparison as two stages make it: a test at the rate, an estimate of interest, and two one-sided tests.
    fn once(&mut self, pair: Pair, rate: f64) -> Answer {
        let squares: f64 = (0..9).map(|_| self.random.normal().powi(2)).sum();
        let standard_error = self.noise * (squares / FREEDOM).sqrt();
        let log_change = self.change(pair) + self.noise * self.random.normal();
        let estimate = Estimate { log_change, standard_error, freedom: FREEDOM };
        let limit = MIN_EFFECT.ln_1p();
        let beyond = t_survival((limit - log_change.abs()) / standard_error.max(1e-12), FREEDOM);
        let finding = if estimate.p() <= rate && log_change.abs() >= limit {
            Finding::Changed
        } else if log_change.abs() < limit && beyond < 0.05 {
            Finding::Unchanged
        } else {
            Finding::Unsure
        };
        Answer::Measured(Measured { estimate, finding })
    }
}

impl Range {
    /// Answers every question of the searches, all of this range; returns them concluded.
    fn answer(&mut self, searches: Vec<Search>, alpha: f64) -> Vec<Search> {
        let mut strategy = super::Strategy::new(searches, alpha);
        while let Some(question) = strategy.next_question() {
            match question {
                Question::Inspect { pair, subjects } => {
                    let known = self.inspect(pair);
                    strategy.inspected(pair, subjects.into_iter().map(|one| (one, known)));
                }
                Question::Measure { pair, subjects } => {
                    self.compared.push((pair, subjects.len()));
                    let answers = subjects.iter().map(|(one, rate)| (*one, self.once(pair, *rate)));
                    strategy.measured(pair, answers);
                }
            }
        }
        strategy.searches().to_vec()
    }

    fn inspect(&self, pair: Pair) -> Known {
        match pair.into_iter().find(|commit| self.unusable.contains(commit)) {
            Some(commit) => Known::Lacks(commit),
            None if self.same_is_known
                && self.changes[pair[0] + 1..=pair[1]].iter().all(|change| *change == 0.0) =>
            {
                Known::Same
            }
            None => Known::Differs,
        }
    }
}

/// The named single commits, and the segments that were not narrowed to one.
fn named(conclusion: &Conclusion) -> (Vec<usize>, Vec<Pair>) {
    let Conclusion::Changed { found, .. } = conclusion else { return Default::default() };
    let is_single = |one: &&Found| one.ending == Ending::Named;
    let (single, others): (Vec<&Found>, Vec<_>) = found.iter().partition(is_single);
    let segment = |one: &Found| [one.after, one.at];
    (single.into_iter().map(|one| one.at).collect(), others.into_iter().map(segment).collect())
}

#[test]
fn one_noiseless_change_needs_one_comparison_per_halving() {
    for commit in 1..=64 {
        let mut range = Range::new(64, &[(commit, 0.03)], 0.0, 1);
        assert_eq!(named(&range.search()), (vec![commit], vec![]), "{commit}");
        assert!(range.compared.len() <= 8, "{}: {:?}", commit, range.compared);
        let pairs: BTreeSet<Pair> = range.compared.iter().map(|(pair, _)| *pair).collect();
        assert_eq!(pairs.len(), range.compared.len(), "nothing is measured twice");
    }
}

#[test]
fn unchanged_subject_needs_one_comparison() {
    let mut range = Range::new(64, &[], 0.002, 1);
    assert!(matches!(range.search(), Conclusion::NotChanged(_)));
    assert_eq!(range.compared, [([0, 64], 1)]);
    let mut one = Range::new(1, &[(1, 0.05)], 0.002, 1);
    assert_eq!(named(&one.search()).0, [1]);
    assert_eq!(one.compared, [([0, 1], 1)]);
    assert_eq!(Range::new(0, &[], 0.002, 1).search(), Conclusion::Same);
}

#[test]
fn known_equal_commits_are_not_measured() {
    let mut range = Range::new(64, &[(41, 0.05)], 0.002, 3);
    range.same_is_known = true;
    assert_eq!(named(&range.search()).0, [41]);
    assert_eq!(range.compared, [([0, 64], 1)]);
    let mut nothing = Range::new(64, &[], 0.002, 3);
    nothing.same_is_known = true;
    assert_eq!(nothing.search(), Conclusion::Same);
    assert_eq!(nothing.compared, []);
}

#[test]
fn unusable_end_is_named() {
    for end in [0, 8] {
        let mut range = Range::new(8, &[(3, 0.05)], 0.002, 1);
        range.unusable.insert(end);
        assert_eq!(range.search(), Conclusion::Lacks(end));
    }
}

#[test]
fn unusable_commits_are_skipped_or_end_in_a_range() {
    let mut range = Range::new(16, &[(11, 0.05)], 0.001, 5);
    range.unusable.extend([8, 9, 12]);
    assert_eq!(named(&range.search()), (vec![11], vec![]));
    let mut hidden = Range::new(16, &[(9, 0.05)], 0.001, 5);
    hidden.unusable.extend([8, 9]);
    let Conclusion::Changed { found, .. } = hidden.search() else { panic!("it changed") };
    let [found] = found[..] else { panic!("{found:?}") };
    assert_eq!((found.after, found.at, found.ending), (7, 10, Ending::NotComparable));
}

#[test]
fn searches_share_common_comparisons() {
    let mut range = Range::new(64, &[(41, 0.05)], 0.001, 5);
    let searches = range.answer(vec![range.begin(), range.begin(), range.begin()], 0.05);
    for search in &searches {
        assert_eq!(named(&search.conclusion().unwrap()).0, [41]);
    }
    assert!(range.compared.iter().all(|(_, subjects)| *subjects == 3), "{:?}", range.compared);
}

#[test]
fn search_resumes_from_known_answers() {
    let mut range = Range::new(32, &[(5, 0.05), (20, 0.03)], 0.001, 5);
    let begin = |range: &Range| {
        let mut search = range.begin();
        search.compare_at(0.01);
        search.narrow_within(0.04);
        search
    };
    let mut search = begin(&range);
    let mut answers = Vec::new();
    while let Some(task) = search.next() {
        match task {
            Task::Inspect(pair) => search.know(pair, Known::Differs),
            Task::Measure { pair, rate } => {
                let answer = range.once(pair, rate);
                answers.push((pair, answer));
                search.answer(pair, answer);
            }
        }
    }
    let mut again = begin(&range);
    while let Some(task) = again.next() {
        match task {
            Task::Inspect(pair) => again.know(pair, Known::Differs),
            Task::Measure { pair, .. } => {
                let (_, known) = answers.iter().find(|(known, _)| *known == pair).unwrap();
                again.answer(pair, *known);
            }
        }
    }
    assert_eq!(again.conclusion(), search.conclusion());
    assert_eq!(named(&search.conclusion().unwrap()).0, [5, 20]);
}

#[test]
fn stopped_search_reports_its_progress() {
    let mut range = Range::new(64, &[(5, 0.05), (40, 0.03)], 0.001, 5);
    let mut search = range.begin();
    assert_eq!(search.conclusion(), Err(Task::Inspect([0, 64])));
    search.compare_at(0.01);
    search.narrow_within(0.04);
    for _ in 0..6 {
        match search.next() {
            Some(Task::Inspect(pair)) => search.know(pair, Known::Differs),
            Some(Task::Measure { pair, rate }) => search.answer(pair, range.once(pair, rate)),
            None => panic!("it is too early"),
        }
    }
    search.stop();
    let Ok(Conclusion::Changed { found, .. }) = search.conclusion() else { panic!("it changed") };
    assert!(found.iter().any(|one| one.ending == Ending::Stopped), "{found:?}");
    assert_eq!((found[0].after, found.last().unwrap().at), (0, 64));
}

#[test]
fn newer_half_is_searched_for_the_unexplained_rest() {
    let says = |percent: f64, error: f64, finding| {
        let (log_change, standard_error) = (percent / 100.0, error / 100.0);
        let estimate = Estimate { log_change, standard_error, freedom: FREEDOM };
        Answer::Measured(Measured { estimate, finding })
    };
    let mut search = Search::new(4, MIN_EFFECT);
    search.compare_at(0.01);
    search.narrow_within(0.04);
    for pair in [[0, 4], [0, 2], [2, 4], [0, 1], [1, 2], [2, 3], [3, 4]] {
        search.know(pair, Known::Differs);
    }
    // The second comparison shows nothing in the newer half; the third shows a smaller change in the older one.
    search.answer([0, 4], says(7.4, 0.3, Finding::Changed));
    search.answer([0, 2], says(5.4, 1.0, Finding::Changed));
    search.answer([0, 1], says(4.5, 0.2, Finding::Changed));
    let next = search.next();
    assert!(matches!(next, Some(Task::Measure { pair: [2, 4], .. })), "{next:?}");
    let mut stopped = search.clone();
    stopped.stop();
    let Ok(Conclusion::Changed { found, .. }) = stopped.conclusion() else { panic!("changed") };
    let places: Vec<_> = found.iter().map(|one| (one.after, one.at, one.ending)).collect();
    assert_eq!(places, [(0, 1, Ending::Named), (2, 4, Ending::Stopped)]);
    search.answer([2, 4], says(2.9, 0.2, Finding::Changed));
    search.answer([2, 3], says(0.1, 0.2, Finding::Unchanged));
    search.answer([3, 4], says(2.9, 0.2, Finding::Changed));
    assert_eq!(named(&search.conclusion().unwrap()), (vec![1, 4], vec![]));
}

#[test]
fn refuted_place_is_dropped_if_others_explain_the_change() {
    let says = |percent: f64, finding| {
        let estimate =
            Estimate { log_change: percent / 100.0, standard_error: 0.002, freedom: FREEDOM };
        Answer::Measured(Measured { estimate, finding })
    };
    let places = |total: f64| {
        let mut search = Search::new(2, MIN_EFFECT);
        search.compare_at(0.01);
        search.narrow_within(0.04);
        for pair in [[0, 2], [0, 1], [1, 2]] {
            search.know(pair, Known::Differs);
        }
        search.answer([0, 2], says(total, Finding::Changed));
        search.answer([0, 1], says(5.0, Finding::Changed));
        search.answer([1, 2], says(0.0, Finding::Unchanged));
        let Ok(Conclusion::Changed { found, .. }) = search.conclusion() else { panic!("changed") };
        found.into_iter().map(|one| (one.at, one.ending)).collect::<Vec<_>>()
    };
    let shown = (1, Ending::Named);
    assert_eq!(places(5.1), [shown]);
    assert_eq!(places(6.2), [shown], "its own comparison counts too");
    assert_eq!(places(9.0), [shown, (2, Ending::NotShown)], "something else is left");
}

/// The share of correct searches, the share that names a wrong commit, and the 95th percentile of comparisons.
fn shares(changes: &[f64], noise: f64, runs: u64) -> (f64, f64, usize) {
    let (mut right, mut wrong, mut counts) = (0, 0, Vec::new());
    for seed in 0..runs {
        let mut random = Random::stream(seed, 7);
        let mut places = BTreeSet::new();
        while places.len() < changes.len() {
            places.insert(1 + random.below(64));
        }
        let planted: Vec<(usize, f64)> =
            places.iter().copied().zip(changes.iter().copied()).collect();
        let mut range = Range::new(64, &planted, noise, seed);
        let (single, segments) = named(&range.search());
        let expected: Vec<usize> = places.into_iter().collect();
        right += u64::from(single == expected && segments.is_empty());
        wrong += u64::from(single.iter().any(|one| !expected.contains(one)));
        counts.push(range.compared.len());
    }
    let share = |count: u64| count as f64 / runs as f64;
    counts.sort_unstable();
    (share(right), share(wrong), counts[counts.len() * 95 / 100])
}

#[test]
fn one_change_is_found_in_95_percent_of_noisy_searches() {
    for (change, noise) in [(0.03, 0.003), (0.05, 0.005), (-0.03, 0.003), (0.02, 0.002)] {
        let (right, wrong, most) = shares(&[change], noise, 400);
        assert!(right >= 0.95 && wrong <= 0.01, "{change}: {right} right, {wrong} wrong");
        assert!(most <= 10, "{change}: {most} comparisons");
    }
}

#[test]
fn two_changes_are_found_in_95_percent_of_noisy_searches() {
    for changes in [[0.05, 0.03], [0.05, -0.03], [-0.03, 0.05]] {
        let (right, wrong, most) = shares(&changes, 0.003, 400);
        assert!(right >= 0.95 && wrong <= 0.01, "{changes:?}: {right} right, {wrong} wrong");
        assert!(most <= 20, "{changes:?}: {most} comparisons");
    }
}

#[test]
fn heavy_noise_rarely_names_a_wrong_commit() {
    for (change, noise) in [(0.01, 0.003), (0.015, 0.005), (0.03, 0.01), (0.0, 0.01)] {
        let (_, wrong, _) = shares(&[change], noise, 400);
        assert!(wrong <= 0.05, "{change}: {wrong} wrong");
    }
}

#[test]
fn many_small_changes_end_in_ranges() {
    let drift: Vec<(usize, f64)> = (1..=16).map(|commit| (commit, 0.004)).collect();
    let mut range = Range::new(16, &drift, 0.0005, 1);
    let conclusion = range.search();
    let (single, segments) = named(&conclusion);
    assert_eq!(single, [0; 0]);
    assert!(!segments.is_empty());
    let Conclusion::Changed { total, found } = conclusion else { panic!("it changed") };
    let rest = found.iter().map(|one| one.change).fold(total.estimate, Estimate::minus);
    assert!(rest.log_change.abs() < 0.02);
}

proptest! {
    #[test]
    fn every_search_ends_and_its_ranges_hold_changes(
        commits in 1_usize..40,
        changes in btree_map(1_usize..40, -0.08..0.08, 0..4),
        unusable in proptest::collection::btree_set(1_usize..40, 0..10),
        noise in 0.0..0.02,
        seed in any::<u64>(),
    ) {
        let changes: Vec<(usize, f64)> =
            changes.into_iter().filter(|(commit, _)| *commit <= commits).collect();
        let mut range = Range::new(commits, &changes, noise, seed);
        range.unusable = unusable.into_iter().filter(|commit| *commit < commits).collect();
        let conclusion = range.search();
        prop_assert!(range.compared.len() <= 4 * commits, "{:?}", range.compared);
        if let Conclusion::Changed { found, .. } = conclusion {
            for one in &found {
                prop_assert!(one.after < one.at && one.at <= commits);
                let is_between = |commit: &usize| one.after < *commit && *commit < one.at;
                prop_assert!(one.ending != Ending::Named || one.after + 1 == one.at);
                if one.ending == Ending::NotComparable {
                    prop_assert!((0..commits).filter(is_between).all(|at| range.unusable.contains(&at)));
                }
            }
            prop_assert!(found.windows(2).all(|pair| pair[0].at <= pair[1].after));
        }
    }

    #[test]
    fn noiseless_search_finds_every_change_of_interest(
        changes in btree_map(1_usize..65, prop_oneof![0.02..0.08, -0.08..-0.02], 1..3),
    ) {
        let changes: Vec<(usize, f64)> = changes.into_iter().collect();
        let total: f64 = changes.iter().map(|(_, change)| change).sum();
        prop_assume!(total.abs() > 0.011);
        let mut range = Range::new(64, &changes, 0.0, 1);
        let expected: Vec<usize> = changes.iter().map(|(commit, _)| *commit).collect();
        prop_assert_eq!(named(&range.search()).0, expected);
    }
}
