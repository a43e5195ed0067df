//! A head is also compared with a release, which catches many commits that pass alone but add up.
//!
//! The benchmarks count instead of timing, so the verdicts do not depend on the machine.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::support::{COMPARE_QUICK, TestProject};

/// One step is smaller than the smallest change to report; two together are larger.
fn quick() -> Vec<&'static str> {
    [&COMPARE_QUICK[..], &["--filter", "changing", "--min-effect", "150%"]].concat()
}

/// A release, and two commits that each double the work.
fn project() -> TestProject {
    let project = TestProject::of("counted");
    project.git(&["tag", "v1.0.0"]);
    for (old, new) in [("1_000", "2_000"), ("2_000", "4_000")] {
        project.replace("src/lib.rs", &format!("u64 = {old}"), &format!("u64 = {new}"));
        project.commit(&format!("Do {new} rounds"));
    }
    project
}

fn verdict(report: &Value) -> &Value {
    &report["benchmarks"][0]["verdict"]
}

#[test]
#[ignore = "takes long"]
fn steps_that_pass_alone_are_caught_against_the_release() {
    let project = project();
    for revision in ["HEAD~1", "HEAD"] {
        let words = [&format!("{revision}~1"), revision];
        project.rbench(&[&quick()[..], &words].concat()).ok();
    }
    let markdown = project.beside("report.md");
    let also = ["--also-base", "v1.0.0", "--output", markdown.to_str().unwrap()];
    let outcome = project.rbench(&[&quick()[..], &also].concat()).run().assert_exit(1);
    outcome.assert_stdout_has(&["HEAD (", "also against v1.0.0 (", "1 regressed"]);
    outcome.assert_stderr_has(&["also against v1.0.0 ("]);
    let compiled = outcome.stderr().matches("compiling ").count();
    assert_eq!(compiled, 0, "all were compiled before: {}", outcome.printed());
    let markdown = std::fs::read_to_string(markdown).unwrap();
    assert!(markdown.starts_with("### Benchmarks: regressed\n"), "{markdown}");
    assert!(markdown.contains("#### Also against `v1.0.0 ("), "{markdown}");

    // Stored results give the same verdict, with the requested limit.
    let stored = ["compare", "--stored", "--format", "json", "--min-effect", "150%"];
    let also = |words: &[&str], exit: i32| {
        let outcome = project.rbench(&[&stored[..], words].concat()).run();
        outcome.assert_exit(exit).json("compare")
    };
    let report = also(&["--also-base", "last-release"], 1);
    assert_ne!(verdict(&report), "regressed");
    let release = &report["also_base"];
    assert_eq!(verdict(release), "regressed");
    assert_eq!(
        (&release["base"]["revision"], &release["also_base"]),
        (&"v1.0.0".into(), &Value::Null)
    );
    let lenient = also(&["--also-base", "v1.0.0", "--config", "gate.min-effect=900%"], 0);
    assert_eq!(lenient["also_base"]["criteria"]["min_effect"], 9.0);
    assert_eq!(also(&[], 0)["also_base"], Value::Null);

    // It can be accepted like any other regression.
    let accept = ["accept", "HEAD", "changing", "--min-effect", "150%", "--reason", "by design"];
    project.rbench(&accept).ok();
    let accepted = also(&["--also-base", "v1.0.0"], 0);
    assert_eq!(verdict(&accepted["also_base"]), "accepted");
}

#[test]
#[ignore = "takes long"]
fn release_is_named_in_bench_toml_and_disabled_by_a_flag() {
    let project = project();
    project.write("bench.toml", "[gate]\nbase = \"last-release\"\nmin-effect = \"160%\"\n");
    let outcome =
        project.rbench(&[&quick()[..], &["--format", "json"]].concat()).run().assert_exit(1);
    let release = &outcome.json("compare")["also_base"];
    assert_eq!(
        (&release["base"]["revision"], verdict(release)),
        (&"v1.0.0".into(), &"regressed".into())
    );
    assert_eq!(release["criteria"]["min_effect"], 1.6);
    project.rbench(&[&quick()[..], &["--also-base", "none"]].concat()).ok();
    // If the base is the release, one comparison decides both.
    let same = project.rbench(&[&quick()[..], &["v1.0.0", "HEAD~1"]].concat()).ok();
    same.assert_stderr_has(&["note: v1.0.0 (", "has the files of the base"]);

    project.write("bench.toml", "[gate]\nbase = \"v1.1.0\"\n");
    project.rbench(&quick()).fails_with(2).assert_stderr_has(&[
        "cannot find revision `v1.1.0`",
        "[gate] in bench.toml names it",
        "did you mean `v1.0.0`",
    ]);
    // A release that is no ancestor of an old head gives no verdict on it.
    project.write("bench.toml", "[gate]\nbase = \"HEAD\"\n");
    let old = project.rbench(&[&quick()[..], &["v1.0.0", "HEAD~1"]].concat()).ok();
    old.assert_stderr_has(&["note: not compared with HEAD (", "does not descend from it"]);
    project.write("bench.toml", "[gate]\nagaints = \"v1.0.0\"\n");
    project.rbench(&quick()).fails_with(2).assert_stderr_has(&["unknown field `againts`"]);
}

#[test]
fn missing_release_is_reported_with_a_hint_before_building() {
    let project = project();
    project.git(&["tag", "--delete", "v1.0.0"]);
    let also = ["--also-base", "last-release"];
    for words in [&quick()[..], &["compare", "--stored"]] {
        let outcome = project.rbench(&[words, &also].concat()).fails_with(2);
        outcome.assert_stderr_has(&["there is no release before HEAD (", "--also-base REV"]);
        assert!(!outcome.stderr().contains("compil"), "{}", outcome.printed());
    }
}

#[test]
#[ignore = "takes long"]
fn interrupted_command_resumes_both_comparisons() {
    let project = project();
    let slow = ["--also-base", "v1.0.0", "--no-skip"];
    let slower = |word: &'static str| match word {
        "experiment.warm-up=5ms" => "experiment.warm-up=80ms",
        word => word,
    };
    let words: Vec<&str> = quick().into_iter().map(slower).collect();
    let words = [&words[..], &slow].concat();
    let mut child = project.rbench(&words).start();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut wait_for =
        |start: &str| while !stderr.next().expect(start).unwrap().starts_with(start) {};
    wait_for("also against v1.0.0");
    wait_for("measured ");
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    for _ in stderr {}
    assert_eq!(child.wait().unwrap().code(), Some(130));
    project.rbench(&["history"]).fails_with(2).assert_stderr_has(&["unfinished: 2 experiments"]);

    let outcome = project.rbench(&words).run().assert_exit(1);
    let resumed = outcome.stderr().matches("resuming an interrupted run, after").count();
    assert_eq!(resumed, 2, "{}", outcome.printed());
}
