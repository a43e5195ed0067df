//! What is recorded comes back.

use super::*;
use crate::{
    code::Digest,
    failure::{Exit, Failure},
    model::{BenchTarget, BuildValues, Layout},
};

/// Wall times of one version as [`record_all`] made them.
fn builds(version: usize) -> BuildValues {
    let values = |seed, round| {
        let first = value(version, round, seed);
        vec![first, first + 0.1, first + 0.2]
    };
    [5, 9].map(|seed| (u64::from(seed), vec![values(seed, 0), values(seed, 1)])).to_vec()
}

#[test]
fn executions_come_back_whole_before_and_after_the_experiment_is_finished() {
    let (_directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    let benchmark = benchmark("parse/1");
    record_all(&store, experiment, &benchmark);
    let before = store.executions(experiment, &benchmark).unwrap();
    assert_eq!(before.len(), 8);
    for recorded in &before {
        let Turn { version, round, seed, .. } = recorded.turn;
        assert_eq!(recorded.execution, execution(value(version, round, seed.get())));
    }
    store.finish(experiment).unwrap();
    assert_eq!(store.executions(experiment, &benchmark).unwrap(), before);
    assert_eq!(store.check().unwrap(), [""; 0]);
}

#[test]
fn values_come_back_by_version_build_and_round() {
    let (_directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    let benchmark = benchmark("parse/1");
    record_all(&store, experiment, &benchmark);
    for finished in [false, true] {
        if finished {
            store.finish(experiment).unwrap();
        }
        let values = store.values(experiment, &benchmark, &Metric::wall(), Stage::First).unwrap();
        assert_eq!(values, [builds(0), builds(1)]);
        let second = store.values(experiment, &benchmark, &Metric::wall(), Stage::Second).unwrap();
        assert_eq!(second, [vec![], vec![]]);
    }
}

#[test]
fn an_experiment_comes_back_as_it_was_planned() {
    let (_directory, store) = store();
    let plan = plan();
    let id = store.begin(&plan).unwrap();
    let [experiment] = &store.experiments().unwrap()[..] else { panic!("not one experiment") };
    assert_eq!((experiment.id, &experiment.plan), (id, &plan));
    assert_eq!(experiment.finished, None);
    store.finish(id).unwrap();
    assert!(store.experiments().unwrap()[0].finished >= Some(experiment.begun));
    assert_eq!(store.versions().unwrap(), [version("aa"), version("bb")]);
}

#[test]
fn an_unfinished_experiment_is_found_with_what_is_done_until_it_is_finished() {
    let (_directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    let (benchmark, done, failed) = (benchmark("b"), turn(0, 0, 5), turn(1, 0, 5));
    let failure = Failure::new(Exit::Benchmark, "it crashed").hint("look");
    store.record_execution(experiment, &benchmark, done, Ok(&execution(1.0))).unwrap();
    store.record_execution(experiment, &benchmark, failed, Err(&failure)).unwrap();
    let found = store.find_unfinished(&plan()).unwrap().unwrap();
    assert_eq!(found.id, experiment);
    assert_eq!(found.done, [(benchmark.clone(), done)].into());
    assert_eq!(found.failed, [(benchmark.clone(), failed)].into());
    let failures = store.failures(experiment).unwrap();
    assert_eq!(failures[0].reason, "it crashed\nhint: look");
    assert_eq!((&failures[0].benchmark, failures[0].turn), (&benchmark, failed));

    store.finish(experiment).unwrap();
    assert_eq!(store.find_unfinished(&plan()).unwrap(), None);
}

#[test]
fn an_experiment_with_another_plan_is_not_continued() {
    let (_directory, store) = store();
    store.begin(&plan()).unwrap();
    let other = ExperimentPlan { settings_key: "l".to_owned(), ..plan() };
    assert_eq!(store.find_unfinished(&other).unwrap(), None);
    assert_eq!(store.unfinished().unwrap()[0].plan.differences(&other), ["settings"]);
}

#[test]
fn an_execution_that_is_repeated_replaces_what_its_turn_had() {
    let (_directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    let (benchmark, turn) = (benchmark("b"), turn(0, 0, 5));
    let failure = Failure::new(Exit::Benchmark, "it crashed");
    store.record_execution(experiment, &benchmark, turn, Err(&failure)).unwrap();
    for first in [1.0, 2.0] {
        store.record_execution(experiment, &benchmark, turn, Ok(&execution(first))).unwrap();
    }
    assert_eq!(store.failures(experiment).unwrap(), []);
    let executions = store.executions(experiment, &benchmark).unwrap();
    assert_eq!(executions, [RecordedExecution { turn, execution: execution(2.0) }]);
}

#[test]
fn nothing_is_added_to_a_finished_experiment_or_one_that_is_not_there() {
    let (_directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    store.finish(experiment).unwrap();
    store.finish(experiment).unwrap();
    let record = |experiment, turn| {
        store.record_execution(experiment, &benchmark("b"), turn, Ok(&execution(1.0)))
    };
    let failure = record(experiment, turn(0, 0, 5)).unwrap_err();
    assert!(failure.to_string().contains("experiment 1 is finished"), "{failure}");
    let failure = record(ExperimentId(7), turn(0, 0, 5)).unwrap_err();
    assert!(failure.to_string().contains("there is no experiment 7"), "{failure}");
    let other = store.begin(&plan()).unwrap();
    assert!(record(other, turn(2, 0, 5)).is_err(), "it has two versions, 0 and 1");
}

#[test]
fn history_has_every_experiment_in_which_the_metric_was_measured() {
    let (_directory, store) = store();
    let (parse, print) = (benchmark("parse"), benchmark("print"));
    let ids = [(); 3].map(|()| store.begin(&plan()).unwrap());
    record_all(&store, ids[0], &parse);
    record_all(&store, ids[1], &print);
    record_all(&store, ids[2], &parse);
    store.finish(ids[0]).unwrap();
    let history = store.history(&parse, &Metric::wall()).unwrap();
    let places: Vec<_> = history.iter().map(|entry| (entry.experiment, entry.version)).collect();
    assert_eq!(places, [(ids[0], 0), (ids[0], 1), (ids[2], 0), (ids[2], 1)]);
    assert_eq!(history[3].builds, builds(1));
    let bytes = Metric { name: "wall".to_owned(), unit: Unit::Bytes };
    assert_eq!(store.history(&parse, &bytes).unwrap(), []);
    assert_eq!(store.latest(&parse, 9).unwrap(), [ids[0]], "of finished experiments");
    store.finish(ids[2]).unwrap();
    assert_eq!(store.latest(&parse, 9).unwrap(), [ids[2], ids[0]]);
    assert_eq!(store.latest(&parse, 1).unwrap(), [ids[2]]);
    assert_eq!(store.benchmarks().unwrap(), [parse.clone(), print.clone()]);
    assert_eq!(store.benchmarks_of(ids[0]).unwrap(), [parse]);
    assert_eq!(store.benchmarks_of(ids[1]).unwrap(), [print]);
}

#[test]
fn builds_and_versions_that_could_not_be_built_are_told() {
    let (_directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    let target = BenchTarget { package: "p".to_owned(), target: "t".to_owned() };
    let (seed, digest) = (LayoutSeed::new(5).unwrap(), Digest::of(b"code"));
    store.record_builds(experiment, [(0, &target, seed, Layout::Matched, digest)]).unwrap();
    store.record_unbuildable(experiment, 1, &Failure::new(Exit::Build, "cannot compile")).unwrap();
    let layout = Layout::Matched;
    let expected = RecordedBuild { version: 0, target, seed, layout, digest };
    assert_eq!(store.builds(experiment).unwrap(), [expected]);
    let unbuildable = &store.experiments().unwrap()[0].unbuildable;
    assert_eq!(unbuildable, &[None, Some("cannot compile".to_owned())]);
}

#[test]
fn tuned_iterations_hold_for_one_benchmark_on_one_machine() {
    let (_directory, store) = store();
    let benchmark = benchmark("b");
    assert_eq!(store.tuned(&benchmark, &machine()).unwrap(), None);
    for iterations in [10, u64::MAX] {
        store.record_tuned(&benchmark, &machine(), iterations).unwrap();
        assert_eq!(store.tuned(&benchmark, &machine()).unwrap(), Some(iterations));
    }
    let other = Machine { id: String::new(), ..machine() };
    assert_eq!(store.tuned(&benchmark, &other).unwrap(), None);
}

#[test]
fn an_execution_with_very_many_measurements_is_kept_like_any_other() {
    let (_directory, store) = store();
    let experiment = store.begin(&plan()).unwrap();
    let benchmark = benchmark("b");
    let mut large = execution(1.0);
    large.series[0].values = (1..100_000).map(f64::from).collect();
    large.series[0].iterations = vec![1; 99_999];
    for round in 0..3 {
        store.record_execution(experiment, &benchmark, turn(0, round, 5), Ok(&large)).unwrap();
    }
    store.finish(experiment).unwrap();
    let executions = store.executions(experiment, &benchmark).unwrap();
    assert_eq!(executions.len(), 3);
    assert!(executions.iter().all(|recorded| recorded.execution == large));
}

#[test]
fn results_of_chosen_experiments_are_in_the_metric_that_the_harness_is_for() {
    let (_directory, store) = store();
    let benchmark = benchmark("parse/1");
    let ids = [0, 1, 2].map(|_| {
        let id = store.begin(&plan()).unwrap();
        record_all(&store, id, &benchmark);
        id
    });
    store.finish(ids[0]).unwrap();
    let found = store.results(&benchmark, &[ids[0], ids[2]]).unwrap().unwrap();
    assert_eq!(found.metric, Metric::wall());
    let expected = [ids[0], ids[2]]
        .into_iter()
        .flat_map(|id| [0, 1].map(|version| ((id, version, Stage::First), builds(version))));
    assert_eq!(found.values, expected.collect());
    assert_eq!(store.results(&super::benchmark("unknown"), &ids).unwrap(), None);
    assert_eq!(store.results(&benchmark, &[]).unwrap(), None);
}

#[test]
fn benchmarks_count_as_judged_if_all_versions_were_measured() {
    let (_directory, store) = store();
    let id = store.begin(&plan()).unwrap();
    record_all(&store, id, &benchmark("both"));
    let one = execution(1.0);
    store.record_execution(id, &benchmark("one"), turn(0, 0, 5), Ok(&one)).unwrap();
    for finished in [false, true] {
        if finished {
            store.finish(id).unwrap();
        }
        assert_eq!(store.measured_in_all(id, &[0, 1]).unwrap(), 1);
        assert_eq!(store.measured_in_all(id, &[0]).unwrap(), 2);
    }
}
