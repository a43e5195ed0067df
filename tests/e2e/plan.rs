//! `plan` uses stored results or a pilot, and its suggestions can be used as printed.

use crate::support::TestProject;

/// A small pilot.
const PILOT: [&str; 8] = ["--config", "build.strategy=relink", "-l", "3", "-m", "2", "-n", "4"];

fn plan(project: &TestProject, arguments: &[&str]) -> serde_json::Value {
    let arguments = [&["plan"], &PILOT[..], arguments, &["--format", "json"]].concat();
    project.rbench(&arguments).ok().json("plan")
}

#[test]
fn plan_measures_nothing_twice_and_its_lines_are_accepted() {
    let project = TestProject::of("counted");
    let first = project.rbench(&[&["plan"], &PILOT[..]].concat()).ok();
    first.assert_stderr_has(&["plan: 2 benchmarks of 1 version, 3 builds × 2 executions × 4"]);
    first.assert_stdout_has(&[
        "Variance of means, by 3 builds × 2 executions × 4 measurements",
        "impact b",
        "m0 = sqrt(",
        "one-version",
        "40 builds",
        "For bench.toml",
    ]);
    project.rbench(&["show", "HEAD"]).ok().assert_stdout_has(&["3 × 2 × 4", "finished"]);

    let second = project.rbench(&[&["plan"], &PILOT[..]].concat()).ok();
    assert!(!second.stderr().contains("plan: "), "{}", second.printed());
    let report = plan(&project, &[]);
    let [one, other] = &report["benchmarks"].as_array().unwrap()[..] else { panic!("not two") };
    for benchmark in [one, other] {
        assert_eq!(benchmark["basis"], "one-version");
        assert_eq!(benchmark["sample_sizes"]["executions"], 2);
        assert_eq!(benchmark["costs"]["link_shared_by"], 2);
        for cost in ["link_seconds", "start_seconds", "measurement_seconds"] {
            assert!(benchmark["costs"][cost].as_f64().unwrap() > 0.0, "{cost}: {benchmark:#}");
        }
        let detectable = benchmark["detectable"].as_array().unwrap();
        let changes: Vec<f64> =
            detectable.iter().map(|one| one["change"].as_f64().unwrap()).collect();
        assert!(changes.is_sorted_by(|more, less| more > less), "{changes:?}");
    }

    let lines = report["suggestion"]["toml"].as_str().unwrap();
    let whole = lines.replacen("[experiment]\n", "[experiment]\nmin-time = \"100us\"\n", 1);
    project.write("bench.toml", &whole);
    let builds = format!("{} builds × ", report["suggestion"]["builds"]);
    project.rbench(&["run", "--dry-run"]).ok().assert_stderr_has(&[&builds]);
}

#[test]
fn stored_comparison_gives_the_variation_of_pairs() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 1_100");
    project.commit("Do more");
    let compare = ["compare", "--config", "build.strategy=relink", "-l", "4", "-m", "2", "-n", "5"];
    project
        .rbench(&[&compare[..], &["--config=verdict.confirm=false", "--fail-on", "never"]].concat())
        .ok();
    let report = plan(&project, &["HEAD", "--filter", "changing"]);
    let [changing] = &report["benchmarks"].as_array().unwrap()[..] else { panic!("not one") };
    assert_eq!(changing["basis"], "compared");
    assert_eq!(changing["sample_sizes"]["builds"], 4);
    // A benchmark that the comparison did not measure has no stored results.
    let report = plan(&project, &["HEAD"]);
    let bases: Vec<&str> = report["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["basis"].as_str().unwrap())
        .collect();
    assert_eq!(bases, ["compared", "one-version"]);
}

#[test]
fn requested_half_width_decides_the_number_of_builds() {
    let project = TestProject::of("counted");
    let builds = |width: &str| {
        let report = plan(&project, &["--half-width", width]);
        let wanted = report["half_width"].as_f64().unwrap();
        assert!(wanted > 0.0);
        let benchmarks = report["benchmarks"].as_array().unwrap();
        benchmarks.iter().map(|one| one["builds"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(builds("900%"), [Some(5), Some(5)]);
    // This needs more builds than are ever suggested.
    assert_eq!(builds("0.0000001%"), [None, None]);
    let text = project.rbench(&[&["plan"], &PILOT[..], &["--half-width", "900%"]].concat()).ok();
    text.assert_stdout_has(&["Stein (1945)", "for ±900 %"]);
}

#[test]
fn failing_benchmark_is_reported_with_its_reason() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "    rounds(700)", "    panic!(\"the table is missing\")");
    project.commit("Break one");
    let outcome = project.rbench(&[&["plan"], &PILOT[..]].concat()).run().assert_exit(4);
    outcome.assert_stdout_has(&["steady: nothing is known", "the table is missing", "changing"]);
    let markdown = [&["plan"], &PILOT[..], &["--format", "markdown"]].concat();
    let markdown = project.rbench(&markdown).run().assert_exit(4);
    markdown.assert_stdout_has(&[
        "| `changing` |",
        "```toml\n[experiment]",
        "the table is missing",
    ]);
}
