//! Divan, unchanged.

use cargo_metadata::semver::Version;
use cargo_rbench::{
    harness::{Conditions, Divan, Executable, Harness},
    model::{ExecutionRequest, Name, Outcome, Unit},
    process::Interrupt,
};

use super::{execute, failure, ids, list, outcome, request};
use crate::support::{TestProject, fixture::Fixture};

pub(super) static DIVAN: Fixture = Fixture::of_project("divan", TestProject::divan);

pub(super) fn divan() -> Divan {
    version(21)
}

fn version(patch: u64) -> Divan {
    Divan { version: Version::new(0, 1, patch), is_fork: false }
}

const ODD: &str = "same::inner::a \"name\" │ with bars";

#[test]
fn listed_benchmarks_give_what_the_table_can_show() {
    let executable = DIVAN.executable("same");
    let good = ["same::count::1024", "same::count::64", ODD, "same::sum"];
    assert_eq!(ids(&divan(), executable), good);
    assert_eq!(ids(&version(17), executable), ids(&divan(), executable), "the tree says the same");
    for id in good {
        for (measurements, came) in [(1, 1), (2, 2), (3, 3), (4, 1), (30, 1)] {
            let execution = execute(&divan(), executable, id, &request(measurements)).unwrap();
            let series = &execution.series[0];
            assert_eq!(series.values.len(), came, "{id}");
            assert!(series.values.is_sorted());
            assert_eq!(series.metric.unit, Unit::Nanoseconds);
            assert!(series.resolution > 0.0, "the table has four digits");
        }
    }
}

#[test]
fn odd_names_and_printed_output_do_not_hide_measurements() {
    let executable = DIVAN.executable("names");
    let (newer, older) = (ids(&divan(), executable), ids(&version(17), executable));
    assert_eq!(newer, older, "the tree says the same");
    assert_eq!(newer.len(), 9 + 4 + 3, "{newer:?}");
    assert!(newer.contains(&"names::argument::two\nlines".to_owned()), "{newer:?}");
    for id in newer {
        let execution = execute(&divan(), executable, &id, &with_iterations(7, 3)).unwrap();
        let series = &execution.series[0];
        assert_eq!((series.values.len(), series.same_iterations()), (3, Some(7)), "{id}");
    }
}

#[test]
fn iterations_passed_on_are_reused() {
    for measurements in [3, 50] {
        let again = with_iterations(123, measurements);
        let execution = execute(&divan(), DIVAN.executable("same"), "same::sum", &again).unwrap();
        assert_eq!(execution.series[0].same_iterations(), Some(123));
    }
}

fn with_iterations(iterations: u64, measurements: usize) -> ExecutionRequest {
    ExecutionRequest { iterations: Some(iterations), ..request(measurements) }
}

#[test]
fn request_overrides_the_attributes_of_a_benchmark() {
    let executable = DIVAN.executable("attributes");
    for name in list(&divan(), executable).unwrap() {
        let threads = name.id.ends_with("::threads");
        for (measurements, came) in [(3, if threads { 1 } else { 3 }), (50, 1)] {
            let execution =
                execute(&divan(), executable, &name.id, &with_iterations(20, measurements));
            let series = &execution.unwrap().series[0];
            assert_eq!(
                (series.values.len(), series.same_iterations()),
                (came, Some(20)),
                "{name:?}"
            );
        }
    }
}

#[test]
fn found_iterations_last_long_enough_with_threads_too() {
    for (target, id) in [("attributes", "samples"), ("attributes", "threads"), ("threads", "two")] {
        let id = format!("{target}::{id}");
        for measurements in [1, 50] {
            let asked = ExecutionRequest { iterations: None, ..request(measurements) };
            let found = execute(&divan(), DIVAN.executable(target), &id, &asked).unwrap();
            let series = &found.series[0];
            // Nearly the minimum time is enough.
            let lasted = series.values[0] * series.same_iterations().unwrap() as f64;
            let floor = asked.min_time.as_nanos() as f64;
            assert!(lasted > 0.7 * floor, "{id}: {lasted} ns");
        }
    }
}

#[test]
fn sample_size_chosen_by_the_program_is_used() {
    let executable = DIVAN.executable("stubborn");
    for asked in [request(3), request(50), with_iterations(20, 50)] {
        let execution = execute(&divan(), executable, "stubborn::sum", &asked).unwrap();
        assert_eq!(execution.series[0].same_iterations(), Some(5));
    }
}

#[test]
fn variable_of_the_project_does_not_choose_the_clock() {
    // Divan rejects this value whenever it reads the variable.
    let variables = vec![("DIVAN_TIMER".into(), "no such clock".into())];
    let executable = Executable { variables, ..DIVAN.executable("same").clone() };
    execute(&divan(), &executable, "same::sum", &with_iterations(20, 3)).unwrap();
}

#[test]
fn each_thread_count_is_a_separate_benchmark() {
    let executable = DIVAN.executable("threads");
    for patch in [17, 21] {
        let divan = version(patch);
        let names = list(&divan, executable).unwrap();
        let ids: Vec<_> = names.iter().map(|name| name.id.as_str()).collect();
        let of_args = ["threads::arguments::8/t=1", "threads::arguments::8/t=4"];
        let several = ["threads::several/t=1", "threads::several/t=2"];
        assert_eq!(ids, [&of_args[..], &several, &["threads::two"]].concat());
        for (name, measurements) in names.iter().zip([3, 1, 3, 1, 1]) {
            let outcome = outcome(&divan, executable, name, &request(3)).unwrap();
            let Outcome::Measured(execution) = outcome else { panic!("{name:?} was skipped") };
            let metrics: Vec<_> = execution.series.iter().map(|s| s.metric.name.as_str()).collect();
            assert_eq!((metrics, execution.measurements()), (vec!["wall"], measurements));
        }
    }
}

#[test]
fn listing_runs_no_benchmark_and_needs_no_set_up() {
    let ids = ids(&divan(), DIVAN.executable("bad"));
    let with_threads = ["bad::with_threads/t=1", "bad::with_threads/t=2"];
    assert_eq!(ids, [&["bad::needs_a_file", "bad::panics"][..], &with_threads].concat());
}

#[test]
fn bad_benchmarks_fail_with_their_reasons() {
    for (id, reason) in [
        ("bad::panics", "no such luck"),
        ("bad::needs_a_file", "no such file"),
        ("bad::no such benchmark", "it printed no measurement"),
    ] {
        let text = failure(&divan(), DIVAN.executable("bad"), id).to_string();
        assert!(text.contains(reason), "{id}: {text}");
    }
}

#[test]
fn several_benchmarks_in_one_process_are_rejected() {
    let executable = DIVAN.executable("same");
    let names = ["same::sum", "same::count::64"].map(Name::plain);
    let interrupt = Interrupt::new().unwrap();
    let conditions = Conditions::new(&interrupt);
    let refused = divan().execute_together(executable, &names, &request(3), &conditions);
    let text = refused.unwrap_err().to_string();
    assert!(text.starts_with("cannot execute 2 benchmarks of same together"), "{text}");
    assert!(text.contains("not for divan"), "{text}");
}

#[test]
fn benchmarks_are_observed_together_only_if_all_are_executed() {
    let interrupt = Interrupt::new().unwrap();
    let conditions = Conditions::new(&interrupt);
    let observed = |executable: &Executable, names: &[Name]| {
        let outcome = divan().observe_together(executable, names, &request(1), &conditions);
        matches!(outcome.unwrap(), Outcome::Measured(_))
    };
    let executable = DIVAN.executable("same");
    let all = ["same::count::1024", "same::count::64", ODD, "same::sum"].map(Name::plain);
    assert!(observed(executable, &all));
    assert!(!observed(executable, &[&all[..], &[Name::plain("same::none")]].concat()));
    let threads = DIVAN.executable("threads");
    let several = divan().list(threads, &conditions).unwrap();
    assert!(several.iter().any(|name| name.id.contains("/t=")) && observed(threads, &several));
}
