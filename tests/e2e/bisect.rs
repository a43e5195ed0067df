//! `bisect` names the commits of a range that changed a benchmark.
//!
//! The benchmarks count instead of timing, so the results do not depend on the machine.

use serde_json::Value;

use crate::support::{TestProject, history::History, rbench::Outcome};

/// The least that gives a verdict.
const SHORT: [&str; 8] = [
    "bisect",
    "start..HEAD",
    "--config",
    "build.strategy=relink",
    "-l4",
    "-n5",
    "--config",
    "experiment.warm-up=1ms",
];

fn bisect(project: &TestProject, more: &[&str]) -> Outcome {
    project.rbench(&[&SHORT[..], more, &["--format", "json"]].concat()).run()
}

fn benchmark<'r>(report: &'r Value, id: &str) -> &'r Value {
    let all = report["line"]["benchmarks"].as_array().unwrap();
    all.iter().find(|one| one["id"] == id).unwrap()
}

/// The subjects of the commits that are named for `changing` on a line of history.
fn named(line: &Value) -> Vec<String> {
    let all = line["benchmarks"].as_array().unwrap();
    let changing = all.iter().find(|one| one["id"] == "changing").unwrap();
    let places = changing["places"].as_array().unwrap().iter();
    let named = places.filter(|place| place["ending"] == "named");
    named.map(|place| place["commits"][0]["summary"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "takes long"]
fn each_changing_commit_is_named_including_a_merged_one() {
    let history =
        History { commits: 8, rounds: &[(2, 1_050)], broken: &[3, 4], merge: Some((7, 32)) };
    let project = history.make();
    let outcome = bisect(&project, &["--config", "build.seed=1"]).assert_exit(0);
    outcome.assert_stderr_has(&["searching 8 commits after start", "comparison 1: "]);
    let report = outcome.json("bisect");
    let line = &report["line"];
    assert_eq!(named(line), ["Commit 2", "Merge the side"], "{}", outcome.printed());
    let changing = benchmark(&report, "changing");
    assert_eq!(changing["outcome"], "changed");
    assert!(changing["comparisons"].as_u64().unwrap() <= 10, "{changing:#}");
    let [first, second] = &changing["places"].as_array().unwrap()[..] else {
        panic!("{changing:#}")
    };
    for (place, expected) in [(first, 0.05), (second, 32.0 / 1_050.0)] {
        // Each run has other layouts in its fresh builds, so one interval in twenty may miss the
        // change.
        let estimate = place["change"]["estimate"].as_f64().unwrap();
        assert!((estimate - expected).abs() < 0.02, "{place:#}");
    }
    let functions = first["impact"]["functions"].as_array().unwrap();
    assert!(functions.iter().any(|one| one["name"] == "counted::changing"), "{first:#}");
    assert_eq!(named(&second["merged"]["searched"]), ["Side 2"]);
    assert_eq!(benchmark(&report, "steady")["outcome"], "unaffected");
    let skipped = line["skipped"].as_array().unwrap();
    assert!(!skipped.is_empty(), "{line:#}");
    for one in skipped {
        let summary = one["version"]["summary"].as_str().unwrap();
        assert!(["Commit 3", "Commit 4"].contains(&summary), "{one:#}");
    }

    // The same command takes everything from the store and does not retry failed compilations.
    let again = bisect(&project, &[]).assert_exit(0);
    assert!(!again.stderr().contains("measured "), "{}", again.printed());
    assert!(!again.stderr().contains("compiling"), "{}", again.printed());
    again.assert_stderr_has(&[
        "is skipped: it could not be built before; try again with: cargo rbench compare ",
    ]);
    let again = again.json("bisect");
    assert_eq!(again["measured_comparisons"], 0);
    let comparisons = |report: &Value| {
        let count = |which: &str| report[which].as_u64().unwrap();
        count("measured_comparisons") + count("stored_comparisons")
    };
    assert_eq!(comparisons(&again), comparisons(&report));
    assert_eq!(again["line"], report["line"]);
    let text = project.rbench(&[&SHORT[..], &["changing"]].concat()).ok();
    text.assert_stdout_has(&[
        "changing: +",
        "by 2 commits",
        " 2023-11-14 Commit 2\n",
        " 2023-11-14 (merge) Merge the side\n",
        "check it with:",
        "of the commits that it merged, 3 commits from ",
        "counted::changing (24 bytes, changed)",
    ]);
}

#[test]
#[ignore = "takes long"]
fn merged_branch_is_searched_below_its_broken_end() {
    let history = History { commits: 2, rounds: &[], broken: &[], merge: None };
    let project = history.make();
    let slower = "//! More rounds.\n\npub const MORE: u64 = 64;\n";
    project.git(&["checkout", "--quiet", "-b", "topic", "HEAD~1"]);
    project.write("src/side.rs", slower);
    project.commit("Topic 1");
    project.append("src/side.rs", "compile_error!(\"it is broken\");\n");
    project.commit("Topic 2");
    project.git(&["checkout", "--quiet", "main"]);
    project.git(&["merge", "--quiet", "--no-ff", "--no-commit", "topic"]);
    project.write("src/side.rs", slower);
    project.commit("Merge the topic");
    let outcome = bisect(&project, &["changing"]).assert_exit(0);
    let report = outcome.json("bisect");
    assert_eq!(named(&report["line"]), ["Merge the topic"], "{}", outcome.printed());
    let merged = &benchmark(&report, "changing")["places"][0]["merged"]["searched"];
    assert_eq!(named(merged), ["Topic 1"], "{}", outcome.printed());
    let skipped = merged["skipped"].as_array().unwrap().iter();
    let skipped: Vec<&str> =
        skipped.map(|one| one["version"]["summary"].as_str().unwrap()).collect();
    assert_eq!(skipped, ["Topic 2"]);
}

#[test]
#[ignore = "takes long"]
fn change_behind_broken_commits_names_all_of_them() {
    let history = History { commits: 6, rounds: &[(4, 1_050)], broken: &[3, 4], merge: None };
    let report = bisect(&history.make(), &["changing"]).assert_exit(0).json("bisect");
    let changing = benchmark(&report, "changing");
    let [place] = &changing["places"].as_array().unwrap()[..] else { panic!("{changing:#}") };
    let commits = place["commits"].as_array().unwrap();
    let commits: Vec<_> =
        commits.iter().map(|commit| commit["summary"].as_str().unwrap()).collect();
    assert_eq!(commits, ["Commit 3", "Commit 4", "Commit 5"]);
    assert_eq!(place["ending"], "not_comparable");
}

#[test]
#[ignore = "takes long"]
fn one_comparison_suffices_without_change_and_budget_ends_it() {
    let history = History { commits: 4, rounds: &[(3, 1_050)], broken: &[], merge: None };
    let project = history.make();
    let outcome = bisect(&project, &["changing", "--min-effect", "20%"]).assert_exit(0);
    let report = outcome.json("bisect");
    assert_eq!(benchmark(&report, "changing")["outcome"], "unchanged", "{}", outcome.printed());
    assert_eq!(report["measured_comparisons"], 1);

    let hurried = bisect(&project, &["changing", "--config", "build.seed=7", "--budget", "1ms"])
        .assert_exit(0);
    let report = hurried.json("bisect");
    assert_eq!(report["stopped"], true, "{}", hurried.printed());
    assert_eq!(report["measured_comparisons"], 1);

    let outcome = project.rbench(&["bisect", "HEAD..start"]).fails_with(2);
    outcome.assert_stderr_has(&["the older one comes first: start..HEAD"]);
    project.append("src/mark.rs", "compile_error!(\"it is broken\");\n");
    project.commit("Break it");
    let outcome = project.rbench(&SHORT).fails_with(3);
    outcome.assert_stderr_has(&["choose another commit than"]);
}

#[test]
fn benchmark_failing_in_the_older_commit_is_reported_there() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "    rounds(700)", "    panic!(\"the table is missing\")");
    project.commit("Break it");
    project.git(&["tag", "start"]);
    project.replace("src/lib.rs", "    panic!(\"the table is missing\")", "    rounds(700)");
    project.commit("Mend it");
    let outcome = project.rbench(&[&SHORT[..], &["steady"]].concat()).run().assert_exit(4);
    outcome
        .assert_stdout_has(&["steady: cannot be compared in start (", "cannot execute benchmark"]);
}
