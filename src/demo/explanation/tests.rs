//! Explanations report the measurements, and are honest if those are not as expected.

use rbench_stats::{
    Assessment, Criteria, Estimator, Evidence, InconclusiveReason, Measurements, Pairing, Summary,
};

use super::*;
use crate::{
    model::{Benchmark, Metric, Name, Threads},
    verdict::{DecidedStage, Interleaving, VerdictKind},
};

const CHANGE: Change = Change { estimate: 0.1, low: 0.09, high: 0.11 };

/// A version with one build for each of these times, in microseconds.
fn version(builds: &[f64]) -> Summary {
    let builds = builds.iter().enumerate().map(|(seed, value)| (seed as u64, [[1000.0 * value]]));
    Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
}

/// A benchmark with that verdict and these build times in both versions.
fn row(id: &str, verdict: Verdict, builds: Option<[&[f64]; 2]>) -> DecidedRow {
    let (package, target) = ("p".to_owned(), "t".to_owned());
    let benchmark = Benchmark { package, target, name: Name::plain(id) };
    let mut row = DecidedRow::without_metric(&benchmark, verdict);
    if let Some(builds) = builds {
        let summaries = builds.map(version);
        let [base, head] = &summaries;
        let criteria = Criteria::default();
        let assessment = Assessment::new(base, head, Pairing::BySeed, &criteria).unwrap();
        row.stages.push(DecidedStage { summaries, assessment });
    }
    row
}

const STEADY: [&[f64]; 2] = [&[1.0, 1.001, 1.0, 1.001], &[1.001, 1.0, 1.0, 1.001]];
const LAYOUT: [&[f64]; 2] = [&[1.0, 1.3, 1.0, 1.3], &[1.001, 1.3, 1.0, 1.301]];

fn unchanged() -> Verdict {
    Verdict::Unchanged { change: CHANGE, min_effect: 0.01, difference: None }
}

fn regressed() -> Verdict {
    Verdict::Regressed { change: CHANGE, evidence: Evidence::OneStage }
}

fn failed() -> Verdict {
    Verdict::Failed { reason: "it crashed".to_owned() }
}

#[test]
fn identical_code_is_explained_with_a_count() {
    let identical = |id| row(id, Verdict::Identical, None);
    let explanation = explain(Expected::Identical, &[identical("a"), identical("b")]);
    assert!(explanation.as_expected);
    assert!(explanation.text.starts_with("All 2 benchmarks have the same machine code"));
    let rows = [identical("a"), row("b", unchanged(), Some(STEADY))];
    let explanation = explain(Expected::Identical, &rows);
    assert!(!explanation.as_expected);
    assert!(explanation.text.ends_with("`b` has not."), "{}", explanation.text);
    assert!(!explain(Expected::Identical, &[]).as_expected);
}

#[test]
fn interleaving_is_explained_if_it_was_used() {
    let taken = |row: DecidedRow| {
        let interleaving = Interleaving {
            mode: Mode::Interleaved,
            threads: Threads::Together,
            unavailable: None,
            times_alone: None,
        };
        DecidedRow { interleaving: Some(interleaving), ..row }
    };
    let doubt = Verdict::Inconclusive {
        change: CHANGE,
        detectable: None,
        reason: InconclusiveReason::NotFlagged,
    };
    let rows = [row("a", unchanged(), Some(STEADY)), row("b", doubt, Some(STEADY))];
    let without = explain(Expected::NothingFlagged, &rows).text;
    assert!(!without.contains("interleaved"), "{without}");
    let with = explain(Expected::NothingFlagged, &rows.map(taken)).text;
    let about = with.strip_prefix(&without).unwrap();
    assert!(about.starts_with(" Both commits ran interleaved on one CPU"), "{about}");
    assert!(about.ends_with("nothing changed: here for 1 of 2 benchmarks."), "{about}");
}

#[test]
fn largest_layout_effect_is_explained() {
    let rows = [row("a", unchanged(), Some(STEADY)), row("b", unchanged(), Some(LAYOUT))];
    let Explanation { text, as_expected, .. } = explain(Expected::NothingFlagged, &rows);
    assert!(as_expected);
    for part in [
        "does not touch `b`",
        "from 1.000 µs to 1.300 µs, depending on the layout alone: 30 % more",
        "12 pairs",
        "8 differ",
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn small_layout_effect_is_not_mentioned() {
    let noise: [&[f64]; 2] = [&[1.0, 1.3, 1.0, 1.3], &[1.0, 1.0, 1.3, 1.3]];
    for builds in [STEADY, noise] {
        let explanation = explain(Expected::NothingFlagged, &[row("a", unchanged(), Some(builds))]);
        assert!(explanation.as_expected);
        assert!(explanation.text.contains("too small to distinguish"), "{}", explanation.text);
    }
}

#[test]
fn false_positive_is_named_as_one() {
    let rows = [row("a", regressed(), Some(STEADY)), row("b", unchanged(), Some(STEADY))];
    let explanation = explain(Expected::NothingFlagged, &rows);
    assert!(!explanation.as_expected);
    assert!(
        explanation.text.contains("`a` is reported as regressed, although its code is the same")
    );
}

#[test]
fn planted_change_is_explained_with_its_interval() {
    let slower: [&[f64]; 2] = [&[1.0, 1.001, 1.0, 1.001], &[1.1, 1.1012, 1.0999, 1.101]];
    let rows = [row("a", regressed(), Some(slower)), row("b", unchanged(), Some(LAYOUT))];
    let explanation = explain(Expected::Regressed("a"), &rows);
    assert!(explanation.as_expected);
    assert!(
        explanation.text.contains("+10.00 % (with 95 % confidence between"),
        "{}",
        explanation.text
    );
    assert!(explanation.text.contains("including `b`, which layouts change by 30 %"));
    assert_eq!(explanation.summary, "`a` regressed by 10 %, nothing else flagged");
}

#[test]
fn missed_or_reversed_planted_change_is_unexpected() {
    let improved = Verdict::Improved { change: CHANGE, evidence: Evidence::OneStage };
    let doubt = InconclusiveReason::NotFlagged;
    let inconclusive =
        Verdict::Inconclusive { change: CHANGE, detectable: Some(0.2), reason: doubt };
    for verdict in [inconclusive, unchanged(), improved, failed(), Verdict::Identical] {
        let name = VerdictKind::new(&verdict).name();
        let rows = [row("a", verdict, Some(STEADY)), row("b", unchanged(), Some(STEADY))];
        let explanation = explain(Expected::Regressed("a"), &rows);
        assert!(!explanation.as_expected, "{name}");
        let found = format!("should have regressed, but the result is: {name}");
        assert!(explanation.text.contains(&found), "{}", explanation.text);
    }
    assert!(!explain(Expected::Improved("a"), &[]).as_expected);
}

#[test]
fn other_flagged_or_failed_benchmark_is_unexpected() {
    let reason = "other settings".to_owned();
    for verdict in [regressed(), failed(), Verdict::NotComparable { reason }] {
        let rows = [row("a", regressed(), Some(STEADY)), row("b", verdict, Some(STEADY))];
        let explanation = explain(Expected::Regressed("a"), &rows);
        assert!(!explanation.as_expected);
        assert!(explanation.text.contains("`b`"), "{}", explanation.text);
    }
}

fn effect(base: &[f64], head: &[f64]) -> LayoutEffect {
    LayoutEffect::from_summaries("x", [&version(base), &version(head)]).unwrap()
}

#[test]
fn layout_effect_is_common_to_both_versions() {
    let of_layout = effect(&[10.0, 13.0, 10.0, 13.0], &[10.0, 13.0, 10.0, 13.0]);
    assert!((of_layout.width() - 0.3).abs() < 1e-9);
    // The standard deviation of two values taken twice each is 1/sqrt(3) of their distance.
    assert!((of_layout.share - 1.0).abs() < 1e-9);
    assert!((of_layout.spread - 1.3_f64.ln() / 3.0_f64.sqrt()).abs() < 1e-9);
    let of_chance = effect(&[10.0, 13.0, 10.0, 13.0], &[10.0, 10.0, 13.0, 13.0]);
    assert!(of_chance.spread.abs() < 1e-9, "{of_chance:?}");
    assert!(of_chance.share.abs() < 1e-9, "{of_chance:?}");
}

#[test]
fn pairs_count_builds_with_different_layouts() {
    // Of twelve ordered pairs of different layouts, eight are a fast one and a slow one.
    assert_eq!(effect(&[10.0, 13.0, 10.0, 13.0], &[10.0, 13.0, 10.0, 13.0]).pairs, [12, 8]);
    assert_eq!(effect(&[10.0; 4], &[10.1; 4]).pairs, [12, 0]);
}

#[test]
fn two_layouts_have_no_effect_estimate() {
    assert_eq!(
        LayoutEffect::from_summaries("x", [&version(&[1.0, 2.0]), &version(&[1.0, 2.0])]),
        None
    );
}
