//! Jobs of GitLab.

use std::fs;

use super::{commit, compared};
use crate::support::api::Api;

#[test]
fn merge_request_gets_a_note_and_a_junit_report() {
    let project = compared();
    let api = Api::start();
    api.token_of("bench-bot");
    let directory = project.beside("gitlab");
    let [base, head] = ["main~1", "topic"].map(|revision| commit(&project, revision));
    let ci = |words: &[&str]| {
        let place = ["ci", "--stored", "--output-dir", directory.to_str().unwrap()];
        project
            .rbench(&[&place, words].concat())
            .env("GITLAB_CI", "true")
            .env("CI_PROJECT_ID", "12")
            .env("CI_API_V4_URL", &api.address)
            .env("CI_MERGE_REQUEST_IID", "3")
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base)
            .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")
            .env("CI_COMMIT_SHA", &head)
            .env("CI_JOB_URL", "https://gitlab.example.com/a/b/-/jobs/9")
    };
    let silent = ci(&[]).run().assert_exit(1);
    silent
        .assert_stderr_has(&["there is no comment, since RBENCH_TOKEN or GITLAB_TOKEN is not set"]);
    assert!(api.asked().is_empty());

    for _ in 0..2 {
        let outcome = ci(&[]).env("GITLAB_TOKEN", "glpat").run().assert_exit(1);
        assert!(!outcome.stdout().contains("::"), "GitLab has no commands\n{}", outcome.printed());
    }
    let notes = "/projects/12/merge_requests/3/notes";
    let (post, put) = (format!("POST {notes}"), format!("PUT {notes}/1"));
    assert_eq!(api.changes(), [post, put.clone(), put]);
    assert!(api.comments()[0].body.contains("jobs/9"), "{}", api.comments()[0].body);
    assert!(api.asked().iter().all(|asked| asked.token == "glpat"));

    let junit = fs::read_to_string(directory.join("junit.xml")).unwrap();
    assert_eq!(junit.matches("<failure").count(), 1, "{junit}");
}
