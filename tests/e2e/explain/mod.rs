//! `cargo rbench diff --explain --by instructions` names the functions that execute more or fewer instructions.
//!
//! The fixture `explained` has a benchmark for each of ten changes. Its repository gets one commit
//! for each, all on top of the first; the table in `planted.rs` names the function that each
//! changes.

mod hosts;
mod planted;
mod slower;

use serde_json::Value;

use crate::support::TestProject;
use planted::PLANTED;

/// The fixture with a tag for each commit, and `base` for their common parent.
fn project() -> TestProject {
    TestProject::shared("explained", "explained", |project| {
        project.git(&["tag", "base"]);
        for planted in &PLANTED {
            project.git(&["checkout", "--quiet", "--detach", "base"]);
            for (file, old, new) in planted.edits {
                project.replace(&format!("src/{file}"), old, new);
            }
            project.commit(planted.benchmark);
            project.git(&["tag", planted.benchmark]);
        }
        project.git(&["checkout", "--quiet", "--detach", "base"]);
        project.replace("src/rounds.rs", "black_box(200)", "black_box(260)");
        project.commit("input");
        project.git(&["tag", "input"]);
        project.git(&["checkout", "--quiet", "main"]);
    })
}

/// The explanation of a benchmark for the commit of the same name.
#[track_caller]
fn explained(benchmark: &str) -> Value {
    let words = [
        "diff",
        "base",
        benchmark,
        "--explain",
        benchmark,
        "--by",
        "instructions",
        "--format",
        "json",
    ];
    project().rbench(&words).ok().json("explain")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[track_caller]
fn assert_sums(explanation: &Value) {
    let total =
        number(&explanation["head_instructions"]) - number(&explanation["base_instructions"]);
    let functions = explanation["functions"].as_array().unwrap();
    for field in ["self", "caused"] {
        let sum: f64 = functions.iter().map(|function| number(&function[field])).sum();
        assert!((sum - total).abs() <= 1e-3 * total.abs(), "{field}: {sum}, not {total}");
    }
}

#[test]
#[ignore = "takes long"]
fn planted_changes_are_explained_by_the_changed_functions() {
    for planted in &PLANTED {
        let explanation = explained(planted.benchmark);
        assert_sums(&explanation);
        let first = &explanation["functions"][0];
        assert_eq!(first["name"], planted.function, "{}", planted.benchmark);
        assert_eq!(first["code"]["kind"], "changed");
        assert!(number(&first["caused"]).abs() > 100.0, "{first}");
    }
}

#[test]
#[ignore = "takes long"]
fn function_called_more_often_is_not_the_reason() {
    let explanation = explained("calls");
    let functions = explanation["functions"].as_array().unwrap();
    let callee = functions.iter().find(|one| one["name"] == "explained::calls::callee").unwrap();
    assert_eq!((&callee["code"]["kind"], number(&callee["caused"])), (&Value::from("same"), 0.0));
    let calls = ["base", "head"].map(|version| callee[version]["calls"].clone());
    assert_eq!(calls, [Value::from(20.0), Value::from(40.0)]);
    assert!(number(&callee["self"]) > 1000.0, "{callee}");
}

#[test]
#[ignore = "takes long"]
fn function_no_longer_inlined_is_shown_with_its_caller() {
    let explanation = explained("outlined");
    assert_sums(&explanation);
    let [walk, step] = [0, 1].map(|index| &explanation["functions"][index]);
    assert_eq!(walk["name"], "explained::outlined::walk");
    assert_eq!(walk["called_gained"][0]["name"], "explained::outlined::step");
    assert_eq!(step["name"], "explained::outlined::step");
    assert_eq!((&step["code"]["kind"], &step["base"]), (&Value::from("only-head"), &Value::Null));
    assert_eq!(step["inlined_into"], "explained::outlined::walk");
    let text = project()
        .rbench(&["diff", "base..outlined", "--explain", "outlined", "--by", "instructions"])
        .ok()
        .stdout()
        .replace("\n  ", " ");
    for words in [
        "instructions per iteration",
        "now calls explained::outlined::step (300 times",
        "not called before: probably inlined into explained::outlined::walk",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
#[ignore = "takes long"]
fn same_functions_are_explained_by_other_input() {
    let explanation = explained("input");
    assert_sums(&explanation);
    assert_eq!(explanation["functions"][0]["name"], "explained::rounds::folded");
    assert_eq!(explanation["functions"][0]["code"]["kind"], "same");
    let unknown = number(&explanation["unattributed"]);
    assert!(unknown > 100.0, "{unknown}");
    let text = project()
        .rbench(&["diff", "base", "input", "--explain", "^input$", "--by", "instructions"])
        .ok();
    let text = text.stdout().replace("\n  ", " ");
    for words in ["it has other input, or another environment", "rounds::input"] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn one_benchmark_of_both_versions_must_be_selected() {
    let project = project();
    let several = project.rbench(&["diff", "base", "calls", "--explain", "l"]).fails_with(2);
    several.assert_stderr_has(&["benchmarks match `l`", "explained work calls", "a whole id"]);
    let none = project.rbench(&["diff", "base", "calls", "--explain", "absent"]).fails_with(2);
    none.assert_stderr_has(&["no benchmark matches `absent`"]);
}

#[test]
#[ignore = "takes long"]
fn criterion_and_divan_are_counted_by_function_too() {
    for (project, benchmark) in
        [(TestProject::criterion(), "count/64"), (TestProject::divan(), "same::sum")]
    {
        let words = [
            "diff",
            "HEAD",
            "HEAD",
            "--explain",
            benchmark,
            "--by",
            "instructions",
            "--bench",
            "same",
        ];
        let explanation = project.rbench(&[&words[..], &["--format", "json"]].concat()).ok();
        let explanation = explanation.json("explain");
        assert_sums(&explanation);
        let [base, head] =
            ["base_instructions", "head_instructions"].map(|total| number(&explanation[total]));
        assert!(base > 100.0 && (head - base).abs() < 1e-3 * base, "{benchmark}: {base} {head}");
        let names = explanation["functions"].to_string();
        assert!(names.contains("::count") || names.contains("::sum"), "{names}");
    }
}

#[test]
#[ignore = "takes long"]
fn html_pages_show_the_explanation_alone_and_in_comparisons() {
    let project = project();
    let words = [
        "diff",
        "base",
        "outlined",
        "--explain",
        "outlined",
        "--by",
        "instructions",
        "--output",
        "explain.html",
    ];
    project.rbench(&words).ok();
    let alone = project.read("explain.html");
    for printed in [
        "<code>explained::<wbr>outlined::<wbr>walk</code>",
        "now calls explained::outlined::step (300",
    ] {
        assert!(alone.contains(printed), "no {printed} in {alone}");
    }
    let words = ["compare", "base", "outlined", "--metric", "instructions", "--output"];
    let outcome = project.rbench(&[&words[..], &["compare.html"]].concat()).run().assert_exit(1);
    outcome.assert_stderr_has(&["explaining where the instructions of 1 benchmark went"]);
    let compared = project.read("compare.html");
    assert_eq!(compared.matches("<summary>Where the instructions went: ").count(), 1);
    assert!(compared.contains("now calls explained::outlined::step (300"), "{compared}");
    let text = project.rbench(&words[..5]).run().assert_exit(1);
    assert!(!text.stderr().contains("explaining"), "only a page has it: {}", text.stderr());
}
