//! Verdicts after several interim analyses.

use rbench_stats::outlook::Outlook;

use super::*;
use crate::model::InterimAnalyses;

const ANALYSES: InterimAnalyses = InterimAnalyses { first: 5, most: 20 };

fn row(filling: &Filling<'_>) -> DecidedRow {
    let mut rows = decided(filling, DecisionOptions::default());
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

fn builds(row: &DecidedRow) -> Vec<usize> {
    row.stages.iter().map(|stage| stage.summaries[0].builds().len()).collect()
}

#[test]
fn benchmark_ends_at_the_first_analysis_that_decides() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::with_analyses(&store, ANALYSES);
    filling.measure_builds(0..5, 0.0, 0.002);
    let decided = row(&filling);
    assert!(matches!(decided.verdict, Verdict::Unchanged { .. }), "{:?}", decided.verdict);
    assert_eq!((decided.progress, builds(&decided)), (Progress::Ended, vec![5]));
    // Builds measured later, for another metric, do not count.
    filling.measure_builds(5..10, 0.5, 0.002);
    assert_eq!(row(&filling).verdict, decided.verdict);
}

#[test]
fn undecided_benchmark_is_analysed_until_the_last_analysis() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::with_analyses(&store, ANALYSES);
    for range in [0..5, 5..10] {
        let end = range.end;
        filling.measure_builds(range, 0.0, 0.03);
        let open = row(&filling);
        assert!(matches!(open.verdict, Verdict::Inconclusive { .. }), "{:?}", open.verdict);
        assert!(matches!(open.progress, Progress::Open(_)), "{:?}", open.progress);
        assert_eq!(builds(&open), [end]);
    }
    // An incomplete analysis does not count.
    filling.measure_builds(10..19, 0.0, 0.03);
    assert_eq!(builds(&row(&filling)), [10]);
    filling.measure_builds(19..20, 0.0, 0.03);
    let last = row(&filling);
    assert_eq!((last.progress, builds(&last)), (Progress::Ended, vec![20]));
}

#[test]
fn chance_of_a_decision_falls_with_the_spread_of_builds() {
    let chance = |spread| {
        let store = Store::in_memory().unwrap();
        let filling = Filling::with_analyses(&store, ANALYSES);
        filling.measure_builds(0..5, 0.0, spread);
        match row(&filling).progress {
            Progress::Open(outlook) => outlook.chance(),
            other => panic!("{other:?}"),
        }
    };
    assert!(chance(0.008) > 0.8);
    assert!(chance(0.1) < chance(0.03) && chance(0.03) < chance(0.008));
}

#[test]
fn first_analysis_does_not_depend_on_later_executions_of_its_builds() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::with_analyses(&store, ANALYSES);
    filling.measure_builds(0..5, 0.0, 0.03);
    let before = row(&filling);
    filling.measure_round(1, 0..5, 0.5, 0.001);
    assert_eq!(row(&filling), before);
    // Later analyses have all executions, so the change of half of them is seen.
    for round in [0, 1] {
        filling.measure_round(round, 5..10, 0.5, 0.001);
    }
    let after = row(&filling);
    assert_eq!(builds(&after), [10]);
    let [base, _] = &after.stages[0].summaries;
    assert!(base.builds().iter().all(|build| build.executions == 2), "{base:?}");
}

#[test]
fn analysis_that_lacks_executions_is_not_complete() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::with_analyses(&store, ANALYSES);
    for round in [0, 1] {
        filling.measure_round(round, 0..5, 0.0, 0.03);
    }
    filling.measure_round(0, 5..10, 0.0, 0.03);
    assert_eq!(builds(&row(&filling)), [5], "interrupted");
    filling.measure_round(1, 5..10, 0.0, 0.03);
    assert_eq!(builds(&row(&filling)), [10]);
}

#[test]
fn flagged_benchmark_requests_builds_by_its_power() {
    let wanted = |change, spread| {
        let store = Store::in_memory().unwrap();
        let filling = Filling::with_analyses(&store, ANALYSES);
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
fn fixed_plan_requests_its_own_number_of_fresh_builds() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    measure(&filling, Stage::First, 0.05);
    assert_eq!(row(&filling).progress, Progress::Flagged { builds: 6 });
    // An interrupted second stage is completed, even if one build is too few for a verdict.
    for version in [0, 1] {
        filling.measure_first(1, version, Stage::Second, &[(WALL, 100.0)]);
    }
    let interrupted = row(&filling);
    assert!(matches!(interrupted.verdict, Verdict::Failed { .. }), "{:?}", interrupted.verdict);
    assert_eq!(interrupted.progress, Progress::Flagged { builds: 6 });
    measure(&filling, Stage::Second, 0.05);
    assert_eq!(row(&filling).progress, Progress::Flagged { builds: 6 });
}

#[test]
fn combined_progress_covers_every_metric() {
    let (open, flagged) =
        (Progress::Open(Outlook::default()), |builds| Progress::Flagged { builds });
    assert_eq!(Progress::Ended.combine(flagged(6)), flagged(6));
    assert_eq!(open.combine(Progress::Ended), open);
    assert_eq!(flagged(6).combine(flagged(9)), flagged(9));
    // The second stage waits until every metric had its last interim analysis.
    assert_eq!(flagged(6).combine(open), open);
}
