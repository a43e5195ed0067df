//! Two versions are compared in interim analyses, and only undecided benchmarks are measured
//! further.
//!
//! The benchmarks count instead of timing, so the verdicts do not depend on the machine.

use serde_json::Value;

use crate::support::{TestProject, rbench::Outcome};

/// Few and short measurements per execution.
const SHORT: [&str; 7] = [
    "compare",
    "--config",
    "build.strategy=relink",
    "-n",
    "5",
    "--config",
    "experiment.warm-up=1ms",
];

/// Two versions of `counted`; the second does thirty times the work in `changing`.
fn project() -> TestProject {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.commit("Change the work");
    project
}

fn compare(project: &TestProject, more: &[&str]) -> Outcome {
    project.rbench(&[&SHORT[..], more, &["--format", "json"]].concat()).run()
}

/// The number of builds in each stage of a benchmark.
fn builds(report: &Value, id: &str) -> Vec<u64> {
    let rows = report["benchmarks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == id).unwrap();
    row["builds"].as_array().unwrap().iter().map(|builds| builds.as_u64().unwrap()).collect()
}

#[test]
fn decided_benchmarks_stop_and_flagged_ones_get_fresh_builds() {
    let project = project();
    let outcome = compare(&project, &["--no-skip", "--min-effect", "50%"]).assert_exit(1);
    outcome.assert_stderr_has(&[
        "2 benchmarks of 2 versions, 5..20 builds × 1 execution × 5 measurements",
        "after 5 builds: 1 of 2 benchmarks is measured further",
        "measuring 1 benchmark that seems changed again, on 6 builds with fresh layouts",
    ]);
    let report = outcome.json("compare");
    assert_eq!(report["sample_sizes"]["first_analysis"], 5);
    assert_eq!(builds(&report, "changing"), [5, 6]);
    assert_eq!(builds(&report, "steady"), [5]);
    // Stored results go through the same interim analyses.
    let stored =
        project.rbench(&["compare", "--stored", "--min-effect", "50%", "--format", "json"]);
    let stored = stored.run().assert_exit(1).json("compare");
    assert_eq!([builds(&stored, "changing"), builds(&stored, "steady")], [vec![5, 6], vec![5]]);
    let text = project.rbench(&["compare", "--stored", "--min-effect", "50%"]).run().assert_exit(1);
    text.assert_stdout_has(&["5 + 6 fresh"]);
}

#[test]
fn undecidable_benchmark_stops_early_unless_budget_is_unlimited() {
    let project = project();
    let precise = ["--min-effect", "0.00001%", "--filter", "steady", "--no-skip"];
    let report = |more: &[&str]| {
        compare(&project, &[&precise[..], more].concat()).assert_exit(0).json("compare")
    };
    let patient = report(&["--budget=unlimited", "--builds", "3..6"]);
    assert!(matches!(builds(&patient, "steady").as_slice(), [6] | [_, _]), "{patient}");
    assert_eq!(patient["sample_sizes"]["first_analysis"], 3);
    let fixed = report(&["--builds", "3"]);
    assert_eq!(builds(&fixed, "steady")[0], 3);
    assert_eq!(fixed["sample_sizes"]["first_analysis"], Value::Null);
}

#[test]
#[ignore = "takes long"]
fn budget_ends_after_the_first_analysis_and_lists_the_rest() {
    let project = project();
    let outcome = compare(&project, &["--budget", "1ms", "--no-skip"]).assert_exit(0);
    let report = outcome.json("compare");
    assert_eq!(builds(&report, "changing"), [5]);
    let row = &report["benchmarks"].as_array().unwrap()[0];
    assert_eq!((&row["id"], &row["verdict"]), (&"changing".into(), &"inconclusive".into()));
    assert_eq!(row["reason"]["kind"], "unconfirmed");
    // With more time, it is confirmed.
    let outcome = compare(&project, &["--budget", "10min", "--no-skip", "--filter", "changing"]);
    let report = outcome.assert_exit(1).json("compare");
    assert_eq!(builds(&report, "changing"), [5, 6]);
}
