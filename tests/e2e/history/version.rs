//! `history REV` reports everything stored about a version, in any state.

use crate::support::TestProject;

/// Quick, with more than one build so that there is a layout effect to estimate.
const QUICK: [&str; 10] = [
    "--config",
    "build.strategy=relink",
    "-l",
    "3",
    "-m",
    "2",
    "-n",
    "3",
    "--config",
    "experiment.warm-up=1ms",
];

fn run(project: &TestProject, revision: &str) {
    project.rbench(&[&["run", revision], &QUICK[..]].concat()).ok();
}

#[test]
fn version_is_shown_with_experiments_components_and_builds() {
    let project = TestProject::of("counted");
    run(&project, "HEAD");
    let text = project.rbench(&["history", "HEAD"]).ok();
    text.assert_stdout_has(&["3 × 2 × 3", "finished", "rustc ", "changing", "steady", "machine: "]);
    let tables = text.stdout().matches(" seed  ").count();
    assert!(tables >= 2, "every build of each benchmark: {}", text.printed());

    let report = project
        .rbench(&["history", "HEAD", "steady", "--format", "json"])
        .ok()
        .json("history-version");
    let [benchmark] = &report["benchmarks"].as_array().unwrap()[..] else { panic!("not one") };
    assert_eq!(benchmark["id"], "steady");
    let builds = benchmark["builds"].as_array().unwrap();
    assert_eq!(builds.len(), 3);
    assert!(builds.iter().all(|build| build["executions"].as_array().unwrap().len() == 2));
    assert_eq!(benchmark["layout_test"]["degrees_of_freedom"], serde_json::json!([2.0, 3.0]));
    let seed = builds[0]["seed"].to_string();
    let file = project.beside("version.json");
    let to_file = ["history", "HEAD", "steady", "--output", file.to_str().unwrap()];
    let detail = project.rbench(&to_file).env("COLUMNS", "140").ok();
    let written: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(written, report);
    detail.assert_stdout_has(&["layout effect: F", &seed, "same-order", "executions"]);
    assert!(!detail.stdout().contains("changing"), "{}", detail.printed());
}

#[test]
fn colours_are_used_on_request() {
    let project = TestProject::of("counted");
    run(&project, "HEAD");
    let has_colours = |arguments: &[&str], variable: &str| {
        let shown =
            project.rbench(&[&["history", "HEAD"], arguments].concat()).env(variable, "always");
        shown.ok().stdout().contains('\u{1b}')
    };
    assert!(!has_colours(&[], "UNRELATED"));
    assert!(has_colours(&["--color", "always"], "UNRELATED"));
    assert!(has_colours(&[], "CARGO_TERM_COLOR"));
    assert!(!has_colours(&["--color", "never"], "CARGO_TERM_COLOR"));
    assert!(!has_colours(&["--color", "never"], "CLICOLOR_FORCE"));
}

#[test]
fn uncommitted_tree_is_shown_and_unstored_one_gets_a_hint() {
    let project = TestProject::of("counted");
    project.append("src/lib.rs", "/// Uncommitted.\npub fn more() {}\n");
    run(&project, ".");
    project.rbench(&["history", "."]).ok().assert_stdout_has(&[". (", "+", "changing"]);
    project.rbench(&["history"]).ok().assert_stdout_has(&["changing"]);
    let outcome = project.rbench(&["history", "HEAD"]).fails_with(2);
    outcome.assert_stderr_has(&["no results are stored for HEAD", "cargo rbench run HEAD"]);
}

#[test]
fn unbuildable_commit_is_shown_with_the_reason() {
    let project = TestProject::of("counted");
    project.append("src/lib.rs", "this is no Rust\n");
    project.commit("Break it");
    project.rbench(&[&["run", "HEAD~1..HEAD"], &QUICK[..]].concat()).run();
    run(&project, "HEAD~1");
    let text = project.rbench(&["history", "HEAD"]).ok();
    text.assert_stdout_has(&["not built", "could not be built", "cannot compile"]);
    assert!(!text.stdout().contains("all measurements"), "{}", text.printed());
    project.rbench(&["history", "HEAD", "--format", "json"]).ok().json("history-version");
    let history = project.rbench(&["history", "changing"]).ok();
    history.assert_stdout_has(&["failed"]);

    // The next version is compared with the last one that was measured.
    project.git(&["revert", "--no-edit", "HEAD"]);
    project.append("src/lib.rs", "/// Something else.\npub fn more() {}\n");
    project.commit("Repair it");
    run(&project, "HEAD");
    let report = project.rbench(&["history", "changing", "--format", "json"]).ok().json("history");
    let newest = &report["benchmarks"][0]["versions"][2];
    let first = project.git(&["rev-parse", "HEAD~3"]);
    assert_eq!(newest["against"]["version"]["commit"], *first, "{newest:#}");
    assert_ne!(newest["against"]["verdict"], "failed");
}

#[test]
fn failing_benchmark_is_shown_with_the_reason() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "    rounds(700)", "    panic!(\"the table is missing\")");
    project.commit("Break one");
    project.rbench(&[&["run", "HEAD"], &QUICK[..]].concat()).run().assert_exit(4);
    let text = project.rbench(&["history", "HEAD"]).ok();
    text.assert_stdout_has(&["steady", "failed", "the table is missing", "changing"]);
    project.rbench(&["history", "HEAD", "--format", "json"]).ok().json("history-version");
}
