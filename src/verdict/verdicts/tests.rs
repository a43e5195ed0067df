//! Verdicts from rows of an in-memory store.

use rbench_stats::{Estimator, Rule};

use super::*;
use crate::{
    model::{Execution, InterleavingUnavailable, Mode, Schedule, Threads, Throughput},
    store::Store,
    verdict::Interleaving,
    verdict::testing::{Filling, benchmark, metric, place, seeds},
};

mod interim;
mod unmeasured;

const WALL: &str = "wall";

fn decided(filling: &Filling<'_>, options: DecisionOptions) -> Vec<DecidedRow> {
    decided_by(filling, options, &Criteria::default())
}

fn decided_by(
    filling: &Filling<'_>,
    options: DecisionOptions,
    criteria: &Criteria,
) -> Vec<DecidedRow> {
    let results = filling.results();
    let relation = Relation::SameExperiment([place(0, 0), place(0, 1)]);
    let verdicts = Verdicts::new(&results, options);
    let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
    verdicts.rows(&of_benchmark, &relation, criteria).unwrap()
}

fn verdict(filling: &Filling<'_>) -> Verdict {
    let rows = decided(filling, DecisionOptions::default());
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    row.verdict.clone()
}

/// Measures both versions in one stage; the head takes longer by the relative `change`.
fn measure(filling: &Filling<'_>, stage: Stage, change: f64) {
    filling.measure("a", 0, stage, &[(WALL, 100.0)]);
    filling.measure("a", 1, stage, &[(WALL, 100.0 * (1.0 + change))]);
}

#[test]
fn regression_needs_both_stages() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    measure(&filling, Stage::First, 0.05);
    assert!(matches!(verdict(&filling), Verdict::Inconclusive { .. }), "{:?}", verdict(&filling));
    measure(&filling, Stage::Second, 0.05);
    assert!(matches!(verdict(&filling), Verdict::Regressed { .. }), "{:?}", verdict(&filling));
    let [row] = &decided(&filling, DecisionOptions::default())[..] else { panic!("one row") };
    assert_eq!(row.stages.len(), 2);
    assert_eq!(row.metric.as_ref().map(|metric| metric.name.as_str()), Some(WALL));
}

#[test]
fn benchmarks_that_are_not_measured_yet_share_the_error_rate() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    measure(&filling, Stage::First, 0.05);
    measure(&filling, Stage::Second, 0.05);
    let with = |pending| {
        let options = DecisionOptions { pending, ..DecisionOptions::default() };
        decided(&filling, options)[0].verdict.clone()
    };
    assert!(matches!(with(1), Verdict::Regressed { .. }), "{:?}", with(1));
    assert!(matches!(with(1 << 60), Verdict::Inconclusive { .. }), "{:?}", with(1 << 60));
}

#[test]
fn default_metrics_are_decided_unless_some_are_chosen() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for stage in [Stage::First, Stage::Second] {
        filling.measure("a", 0, stage, &[(WALL, 100.0), ("cpu", 50.0), ("user", 50.0)]);
        filling.measure("a", 1, stage, &[(WALL, 100.0), ("cpu", 60.0), ("user", 60.0)]);
    }
    let rows = decided(&filling, DecisionOptions::default());
    let names: Vec<&str> =
        rows.iter().filter_map(|row| Some(row.metric.as_ref()?.name.as_str())).collect();
    assert_eq!(names, [WALL, "cpu"]);
    assert!(matches!(rows[0].verdict, Verdict::Unchanged { .. }), "{:?}", rows[0].verdict);
    assert!(matches!(rows[1].verdict, Verdict::Regressed { .. }), "{:?}", rows[1].verdict);
    let options =
        DecisionOptions { metrics: vec!["user".parse().unwrap()], ..DecisionOptions::default() };
    assert_eq!(decided(&filling, options).len(), 1);
}

#[test]
fn cpu_time_of_a_program_that_waits_is_decided_only_if_chosen() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a", "b"]);
    let measure = |id, reason: InterleavingUnavailable| {
        for version in [0, 1] {
            let alone = |one: &mut Execution| one.schedule = Schedule::Unavailable(reason.clone());
            let values = [(WALL, 100.0), ("cpu", 50.0)];
            filling.measure_with(alone, id, version, Stage::First, &values);
        }
    };
    measure("a", InterleavingUnavailable::Waits);
    measure("b", InterleavingUnavailable::Parallel);
    let results = filling.results();
    let names = |id: &str, metrics: &[&str]| {
        let metrics = metrics.iter().copied().map(metric).collect();
        let options = DecisionOptions { metrics, ..DecisionOptions::default() };
        let of_benchmark = results.benchmark(&benchmark(id), [0]).unwrap();
        let verdicts = Verdicts::new(&results, options);
        verdicts.metrics(&of_benchmark, &[place(0, 0), place(0, 1)])
    };
    assert_eq!(names("a", &[]), [metric(WALL)]);
    assert_eq!(names("a", &["cpu"]), [metric("cpu")]);
    assert_eq!(names("b", &[]), [metric(WALL), metric("cpu")]);
}

#[test]
fn metric_missing_from_some_executions_is_ignored() {
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
fn no_common_metric_is_not_comparable() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    filling.measure("a", 0, Stage::First, &[(WALL, 100.0)]);
    filling.measure("a", 1, Stage::First, &[("user", 100.0)]);
    let Verdict::NotComparable { reason } = verdict(&filling) else { panic!("it was decided") };
    assert_eq!(reason, "no common metric: base has wall, head has user");
}

#[test]
fn equal_programs_count_as_one_build() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    let [first, second, ..] = seeds(Stage::First)[..] else { panic!("six seeds") };
    for version in [0, 1] {
        for seed in [first, second] {
            filling.build(version, seed, &format!("the same program of {version}"));
        }
    }
    measure(&filling, Stage::First, 0.0);
    let [row] = &decided(&filling, DecisionOptions::default())[..] else { panic!("one row") };
    assert_eq!(row.stages[0].summaries[0].builds().len(), 5);
    let results = filling.results();
    let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
    let alone =
        of_benchmark.summary(place(0, 0), Stage::First, &metric(WALL), &Criteria::default());
    assert_eq!(alone.unwrap().as_ref(), Some(&row.stages[0].summaries[0]));
}

/// They may read different files.
#[test]
fn same_programs_are_decided_by_their_measurements() {
    let same_programs = |filling: &Filling<'_>, versions: usize| {
        for seed in [seeds(Stage::First), seeds(Stage::Second)].concat() {
            for version in 0..versions {
                filling.build(version, seed, &format!("program {seed}"));
            }
        }
    };
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    same_programs(&filling, 2);
    for stage in [Stage::First, Stage::Second] {
        measure(&filling, stage, 0.5);
    }
    assert!(matches!(verdict(&filling), Verdict::Regressed { .. }), "{:?}", verdict(&filling));

    let across = |rounds: &[(&str, f64)]| {
        let store = Store::in_memory().unwrap();
        for (name, value) in rounds {
            let filling = Filling::begin(&store, &[name], &["a"]);
            same_programs(&filling, 1);
            filling.measure("a", 0, Stage::First, &[(WALL, *value)]);
        }
        let results = Results::new(&store, store.experiments().unwrap());
        let verdicts = Verdicts::new(&results, DecisionOptions::default());
        let of_benchmark = results.benchmark(&benchmark("a"), 0..rounds.len()).unwrap();
        let relation = Relation::AcrossExperiments([place(0, 0), place(1, 0)]);
        let rows = verdicts.rows(&of_benchmark, &relation, &Criteria::default()).unwrap();
        rows[0].verdict.clone()
    };
    let [base, again] = [100.0, 100.1].map(|value| ("base", value));
    let [slower, slower_again] = [150.0, 150.1].map(|value| ("head", value));
    let undecided = across(&[base, slower]);
    assert!(matches!(undecided, Verdict::NotComparable { .. }), "{undecided:?}");
    let decided = across(&[base, slower, again, base, slower_again, slower]);
    assert!(matches!(decided, Verdict::Regressed { .. }), "{decided:?}");
}

#[test]
fn comparing_two_experiments_needs_a_repeated_version() {
    let store = Store::in_memory().unwrap();
    for name in ["base", "head"] {
        let filling = Filling::begin(&store, &[name], &["a"]);
        filling.measure("a", 0, Stage::First, &[(WALL, 100.0)]);
    }
    let rows = |relation: &Relation| {
        let results = Results::new(&store, store.experiments().unwrap());
        let verdicts = Verdicts::new(&results, DecisionOptions::default());
        let experiments = 0..results.experiments.len();
        let of_benchmark = results.benchmark(&benchmark("a"), experiments).unwrap();
        verdicts.rows(&of_benchmark, relation, &Criteria::default()).unwrap()
    };
    let relation = Relation::AcrossExperiments([place(0, 0), place(1, 0)]);
    let Verdict::NotComparable { reason } = &rows(&relation)[0].verdict else { panic!("decided") };
    assert!(reason.contains("no commit was measured twice"), "{reason}");
    let again = Filling::begin(&store, &["head"], &["a"]);
    again.measure("a", 0, Stage::First, &[(WALL, 100.2)]);
    let [row] = &rows(&relation)[..] else { panic!("one row") };
    assert!(row.decisive().is_some(), "{:?}", row.verdict);
    assert_eq!(row.advice, None);
}

#[test]
fn different_settings_need_a_request() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    measure(&filling, Stage::First, 0.0);
    let results = filling.results();
    let versions = [place(0, 0), place(0, 1)];
    let relation = Relation::Incomparable { versions, reasons: vec!["settings: x".to_owned()] };
    let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
    let verdicts = Verdicts::new(&results, DecisionOptions::default());
    let rows = verdicts.rows(&of_benchmark, &relation, &Criteria::default()).unwrap();
    let Verdict::NotComparable { reason } = &rows[0].verdict else { panic!("{rows:?}") };
    assert_eq!(reason, "measured under different conditions (settings: x)");
}

#[test]
fn single_build_fails_without_numbers() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for version in [0, 1] {
        for seed in seeds(Stage::First) {
            filling.build(version, seed, &format!("the only program of {version}"));
        }
    }
    measure(&filling, Stage::First, 0.5);
    let [row] = &decided(&filling, DecisionOptions::default())[..] else { panic!("one row") };
    assert!(matches!(row.verdict, Verdict::Failed { .. }), "{:?}", row.verdict);
    assert!(row.stages.is_empty());
}

#[test]
fn unusable_fresh_builds_are_not_reported_missing() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for version in [0, 1] {
        for seed in seeds(Stage::Second) {
            filling.build(version, seed, &format!("the only fresh program of {version}"));
        }
    }
    measure(&filling, Stage::First, 0.05);
    measure(&filling, Stage::Second, 0.05);
    let [row] = &decided(&filling, DecisionOptions::default())[..] else { panic!("one row") };
    let Verdict::Failed { reason } = &row.verdict else { panic!("{:?}", row.verdict) };
    assert!(reason.contains("at least 2 builds"), "{reason}");
    assert_eq!(row.stages.len(), 1);
}

#[test]
fn power_is_reported_for_the_paired_rule_only() {
    for rule in Rule::ALL {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["a"]);
        measure(&filling, Stage::First, 0.0);
        let criteria = Criteria { rule, min_effect: 1e-5, ..Criteria::default() };
        let [row] = &decided_by(&filling, DecisionOptions::default(), &criteria)[..] else {
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
fn different_work_is_in_the_row_and_keeps_the_verdict() {
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
        decided(&filling, DecisionOptions::default())[0].work
    };
    let [less, more] = [16_274, 17_671].map(Throughput::Bytes);
    assert_eq!(work(less, more), Some([less, more]));
    assert_eq!(work(more, more), None);
    assert_eq!(work(more, Throughput::BytesDecimal(17_671)), None);
    // Amounts in different units cannot be compared.
    assert_eq!(work(less, Throughput::Elements(1)), None);
}

#[test]
fn value_comes_from_the_deciding_stage() {
    let value = |changes: [f64; 2]| {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["a"]);
        measure(&filling, Stage::First, changes[0]);
        measure(&filling, Stage::Second, changes[1]);
        let value = |version| {
            let results = filling.results();
            let verdicts = Verdicts::new(&results, DecisionOptions::default());
            let of_benchmark = results.benchmark(&benchmark("a"), [0]).unwrap();
            let (place, criteria) = (place(0, version), Criteria::default());
            verdicts.value(&of_benchmark, place, &metric(WALL), &criteria).unwrap()
        };
        // The second stage may still be incomplete.
        assert_eq!(value(1).0, Stage::First);
        store.finish(filling.id).unwrap();
        let [row] = &decided(&filling, DecisionOptions::default())[..] else { panic!("one row") };
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
const INTERLEAVED: Schedule = Schedule::Interleaved(98);
const IMPOSSIBLE: Schedule = Schedule::Unavailable(InterleavingUnavailable::NoClock);

/// Measures one version in one stage, with all executions scheduled like this.
fn measure_in(
    filling: &Filling<'_>,
    schedule: &Schedule,
    version: usize,
    stage: Stage,
    value: f64,
) {
    filling.measure_with(
        |one| one.schedule = schedule.clone(),
        "a",
        version,
        stage,
        &[(WALL, value)],
    );
}

/// The row of base and head with these schedules in the first and the second stage; head is 5 %
/// slower.
fn decided_in_modes(stages: [[Schedule; 2]; 2], criteria: &Criteria) -> DecidedRow {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for (stage, schedule) in [Stage::First, Stage::Second].into_iter().zip(stages) {
        measure_in(&filling, &schedule[0], 0, stage, 100.0);
        measure_in(&filling, &schedule[1], 1, stage, 105.0);
    }
    let mut rows = decided_by(&filling, DecisionOptions::default(), criteria);
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

#[test]
fn estimator_of_each_stage_suits_its_mode() {
    let used = |stages: [Schedule; 2], asked: Option<Estimator>| {
        let criteria = Criteria { estimator: asked, ..Criteria::default() };
        let row = decided_in_modes(stages.map(|schedule| [schedule.clone(), schedule]), &criteria);
        assert!(matches!(row.verdict, Verdict::Regressed { .. }), "{:?}", row.verdict);
        let of = |stage: &DecidedStage| stage.summaries.each_ref().map(Summary::estimator);
        let used: Vec<_> = row.stages.iter().map(of).collect();
        (used, row.interleaving.unwrap())
    };
    let [pairwise, minimum] = [Estimator::Pairwise, Estimator::Minimum].map(|one| [one; 2]);
    let interleaved = Interleaving {
        mode: Mode::Interleaved,
        threads: Threads::Together,
        unavailable: None,
        times_alone: None,
    };
    let alone = |reason| Interleaving {
        mode: Mode::Sequential,
        threads: Threads::Together,
        unavailable: reason,
        times_alone: None,
    };
    assert_eq!(used([ALONE; 2], None), (vec![minimum; 2], alone(None)));
    assert_eq!(used([INTERLEAVED; 2], None), (vec![pairwise; 2], interleaved.clone()));
    let reason = alone(Some(InterleavingUnavailable::NoClock));
    assert_eq!(used([IMPOSSIBLE; 2], None), (vec![minimum; 2], reason.clone()));
    assert_eq!(used([INTERLEAVED, IMPOSSIBLE], None), (vec![pairwise, minimum], reason));
    let median = Estimator::Median;
    assert_eq!(used([INTERLEAVED; 2], Some(median)), (vec![[median; 2]; 2], interleaved));
}

#[test]
fn mean_decides_a_slowdown_of_slow_measurements() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for (version, slow) in [(0, 1.2), (1, 1.5)] {
        let in_phases = |one: &mut Execution| {
            one.schedule = INTERLEAVED;
            let level = one.series[0].values[0];
            let by = |i: u32| if i.is_multiple_of(4) { slow } else { 1.0 };
            one.series[0].values = (0..40).map(|i| level * by(i)).collect();
            one.series[0].iterations = vec![1; 40];
        };
        filling.measure_with(in_phases, "a", version, Stage::First, &[(WALL, 100.0)]);
    }
    let row = |estimator: Option<Estimator>| {
        let criteria = Criteria { estimator, confirm: false, ..Criteria::default() };
        decided_by(&filling, DecisionOptions::default(), &criteria).remove(0)
    };
    for estimator in [None, Some(Estimator::Minimum)] {
        let DecidedRow { verdict, by_mean, stages, .. } = row(estimator);
        let Verdict::Regressed { change, .. } = verdict else { panic!("{verdict:?}") };
        assert!((change.estimate - (4.5 / 4.2 - 1.0)).abs() < 1e-2, "{change:?}");
        assert!(by_mean.is_some_and(|by_mean| by_mean.primary), "{by_mean:?}");
        assert_eq!(stages[0].summaries[0].estimator(), Estimator::Mean);
    }
    let by_mean = row(Some(Estimator::Mean));
    assert!(matches!(by_mean.verdict, Verdict::Regressed { .. }));
    assert_eq!(by_mean.by_mean, None);
}

#[test]
fn interleaved_change_is_the_ratio_of_neighbours() {
    let store = Store::in_memory().unwrap();
    let filling = Filling::begin(&store, &["base", "head"], &["a"]);
    for (version, value) in [(0, 100.0), (1, 103.0)] {
        // Something disturbed the first measurements of both executions, and something else a quarter of either, so that the
        // means have the same ratio.
        let by = |i: u32| match (i, version) {
            (0..10, 1) => 20.0,
            (22..32, 0) => 19.0,
            (0..19, _) => 2.0,
            _ => 1.0,
        };
        let disturbed = |one: &mut Execution| {
            one.schedule = INTERLEAVED;
            let level = one.series[0].values[0];
            one.series[0].values = (0..40).map(|i| level * by(i)).collect();
            one.series[0].iterations = vec![1; 40];
        };
        filling.measure_with(disturbed, "a", version, Stage::First, &[(WALL, value)]);
    }
    let ratio = |estimator: Option<Estimator>| {
        let criteria = Criteria { estimator, ..Criteria::default() };
        let row = decided_by(&filling, DecisionOptions::default(), &criteria).remove(0);
        let [base, head] = row.stages[0].summaries.each_ref().map(|one| one.values().mean);
        let change = row.stages[0].assessment.comparison.change.estimate;
        (head / base, 1.0 + change)
    };
    // The value of a version does not depend on the version beside it.
    let (own, change) = ratio(None);
    assert!((own - 0.515).abs() < 1e-2, "{own}");
    assert!((change - 1.03).abs() < 1e-2, "{change}");
    let (own, change) = ratio(Some(Estimator::TrimmedMean));
    assert!((own - change).abs() < 1e-3, "{own} and {change}");
}

#[test]
fn mixed_modes_are_not_compared() {
    for stages in
        [[[INTERLEAVED, ALONE], [INTERLEAVED; 2]], [[INTERLEAVED; 2], [IMPOSSIBLE, INTERLEAVED]]]
    {
        for estimator in [None, Some(Estimator::Mean)] {
            let criteria = Criteria { estimator, ..Criteria::default() };
            let row = decided_in_modes(stages.clone(), &criteria);
            let Verdict::NotComparable { reason } = &row.verdict else { panic!("{row:?}") };
            assert!(reason.starts_with("some of its executions were interleaved"), "{reason}");
            assert_eq!((row.stages.len(), row.interleaving), (0, None));
        }
    }
    let row = decided_in_modes([[ALONE, IMPOSSIBLE], [ALONE, IMPOSSIBLE]], &Criteria::default());
    assert!(matches!(row.verdict, Verdict::Regressed { .. }), "both ran alone: {row:?}");
}

#[test]
fn two_experiments_are_compared_in_equal_modes() {
    let row = |experiments: &[(&str, Schedule)], relation: &Relation| {
        let store = Store::in_memory().unwrap();
        for (value, (name, schedule)) in [100.0, 100.1, 100.3].into_iter().zip(experiments) {
            let filling = Filling::begin(&store, &[name], &["a"]);
            measure_in(&filling, schedule, 0, Stage::First, value);
        }
        let results = Results::new(&store, store.experiments().unwrap());
        let options = DecisionOptions { ignore_environment: true, ..DecisionOptions::default() };
        let verdicts = Verdicts::new(&results, options);
        let of_benchmark = results.benchmark(&benchmark("a"), 0..experiments.len()).unwrap();
        verdicts.rows(&of_benchmark, relation, &Criteria::default()).unwrap().remove(0)
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
        let mixed = row(&[(base, INTERLEAVED), (head, ALONE), (head, ALONE)], relation);
        refused(&mixed, "were interleaved");
    }
    let alike = row(&[(base, INTERLEAVED), (head, INTERLEAVED), (head, INTERLEAVED)], &across);
    assert!(alike.decisive().is_some(), "{:?}", alike.verdict);
    // A version measured twice in different modes says nothing about the variance between
    // experiments.
    let unknown = row(&[(base, INTERLEAVED), (head, INTERLEAVED), (head, ALONE)], &across);
    refused(&unknown, "no commit was measured twice");
}
