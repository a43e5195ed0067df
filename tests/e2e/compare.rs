//! Two versions are measured against each other, and every benchmark gets the verdict it deserves.
//!
//! Changes are thirtyfold, and the minimum stands for an execution, so that no noise can hide them.

use std::io::{BufRead, BufReader};

use crate::support::TestProject;

/// The least that can be judged, and quick.
const QUICK: [&str; 11] =
    ["compare", "--strategy", "relink", "-l", "4", "-m", "1", "-n", "5", "--warm-up", "5"];

/// Two versions of `compared`, the second of which does this many rounds.
fn project(rounds: &str) -> TestProject {
    let project = TestProject::of("compared");
    let harness = concat!(env!("CARGO_MANIFEST_DIR"), "/harness");
    project.replace("Cargo.toml", "../../harness", harness);
    project.commit("Name the harness where it is");
    project.replace("src/lib.rs", "u64 = 1_000", &format!("u64 = {rounds}"));
    project.commit("Change the work");
    project
}

#[test]
fn a_benchmark_with_thirty_times_the_work_regressed_and_is_the_only_one() {
    let project = project("30_000");
    let outcome =
        project.rbench(&[&QUICK[..], &["--format", "json"]].concat()).run().assert_exit(1);
    let report = outcome.json("compare");
    let rows = report["benchmarks"].as_array().unwrap();
    let row = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap();
    assert_eq!(row("changing")["verdict"], "regressed");
    let decisive = row("changing")["measured"]["stages"].as_array().unwrap().last().unwrap();
    let change = decisive["change"]["estimate"].as_f64().unwrap();
    assert!(change > 1.0, "{change}");
    assert_ne!(row("steady")["verdict"], "regressed");
    assert_eq!(decisive["paired"], true);
}

#[test]
fn less_work_is_an_improvement_and_no_failure() {
    let project = project("30");
    let output = project.beside("report.md");
    let arguments = [&QUICK[..], &["--filter", "changing", "--output", output.to_str().unwrap()]];
    let outcome = project.rbench(&arguments.concat()).ok();
    outcome.assert_stdout_has(&["changing: improved", "1 improved"]);
    let markdown = std::fs::read_to_string(output).unwrap();
    assert!(markdown.contains("| `changing` |") && markdown.contains("| improved |"), "{markdown}");
}

#[test]
fn what_is_the_same_machine_code_is_not_measured() {
    let project = project("30_000");
    project.write("README.md", "# Compared\n");
    project.commit("Describe");
    let outcome = project.rbench(&QUICK).ok();
    outcome.assert_stdout_has(&[
        "identical machine code, not measured: changing, steady",
        "2 identical",
    ]);
    assert!(!outcome.stderr().contains("measured"), "{}", outcome.told());
}

#[test]
fn a_benchmark_of_one_version_only_is_listed_and_a_broken_one_does_not_spoil_the_rest() {
    let project = project("30_000");
    project.replace(
        "benches/work.rs",
        "    suite.bench(\"steady\"",
        "    suite.bench(\"new\", |bencher| bencher.iter(compared::steady));\n    suite.bench(\"steady\"",
    );
    project.replace("src/lib.rs", "    rounds(700)", "    panic!(\"the table is missing\")");
    project.commit("Break one, add one");
    let outcome = project.rbench(&[&QUICK[..], &["HEAD~2", "HEAD"]].concat()).run().assert_exit(1);
    outcome.assert_stdout_has(&[
        "added, so there is nothing to compare: new",
        "changing: regressed",
        "steady: failed",
        "the table is missing",
    ]);
}

#[test]
fn an_interrupted_comparison_goes_on_where_it_stopped() {
    let project = project("30_000");
    let slow = without_first(&[&QUICK[..], &["--warm-up", "200"]].concat(), "--warm-up");
    let mut child = project.rbench(&slow).start();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    while !stderr.next().expect("it measures").unwrap().starts_with("measured ") {}
    let id = i32::try_from(child.id()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(id).unwrap(),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let rest: Vec<String> = stderr.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:#?}");
    assert!(rest.iter().any(|line| line.contains("the same command goes on")), "{rest:#?}");

    let other = [&slow[..], &["--seed", "7", "--warm-up", "1"]].concat();
    let other = without_first(&other, "--warm-up");
    let outcome = project.rbench(&other).run().assert_exit(1);
    outcome.assert_stderr_has(&["is not continued, since it had another", "seed: 1, not 7"]);

    let outcome = project.rbench(&slow).run().assert_exit(1);
    outcome.assert_stderr_has(&["going on where an earlier run stopped"]);
    outcome.assert_stdout_has(&["changing: regressed"]);
    let again = project.rbench(&slow).run().assert_exit(1);
    assert!(!again.stderr().contains("going on"), "a finished one is not continued");
}

/// The arguments without the first flag of this name and its value: the last one counts.
fn without_first<'a>(arguments: &[&'a str], flag: &str) -> Vec<&'a str> {
    let at = arguments.iter().position(|argument| *argument == flag).unwrap();
    [&arguments[..at], &arguments[at + 2..]].concat()
}

#[test]
fn a_caller_may_be_stopped_by_what_is_inconclusive_or_by_nothing() {
    let project = project("1_010");
    // Four builds of a change of 1 % cannot show that it is less than a thousandth of that.
    let unsure = [&QUICK[..], &["--min-effect", "0.00001", "--false-alarm-rate", "0.000001"]];
    let unsure = unsure.concat();
    project.rbench(&unsure).ok();
    project.rbench(&[&unsure[..], &["--fail-on", "inconclusive"]].concat()).run().assert_exit(5);

    project.replace("src/lib.rs", "u64 = 1_010", "u64 = 30_000");
    project.commit("Do far more");
    project.rbench(&[&QUICK[..], &["--advisory"]].concat()).ok();
}

#[test]
fn settings_that_make_no_sense_are_refused_before_anything_is_built() {
    let project = project("30_000");
    let outcome = project.rbench(&["compare", "--false-alarm-rate", "5"]).fails_with(2);
    assert!(!outcome.stderr().contains("compiling"), "{}", outcome.told());
}
