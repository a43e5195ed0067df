//! Skipped benchmarks are measured all the same in the time that is left of a budget.
//!
//! The benchmarks count instead of timing, so the verdicts do not depend on the machine.

use std::fs;

use serde_json::{Value, json};

use crate::support::{COMPARE_QUICK, TestProject};

const AUDIT: [&str; 6] = ["HEAD~1", "HEAD", "--budget", "10min", "--audit", "--format=json"];

fn verdict<'r>(report: &'r Value, id: &str) -> &'r Value {
    let rows = report["benchmarks"].as_array().unwrap();
    &rows.iter().find(|row| row["id"] == id).unwrap()["verdict"]
}

fn stored(project: &TestProject, exit: i32) -> Value {
    let words = ["compare", "HEAD~1", "HEAD", "--stored", "--format=json"];
    project.rbench(&words).run().assert_exit(exit).json("compare")
}

#[test]
fn audit_confirms_a_right_skip() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 4_000");
    project.commit("Do more rounds");
    let markdown = project.beside("report.md");
    let output = ["--output", markdown.to_str().unwrap()];
    let outcome = project.rbench(&[&COMPARE_QUICK[..], &AUDIT, &output].concat()).run();
    let outcome = outcome.assert_exit(1);
    let report = outcome.json("compare");
    // The comparison that is being audited was not interrupted.
    assert!(!outcome.printed().contains("cannot be resumed"), "{}", outcome.printed());
    assert_eq!(report["audit"]["skipped"], 1);
    assert_eq!(report["audit"]["measured"][0]["id"], "steady");
    assert_eq!(report["audit"]["differing"], json!([]));
    assert_eq!(
        [verdict(&report, "changing"), verdict(&report, "steady")],
        ["regressed", "unaffected"]
    );
    let markdown = fs::read_to_string(markdown).unwrap();
    let audited = "audit: 1 of 1 skipped benchmark measured: none is shown to differ";
    assert!(markdown.contains(audited) && !markdown.contains("not measured"), "{markdown}");
    // Stored results give the same verdicts.
    let report = stored(&project, 1);
    assert_eq!(
        [verdict(&report, "changing"), verdict(&report, "steady")],
        ["regressed", "unaffected"]
    );
    // Without --audit, nothing is audited.
    let words = ["HEAD~1", "HEAD", "--budget", "10min", "--format=json"];
    let outcome = project.rbench(&[&COMPARE_QUICK[..], &words].concat()).run();
    assert_eq!(outcome.assert_exit(1).json("compare")["audit"], Value::Null);
    project.rbench(&["compare", "--audit"]).fails_with(2);
}

/// A benchmark that does other work under a tracer hides it from every trace.
#[test]
fn audit_reports_a_wrong_skip() {
    let project = TestProject::of("counted");
    project.replace(
        "benches/work.rs",
        "bencher.iter(counted::steady)",
        "{\n        let status = std::fs::read_to_string(\"/proc/self/status\").unwrap();\n        \
         let is_traced = !status.contains(\"TracerPid:\\t0\\n\");\n        \
         let work = if is_traced { counted::steady } else { counted::changing as fn() -> u64 };\n        \
         bencher.iter(work);\n    }",
    );
    project.commit("Do other work under a tracer");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 4_000");
    project.commit("Do more rounds");
    let text = project.beside("report.txt");
    let output = ["--output", text.to_str().unwrap()];
    let outcome = project.rbench(&[&COMPARE_QUICK[..], &AUDIT, &output].concat()).run();
    let report = outcome.assert_exit(70).json("compare");
    let ids: Vec<&Value> =
        report["audit"]["differing"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["steady"]);
    assert_eq!(verdict(&report, "steady"), "regressed");
    let traces = report["audit"]["traces"].as_array().unwrap();
    assert!(traces.iter().all(|path| fs::exists(path.as_str().unwrap()).unwrap()), "{traces:?}");
    let text = fs::read_to_string(text).unwrap();
    assert!(text.contains("this is a bug in rbench"), "{text}");
    assert_eq!(verdict(&stored(&project, 1), "steady"), "regressed");
}
