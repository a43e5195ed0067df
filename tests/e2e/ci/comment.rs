//! The comment on a fork's pull request, by a job that has no checkout and trusts no input.

use std::fs;

use serde_json::{Value, json};

use super::{Job, commit, compared};
use crate::support::{TestProject, rbench::Rbench};

/// The event of a workflow run that follows that of a fork.
fn followed(head: &str) -> Value {
    json!({ "workflow_run": {
        "head_sha": head,
        "event": "pull_request",
        "head_branch": "topic",
        "head_repository": { "owner": { "login": "stranger" } },
    } })
}

/// The artifact of the first job: its comparison and the commit.
fn artifact(name: &str) -> (Value, String) {
    let project = compared();
    let job = Job::of_request(&project, name);
    job.ci(&["--stored", "--no-comment"]).run().assert_exit(1);
    assert!(job.api.asked().is_empty());
    let document = serde_json::from_str(&job.read("report/compare.json")).unwrap();
    (document, commit(&project, "topic"))
}

/// Prepares `ci comment` for this comparison, in an empty directory.
fn comment(job: &Job<'_>, document: &Value) -> Rbench {
    let path = job.path("compare.json");
    fs::write(&path, document.to_string()).unwrap();
    let words = ["ci", "comment", "--from", path.to_str().unwrap()];
    job.with_variables(job.project.rbench(&words))
}

#[test]
fn comment_for_a_fork_needs_no_checkout() {
    let (document, head) = artifact("of a fork");
    let nowhere = TestProject::bare("no repository");
    let job = Job::new(&nowhere, "follows", &followed(&head));
    job.api.add_pull(11, "another");
    job.api.add_pull(12, &head);
    comment(&job, &document).ok();
    assert_eq!(job.api.changes(), ["POST /repos/owner/name/issues/12/comments"]);
    assert!(job.api.comments()[0].body.contains("### Benchmarks: regressed"));
    assert!(job.api.asked()[0].path.contains("head=stranger:topic"));
}

#[test]
fn comparison_of_another_commit_is_rejected() {
    let (mut document, head) = artifact("of another");
    document["head"]["commit"] = json!("d".repeat(40));
    let nowhere = TestProject::bare("no repository");
    let job = Job::new(&nowhere, "refuses", &followed(&head));
    job.api.add_pull(12, &head);
    let outcome = comment(&job, &document).fails_with(2);
    outcome.assert_stderr_has(&["the comparison is of another commit"]);
    assert!(job.api.asked().is_empty());
}

#[test]
fn outdated_or_closed_request_gets_no_comment() {
    let (document, head) = artifact("of the past");
    let nowhere = TestProject::bare("no repository");
    let job = Job::new(&nowhere, "late", &followed(&head));
    job.api.add_pull(12, "newer");
    let outcome = comment(&job, &document).ok();
    outcome.assert_stderr_has(&["no open pull request has the commit"]);
    assert!(job.api.changes().is_empty());
}

#[test]
fn text_from_a_fork_is_escaped() {
    let (mut document, head) = artifact("of a stranger");
    let hostile = "@everyone Fixes #1 <img src=x> [a](https://evil.example) `|\n::error::x";
    document["benchmarks"][0]["id"] = json!(hostile);
    document["warnings"] = json!([{ "kind": "battery", "text": hostile }]);
    let nowhere = TestProject::bare("no repository");
    let job = Job::new(&nowhere, "hostile", &followed(&head));
    job.api.add_pull(12, &head);
    comment(&job, &document).ok();
    let body = job.api.comments()[0].body.clone();
    let row = body.lines().find(|line| line.contains("@everyone")).unwrap();
    assert!(row.starts_with("| `` @everyone Fixes #1 <img"), "{body}");
    // None of it is printed, because the runner could take it for a command.
    for text in ["<b>x", "x\n::error::x", "##[error]x"] {
        document["benchmarks"][0]["verdict"] = json!(text);
        let outcome = comment(&job, &document).fails_with(2);
        outcome.assert_stderr_has(&[
            "this is not a comparison by rbench",
            "it has a different structure",
        ]);
        assert!(!outcome.printed().contains(text), "{}", outcome.printed());
        assert!(outcome.stdout().starts_with("::stop-commands::"), "{}", outcome.printed());
    }
    fs::write(job.path("compare.json"), "{").unwrap();
}

#[test]
fn commit_of_two_pull_requests_gets_no_comment() {
    let (document, head) = artifact("of two");
    let nowhere = TestProject::bare("no repository");
    let job = Job::new(&nowhere, "twice", &followed(&head));
    job.api.add_pull(11, &head);
    job.api.add_pull(12, &head);
    let outcome = comment(&job, &document).ok();
    outcome.assert_stderr_has(&["more than one open pull request has the commit"]);
    assert!(job.api.changes().is_empty());
}

#[test]
fn comment_is_stale_during_a_fork_run_and_reports_its_failure() {
    let nowhere = TestProject::bare("no repository");
    let head = "d".repeat(40);
    let job = Job::new(&nowhere, "not compared", &followed(&head));
    job.api.add_pull(12, &head);
    let ci = |words: &[&str]| {
        job.with_variables(nowhere.rbench(&[&["ci", "comment"], words].concat())).ok()
    };
    ci(&["--stale"]);
    ci(&["--from", "nothing.json"]);
    assert!(job.api.changes().is_empty(), "there is none yet");

    let old = "<!-- cargo-rbench comment: default -->\n### Benchmarks: unchanged\n";
    job.api.add("github-actions[bot]", true, old);
    ci(&["--stale"]);
    let body = || job.api.comments()[0].body.clone();
    assert!(
        body().contains("**Stale:** the benchmarks of ddddddd are being compared"),
        "{}",
        body()
    );
    ci(&["--from", "nothing.json"]);
    assert!(body().contains("### Benchmarks: not compared"), "{}", body());
    assert!(body().contains("it did not write nothing.json"), "{}", body());
}
