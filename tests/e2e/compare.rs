//! Two versions are measured against each other, and every benchmark gets the verdict it deserves.
//!
//! Changes are thirtyfold, and the minimum stands for an execution, so that no noise can hide them.

use std::io::{BufRead, BufReader};

use crate::support::TestProject;

/// The least that can be judged.
const SHORT: [&str; 9] = ["compare", "--strategy", "relink", "-l", "4", "-m", "1", "-n", "5"];

/// The same, and quick.
const QUICK: [&str; 11] =
    ["compare", "--strategy", "relink", "-l", "4", "-m", "1", "-n", "5", "--warm-up", "5ms"];

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
    let change = &row("changing")["change"];
    assert!(change["estimate"].as_f64().unwrap() > 1.0, "{change}");
    assert_eq!(change["paired"], true);
    assert_ne!(row("steady")["verdict"], "regressed");
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
        "): new",
        "changing: regressed",
        "steady: failed",
        "the table is missing",
    ]);
}

/// Starts a comparison and interrupts it once it measures; the rest of what it printed.
fn interrupted(project: &TestProject, arguments: &[&str]) -> Vec<String> {
    let mut child = project.rbench(arguments).start();
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
    rest
}

#[test]
fn an_interrupted_comparison_is_resumed_by_the_same_command() {
    let project = project("30_000");
    let slow = [&SHORT[..], &["--warm-up", "200ms"]].concat();
    let rest = interrupted(&project, &slow);
    assert!(rest.iter().any(|line| line.contains("same command again to resume")), "{rest:#?}");

    let other = [&SHORT[..], &["--seed", "7", "--warm-up", "1ms"]].concat();
    let outcome = project.rbench(&other).run().assert_exit(1);
    outcome.assert_stderr_has(&["is not resumed, since it differs", "seed: 1, not 7"]);

    let outcome = project.rbench(&slow).run().assert_exit(1);
    outcome.assert_stderr_has(&["resuming an interrupted run, after"]);
    outcome.assert_stdout_has(&["changing: regressed"]);
    let again = project.rbench(&slow).run().assert_exit(1);
    assert!(!again.stderr().contains("resum"), "a finished one is not continued");
}

#[test]
fn a_filtered_comparison_neither_continues_nor_finishes_an_interrupted_full_one() {
    let project = project("30_000");
    let slow = [&SHORT[..], &["--warm-up", "200ms"]].concat();
    interrupted(&project, &slow);
    let filtered = [&slow[..], &["--filter", "steady"]].concat();
    let outcome = project.rbench(&filtered).ok();
    outcome.assert_stderr_has(&["measured 8 of 8 executions", "number of benchmarks: 2, not 1"]);
    let outcome = project.rbench(&slow).run().assert_exit(1);
    outcome.assert_stderr_has(&["resuming an interrupted run, after"]);
}

#[test]
fn each_comparison_confirms_on_layouts_that_no_other_has_met() {
    let project = project("30_000");
    let filtered = [&QUICK[..], &["--filter", "changing"]].concat();
    let fresh = || {
        let outcome = project.rbench(&filtered).run().assert_exit(1);
        let line = outcome.stderr();
        let line = line.lines().find(|line| line.contains("with fresh layouts")).unwrap();
        line.to_owned()
    };
    assert_ne!(fresh(), fresh());
}

#[test]
fn a_failed_benchmark_fails_the_comparison_of_what_is_stored_too() {
    let project = project("1_000");
    project.replace("src/lib.rs", "    rounds(700)", "    panic!(\"the table is missing\")");
    project.commit("Break one");
    let steady = [&QUICK[..], &["--filter", "steady"]].concat();
    project.rbench(&steady).run().assert_exit(4);
    let stored = project.rbench(&["compare", "--stored"]).run().assert_exit(4);
    stored.assert_stdout_has(&["steady: failed", "the table is missing"]);
}

#[test]
fn a_caller_may_be_stopped_by_what_is_inconclusive_or_by_nothing() {
    let project = project("1_010");
    // Four builds of a change of 1 % cannot show that it is less than a thousandth of that.
    let unsure = [&QUICK[..], &["--min-effect", "0.001%", "--false-alarm-rate", "0.0001%"]];
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
