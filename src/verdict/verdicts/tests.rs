//! Verdicts from rows of a store in memory.

use super::*;
use crate::{
    model::{Execution, InterleavingUnavailable, Mode, Schedule, Throughput},
    stats::{Estimator, Rule},
    store::Store,
    verdict::Interleaving,
    verdict::testing::{Filling, benchmark, metric, place, seeds},
};

mod looks;
mod unmeasured;

const WALL: &str = "wall";

fn judged(filling: &Filling<'_>, options: DecisionOptions) -> Vec<DecidedRow> {
    judged_by(filling, options, &Criteria::default())
}

fn judged_by(
    filling: &Filling<'_>,
    options: DecisionOptions,
    criteria: &Criteria,
) -> Vec<DecidedRow> {
    let results = filling.results();
    let relation = Relation::SameExperiment([place(0, 0), place(0, 1)]);
    let judge = Verdicts::new(&results, options);
    let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
    judge.rows(&of_benchmark, &relation, criteria).unwrap()
}

fn verdict(filling: &Filling<'_>) -> Verdict {
    let rows = judged(filling, DecisionOptions::default());
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    row.verdict.clone()
}

/// Both versions in one stage: the head takes so much longer.
fn measure(filling: &Filling<'_>, stage: Stage, change: f64) {
    filling.measure("a", 0, stage, &[(WALL, 100.0)]);
    filling.measure("a", 1, stage, &[(WALL, 100.0 * (1.0 + change))]);
}

#[test]
fn a_change_that_both_stages_show_is_a_regression() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    measure(&filling, Stage::First, 0.05);
    assert!(matches!(verdict(&filling), Verdict::Inconclusive { .. }), "{:?}", verdict(&filling));
    measure(&filling, Stage::Second, 0.05);
    assert!(matches!(verdict(&filling), Verdict::Regressed { .. }), "{:?}", verdict(&filling));
    let [row] = &judged(&filling, DecisionOptions::default())[..] else { panic!("one row") };
    assert_eq!(row.stages.len(), 2);
    assert_eq!(row.metric.as_ref().map(|metric| metric.name.as_str()), Some(WALL));
}

#[test]
fn every_metric_is_judged_unless_some_are_chosen() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for stage in [Stage::First, Stage::Second] {
        filling.measure("a", 0, stage, &[(WALL, 100.0), ("user", 50.0)]);
        filling.measure("a", 1, stage, &[(WALL, 100.0), ("user", 60.0)]);
    }
    let rows = judged(&filling, DecisionOptions::default());
    let names: Vec<&str> =
        rows.iter().filter_map(|row| Some(row.metric.as_ref()?.name.as_str())).collect();
    assert_eq!(names, [WALL, "user"]);
    assert!(matches!(rows[0].verdict, Verdict::Unchanged { .. }), "{:?}", rows[0].verdict);
    assert!(matches!(rows[1].verdict, Verdict::Regressed { .. }), "{:?}", rows[1].verdict);
    let options =
        DecisionOptions { metrics: vec!["user".parse().unwrap()], ..DecisionOptions::default() };
    assert_eq!(judged(&filling, options).len(), 1);
}

#[test]
fn a_metric_that_some_executions_lack_is_not_judged() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    filling.measure("a", 0, Stage::First, &[(WALL, 100.0), ("user", 50.0)]);
    filling.measure("a", 1, Stage::First, &[(WALL, 100.0)]);
    let results = filling.results();
    let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
    assert_eq!(of_benchmark.metrics(&[place(0, 0), place(0, 1)]), [metric(WALL)]);
    assert_eq!(of_benchmark.metrics(&[place(0, 0)]), [metric(WALL), metric("user")]);

    filling.measure("a", 0, Stage::Second, &[(WALL, 100.0)]);
    let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
    assert_eq!(of_benchmark.metrics(&[place(0, 0)]), [metric(WALL)]);
}

#[test]
fn versions_without_a_common_metric_are_not_comparable() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    filling.measure("a", 0, Stage::First, &[(WALL, 100.0)]);
    filling.measure("a", 1, Stage::First, &[("user", 100.0)]);
    let Verdict::NotComparable { reason } = verdict(&filling) else { panic!("it was judged") };
    assert_eq!(reason, "no common metric: base has wall, head has user");
}

#[test]
fn equal_programs_are_one_build_in_every_report() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    let [first, second, ..] = seeds(Stage::First)[..] else { panic!("six seeds") };
    for version in [0, 1] {
        for seed in [first, second] {
            filling.build(version, seed, &format!("the same program of {version}"));
        }
    }
    measure(&filling, Stage::First, 0.0);
    let [row] = &judged(&filling, DecisionOptions::default())[..] else { panic!("one row") };
    assert_eq!(row.stages[0].summaries[0].builds().len(), 5);
    let results = filling.results();
    let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
    let alone =
        of_benchmark.summary(place(0, 0), Stage::First, &metric(WALL), &Criteria::default());
    assert_eq!(alone.unwrap().as_ref(), Some(&row.stages[0].summaries[0]));
}

#[test]
fn the_same_programs_are_identical_unless_they_were_measured_together_all_the_same() {
    let same_programs = |filling: &Filling<'_>, versions: usize| {
        for seed in [seeds(Stage::First), seeds(Stage::Second)].concat() {
            for version in 0..versions {
                filling.build(version, seed, &format!("program {seed}"));
            }
        }
    };
    // They may read different files.
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    same_programs(&filling, 2);
    for stage in [Stage::First, Stage::Second] {
        measure(&filling, stage, 0.5);
    }
    assert!(matches!(verdict(&filling), Verdict::Regressed { .. }), "{:?}", verdict(&filling));

    let store = Store::in_memory().unwrap();
    for (name, value) in [("base", 100.0), ("head", 150.0)] {
        let filling = Filling::begin(&store, &[name], &["a"]);
        same_programs(&filling, 1);
        filling.measure("a", 0, Stage::First, &[(WALL, value)]);
    }
    let results = Results::new(&store, store.experiments().unwrap());
    let judge = Verdicts::new(&results, DecisionOptions::default());
    let of_benchmark = results.benchmark(&benchmark("a"), [0, 1]).unwrap();
    let relation = Relation::AcrossExperiments([place(0, 0), place(1, 0)]);
    let rows = judge.rows(&of_benchmark, &relation, &Criteria::default()).unwrap();
    assert_eq!(rows[0].verdict, Verdict::Identical);
}

#[test]
fn results_of_two_experiments_need_a_version_that_was_measured_twice() {
    let store = Store::in_memory().unwrap();
    for name in ["base", "head"] {
        let filling = Filling::begin(&store, &[name], &["a"]);
        filling.measure("a", 0, Stage::First, &[(WALL, 100.0)]);
    }
    let rows = |relation: &Relation| {
        let results = Results::new(&store, store.experiments().unwrap());
        let judge = Verdicts::new(&results, DecisionOptions::default());
        let experiments = 0..results.experiments.len();
        let of_benchmark = results.benchmark(&benchmark("a"), experiments).unwrap();
        judge.rows(&of_benchmark, relation, &Criteria::default()).unwrap()
    };
    let relation = Relation::AcrossExperiments([place(0, 0), place(1, 0)]);
    let Verdict::NotComparable { reason } = &rows(&relation)[0].verdict else { panic!("judged") };
    assert!(reason.contains("no commit was measured twice"), "{reason}");
    let again = Filling::begin(&store, &["head"], &["a"]);
    again.measure("a", 0, Stage::First, &[(WALL, 100.2)]);
    let [row] = &rows(&relation)[..] else { panic!("one row") };
    assert!(row.decisive().is_some(), "{:?}", row.verdict);
    assert_eq!(row.advice, None);
}

#[test]
fn different_settings_are_compared_only_on_request() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    measure(&filling, Stage::First, 0.0);
    let results = filling.results();
    let versions = [place(0, 0), place(0, 1)];
    let relation = Relation::Incomparable { versions, reasons: vec!["settings: x".to_owned()] };
    let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
    let judge = Verdicts::new(&results, DecisionOptions::default());
    let rows = judge.rows(&of_benchmark, &relation, &Criteria::default()).unwrap();
    let Verdict::NotComparable { reason } = &rows[0].verdict else { panic!("{rows:?}") };
    assert_eq!(reason, "measured under different conditions (settings: x)");
}

#[test]
fn one_build_alone_is_a_failure_without_numbers() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for version in [0, 1] {
        for seed in seeds(Stage::First) {
            filling.build(version, seed, &format!("the only program of {version}"));
        }
    }
    measure(&filling, Stage::First, 0.5);
    let [row] = &judged(&filling, DecisionOptions::default())[..] else { panic!("one row") };
    assert!(matches!(row.verdict, Verdict::Failed { .. }), "{:?}", row.verdict);
    assert!(row.stages.is_empty());
}

#[test]
fn fresh_builds_that_cannot_be_judged_are_not_said_to_be_missing() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for version in [0, 1] {
        for seed in seeds(Stage::Second) {
            filling.build(version, seed, &format!("the only fresh program of {version}"));
        }
    }
    measure(&filling, Stage::First, 0.05);
    measure(&filling, Stage::Second, 0.05);
    let [row] = &judged(&filling, DecisionOptions::default())[..] else { panic!("one row") };
    let Verdict::Failed { reason } = &row.verdict else { panic!("{:?}", row.verdict) };
    assert!(reason.contains("at least 2 builds"), "{reason}");
    assert_eq!(row.stages.len(), 1);
}

#[test]
fn what_an_experiment_could_detect_is_told_for_the_rule_that_it_is_known_of() {
    for rule in Rule::ALL {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["a"]);
        measure(&filling, Stage::First, 0.0);
        let criteria = Criteria { rule, min_effect: 1e-5, ..Criteria::default() };
        let [row] = &judged_by(&filling, DecisionOptions::default(), &criteria)[..] else {
            panic!("one row")
        };
        let Verdict::Inconclusive { detectable, .. } = row.verdict else {
            panic!("{:?}", row.verdict)
        };
        assert_eq!(detectable.is_some(), rule == Rule::Paired, "{rule}");
        assert_eq!(row.advice.is_some(), rule == Rule::Paired, "{rule}");
    }
}

#[test]
fn that_a_benchmark_processes_another_amount_is_told_by_its_row_and_changes_no_verdict() {
    let work = |base: Throughput, head: Throughput| {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["a"]);
        for stage in [Stage::First, Stage::Second] {
            filling.measure_with(
                |one| one.throughput = vec![base],
                "a",
                0,
                stage,
                &[(WALL, 100.0)],
            );
            filling.measure_with(
                |one| one.throughput = vec![head],
                "a",
                1,
                stage,
                &[(WALL, 108.0)],
            );
        }
        assert!(matches!(verdict(&filling), Verdict::Regressed { .. }));
        judged(&filling, DecisionOptions::default())[0].work
    };
    let [less, more] = [16_274, 17_671].map(Throughput::Bytes);
    assert_eq!(work(less, more), Some([less, more]));
    assert_eq!(work(more, more), None);
    assert_eq!(work(more, Throughput::BytesDecimal(17_671)), None);
    // Another measure of the work says nothing about how much it is.
    assert_eq!(work(less, Throughput::Elements(1)), None);
}

#[test]
fn the_value_of_a_version_is_of_the_stage_that_decides() {
    let value = |changes: [f64; 2]| {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["a"]);
        measure(&filling, Stage::First, changes[0]);
        measure(&filling, Stage::Second, changes[1]);
        let value = |version| {
            let results = filling.results();
            let judge = Verdicts::new(&results, DecisionOptions::default());
            let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
            let (place, criteria) = (place(0, version), Criteria::default());
            judge.value(&of_benchmark, place, &metric(WALL), &criteria).unwrap()
        };
        // More of the second stage may come.
        assert_eq!(value(1).0, Stage::First);
        store.finish(filling.id).unwrap();
        let [row] = &judged(&filling, DecisionOptions::default())[..] else { panic!("one row") };
        let decisive = row.decisive().unwrap().summaries.clone();
        let values = [value(0), value(1)];
        assert_eq!(values.clone().map(|(_, summary)| summary.unwrap()), decisive);
        values.map(|(stage, _)| stage)
    };
    assert_eq!(value([0.05, 0.08]), [Stage::Second; 2]);
    // The second stage was made for another metric.
    assert_eq!(value([0.0, 0.0]), [Stage::First; 2]);
}

const ALONE: Schedule = Schedule::NotRequested;
const TAKEN: Schedule = Schedule::Interleaved(98);
const IMPOSSIBLE: Schedule = Schedule::Unavailable(InterleavingUnavailable::NoClock);

/// One version in one stage, all of whose executions were interleaved so.
fn measure_in(filling: &Filling<'_>, turns: Schedule, version: usize, stage: Stage, value: f64) {
    filling.measure_with(|one| one.schedule = turns, "a", version, stage, &[(WALL, value)]);
}

/// Judged where base and head were measured so in the first stage, and so in the second.
fn judged_in_turns(stages: [[Schedule; 2]; 2], criteria: &Criteria) -> DecidedRow {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for (stage, turns) in [Stage::First, Stage::Second].into_iter().zip(stages) {
        measure_in(&filling, turns[0], 0, stage, 100.0);
        measure_in(&filling, turns[1], 1, stage, 105.0);
    }
    let mut rows = judged_by(&filling, DecisionOptions::default(), criteria);
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

#[test]
fn each_stage_is_judged_by_the_estimator_that_suits_how_it_was_measured() {
    let used = |stages: [Schedule; 2], asked: Option<Estimator>| {
        let criteria = Criteria { estimator: asked, ..Criteria::default() };
        let row = judged_in_turns(stages.map(|turns| [turns; 2]), &criteria);
        assert!(matches!(row.verdict, Verdict::Regressed { .. }), "{:?}", row.verdict);
        let of = |stage: &DecidedStage| stage.summaries.each_ref().map(Summary::estimator);
        let used: Vec<_> = row.stages.iter().map(of).collect();
        (used, row.interleaving.unwrap())
    };
    let [pairwise, minimum] = [Estimator::Pairwise, Estimator::Minimum].map(|one| [one; 2]);
    let in_turns = Interleaving { mode: Mode::Interleaved, unavailable: None };
    let alone = |obstacle| Interleaving { mode: Mode::Sequential, unavailable: obstacle };
    assert_eq!(used([ALONE; 2], None), (vec![minimum; 2], alone(None)));
    assert_eq!(used([TAKEN; 2], None), (vec![pairwise; 2], in_turns));
    let obstacle = alone(Some(InterleavingUnavailable::NoClock));
    assert_eq!(used([IMPOSSIBLE; 2], None), (vec![minimum; 2], obstacle));
    assert_eq!(used([TAKEN, IMPOSSIBLE], None), (vec![pairwise, minimum], obstacle));
    let median = Estimator::Median;
    assert_eq!(used([TAKEN; 2], Some(median)), (vec![[median; 2]; 2], in_turns));
}

#[test]
fn what_only_slowed_the_slower_measurements_is_decided_by_the_mean() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for (version, slow) in [(0, 1.2), (1, 1.5)] {
        let in_phases = |one: &mut Execution| {
            one.schedule = TAKEN;
            let level = one.series[0].values[0];
            let by = |i: u32| if i.is_multiple_of(2) { 1.0 } else { slow };
            one.series[0].values = (0..40).map(|i| level * by(i)).collect();
            one.series[0].iterations = vec![1; 40];
        };
        filling.measure_with(in_phases, "a", version, Stage::First, &[(WALL, 100.0)]);
    }
    let row = |estimator: Option<Estimator>| {
        let criteria = Criteria { estimator, confirm: false, ..Criteria::default() };
        judged_by(&filling, DecisionOptions::default(), &criteria).remove(0)
    };
    for estimator in [None, Some(Estimator::Minimum)] {
        let DecidedRow { verdict, by_mean, stages, .. } = row(estimator);
        let Verdict::Regressed { change, .. } = verdict else { panic!("{verdict:?}") };
        assert!((change.estimate - (2.5 / 2.2 - 1.0)).abs() < 1e-2, "{change:?}");
        assert!(by_mean.is_some_and(|by_mean| by_mean.primary), "{by_mean:?}");
        assert_eq!(stages[0].summaries[0].estimator(), Estimator::Mean);
    }
    let by_mean = row(Some(Estimator::Mean));
    assert!(matches!(by_mean.verdict, Verdict::Regressed { .. }));
    assert_eq!(by_mean.by_mean, None);
}

#[test]
fn the_change_of_what_took_turns_is_that_of_neighbouring_measurements() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for (version, value) in [(0, 100.0), (1, 103.0)] {
        // The first half of both executions was disturbed, and a quarter of the head's by something else.
        let by = |i: u32| match i {
            0..10 if version == 1 => 20.0,
            0..20 => 2.0,
            _ => 1.0,
        };
        let disturbed = |one: &mut Execution| {
            one.schedule = TAKEN;
            let level = one.series[0].values[0];
            one.series[0].values = (0..40).map(|i| level * by(i)).collect();
            one.series[0].iterations = vec![1; 40];
        };
        filling.measure_with(disturbed, "a", version, Stage::First, &[(WALL, value)]);
    }
    let ratio = |estimator: Option<Estimator>| {
        let criteria = Criteria { estimator, ..Criteria::default() };
        let row = judged_by(&filling, DecisionOptions::default(), &criteria).remove(0);
        let [base, head] = row.stages[0].summaries.each_ref().map(|one| one.values().mean);
        let change = row.stages[0].assessment.comparison.change.estimate;
        (head / base, 1.0 + change)
    };
    // Each version's value is its own, whatever ran beside it.
    let (own, change) = ratio(None);
    assert!((own - 2.06).abs() < 1e-2, "{own}");
    assert!((change - 1.03).abs() < 1e-2, "{change}");
    let (own, change) = ratio(Some(Estimator::TrimmedMean));
    assert!((own - change).abs() < 1e-3, "{own} and {change}");
}

#[test]
fn executions_that_took_turns_and_executions_that_ran_alone_are_not_compared() {
    for stages in [[[TAKEN, ALONE], [TAKEN; 2]], [[TAKEN; 2], [IMPOSSIBLE, TAKEN]]] {
        for estimator in [None, Some(Estimator::Mean)] {
            let criteria = Criteria { estimator, ..Criteria::default() };
            let row = judged_in_turns(stages, &criteria);
            let Verdict::NotComparable { reason } = &row.verdict else { panic!("{row:?}") };
            assert!(reason.starts_with("some of its executions took turns"), "{reason}");
            assert_eq!((row.stages.len(), row.interleaving), (0, None));
        }
    }
    let row = judged_in_turns([[ALONE, IMPOSSIBLE]; 2], &Criteria::default());
    assert!(matches!(row.verdict, Verdict::Regressed { .. }), "both ran alone: {row:?}");
}

#[test]
fn two_experiments_are_compared_if_both_took_turns_or_neither_did() {
    let row = |experiments: &[(&str, Schedule)], relation: &Relation| {
        let store = Store::in_memory().unwrap();
        for (value, (name, turns)) in [100.0, 100.1, 100.3].into_iter().zip(experiments) {
            let filling = Filling::begin(&store, &[name], &["a"]);
            measure_in(&filling, *turns, 0, Stage::First, value);
        }
        let results = Results::new(&store, store.experiments().unwrap());
        let options = DecisionOptions { ignore_environment: true, ..DecisionOptions::default() };
        let judge = Verdicts::new(&results, options);
        let of_benchmark = results.benchmark(&benchmark("a"), 0..experiments.len()).unwrap();
        judge.rows(&of_benchmark, relation, &Criteria::default()).unwrap().remove(0)
    };
    let refused = |row: &DecidedRow, words: &str| {
        let Verdict::NotComparable { reason } = &row.verdict else { panic!("{row:?}") };
        assert!(reason.contains(words), "{reason}");
    };
    let (base, head) = ("base", "head");
    let versions = [place(0, 0), place(1, 0)];
    let across = Relation::AcrossExperiments(versions);
    let different = Relation::Incomparable { versions, reasons: vec!["settings".to_owned()] };
    for relation in [&across, &different] {
        let mixed = row(&[(base, TAKEN), (head, ALONE), (head, ALONE)], relation);
        refused(&mixed, "took turns");
    }
    let alike = row(&[(base, TAKEN), (head, TAKEN), (head, TAKEN)], &across);
    assert!(alike.decisive().is_some(), "{:?}", alike.verdict);
    // What was measured twice, but not in the same way, does not tell how much experiments vary.
    let unknown = row(&[(base, TAKEN), (head, TAKEN), (head, ALONE)], &across);
    refused(&unknown, "no commit was measured twice");
}
