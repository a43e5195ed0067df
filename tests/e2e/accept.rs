//! An accepted slowdown passes up to its ceiling, by a file in the repository.
//!
//! The benchmarks count instead of timing, so the verdicts do not depend on the machine.

use serde_json::Value;

use crate::support::{COMPARE_QUICK, TestProject};

fn quick() -> Vec<&'static str> {
    [&COMPARE_QUICK[..], &["--filter", "changing", "--no-skip"]].concat()
}

const FILE: &str = ".rbench/accepted.toml";

/// Two compared versions of `counted`; the second does thirty times the work.
fn compared() -> TestProject {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.commit("Do far more");
    project
        .rbench(&quick())
        .run()
        .assert_exit(1)
        .assert_stdout_has(&["accept HEAD changing", "1 regressed"]);
    project
}

/// The stored comparison of the two versions before the newest, from a process with this exit code.
fn stored(project: &TestProject, exit: i32) -> Value {
    let words = ["compare", "HEAD~2", "HEAD~1", "--stored", "--filter", "changing"];
    let outcome = project.rbench(&[&words[..], &["--format", "json"]].concat()).run();
    outcome.assert_exit(exit).json("compare")
}

#[test]
#[ignore = "takes long"]
fn accepted_slowdown_passes_up_to_its_ceiling_with_its_reason() {
    let project = compared();
    let reason = "counts | every <word>";
    let outcome = project.rbench(&["accept", "HEAD", "changing", "--reason", reason]).ok();
    outcome.assert_stdout_has(&["accepted: changing (wall) +", reason, FILE]);
    // The file belongs to the repository; the measured results do not.
    let status = project.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(status, "?? .rbench/.gitignore\n?? .rbench/accepted.toml");
    project.commit("Accept it");

    let report = stored(&project, 0);
    let row = &report["benchmarks"][0];
    assert_eq!((&row["verdict"], &row["reason"]["kind"]), (&"accepted".into(), &"accepted".into()));
    assert_eq!(row["reason"]["accepted"][0]["reason"], reason);
    assert_eq!(report["counts"]["accepted"], 1);
    let text = project.rbench(&["compare", "HEAD~2", "HEAD~1", "--stored"]).ok();
    text.assert_stdout_has(&["1 accepted", "changing: accepted up to "]);

    // Measured again, with commits around it.
    let again = project.rbench(&[&quick()[..], &["HEAD~2", "HEAD"]].concat()).ok();
    again.assert_stdout_has(&["1 accepted"]);
    let history = project.rbench(&["history", "changing", "--format", "json"]).ok().json("history");
    assert_eq!(history["benchmarks"][0]["versions"][1]["against"]["verdict"], "accepted");

    // A further slowdown exceeds the accepted one.
    project.replace("src/lib.rs", "u64 = 30_000", "u64 = 300_000");
    project.commit("Do even more");
    let beyond = project.rbench(&[&quick()[..], &["HEAD~3", "HEAD"]].concat()).run().assert_exit(1);
    beyond.assert_stdout_has(&["1 regressed", "changing: more than the "]);
    // Alone, the further slowdown is not covered by the entry.
    project.rbench(&[&quick()[..], &["HEAD~1", "HEAD"]].concat()).run().assert_exit(1);
}

#[test]
fn accepted_entry_can_be_edited_and_its_errors_are_reported() {
    let project = compared();
    project
        .rbench(&["accept", "HEAD", "changing", "--reason", "counts", "--ceiling", "9999%"])
        .ok();
    project.commit("Accept it");
    stored(&project, 0);
    let good = project.read(FILE);
    let change = |old: &str, new: &str| {
        project.write(FILE, &good);
        project.replace(FILE, old, new);
    };

    change("ceiling = \"9999%\"", "ceiling = \"2%\"");
    let report = stored(&project, 1);
    assert_eq!(report["benchmarks"][0]["reason"]["kind"], "beyond_accepted");

    let commit = project.git(&["rev-parse", "HEAD~1"]);
    change(&commit, &"f".repeat(40));
    let report = stored(&project, 1);
    assert_eq!(report["unused_acceptances"][0]["why"], "not_in_history");
    project.rbench(&["history"]).ok().assert_stderr_has(&[
        "note: an entry in .rbench/accepted.toml changes nothing any more: changing of fffffff",
    ]);

    change("metric = \"wall\"", "metric = \"walls\"");
    for words in [&["compare", "--stored"][..], &["compare"], &["history"]] {
        let refused = project.rbench(words).fails_with(2);
        refused.assert_stderr_has(&[
            "accepted.toml",
            "line 8",
            "no metric is called `walls`",
            "hint: repair it by hand",
        ]);
    }
}

#[test]
#[ignore = "takes long"]
fn unacceptable_benchmark_is_rejected_with_a_hint() {
    let project = TestProject::of("counted");
    let accept = |words: &[&str]| {
        let reason = ["accept", "--reason", "because"];
        project.rbench(&[&reason[..], words].concat()).fails_with(2)
    };
    accept(&["HEAD", "changing"]).assert_stderr_has(&["no results are stored yet"]);
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.commit("Do far more");
    project.rbench(&quick()).run().assert_exit(1);
    accept(&["HEAD", "chnging"]).assert_stderr_has(&["no benchmark matches `chnging`", "changing"]);
    accept(&["HEAD~1", "changing"]).assert_stderr_has(&[
        "no comparison is stored that measured `changing` with HEAD~1 (",
        "hint: measure it with: cargo rbench compare HEAD~1~1 HEAD~1 --exact --filter changing",
    ]);
    accept(&["HEAD", "changing", "--ceiling", "2%"])
        .assert_stderr_has(&["cannot accept a change of +", "up to 2 %"]);
    let empty =
        project.rbench(&["accept", "HEAD", "changing", "--reason", " "]).run().assert_exit(2);
    empty.assert_stderr_has(&["why the change is accepted"]);
    project.append("src/lib.rs", "// More.\n");
    accept(&[".", "changing"])
        .assert_stderr_has(&["it is not a commit", "hint: commit the change"]);
    project.replace("src/lib.rs", "u64 = 30_000", "u64 = 30_001");
    project.commit("Hardly more");
    project.rbench(&quick()).ok();
    accept(&["HEAD", "changing"]).assert_stderr_has(&["`changing` did not regress"]);
    assert!(!project.root().join(FILE).exists());
}

#[test]
fn accepted_file_ignored_by_git_is_warned_of() {
    let project = compared();
    project.write(".gitignore", "target\n.rbench\n");
    project.commit("Ignore what was measured");
    let outcome = project.rbench(&["accept", "HEAD~1", "changing", "--reason", "counts"]).ok();
    outcome.assert_stderr_has(&["git add --force .rbench/accepted.toml"]);
}
