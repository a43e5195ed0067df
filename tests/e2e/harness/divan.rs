//! Divan, unchanged.

use cargo_metadata::semver::Version;
use cargo_rbench::{
    harness::{Conditions, Divan, Harness},
    model::{Name, Series, Unit},
    process::Interrupt,
};

use super::{asked, execute, failure, ids};
use crate::support::fixture::Fixture;

pub(super) static DIVAN: Fixture = Fixture::new("divan");

pub(super) fn divan() -> Divan {
    Divan { version: Version::new(0, 1, 21) }
}

const ODD: &str = "same::inner::a \"name\" │ with bars";

#[test]
fn every_listed_benchmark_gives_the_measurements_that_the_table_can_show() {
    let executable = DIVAN.executable("same");
    let good = ["same::count::1024", "same::count::64", ODD, "same::sum"];
    assert_eq!(ids(&divan(), executable), good);
    let older = Divan { version: Version::new(0, 1, 17) };
    assert_eq!(ids(&older, executable), ids(&divan(), executable), "the tree says the same");
    for id in good {
        for (measurements, came) in [(1, 1), (2, 2), (3, 3), (30, 3)] {
            let execution = execute(&divan(), executable, id, &asked(measurements)).unwrap();
            let series = &execution.series[0];
            assert_eq!(series.values.len(), came, "{id}");
            assert!(series.values.is_sorted());
            assert_eq!(series.metric.unit, Unit::Nanoseconds);
        }
    }
}

#[test]
fn iterations_that_are_handed_on_are_used_again() {
    let again = cargo_rbench::model::ExecutionRequest { iterations: Some(123), ..asked(3) };
    let execution = execute(&divan(), DIVAN.executable("same"), "same::sum", &again).unwrap();
    assert_eq!(execution.series[0].same_iterations(), Some(123));
}

#[test]
fn each_number_of_threads_is_a_metric_of_its_own() {
    let executable = DIVAN.executable("threads");
    assert_eq!(ids(&divan(), executable), ["threads::several", "threads::two"]);
    let metrics = |id| {
        let execution = execute(&divan(), executable, id, &asked(3)).unwrap();
        let shown = |series: &Series| (series.metric.name.clone(), series.values.len());
        execution.series.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(
        metrics("threads::several"),
        [("wall t=1".to_owned(), 3), ("wall t=2".to_owned(), 1)]
    );
    assert_eq!(metrics("threads::two"), [("wall".to_owned(), 1)]);
}

#[test]
fn each_bad_benchmark_fails_with_its_reason() {
    for (id, reason) in
        [("bad::panics", "no such luck"), ("bad::no such benchmark", "it printed no measurement")]
    {
        let text = failure(&divan(), DIVAN.executable("bad"), id).to_string();
        assert!(text.contains(reason), "{id}: {text}");
    }
}

#[test]
fn several_benchmarks_in_one_process_are_refused() {
    let executable = DIVAN.executable("same");
    let names = ["same::sum", "same::count::64"].map(Name::plain);
    let interrupt = Interrupt::new().unwrap();
    let conditions = Conditions { interrupt: &interrupt, deadline: None, cpu: None };
    let refused = divan().execute_together(executable, &names, &asked(3), &conditions);
    let text = refused.unwrap_err().to_string();
    assert!(text.starts_with("cannot execute 2 benchmarks of same together"), "{text}");
    assert!(text.contains("not for divan"), "{text}");
}
