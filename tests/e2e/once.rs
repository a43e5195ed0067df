//! `--command` makes a program a benchmark, in a project without any bench target.

use crate::support::TestProject;

const COMMAND: &str = "./target/release/word-count --rounds 3";

fn project() -> TestProject {
    TestProject::of("program")
}

#[test]
fn command_is_listed_and_executed_without_a_bench_target() {
    let project = project();
    let list = project.rbench(&["list", "--format", "json", "--command", COMMAND]).ok();
    let list = list.json("list");
    let benchmark = &list["benchmarks"][0];
    assert_eq!(
        [&benchmark["target"], &benchmark["harness"], &benchmark["id"]],
        ["word-count", "command", "word-count --rounds 3"]
    );
    let executed = project.rbench(&["exec", "HEAD", "--command", COMMAND]).ok();
    executed
        .assert_stdout_has(&["word-count --rounds 3 (command) of HEAD", "peak-memory in bytes"]);
}

#[test]
#[ignore = "takes long"]
fn command_is_compared_in_two_versions_with_several_layouts() {
    let project = project();
    project.replace("src/main.rs", "repeat(200)", "repeat(201)");
    project.commit("A longer text");
    let words = ["compare", "HEAD~1", "HEAD", "--command", COMMAND, "--command", "word-count"];
    let options =
        ["-l", "2", "--fail-on", "never", "--config=verdict.confirm=false", "--format", "json"];
    let report = project.rbench(&[&words[..], &options].concat()).ok().json("compare");
    let ids: Vec<&str> = report["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| b["id"].as_str().unwrap())
        .collect();
    assert!(ids.contains(&"word-count --rounds 3") && ids.contains(&"word-count"), "{ids:?}");
    // The suggested command works when typed again.
    let text = project.rbench(
        &[&words[..], &["-l", "2", "--fail-on", "never", "--config=verdict.confirm=false"]]
            .concat(),
    );
    let commands = "--command './target/release/word-count --rounds 3' --command word-count";
    text.ok().assert_stdout_has(&["cargo rbench compare HEAD~1 HEAD --exact ", commands]);
}

#[test]
fn plan_of_a_short_program_has_its_own_numbers() {
    let project = project();
    project.replace("src/main.rs", "repeat(200)", "repeat(201)");
    project.commit("A longer text");
    let words = ["compare", "--quick", "--dry-run", "--command", COMMAND];
    let outcome = project.rbench(&words).ok();
    outcome.assert_stderr_has(&["5 builds × ", " executions × 1 measurement, layout"]);
}

#[test]
fn comment_leaves_a_command_identical() {
    let project = project();
    project.append("src/main.rs", "// The end.\n");
    project.commit("A comment");
    let outcome = project.rbench(&["compare", "--command", COMMAND]).ok();
    outcome.assert_stdout_has(&["1 identical"]);
}

#[test]
fn failing_command_can_be_executed_again_by_hand() {
    let project = project();
    let command = "word-count --what";
    let outcome = project.rbench(&["exec", "HEAD", "--command", command]).fails_with(4);
    outcome.assert_stderr_has(&["what is --what?", "rbench exec", "--command 'word-count --what'"]);
}

#[test]
fn program_outside_the_workspace_is_rejected() {
    let project = project();
    let outcome = project.rbench(&["list", "--command", "./run.sh"]).fails_with(2);
    outcome.assert_stderr_has(&["program `run.sh`", "it has `word-count`", "[[command]]"]);
    let outcome = project.rbench(&["list", "--command", "tool 'a"]).fails_with(2);
    outcome.assert_stderr_has(&["a quote is not closed"]);
    let words = ["compare", "--stored", "--command", COMMAND];
    project.rbench(&words).fails_with(2).assert_stderr_has(&["--stored"]);
}
