//! Verdicts after several looks.

use super::*;
use crate::model::InterimAnalyses;

const LOOKS: InterimAnalyses = InterimAnalyses { first: 5, most: 20 };

fn row(filling: &Filling<'_>) -> DecidedRow {
    let mut rows = judged(filling, DecisionOptions::default());
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

fn builds(row: &DecidedRow) -> Vec<usize> {
    row.stages.iter().map(|stage| stage.summaries[0].builds().len()).collect()
}

#[test]
fn a_benchmark_ends_at_the_first_look_that_decides_it() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::with_looks(&store, LOOKS);
    filling.measure_builds(0..5, 0.0, 0.002);
    let decided = row(&filling);
    assert!(matches!(decided.verdict, Verdict::Unchanged { .. }), "{:?}", decided.verdict);
    assert_eq!((decided.progress, builds(&decided)), (Progress::Ended, vec![5]));
    // What was measured later, for another metric, does not count.
    filling.measure_builds(5..10, 0.5, 0.002);
    assert_eq!(row(&filling).verdict, decided.verdict);
}

#[test]
fn what_is_not_decided_is_looked_at_again_with_all_builds_until_no_look_is_left() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::with_looks(&store, LOOKS);
    for range in [0..5, 5..10] {
        let end = range.end;
        filling.measure_builds(range, 0.0, 0.03);
        let open = row(&filling);
        assert!(matches!(open.verdict, Verdict::Inconclusive { .. }), "{:?}", open.verdict);
        assert!(matches!(open.progress, Progress::Open { .. }), "{:?}", open.progress);
        assert_eq!(builds(&open), [end]);
    }
    // A look that is not complete is not taken.
    filling.measure_builds(10..19, 0.0, 0.03);
    assert_eq!(builds(&row(&filling)), [10]);
    filling.measure_builds(19..20, 0.0, 0.03);
    let last = row(&filling);
    assert_eq!((last.progress, builds(&last)), (Progress::Ended, vec![20]));
}

#[test]
fn the_chance_to_be_decided_is_smaller_where_builds_vary_more() {
    let chance = |spread| {
        let store = Store::in_memory().unwrap();
        let filling = Filling::with_looks(&store, LOOKS);
        filling.measure_builds(0..5, 0.0, spread);
        match row(&filling).progress {
            Progress::Open { chance } => chance,
            other => panic!("{other:?}"),
        }
    };
    assert!(chance(0.008) > 0.8);
    assert!(chance(0.1) < chance(0.03) && chance(0.03) < chance(0.008));
}

#[test]
fn a_flagged_benchmark_wants_as_many_fresh_builds_as_its_change_needs() {
    let wanted = |change, spread| {
        let store = Store::in_memory().unwrap();
        let filling = Filling::with_looks(&store, LOOKS);
        filling.measure_builds(0..5, change, spread);
        match row(&filling).progress {
            Progress::Flagged { builds } => builds,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(wanted(0.05, 0.002), 6);
    assert!(wanted(0.02, 0.008) > 6);
}

#[test]
fn a_fixed_plan_wants_as_many_fresh_builds_as_it_has() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    measure(&filling, Stage::First, 0.05);
    assert_eq!(row(&filling).progress, Progress::Flagged { builds: 6 });
    // A second stage that was interrupted is completed.
    measure(&filling, Stage::Second, 0.05);
    assert_eq!(row(&filling).progress, Progress::Flagged { builds: 6 });
}

#[test]
fn all_that_any_metric_needs_is_done_next() {
    let (open, flagged) =
        (|chance| Progress::Open { chance }, |builds| Progress::Flagged { builds });
    assert_eq!(Progress::Ended.combine(flagged(6)), flagged(6));
    assert_eq!(open(0.5).combine(Progress::Ended), open(0.5));
    assert_eq!(open(0.5).combine(open(0.7)), open(0.7));
    assert_eq!(flagged(6).combine(flagged(9)), flagged(9));
    // A second stage waits until every metric has seen its last look.
    assert_eq!(flagged(6).combine(open(0.5)), open(0.5));
}
