//! Missing history of a clone is fetched, or the error names the line to change.

use std::fs;

use serde_json::json;

use super::{Job, branches, commit, pull_request};
use crate::support::{QUICK, TestProject};

/// A shallow clone of a project with branches that has only the head, as in a CI job.
fn shallow(project: &TestProject) -> TestProject {
    let clone = TestProject::bare("a shallow clone");
    let from = format!("file://{}", project.root().display());
    project.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    clone.git(&["clone", "--quiet", "--depth", "1", "--branch", "topic", &from, "."]);
    clone
}

#[test]
fn shallow_clone_is_deepened_to_the_merge_base() {
    let project = TestProject::of("counted");
    branches(&project);
    let [base, head] = ["main", "topic"].map(|branch| commit(&project, branch));
    let clone = shallow(&project);
    let job = Job::new(&clone, "shallow", &pull_request(&base, &head));
    let outcome = job.ci(&[&QUICK[..], &["--dry-run"]].concat()).ok();
    let merge_base = commit(&project, "main~1");
    outcome.assert_stderr_has(&["git fetch --no-tags --deepen=50", &format!("with {merge_base}")]);
    // Nothing but history was fetched.
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    assert_eq!(clone.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn older_merged_commit_is_not_taken_for_the_merge_base() {
    let project = TestProject::of("counted");
    let old = commit(&project, "main");
    project.write("notes.txt", "none yet");
    project.commit("Begin notes");
    branches(&project);
    for branch in ["main", "topic"] {
        let tree = format!("{branch}^{{tree}}");
        let merge =
            project.git(&["commit-tree", &tree, "-p", branch, "-p", &old, "-m", "Merge again"]);
        project.git(&["update-ref", &format!("refs/heads/{branch}"), &merge]);
    }
    let clone = shallow(&project);
    let tracked = "+refs/heads/main:refs/remotes/origin/main";
    clone.git(&["fetch", "--quiet", "--depth", "2", "origin", tracked, "topic"]);
    assert_eq!(clone.git(&["merge-base", "origin/main", "HEAD"]), old, "as far as it has them");
    let [base, head] = ["main", "topic"].map(|branch| commit(&project, branch));
    let job = Job::new(&clone, "merged twice", &pull_request(&base, &head));
    let outcome = job.ci(&[&QUICK[..], &["--dry-run"]].concat()).ok();
    let merge_base = commit(&project, "main~2");
    outcome.assert_stderr_has(&["git fetch --no-tags --deepen=50", &format!("with {merge_base}")]);
}

#[test]
fn failed_deepening_reports_the_line_to_change() {
    let project = TestProject::of("counted");
    branches(&project);
    let [base, head] = ["main", "topic"].map(|branch| commit(&project, branch));
    let clone = shallow(&project);
    clone.git(&["remote", "set-url", "origin", "/nowhere"]);
    let job = Job::new(&clone, "stuck", &pull_request(&base, &head));
    let outcome = job.ci(&QUICK).fails_with(2);
    outcome.assert_stderr_has(&["the clone is shallow", "set `fetch-depth: 0` under `with:`"]);
    assert!(fs::read_to_string(job.path("output.txt")).unwrap().contains("exit-code=2"));
}

#[test]
fn commit_before_a_push_is_fetched() {
    let project = TestProject::of("counted");
    branches(&project);
    let [before, after] = ["topic~1", "topic"].map(|revision| commit(&project, revision));
    let clone = shallow(&project);
    let event = json!({ "before": before, "after": after });
    let job = Job::new(&clone, "push", &event);
    let outcome = job.ci(&[&QUICK[..], &["--dry-run"]].concat()).ok();
    outcome.assert_stderr_has(&[&format!("comparing {after} with {before}")]);
}

#[test]
fn event_without_an_earlier_commit_needs_a_flag() {
    let project = TestProject::of("counted");
    branches(&project);
    let job = Job::new(&project, "schedule", &json!({ "schedule": "0 0 * * *" }));
    let outcome = job.ci(&QUICK).fails_with(2);
    outcome.assert_stderr_has(&["the version to compare with is unknown", "--base REV"]);
    let words = [&QUICK[..], &["--base", "main", "--head", "topic", "--dry-run"]].concat();
    job.ci(&words).ok().assert_stderr_has(&["comparing topic with main"]);
}

#[test]
fn flags_suffice_without_a_service() {
    let project = super::compared();
    let directory = project.beside("flags");
    let words = ["ci", "--stored", "--base", "main~1", "--head", "topic", "--output-dir"];
    let words = [&words[..], &[directory.to_str().unwrap()]].concat();
    let outcome = project.rbench(&words).run().assert_exit(1);
    assert!(!outcome.stdout().contains("::"), "{}", outcome.printed());
    assert!(directory.join("junit.xml").exists());
}

#[test]
fn privileged_job_for_forks_is_rejected_at_once() {
    let project = super::compared();
    let [base, head] = ["main", "topic"].map(|branch| commit(&project, branch));
    let job = Job::new(&project, "privileged", &pull_request(&base, &head));
    let outcome =
        job.ci(&["--stored"]).env("GITHUB_EVENT_NAME", "pull_request_target").fails_with(2);
    outcome.assert_stderr_has(&["runs no benchmarks", "the code of a fork"]);
    assert!(job.api.asked().is_empty());
}

#[test]
fn revision_that_looks_like_an_option_is_none() {
    let project = TestProject::of("counted");
    branches(&project);
    let [base, head] = ["main", "topic"].map(|branch| commit(&project, branch));
    let clone = shallow(&project);
    let job = Job::new(&clone, "option", &pull_request(&base, &head));
    let made = project.beside("made");
    let revision = format!("--head=--upload-pack=touch {};", made.display());
    job.ci(&[&revision]).fails_with(2).assert_stderr_has(&["cannot fetch the history"]);
    assert!(!made.exists(), "git ran it");
}
