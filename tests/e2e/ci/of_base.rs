//! A change does not set the limits that it has to keep: in a job, the settings of the base decide.

use serde_json::Value;

use super::{Job, branches, commit};
use crate::support::{QUICK, TestProject, rbench::Outcome};

/// Accepts any slowdown by these commits.
fn accept(project: &TestProject, commit: &str, base: &str) {
    project.write(
        ".rbench/accepted.toml",
        &format!(
            "[[accepted]]\npackage = \"counted\"\nbench = \"work\"\nbenchmark = \"changing\"\n\
             metric = \"wall\"\ncommit = \"{commit}\"\nbase = \"{base}\"\nchange = \"900%\"\n\
             ceiling = \"any size\"\nreason = \"none\"\n"
        ),
    );
}

/// Loosens every criterion, on the branch that gets slower.
fn loosen(project: &TestProject) {
    let slow = commit(project, "topic");
    let base = commit(project, "main~1");
    let loose = "[verdict]\nmin-effect = \"9000%\"\n\n[[benchmark]]\nfilter = \"\"\nmin-effect = \"9000%\"\n";
    project.write("bench.toml", loose);
    accept(project, &slow, &base);
    project.commit("Loosen");
}

/// What was printed, without line breaks.
fn words(outcome: &Outcome) -> String {
    outcome.stdout().split_whitespace().collect::<Vec<_>>().join(" ")
}

const DIFFERING: &str = "benchmark.min-effect, verdict.min-effect, .rbench/accepted.toml";

#[test]
fn head_that_loosens_its_criteria_is_judged_by_those_of_the_base() {
    let project = TestProject::of("counted");
    branches(&project);
    loosen(&project);
    let job = Job::of_request(&project, "loosened");
    let outcome = job.ci(&QUICK).run().assert_exit(1);
    let first = "warning: settings of the base decide; those of the head differ in ";
    let expected = format!("{first}{DIFFERING}, and decide once merged");
    assert!(words(&outcome).contains(&expected), "{}", outcome.printed());
    let document: Value = serde_json::from_str(&job.read("report/compare.json")).unwrap();
    let warning = &document["warnings"][0];
    assert_eq!(warning["kind"], "settings_of_base");
    assert_eq!(warning["differing"].as_array().unwrap().len(), 3);
    assert_eq!(document["criteria"]["min_effect"], 0.01);
    for page in
        [job.read("summary.md"), job.read("report/report.md"), job.read("report/report.html")]
    {
        let [warning, row] = ["settings of the base decide", "changing"].map(|text| {
            let text = text.to_lowercase();
            page.to_lowercase().find(&text).unwrap_or_else(|| panic!("no {text}: {page}"))
        });
        assert!(warning < row, "{page}");
    }
    assert!(job.read("report/report.md").contains("it counts once the base has it"));
    // The same for `compare` in a job; at the desk, the working tree's criteria are tried.
    let stored = ["compare", "main~1", "topic", "--stored"];
    let outcome = project.rbench(&stored).env("CI", "true").run().assert_exit(1);
    assert!(words(&outcome).contains(DIFFERING), "{}", outcome.printed());
    let outcome = project.rbench(&stored).ok();
    assert!(!outcome.stdout().contains("settings of the base"), "{}", outcome.printed());
}

#[test]
fn head_without_other_criteria_gives_no_warning() {
    let project = super::compared();
    let job = Job::of_request(&project, "same criteria");
    job.ci(&["--stored"]).run().assert_exit(1);
    assert!(!job.read("report/compare.json").contains("settings_of_base"));
}

#[test]
fn base_with_an_unusable_file_gives_the_defaults() {
    let project = TestProject::of("counted");
    project.write("bench.toml", "[verdict]\nmin_effect = 7\n");
    project.commit("Break it");
    branches(&project);
    project.write("bench.toml", "[verdict]\nmin-effect = \"9000%\"\n");
    project.commit("Repair it");
    let job = Job::of_request(&project, "repaired");
    let outcome = job.ci(&QUICK).run().assert_exit(1);
    outcome.assert_stderr_has(&["cannot use bench.toml", "min_effect"]);
    let expected =
        "the base has no usable bench.toml; those of the head differ in verdict.min-effect";
    assert!(words(&outcome).contains(expected), "{}", outcome.printed());
}

#[test]
fn slowdown_that_the_target_branch_accepts_passes() {
    let project = TestProject::of("counted");
    branches(&project);
    let [slow, base] = ["topic", "main~1"].map(|revision| commit(&project, revision));
    project.git(&["checkout", "--quiet", "main"]);
    accept(&project, &slow, &base);
    project.commit("Accept");
    project.git(&["checkout", "--quiet", "topic"]);
    project.git(&["merge", "--quiet", "--no-edit", "main"]);
    let job = Job::of_request(&project, "accepted");
    job.ci(&QUICK).ok().assert_stdout_has(&["1 accepted"]);
    assert!(!job.read("report/compare.json").contains("settings_of_base"));
}
