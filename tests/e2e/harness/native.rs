//! The project's harness, and the mistakes its benchmarks can make.

use std::time::Duration;

use cargo_rbench::{
    harness::{Executable, Native},
    model::{Throughput, Unit},
};

use super::{execute, failure, ids, request};
use crate::support::{TestProject, fixture::Fixture, rbench::PROGRAM};

pub(super) static NATIVE: Fixture = Fixture::of_project("native", TestProject::native);

#[test]
fn listed_benchmarks_give_exactly_the_requested_measurements() {
    let executable = NATIVE.executable("same");
    let ids = ids(&Native, executable);
    assert_eq!(ids[..3], ["sum", "count/64", "count/1024"]);
    assert_eq!(ids.len(), 8);
    for id in ids {
        let execution = execute(&Native, executable, &id, &request(13)).unwrap();
        let series = &execution.series[0];
        assert_eq!(series.values.len(), 13, "{id}");
        assert_eq!(series.metric.unit, Unit::Nanoseconds);
        assert!(series.same_iterations().is_some());
        assert!(execution.warm_up >= Some(Duration::from_millis(5)), "{id}: {execution:?}");
        assert_eq!(execution.asked, request(13));
    }
}

#[test]
fn throughput_is_part_of_the_result() {
    let execution = execute(&Native, NATIVE.executable("same"), "count/64", &request(2)).unwrap();
    assert_eq!(execution.throughput, [Throughput::Bytes(64 * 6)]);
}

/// `diagnose` and `doctor` measure it.
#[test]
fn rbench_itself_is_a_benchmark_as_a_control() {
    let executable = Executable {
        target: "control".to_owned(),
        path: PROGRAM.into(),
        directory: "/".into(),
        ..Executable::default()
    };
    let execution = execute(&Native, &executable, "control", &request(3)).unwrap();
    assert_eq!(execution.series[0].values.len(), 3);
}

#[test]
fn iterations_passed_on_are_reused() {
    let executable = NATIVE.executable("same");
    let tuned = execute(&Native, executable, "sum", &request(3)).unwrap();
    let iterations = tuned.series[0].same_iterations();
    assert!(iterations.unwrap() > 10, "{tuned:?}");
    let again = cargo_rbench::model::ExecutionRequest { iterations: Some(123), ..request(3) };
    let given = execute(&Native, executable, "sum", &again).unwrap();
    assert_eq!(given.series[0].same_iterations(), Some(123));
}

#[test]
fn duplicate_ids_are_listed_twice_and_fail() {
    let executable = NATIVE.executable("bad");
    let twice = ids(&Native, executable).into_iter().filter(|id| id == "twice").count();
    assert_eq!(twice, 2);
    let failure = failure(&Native, executable, "twice").to_string();
    assert!(failure.contains("two benchmarks of this target have this id"), "{failure}");
}

#[test]
fn bad_benchmarks_fail_with_reason_and_last_output() {
    let executable = NATIVE.executable("bad");
    for (id, reason, words) in [
        ("panic", "panicked: no such luck", "panicked at"),
        ("panic while timed", "panicked: in the middle", "panicked at"),
        ("abort", "it was killed by signal 6", ""),
        ("exit with success", "it exited with success but wrote no result", ""),
        ("exit with 3", "it exited with status 3", ""),
        ("never iterates", "it never called `iter`", ""),
        ("missing file", "panicked: cannot read the input", "No such file"),
        ("leaves a child behind and dies", "it was killed by signal 6", ""),
        ("no such benchmark", "an id must be the same in every run", ""),
    ] {
        let text = failure(&Native, executable, id).to_string();
        assert!(text.contains(reason), "{id}: {text}");
        assert!(text.contains(words), "{id}: {text}");
    }
}

#[test]
fn bad_loud_and_untidy_benchmarks_do_no_harm() {
    let executable = NATIVE.executable("bad");
    for id in ["good", "good again", "prints megabytes", "leaves a child behind"] {
        let execution = execute(&Native, executable, id, &request(4)).unwrap();
        assert_eq!(execution.measurements(), 4, "{id}");
    }
}

#[test]
fn invalid_answers_are_reported_by_kind() {
    let executable = NATIVE.executable("raw");
    assert_eq!(ids(&Native, executable).len(), 11);
    for (id, reason) in [
        ("garbage", "not one of rbench-harness"),
        ("nothing", "not one of rbench-harness"),
        ("truncated", "truncated"),
        ("older", "uses protocol 0, but this rbench uses 1"),
        ("newer", "uses protocol 2, but this rbench uses 1"),
        ("zero", "instead of 10"),
        ("no iteration", "instead of 10"),
        ("too few", "it gave 2 measurements instead of 10"),
        ("unknown", "no benchmark of this id"),
    ] {
        let text = failure(&Native, executable, id).to_string();
        assert!(text.contains(reason), "{id}: {text}");
    }
    for (id, reason) in [
        ("zero", "measurement 2 is 0 ns"),
        ("no iteration", "measurement 1 has no iteration"),
        ("centuries", "measurements of 18446744073.7 s in all, but ran for 0."),
        ("no iterations", "which no CPU can do"),
    ] {
        let text = execute(&Native, executable, id, &request(3)).unwrap_err().to_string();
        assert!(text.contains(reason), "{id}: {text}");
    }
}
