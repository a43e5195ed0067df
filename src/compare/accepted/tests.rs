//! Tests which entries apply to a comparison and which no longer matter, in a repository of five
//! commits.

use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::{
    git::NewRepository,
    model::Stage,
    store::Store,
    verdict::{
        DecisionOptions, Relation, Verdicts,
        testing::{Filling, benchmark, place},
    },
};

/// Commits `c0` to `c4`, one after the other.
struct Commits {
    _directory: TempDir,
    repository: Repository,
    ids: Vec<String>,
}

impl Commits {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("repository");
        let mut new = NewRepository::create(&root).unwrap();
        for content in ["0", "1", "2", "3", "4"] {
            new.commit(content, [(Path::new("file"), content)]).unwrap();
        }
        let repository = Repository::discover(&root).unwrap();
        let id = |back: usize| repository.resolve(&format!("HEAD~{back}")).unwrap().commit.unwrap();
        let ids = (0..5).rev().map(id).collect();
        Self { _directory: directory, repository, ids }
    }

    /// An entry of `a` for the commit `head`, compared with `base`.
    fn entry(&self, [base, head]: [usize; 2], ceiling: f64) -> AcceptedEntry {
        AcceptedEntry {
            package: "p".to_owned(),
            bench: "t".to_owned(),
            benchmark: "a".to_owned(),
            metric: Metric::wall(),
            commit: self.ids[head].clone(),
            base: self.ids[base].clone(),
            change: 0.05,
            ceiling,
            reason: format!("reason {head}"),
        }
    }

    fn accepted(&self, entries: &[AcceptedEntry]) -> Acceptances<'_> {
        let file = AcceptedToml::default();
        let file = entries.iter().fold(file, |file, entry| file.with(entry).unwrap());
        Acceptances { repository: &self.repository, file }
    }

    /// The ceiling between two commits, in percent with one decimal.
    fn ceiling(&self, entries: &[AcceptedEntry], [base, head]: [usize; 2]) -> Option<String> {
        let versions = [base, head].map(|index| version(&self.ids[index]));
        let accepted = self.accepted(entries);
        let [base, head] = versions.each_ref();
        let found = accepted.find(&benchmark("a"), &Metric::wall(), [base, head]).unwrap();
        found.map(|found| format!("{:.1}", 100.0 * found.ceiling))
    }
}

#[test]
fn entry_applies_where_its_commit_is_compared() {
    let commits = Commits::new();
    let entries = [commits.entry([1, 2], 0.08)];
    for (compared, ceiling) in [
        ([1, 2], Some("8.0")),
        ([0, 4], Some("8.0")),
        ([2, 3], None),
        ([0, 1], None),
        ([2, 2], None),
    ] {
        assert_eq!(commits.ceiling(&entries, compared).as_deref(), ceiling, "{compared:?}");
    }
}

#[test]
fn entry_over_more_commits_does_not_apply_to_fewer() {
    let commits = Commits::new();
    let entries = [commits.entry([0, 3], 0.08)];
    assert_eq!(commits.ceiling(&entries, [0, 4]).as_deref(), Some("8.0"));
    assert_eq!(commits.ceiling(&entries, [1, 4]), None);
    assert_eq!(commits.ceiling(&entries, [2, 3]), None);
}

#[test]
fn ceiling_multiplies_changes_and_adds_slack_in_quadrature() {
    let commits = Commits::new();
    let two = [commits.entry([0, 1], 0.10), commits.entry([2, 3], 0.10)];
    // 1.05² and √2 times the 4.76 % from 1.05 to 1.10, instead of 21 %.
    assert_eq!(commits.ceiling(&two, [0, 4]).as_deref(), Some("17.8"));
    let without = [commits.entry([0, 1], 0.05), commits.entry([2, 3], 0.10)];
    assert_eq!(commits.ceiling(&without, [0, 4]).as_deref(), Some("15.5"), "1.05 x 1.10");
    assert_eq!(commits.ceiling(&two, [1, 4]).as_deref(), Some("10.0"));
    let nested = [commits.entry([0, 1], 0.10), commits.entry([0, 3], 0.15)];
    assert_eq!(commits.ceiling(&nested, [0, 4]).as_deref(), Some("15.0"));
    assert_eq!(commits.ceiling(&nested, [0, 2]).as_deref(), Some("10.0"));
}

#[test]
fn ceiling_of_ten_entries_with_one_percent_slack_is_three() {
    let commits = Commits::new();
    let mut ceiling = Ceiling::default();
    for _ in 0..10 {
        ceiling.add(&AcceptedEntry { change: 0.0, ..commits.entry([0, 1], 0.01) });
    }
    assert!((ceiling.together() - 0.032).abs() < 1e-9, "{}", ceiling.together());
}

#[test]
fn ceiling_below_change_holds_and_infinite_one_is_infinite() {
    let together = |entries: &[[f64; 2]]| {
        let commits = Commits::new();
        let mut sum = Ceiling::default();
        for [change, ceiling] in entries {
            sum.add(&AcceptedEntry { change: *change, ..commits.entry([0, 1], *ceiling) });
        }
        format!("{:.2}", 100.0 * sum.together())
    };
    assert_eq!(together(&[[0.05, 0.04]]), "4.00");
    assert_eq!(together(&[[0.05, 0.04], [0.05, 0.04]]), "8.16");
    let infinite = f64::INFINITY;
    assert_eq!(together(&[[infinite, infinite], [0.05, 0.06]]), "inf");
    assert_eq!(together(&[[0.05, infinite]]), "inf");
}

/// Rows of `a` whose head takes `factor` times as long.
fn rows(factor: f64) -> Vec<DecidedRow> {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for stage in [Stage::First, Stage::Second] {
        filling.measure("a", 0, stage, &[("wall", 100.0)]);
        filling.measure("a", 1, stage, &[("wall", 100.0 * factor)]);
    }
    let results = filling.results();
    let decider = Verdicts::new(&results, DecisionOptions::default());
    let benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
    let relation = Relation::SameExperiment([place(0, 0), place(0, 1)]);
    decider.rows(&benchmark, &relation, &Criteria::default()).unwrap()
}

#[test]
fn regression_is_accepted_up_to_its_ceiling() {
    let commits = Commits::new();
    let accepted = commits.accepted(&[commits.entry([1, 2], 0.08)]);
    let verdict = |factor, compared: [usize; 2]| {
        let [base, head] = compared.map(|index| version(&commits.ids[index]));
        let mut rows = rows(factor);
        accepted.apply(&mut rows, [&base, &head], |_| Criteria::default()).unwrap();
        rows[0].verdict.name()
    };
    assert_eq!(verdict(1.05, [1, 2]), "accepted");
    assert_eq!(verdict(1.30, [1, 2]), "regressed");
    assert_eq!(verdict(1.05, [2, 3]), "regressed", "its commit is in the base already");
    assert_eq!(verdict(1.0, [1, 2]), "unchanged");
    assert_eq!(verdict(0.9, [1, 2]), "improved");
}

#[test]
fn idle_entries_have_their_reason() {
    let commits = Commits::new();
    let idle =
        |entries: &[AcceptedEntry], rows: &[DecidedRow], compared: [usize; 2], listed: &[&str]| {
            let [base, head] = compared.map(|index| version(&commits.ids[index]));
            let listed: Vec<Benchmark> = listed.iter().map(|id| benchmark(id)).collect();
            let accepted = commits.accepted(entries);
            let idle = accepted.idle(rows, [&base, &head], Some(&listed)).unwrap();
            idle.into_iter().map(|one| one.why).collect::<Vec<_>>()
        };
    let own = [commits.entry([1, 2], 0.08)];
    assert_eq!(idle(&own, &rows(1.05), [1, 2], &["a"]), []);
    assert_eq!(idle(&own, &[], [1, 2], &["b"]), [Idle::NoBenchmark]);
    assert_eq!(idle(&own, &[], [0, 1], &["b"]), [], "the head does not have the commit");
    assert_eq!(idle(&own, &rows(1.0), [1, 2], &["a"]), [Idle::Recovered]);
    let since = [commits.entry([0, 2], 0.08)];
    assert_eq!(
        idle(&since, &rows(1.0), [1, 2], &["a"]),
        [],
        "the base may have been slower already"
    );
    assert_eq!(idle(&own, &rows(1.0), [2, 3], &["a"]), [], "as slow as before");
    assert_eq!(idle(&own, &rows(0.9), [2, 3], &["a"]), [Idle::Recovered]);
    assert_eq!(idle(&own, &rows(0.98), [2, 3], &["a"]), [], "faster, but not as fast as it was");
    let gone = AcceptedEntry { commit: "f".repeat(40), ..own[0].clone() };
    assert_eq!(idle(&[gone], &[], [1, 2], &["a"]), [Idle::NotInHistory]);
}
