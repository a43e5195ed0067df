//! Two versions are judged look by look, and measured further only as far as that is needed.
//!
//! The benchmarks count instead of timing, so that the verdicts do not depend on the machine.

use serde_json::Value;

use crate::support::{TestProject, rbench::Outcome};

/// Little of each execution.
const SHORT: [&str; 7] = [
    "compare",
    "--config",
    "build.strategy=relink",
    "-n",
    "5",
    "--config",
    "experiment.warm-up=1ms",
];

/// Two versions of `counted`, the second of which does thirty times the work in `changing`.
fn project() -> TestProject {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.commit("Change the work");
    project
}

fn compare(project: &TestProject, more: &[&str]) -> Outcome {
    project.rbench(&[&SHORT[..], more, &["--format", "json"]].concat()).run()
}

/// The builds of each stage of a benchmark.
fn builds(report: &Value, id: &str) -> Vec<u64> {
    let rows = report["benchmarks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == id).unwrap();
    let stages = row["stages"].as_array().unwrap();
    stages.iter().map(|stage| stage["base"]["builds"].as_u64().unwrap()).collect()
}

#[test]
fn what_is_decided_after_five_builds_has_no_more_and_what_is_flagged_has_fresh_ones() {
    let project = project();
    let outcome = compare(&project, &["--no-skip", "--min-effect", "50%"]).assert_exit(1);
    outcome.assert_stderr_has(&[
        "2 benchmarks of 2 versions, 5..20 builds × 1 execution × 5 measurements",
        "after 5 builds: 1 of 2 benchmarks done, 1 is measured further",
        "measuring 1 flagged benchmark again on 6 builds with fresh layouts",
    ]);
    let report = outcome.json("compare");
    assert_eq!(report["sample_sizes"]["first_look"], 5);
    assert_eq!(builds(&report, "changing"), [5, 6]);
    assert_eq!(builds(&report, "steady"), [5]);
    // Stored results are judged by the same looks.
    let stored =
        project.rbench(&["compare", "--stored", "--min-effect", "50%", "--format", "json"]);
    let stored = stored.run().assert_exit(1).json("compare");
    assert_eq!([builds(&stored, "changing"), builds(&stored, "steady")], [vec![5, 6], vec![5]]);
    let text = project.rbench(&["compare", "--stored", "--min-effect", "50%"]).run().assert_exit(1);
    text.assert_stdout_has(&["5+6"]);
}

#[test]
fn what_cannot_be_decided_soon_is_given_up_unless_there_is_patience() {
    let project = project();
    let precise = ["--min-effect", "0.00001%", "--filter", "steady", "--no-skip"];
    let report = |more: &[&str]| {
        compare(&project, &[&precise[..], more].concat()).assert_exit(0).json("compare")
    };
    let patient = report(&["--until-decided", "--builds", "3..6"]);
    assert!(matches!(builds(&patient, "steady").as_slice(), [6] | [_, _]), "{patient}");
    assert_eq!(patient["sample_sizes"]["first_look"], 3);
    let fixed = report(&["--builds", "3"]);
    assert_eq!(builds(&fixed, "steady")[0], 3);
    assert_eq!(fixed["sample_sizes"]["first_look"], Value::Null);
}

#[test]
#[ignore = "takes long"]
fn a_budget_ends_after_the_first_look_and_says_what_is_left_open() {
    let project = project();
    let outcome = compare(&project, &["--budget", "1ms", "--no-skip"]).assert_exit(0);
    let report = outcome.json("compare");
    assert_eq!(builds(&report, "changing"), [5]);
    let row = &report["benchmarks"].as_array().unwrap()[0];
    assert_eq!((&row["id"], &row["verdict"]), (&"changing".into(), &"inconclusive".into()));
    assert_eq!(row["reason"]["kind"], "unconfirmed");
    // With time, it is confirmed.
    let outcome = compare(&project, &["--budget", "10min", "--no-skip", "--filter", "changing"]);
    let report = outcome.assert_exit(1).json("compare");
    assert_eq!(builds(&report, "changing"), [5, 6]);
}

#[test]
fn several_benchmarks_can_be_executed_at_once() {
    let project = project();
    let parallel = ["--no-skip", "--parallel", "2", "--builds", "4", "--min-effect", "50%"];
    let report = compare(&project, &parallel).assert_exit(1).json("compare");
    let verdicts = report["benchmarks"].as_array().unwrap().iter().map(|row| &row["verdict"]);
    assert_eq!(verdicts.collect::<Vec<_>>(), ["regressed", "unchanged"]);
    // It is a setting like others: results with it are told apart.
    let show = project.rbench(&["show", "HEAD"]).ok();
    show.assert_stdout_has(&["parallel 2"]);
}
