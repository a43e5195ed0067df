//! Implementations of one task, which are benchmarks of one version: ranked, and resumed after an interruption.

use serde_json::Value;

use crate::support::TestProject;

const SHORT: [&str; 3] = ["versus", "--config", "build.strategy=relink"];

fn project() -> TestProject {
    TestProject::shared("implementations", "implementations", |_| {})
}

/// The ranking: rank, name and the common word for the verdicts.
fn ranking(report: &Value) -> Vec<(Option<u64>, &str, Option<&str>)> {
    let all = report["ranking"].as_array().unwrap().iter();
    all.map(|one| (one["rank"].as_u64(), one["name"].as_str().unwrap(), one["verdict"].as_str()))
        .collect()
}

#[test]
fn implementations_are_ranked_with_their_parameters() {
    let project = project();
    let words = ["mix/{usual,fastest}", "HEAD", "-l", "5", "-n", "10", "--format", "json"];
    let report = project.rbench(&[&SHORT[..], &words].concat()).ok().json("ranking");
    let expected = [(Some(1), "fastest", Some("faster")), (Some(2), "usual", None)];
    assert_eq!(ranking(&report), expected);
    assert_eq!(report["parameters"], serde_json::json!(["1000", "10000"]));
    assert_eq!(report["left_out"][0]["id"], "mix/usual/7");
    let rows = report["comparisons"][0]["benchmarks"].as_array().unwrap();
    let ids: Vec<&Value> = rows.iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, ["mix/{usual,fastest}/1000", "mix/{usual,fastest}/10000"]);
    assert!(rows.iter().all(|row| row["builds"].as_array().unwrap().len() == 2), "not confirmed");
    // The results are of these implementations, not of the plain version.
    let outcome = project.rbench(&["history", "HEAD"]).fails_with(2);
    outcome.assert_stderr_has(&["no results are stored for HEAD"]);
}

#[test]
#[ignore = "takes long"]
fn equal_instructions_share_a_rank() {
    let project = project();
    let words = ["mix/usual/1000", "mix/equal/1000", "mix/slower/1000", "--metric", "instructions"];
    let outcome = project.rbench(&[&SHORT[..], &words].concat()).ok();
    outcome.assert_stdout_has(&["   1  equal", "   1  usual", "   3  slower", "more"]);
    let page = project.beside("page.html");
    let output = ["--output", page.to_str().unwrap()];
    project.rbench(&[&SHORT[..], &words, &output].concat()).ok();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("slower compared with usual"), "{page}");
}

#[test]
#[ignore = "takes long"]
fn explanation_names_the_functions_of_each_implementation() {
    let words = ["mix/usual/1000", "mix/fastest/1000", "-l", "5", "-n", "10", "--explain"];
    let outcome = project().rbench(&[&SHORT[..], &words].concat()).ok();
    outcome.assert_stdout_has(&[
        "fastest compared with usual in ",
        "faster because of implementations::usual -",
        ": sampled only in usual",
        "in spite of implementations::fastest +",
        ": sampled only in fastest",
    ]);
}

#[test]
fn failing_implementation_has_no_rank() {
    let project = project();
    let words = ["mix/usual/7", "mix/failing", "-l", "2", "-n", "5"];
    let outcome = project.rbench(&[&SHORT[..], &words].concat()).run().assert_exit(4);
    outcome.assert_stdout_has(&["failing: mix/{usual/7,failing}: failed", "it never works"]);
}

#[test]
fn branch_from_before_the_implementation_that_it_is_called_like_is_refused() {
    let project = TestProject::of("implementations");
    let named = |before: &str, after: &str| {
        project.replace("benches/work.rs", &format!("(\"{before}\""), &format!("(\"{after}\""));
        project.commit(after);
    };
    named("equal", "alike");
    project.git(&["branch", "mix/equal"]);
    named("alike", "equal");
    let words = ["mix/usual", "mix/slower", "mix/equal"];
    let outcome = project.rbench(&[&SHORT[..], &words].concat()).fails_with(2);
    outcome.assert_stderr_has(&[
        "error: `mix/equal` is ambiguous",
        "it is a revision, and selects benchmarks of the present version",
    ]);
}

#[test]
fn impossible_implementations_are_refused() {
    let project = project();
    for (words, message) in [
        (&["mix/usual"][..], "a comparison needs at least two"),
        (&["mix/usual", "mix/none"], "`mix/none` is no revision either"),
        (&["mix/usual/7", "mix/equal/1000", "--partition", "hash:1/2"], "in parts"),
    ] {
        let outcome = project.rbench(&[&SHORT[..], words].concat()).fails_with(2);
        outcome.assert_stderr_has(&[message]);
    }
}
