//! Recorded results can be read again.

use rbench_code::elf::Digest;

use super::*;
use crate::{
    error::{Error, Exit},
    model::{BenchTarget, Layout, Unmeasured},
};

fn crashed() -> Unmeasured {
    Unmeasured::Failed("it crashed\nhint: look".to_owned())
}

/// The slots of the successful executions.
fn measured_slots(store: &Store<'_>, experiment: ExperimentId, benchmark: &Benchmark) -> Vec<Slot> {
    let rows = store.rows(benchmark, &[experiment]).unwrap().into_iter();
    rows.filter(|row| row.outcome.is_ok()).map(|row| row.slot).collect()
}

#[test]
fn rows_are_sorted_by_slot_and_include_failures() {
    let store = Store::in_memory().unwrap();
    let benchmark = benchmark("parse");
    let ids = [(); 3].map(|()| store.begin(&plan()).unwrap());
    for id in ids {
        record_all(&store, id, &benchmark);
    }
    store.record_execution(ids[2], &benchmark, slot(0, 1, 5), Err(&crashed())).unwrap();
    store.finish(ids[0]).unwrap();
    let rows = store.rows(&benchmark, &[ids[2], ids[0], ids[2]]).unwrap();
    let places: Vec<_> = rows.iter().map(|row| (row.experiment, row.slot)).collect();
    assert_eq!(rows.len(), 16);
    assert!(places.is_sorted());
    assert!(places.iter().all(|(id, _)| *id != ids[1]));
    let (failed, measured): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| row.outcome.is_err());
    let outcome = Err(crashed());
    assert_eq!(failed, [StoredExecution { experiment: ids[2], slot: slot(0, 1, 5), outcome }]);
    for row in measured {
        let Slot { version, round, seed, .. } = row.slot;
        assert_eq!(row.outcome, Ok(execution(value(version, round, seed.get()))));
    }
    assert_eq!(store.rows(&super::benchmark("unknown"), &ids).unwrap(), []);
    assert_eq!(store.rows(&benchmark, &[]).unwrap(), []);
    assert_eq!(store.check().unwrap(), [""; 0]);
}

#[test]
fn measured_metrics_cover_each_version_of_a_benchmark() {
    let store = Store::in_memory().unwrap();
    let id = store.begin(&plan()).unwrap();
    record_all(&store, id, &benchmark("unplanned"));
    let second = Slot { stage: Stage::Second, ..slot(0, 0, 5) };
    store.record_execution(id, &benchmark("print"), second, Ok(&execution(1.0))).unwrap();
    store.record_execution(id, &benchmark("print"), slot(1, 0, 5), Err(&crashed())).unwrap();
    let metrics = execution(1.0).series.into_iter().map(|series| series.metric).collect();
    let both = MeasuredVersion { metrics, failed: false };
    let nothing = MeasuredVersion::default();
    let failed = MeasuredVersion { failed: true, ..nothing.clone() };
    let measured = |id, versions| MeasuredBenchmark {
        benchmark: benchmark(id),
        versions: Vec::from(versions),
    };
    let expected = [
        measured("parse", [nothing.clone(), nothing.clone()]),
        measured("print", [nothing.clone(), failed]),
        measured("unplanned", [both.clone(), both]),
    ];
    assert_eq!(store.measured_metrics(id).unwrap(), expected);
    store.record_execution(id, &benchmark("print"), slot(1, 0, 5), Ok(&execution(1.0))).unwrap();
    assert!(!store.measured_metrics(id).unwrap()[1].versions[1].failed, "it was repeated");
    assert_eq!(store.measured_metrics(ExperimentId(7)).unwrap(), []);
}

#[test]
fn experiment_is_read_as_it_was_planned() {
    let store = Store::in_memory().unwrap();
    let plan = plan();
    let id = store.begin(&plan).unwrap();
    let [experiment] = &store.experiments().unwrap()[..] else { panic!("not one experiment") };
    assert_eq!((experiment.id, &experiment.plan), (id, &plan));
    assert_eq!(experiment.finished, None);
    store.finish(id).unwrap();
    assert!(store.experiments().unwrap()[0].finished >= Some(experiment.begun));
}

#[test]
fn find_unfinished_returns_the_executions_so_far() {
    let store = Store::in_memory().unwrap();
    let experiment = store.begin(&plan()).unwrap();
    let (benchmark, done, failed) = (benchmark("parse"), slot(0, 0, 5), slot(1, 0, 5));
    store.record_execution(experiment, &benchmark, done, Ok(&execution(1.0))).unwrap();
    store.record_execution(experiment, &benchmark, failed, Err(&crashed())).unwrap();
    let found = store.find_unfinished(&plan()).unwrap().unwrap();
    assert_eq!(found.id, experiment);
    assert_eq!(found.done, [(benchmark.clone(), done)].into());
    assert_eq!(found.failed, [(benchmark, failed)].into());
    store.finish(experiment).unwrap();
    assert_eq!(store.find_unfinished(&plan()).unwrap(), None);
}

#[test]
fn find_unfinished_ignores_other_plans() {
    let store = Store::in_memory().unwrap();
    store.begin(&plan()).unwrap();
    let other = ExperimentPlan { settings_key: "l".into(), ..plan() };
    assert_eq!(store.find_unfinished(&other).unwrap(), None);
    let mut filtered = plan();
    filtered.benchmarks.truncate(1);
    assert_eq!(store.find_unfinished(&filtered).unwrap(), None, "it has fewer benchmarks");
    let mut longer = plan();
    longer.benchmarks[1].sample_sizes.executions = 9;
    assert_eq!(store.find_unfinished(&longer).unwrap(), None);
    assert!(store.find_unfinished(&plan()).unwrap().is_some());
}

#[test]
fn benchmark_with_a_renamed_group_keeps_its_results() {
    let store = Store::in_memory().unwrap();
    let id = store.begin(&plan()).unwrap();
    record_all(&store, id, &benchmark("parse"));
    let mut renamed = plan();
    renamed.benchmarks[0].benchmark.name.group = Some("other".to_owned());
    assert_eq!(store.find_unfinished(&renamed).unwrap().map(|found| found.id), Some(id));
    let group = || store.benchmarks().unwrap()[0].name.group.clone();
    assert_eq!(group().as_deref(), Some("g"));
    let next = store.begin(&renamed).unwrap();
    record_all(&store, next, &renamed.benchmarks[0].benchmark);
    assert_eq!(group().as_deref(), Some("other"));
    assert_eq!(store.benchmarks().unwrap(), ["parse", "print"].map(benchmark));
    assert_eq!(store.rows(&benchmark("parse"), &[id, next]).unwrap().len(), 16);
}

#[test]
fn repeated_execution_replaces_the_earlier_one() {
    let store = Store::in_memory().unwrap();
    let experiment = store.begin(&plan()).unwrap();
    let (benchmark, slot) = (benchmark("parse"), slot(0, 0, 5));
    store.record_execution(experiment, &benchmark, slot, Err(&crashed())).unwrap();
    for first in [1.0, 2.0] {
        store.record_execution(experiment, &benchmark, slot, Ok(&execution(first))).unwrap();
    }
    let rows = store.rows(&benchmark, &[experiment]).unwrap();
    assert_eq!(rows, [StoredExecution { experiment, slot, outcome: Ok(execution(2.0)) }]);
}

#[test]
fn execution_with_very_many_measurements_is_kept() {
    let store = Store::in_memory().unwrap();
    let experiment = store.begin(&plan()).unwrap();
    let benchmark = benchmark("parse");
    let mut large = execution(1.0);
    large.series[0].values = (1..100_000).map(f64::from).collect();
    large.series[0].iterations = vec![1; 99_999];
    let record = |round, outcome| {
        store.record_execution(experiment, &benchmark, slot(0, round, 5), outcome).unwrap();
    };
    let crashed = crashed();
    record(0, Err(&crashed));
    for round in 1..4 {
        record(round, Ok(&large));
    }
    // The failed execution is in a part that is full.
    record(0, Ok(&large));
    let rows = store.rows(&benchmark, &[experiment]).unwrap();
    assert_eq!(rows.iter().map(|row| row.slot.round).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(rows.into_iter().all(|row| row.outcome == Ok(large.clone())));
    assert!(!store.measured_metrics(experiment).unwrap()[0].versions[0].failed);
}

#[test]
fn record_executions_stores_all_or_none() {
    let store = Store::in_memory().unwrap();
    let experiment = store.begin(&plan()).unwrap();
    let names = ["parse", "print"].map(benchmark);
    let executions: Vec<_> = (0..100).map(|round| execution(f64::from(round + 1))).collect();
    let all = |version| {
        let numbered = (0..).zip(&executions);
        numbered.map(move |(round, one)| (slot(version, round, 5), one))
    };
    let mixed = all(0).map(|(slot, one)| (&names[slot.round as usize % 2], slot, Ok(one)));
    store.record_executions(experiment, mixed).unwrap();
    for (odd, benchmark) in (0..).zip(&names) {
        let rounds = measured_slots(&store, experiment, benchmark).into_iter();
        assert!(rounds.map(|slot| slot.round).eq((0..50).map(|round| 2 * round + odd)));
    }
    let mut defective = execution(1.0);
    defective.series.clear();
    let with_defect = all(1).map(|(slot, one)| (&names[0], slot, Ok(one)));
    let with_defect = with_defect.chain([(&names[0], slot(1, 200, 5), Ok(&defective))]);
    let error = store.record_executions(experiment, with_defect).unwrap_err();
    assert!(error.to_string().contains("nothing was measured"), "{error}");
    assert_eq!(measured_slots(&store, experiment, &names[0]).len(), 50);
}

#[test]
fn finished_or_unknown_experiment_refuses_results() {
    let store = Store::in_memory().unwrap();
    let experiment = store.begin(&plan()).unwrap();
    store.finish(experiment).unwrap();
    store.finish(experiment).unwrap();
    let record = |experiment, slot| {
        store.record_execution(experiment, &benchmark("parse"), slot, Ok(&execution(1.0)))
    };
    let error = record(experiment, slot(0, 0, 5)).unwrap_err();
    assert!(error.to_string().contains("experiment 1 is finished"), "{error}");
    let error = record(ExperimentId(7), slot(0, 0, 5)).unwrap_err();
    assert!(error.to_string().contains("there is no experiment 7"), "{error}");
    let other = store.begin(&plan()).unwrap();
    assert!(record(other, slot(2, 0, 5)).is_err(), "it has two versions, 0 and 1");
}

#[test]
fn builds_and_unbuildable_versions_are_stored() {
    let store = Store::in_memory().unwrap();
    let experiment = store.begin(&plan()).unwrap();
    let target = BenchTarget { package: "p".to_owned(), target: "t".to_owned() };
    let (seed, digest) = (LayoutSeed::new(5).unwrap(), Digest::compute(b"code"));
    let build = RecordedBuild { version: 0, target, seed, layout: Layout::SameOrder, digest };
    store.record_builds(experiment, [build.clone()]).unwrap();
    store.record_unbuildable(experiment, 1, &Error::new(Exit::Build, "cannot compile")).unwrap();
    assert_eq!(store.builds(experiment).unwrap(), [build]);
    let unbuildable = &store.experiments().unwrap()[0].unbuildable;
    assert_eq!(unbuildable, &[None, Some("cannot compile".to_owned())]);
}

#[test]
fn forget_deletes_only_one_benchmark_in_one_stage() {
    let store = Store::in_memory().unwrap();
    let [id, other] = [(); 2].map(|()| store.begin(&plan()).unwrap());
    let [parse, print] = ["parse", "print"].map(benchmark);
    for (experiment, benchmark) in [(id, &parse), (id, &print), (other, &parse)] {
        record_all(&store, experiment, benchmark);
    }
    let second = Slot { stage: Stage::Second, ..slot(0, 0, 7) };
    store.record_execution(id, &parse, second, Ok(&execution(1.0))).unwrap();
    store.forget_benchmark(id, Stage::First, &parse).unwrap();
    assert_eq!(measured_slots(&store, id, &parse), [second]);
    assert_eq!(measured_slots(&store, id, &print).len(), 8);
    assert_eq!(measured_slots(&store, other, &parse).len(), 8);
    record_all(&store, id, &parse);
    assert_eq!(measured_slots(&store, id, &parse).len(), 9);
    store.forget_benchmark(id, Stage::Second, &benchmark("never met")).unwrap();

    store.finish(id).unwrap();
    let refusal = store.forget_benchmark(id, Stage::First, &parse).unwrap_err().to_string();
    assert!(refusal.contains("is finished"), "{refusal}");
    assert_eq!(measured_slots(&store, id, &parse).len(), 9);
}

#[test]
fn tuned_iterations_are_per_benchmark_machine_and_floor() {
    let store = Store::in_memory().unwrap();
    let benchmark = benchmark("parse");
    let floor = Duration::from_millis(1);
    let tuned = |machine: &Machine, floor| store.tuned(&benchmark, machine, floor).unwrap();
    assert_eq!(tuned(&machine(), floor), None);
    for iterations in [10, u64::MAX] {
        store.record_tuned(&benchmark, &machine(), floor, iterations).unwrap();
        assert_eq!(tuned(&machine(), floor), Some(iterations));
    }
    let other = Machine { id: String::new(), ..machine() };
    assert_eq!(tuned(&other, floor), None);
    assert_eq!(tuned(&machine(), 2 * floor), None, "another floor takes other iterations");
    store.record_tuned(&benchmark, &machine(), 2 * floor, 20).unwrap();
    assert_eq!(
        (tuned(&machine(), floor), tuned(&machine(), 2 * floor)),
        (Some(u64::MAX), Some(20))
    );
}
