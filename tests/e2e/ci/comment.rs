//! The comment for the request of a fork, by a job that has no checkout and believes nothing.

use std::fs;

use serde_json::{Value, json};

use super::{Job, commit, compared};
use crate::support::{TestProject, rbench::Rbench};

/// The event of a run that follows that of a fork.
fn followed(head: &str) -> Value {
    json!({ "workflow_run": {
        "head_sha": head,
        "event": "pull_request",
        "head_branch": "topic",
        "head_repository": { "owner": { "login": "stranger" } },
    } })
}

/// What the first job left: its comparison, and the commit.
fn artifact(name: &str) -> (Value, String) {
    let project = compared();
    let job = Job::of_request(&project, name);
    job.ci(&["--stored", "--no-comment"]).run().assert_exit(1);
    assert!(job.api.asked().is_empty());
    let document = serde_json::from_str(&job.read("report/compare.json")).unwrap();
    (document, commit(&project, "topic"))
}

/// `ci comment` in an empty directory, for this comparison.
fn comment(job: &Job<'_>, document: &Value) -> Rbench {
    let path = job.path("compare.json");
    fs::write(&path, document.to_string()).unwrap();
    let words = ["ci", "comment", "--from", path.to_str().unwrap()];
    job.with_variables(job.project.rbench(&words))
}

#[test]
fn a_comment_is_written_for_a_fork_without_a_checkout() {
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
fn a_comparison_of_another_commit_is_refused() {
    let (mut document, head) = artifact("of another");
    document["head"]["commit"] = json!("d".repeat(40));
    let nowhere = TestProject::bare("no repository");
    let job = Job::new(&nowhere, "refuses", &followed(&head));
    job.api.add_pull(12, &head);
    let outcome = comment(&job, &document).fails_with(2);
    outcome.assert_stderr_has(&["the comparison is about another commit"]);
    assert!(job.api.asked().is_empty());
}

#[test]
fn a_request_that_went_on_or_was_closed_has_no_comment() {
    let (document, head) = artifact("of the past");
    let nowhere = TestProject::bare("no repository");
    let job = Job::new(&nowhere, "late", &followed(&head));
    job.api.add_pull(12, "newer");
    let outcome = comment(&job, &document).ok();
    outcome.assert_stderr_has(&["no open pull request has the commit"]);
    assert!(job.api.changes().is_empty());
}

#[test]
fn what_a_fork_wrote_is_shown_as_text() {
    let (mut document, head) = artifact("of a stranger");
    let hostile = "@everyone Fixes #1 <img src=x> [a](https://evil.example) `|\n::error::x";
    document["benchmarks"][0]["id"] = json!(hostile);
    document["warnings"] = json!([{ "kind": "load", "text": hostile, "value": null }]);
    let nowhere = TestProject::bare("no repository");
    let job = Job::new(&nowhere, "hostile", &followed(&head));
    job.api.add_pull(12, &head);
    comment(&job, &document).ok();
    let body = job.api.comments()[0].body.clone();
    let row = body.lines().find(|line| line.contains("@everyone")).unwrap();
    assert!(row.starts_with("| `` @everyone Fixes #1 <img"), "{body}");
    // Nothing of it is printed, where the runner could take it for a command.
    for text in ["<b>x", "x\n::error::x", "##[error]x"] {
        document["benchmarks"][0]["verdict"] = json!(text);
        let outcome = comment(&job, &document).fails_with(2);
        outcome.assert_stderr_has(&["this is no comparison of rbench", "it has another form"]);
        assert!(!outcome.told().contains(text), "{}", outcome.told());
        assert!(outcome.stdout().starts_with("::stop-commands::"), "{}", outcome.told());
    }
    fs::write(job.path("compare.json"), "{").unwrap();
}

#[test]
fn a_commit_of_two_pull_requests_has_no_comment() {
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
fn an_old_comment_is_stale_while_a_fork_is_compared_and_says_if_it_was_not_compared() {
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
    job.api.add("workflow[bot]", true, old);
    ci(&["--stale"]);
    let body = || job.api.comments()[0].body.clone();
    assert!(
        body().contains("**Stale:** the benchmarks of ddddddd are being compared"),
        "{}",
        body()
    );
    ci(&["--from", "nothing.json"]);
    assert!(body().contains("### Benchmarks: not compared"), "{}", body());
    assert!(body().contains("it left no nothing.json"), "{}", body());
}
