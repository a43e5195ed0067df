//! Environments of CI services.

use super::super::{Base, CiEnvironment, Event, Provider};
use crate::error::Result;

fn commit(digit: char) -> String {
    digit.to_string().repeat(40)
}

fn read(provider: Provider, variables: &[(&str, &str)], event: &str) -> Result<CiEnvironment> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let event = (!event.is_empty()).then(|| Event::parse(event)).transpose()?;
    CiEnvironment::read(provider, variable, event)
}

fn github(event: &str) -> CiEnvironment {
    let variables = [
        ("GITHUB_REPOSITORY", "owner/name"),
        ("GITHUB_SHA", "cccccccccccccccccccccccccccccccccccccccc"),
        ("GITHUB_API_URL", "https://api.github.com"),
        ("GITHUB_SERVER_URL", "https://github.com"),
        ("GITHUB_RUN_ID", "5"),
        ("GITHUB_REF_NAME", "topic"),
        ("GITHUB_OUTPUT", ""),
    ];
    read(Provider::Github, &variables, event).unwrap()
}

#[test]
fn provider_is_detected_by_its_variable() {
    let detect = |name: &str| Provider::detect(|asked| (asked == name).then(|| "true".to_owned()));
    assert_eq!(detect("GITHUB_ACTIONS"), Provider::Github);
    assert_eq!(detect("GITLAB_CI"), Provider::Gitlab);
    assert_eq!(detect("CI"), Provider::None);
}

#[test]
fn pull_request_has_the_merge_base_of_its_target() {
    let (base, head) = (commit('a'), commit('b'));
    let event = format!(
        r#"{{"action":"synchronize","before":"{base}","pull_request":{{"number":7,"head":{{"sha":"{head}",
            "ref":"topic"}},"base":{{"sha":"{base}","ref":"main"}}}}}}"#
    );
    let it = github(&event);
    assert_eq!((it.request, it.head), (Some(7), Some(head)));
    assert_eq!(it.base, Base::MergeBase { branch: "main".to_owned(), tip: Some(base) });
    assert_eq!((it.project.as_deref(), it.outputs), (Some("owner/name"), None));
    assert_eq!(it.links.text(), " ([run](<https://github.com/owner/name/actions/runs/5>))");
}

#[test]
fn push_has_the_commit_before_it_as_base() {
    let (before, after) = (commit('a'), commit('b'));
    let push = |before: &str| {
        let event = format!(
            r#"{{"before":"{before}","after":"{after}","repository":{{"default_branch":"main"}}}}"#
        );
        github(&event)
    };
    assert_eq!(push(&before).base, Base::Commit(before.clone()));
    assert_eq!(push(&before).head, Some(after.clone()));
    // A new branch.
    let of_default = Base::MergeBase { branch: "main".to_owned(), tip: None };
    assert_eq!(push(&commit('0')).base, of_default);
}

#[test]
fn forced_push_of_a_topic_has_the_point_where_it_left_the_default_branch_as_base() {
    let (before, after) = (commit('a'), commit('b'));
    let base = |default: &str, forced: bool| {
        let event = format!(
            r#"{{"before":"{before}","after":"{after}","forced":{forced},
                "repository":{{"default_branch":"{default}"}}}}"#
        );
        github(&event).base
    };
    let of_main = Base::MergeBase { branch: "main".to_owned(), tip: None };
    assert_eq!(base("main", true), of_main);
    let earlier = Base::Commit(before.clone());
    // The branch of the job is `topic`.
    for (default, forced) in [("main", false), ("topic", true)] {
        assert_eq!(base(default, forced), earlier);
    }
}

#[test]
fn merge_queue_and_schedule_have_different_bases() {
    let (base, head) = (commit('a'), commit('b'));
    let queue =
        github(&format!(r#"{{"merge_group":{{"base_sha":"{base}","head_sha":"{head}"}}}}"#));
    assert_eq!((queue.base, queue.head), (Base::Commit(base), Some(head)));
    let schedule = github("{}");
    assert_eq!((schedule.base, schedule.head), (Base::Unknown, Some(commit('c'))));
}

#[test]
fn following_job_is_about_the_commit_of_the_first() {
    let head = commit('b');
    let it = github(&format!(
        r#"{{"workflow_run":{{"head_sha":"{head}","head_branch":"topic",
            "head_repository":{{"owner":{{"login":"stranger"}}}}}}}}"#
    ));
    assert_eq!((it.head_sha(), it.request), (Some(head.as_str()), None));
    assert_eq!(it.branch(), Some(("stranger", "topic")));
}

#[test]
fn privileged_job_runs_no_code_of_forks() {
    let may_run = |event: &str| {
        let variables = [("GITHUB_EVENT_NAME", event)];
        read(Provider::Github, &variables, "").unwrap().may_run(true).is_ok()
    };
    assert!(may_run("pull_request") && may_run("push"));
    assert!(!may_run("pull_request_target") && !may_run("workflow_run"));
}

#[test]
fn merge_request_of_a_fork_runs_without_a_token_only() {
    let may_run = |source: &str, has_token: bool| {
        let variables = [("CI_PROJECT_ID", "12"), ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", source)];
        read(Provider::Gitlab, &variables, "").unwrap().may_run(has_token).is_ok()
    };
    assert!(may_run("12", true) && may_run("", true) && may_run("13", false));
    assert!(!may_run("13", true));
}

#[test]
fn merge_request_has_the_base_that_gitlab_names() {
    let (base, head) = (commit('a'), commit('b'));
    let variables = [
        ("CI_PROJECT_ID", "12"),
        ("CI_API_V4_URL", "https://gitlab.example.com/api/v4"),
        ("CI_MERGE_REQUEST_IID", "7"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", ""),
        ("CI_COMMIT_SHA", &head),
        ("CI_JOB_URL", "https://gitlab.example.com/a/b/-/jobs/1"),
    ];
    let it = read(Provider::Gitlab, &variables, "").unwrap();
    let expected = (Base::Commit(base.clone()), Some(head.clone()), Some(7));
    assert_eq!((it.base, it.head, it.request), expected);
    assert_eq!(it.project.as_deref(), Some("12"));
    assert!(it.links.text().contains("jobs/1"));
    // The pipeline of a fork runs in the fork, and the request belongs to the target project.
    let of_fork = [&variables[..], &[("CI_MERGE_REQUEST_PROJECT_ID", "3")]].concat();
    assert_eq!(read(Provider::Gitlab, &of_fork, "").unwrap().project.as_deref(), Some("3"));
}

#[test]
fn scheduled_pipeline_has_no_earlier_commit() {
    let (before, head) = ("0".repeat(40), commit('b'));
    let base = |source| {
        let variables = [
            ("CI_COMMIT_SHA", head.as_str()),
            ("CI_COMMIT_BEFORE_SHA", &before),
            ("CI_COMMIT_BRANCH", "main"),
            ("CI_DEFAULT_BRANCH", "main"),
            ("CI_PIPELINE_SOURCE", source),
        ];
        read(Provider::Gitlab, &variables, "").unwrap().base
    };
    assert_eq!(["schedule", "push"].map(base), [Base::Unknown, Base::Parent]);
}

#[test]
fn gitlab_push_has_the_same_base_as_on_github() {
    let head = commit('b');
    let push = |before: &str, branch: &str| {
        let variables = [
            ("CI_COMMIT_SHA", head.as_str()),
            ("CI_COMMIT_BEFORE_SHA", before),
            ("CI_COMMIT_BRANCH", branch),
            ("CI_DEFAULT_BRANCH", "main"),
        ];
        read(Provider::Gitlab, &variables, "").unwrap().base
    };
    assert_eq!(push(&commit('a'), "topic"), Base::Commit(commit('a')));
    let of_default = Base::MergeBase { branch: "main".to_owned(), tip: None };
    assert_eq!(push(&commit('0'), "topic"), of_default);
    assert_eq!(push(&commit('0'), "main"), Base::Parent);
}

#[test]
fn unsafe_values_for_git_and_the_api_are_rejected() {
    let commit = commit('a');
    for (name, value) in [
        ("CI_COMMIT_SHA", "--upload-pack=x"),
        ("CI_COMMIT_SHA", "abc"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "-x"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "a..b"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "a b"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "a:b"),
        ("CI_PROJECT_ID", "../../user"),
        ("CI_PROJECT_ID", "1?x"),
    ] {
        let variables = [(name, value), ("CI_COMMIT_SHA", &commit)];
        assert!(read(Provider::Gitlab, &variables, "").is_err(), "{name}={value}");
    }
    let shown = |address: &str| {
        let variables = [("CI_JOB_URL", address)];
        read(Provider::Gitlab, &variables, "").unwrap().links.text()
    };
    assert_eq!(shown("https://x.example/a)<b>"), "");
    assert_eq!(shown("javascript:alert"), "");
}
