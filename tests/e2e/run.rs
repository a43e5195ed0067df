//! Versions are measured one by one and kept; a range is filled newest first, and goes on.

use crate::support::{TestProject, rbench::Rbench};

/// The least that can be kept, and quick.
const LITTLE: [&str; 10] =
    ["--strategy", "relink", "-l", "2", "-m", "1", "-n", "3", "--warm-up", "1ms"];

fn run(project: &TestProject, arguments: &[&str]) -> Rbench {
    project.rbench(&[&["run"], arguments, &LITTLE[..]].concat())
}

/// Four versions, the second of which does not compile.
fn project() -> TestProject {
    let project = TestProject::with_harness("compared");
    project.git(&["tag", "base"]);
    project.append("src/lib.rs", "fn broken( {\n");
    project.commit("Break the build");
    project.replace("src/lib.rs", "fn broken( {\n", "");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    project.commit("Repair it and do more");
    project.replace("src/lib.rs", "u64 = 2_000", "u64 = 3_000");
    project.commit("Do still more");
    project
}

#[test]
fn a_range_is_filled_newest_first_and_what_does_not_build_is_kept_as_such() {
    let project = project();
    let first = run(&project, &["base..HEAD"]).ok();
    let lines: Vec<String> = first.stderr().lines().map(str::to_owned).collect();
    let place = |text: &str| {
        let found = lines.iter().position(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("no `{text}` in {}", first.told()))
    };
    assert!(place("1 of 3: ") < place("2 of 3: "));
    assert!(place("2 of 3: ") < place("3 of 3: "));
    first.assert_stderr_has(&["skipped: cannot compile"]);

    let again = run(&project, &["base..HEAD"]).ok();
    again.assert_stderr_has(&["was measured before", "could not be built before"]);
    assert!(!again.stderr().contains("executions"), "{}", again.told());
}

#[test]
fn several_versions_are_measured_in_the_order_in_which_they_are_given() {
    let project = project();
    let outcome = run(&project, &["HEAD~1", "HEAD", "--dry-run"]).ok();
    outcome.assert_stderr_has(&["1 of 2: HEAD~1 (", "2 of 2: HEAD ("]);
}

#[test]
fn steps_take_versions_evenly_spread_over_the_range() {
    let project = project();
    let outcome = run(&project, &["base..HEAD", "--steps", "2", "--dry-run"]).ok();
    outcome.assert_stderr_has(&["1 of 2: ", "2 of 2: "]);
}

#[test]
fn a_range_measures_the_benchmarks_that_have_no_results_yet() {
    let project = project();
    run(&project, &["HEAD~1..HEAD", "--filter", "steady"]).ok();
    let rest = run(&project, &["HEAD~1..HEAD"]).ok();
    rest.assert_stderr_has(&["plan: 1 benchmark of 1 version", "measured 2 of 2 executions"]);
    let again = run(&project, &["HEAD~1..HEAD"]).ok();
    again.assert_stderr_has(&["was measured before"]);
    assert!(!again.stderr().contains("executions"), "{}", again.told());
}

#[test]
fn a_version_is_measured_again_when_it_is_asked_for_by_name() {
    let project = project();
    for _ in 0..2 {
        let outcome = run(&project, &["HEAD"]).ok();
        outcome.assert_stderr_has(&["measured 4 of 4 executions"]);
        outcome.assert_stdout_has(&["changing", "steady"]);
    }
}

#[test]
fn what_a_run_measured_is_shown_to_programs_too() {
    let outcome = run(&project(), &["HEAD", "--format", "json"]).ok();
    let shown = outcome.json("show");
    assert_eq!(shown["benchmarks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_version_that_does_not_build_is_an_error_where_it_is_the_only_one() {
    let outcome = run(&project(), &["HEAD~2"]).fails_with(3);
    outcome.assert_stderr_has(&["cannot compile"]);
}

#[test]
fn a_filter_that_means_nothing_in_any_version_is_an_error() {
    let outcome = run(&project(), &["HEAD~2..HEAD", "--filter", "staedy"]).fails_with(2);
    outcome.assert_stderr_has(&["no benchmark matches", "steady"]);
}

#[test]
fn the_file_gives_a_benchmark_numbers_of_its_own_and_a_first_look_overrides_them() {
    let project = project();
    project.write("bench.toml", "[[benchmark]]\nfilter = 'steady'\nexecutions = 3\n");
    let arguments = ["run", "HEAD", "-l", "2", "-n", "3", "--warm-up", "1ms"];
    let own = project.rbench(&arguments).ok();
    own.assert_stderr_has(&["(1 with numbers of their own)", "of 10 executions"]);
    let quick = project.rbench(&["run", "HEAD", "--quick", "--dry-run"]).ok();
    quick.assert_stderr_has(&["5 builds x 1 executions x 5 measurements"]);
    assert!(!quick.stderr().contains("of their own"), "{}", quick.told());
}
