//! A version is compared with itself, which leaves nothing in the project.

use std::fs;

use crate::support::{TestProject, tree};

/// The least that gives a verdict, twice.
const QUICK: [&str; 13] = [
    "selftest",
    "--repeat",
    "2",
    "--config",
    "build.strategy=relink",
    "-l",
    "3",
    "-m",
    "1",
    "-n",
    "5",
    "--config",
    "experiment.warm-up=1ms",
];

#[test]
#[ignore = "takes long"]
fn version_is_compared_with_itself_in_the_requested_modes() {
    let project = TestProject::of("compared");
    project.write("bench.toml", "[experiment]\nmin-time = \"100us\"\n");
    project.commit("Measure shortly");
    let outcome = project.rbench(&[&QUICK[..], &["--format", "json"]].concat()).run();
    assert!(matches!(outcome.status().code(), Some(0 | 1)), "{}", outcome.printed());
    let json = outcome.json("selftest");
    assert_eq!(json["version"]["revision"], "HEAD");
    assert_eq!(json["repetitions"], 2);
    assert_eq!(json["fit"], outcome.status().success());
    let benchmarks = json["benchmarks"].as_array().unwrap().len();
    let left_out = json["left_out"].as_array().unwrap().len();
    assert_eq!(benchmarks + left_out, 2, "{}", outcome.printed());
    assert_eq!(
        json["same_programs"].as_array().unwrap().len(),
        0,
        "the function is in the program"
    );
    let modes = json["modes"].as_array().unwrap();
    let names: Vec<_> = modes.iter().map(|mode| mode["mode"].as_str().unwrap()).collect();
    assert_eq!(names, ["interleaved", "sequential"]);
    for mode in modes {
        assert_eq!(mode["rows"], 2 * benchmarks);
        assert_eq!(mode["flagged"]["of"], 2 * benchmarks);
        assert_eq!(mode["sample_sizes"]["builds"], 3);
        assert_eq!(mode["p_values"]["count"], 2 * benchmarks);
        // In each of two repetitions, three pairs of executions of each benchmark.
        assert_eq!(mode["order"]["pairs"], 2 * 3 * benchmarks);
        // On a quiet machine, most pairs of a benchmark may be equal to the nanosecond, which
        // leaves no scale.
        let pairs: usize =
            mode["autocorrelation"]["pairs"].as_u64().unwrap_or(0).try_into().unwrap();
        let of_varying = |varying: usize| 2 * (3 * varying).saturating_sub(1);
        assert!((0..=benchmarks).any(|varying| pairs == of_varying(varying)), "{pairs}");
        assert_eq!(mode["noise_floors"].as_array().unwrap().len(), benchmarks);
    }
    assert_eq!(modes[0]["rows_interleaved"], 2 * benchmarks);
    assert_eq!(modes[1]["rows_interleaved"], 0);
    outcome.assert_stderr_has(&["compared with itself 2 times", "repetition 2 of 2: interleaved"]);
}

#[test]
#[ignore = "takes long"]
fn selftest_leaves_neither_results_nor_changes() {
    let project = TestProject::of("compared");
    project.write("bench.toml", "[experiment]\nmin-time = \"100us\"\n");
    project.commit("Measure shortly");
    project.append("src/lib.rs", "// Not committed.\n");
    project.write("target/of-the-user", "ignored by git");
    let own = project.storage();
    let snapshot = || tree::everything(project.root(), |path| path != own);
    let before = snapshot();
    let file = project.beside("report.md");
    let arguments = ["--mode", "sequential", "--output", file.to_str().unwrap()];
    let outcome =
        project.rbench(&[&QUICK[..], &[".", "--filter", "steady"], &arguments].concat()).run();
    assert!(matches!(outcome.status().code(), Some(0 | 1)), "{}", outcome.printed());
    outcome.assert_stdout_has(&["1 benchmark of . (", "sequential: ", "noise floor"]);
    assert!(fs::read_to_string(file).unwrap().starts_with("### Self-test"));
    let after = snapshot();
    for path in after.keys() {
        assert!(before.contains_key(path), "{} is new", path.display());
    }
    assert!(before == after, "something has changed");
    project.rbench(&["history"]).fails_with(2);
}

#[test]
fn dry_run_prints_the_plan_and_measures_nothing() {
    let project = TestProject::of("compared");
    let outcome =
        project.rbench(&["selftest", "--dry-run", "--config", "build.strategy=relink"]).ok();
    outcome
        .assert_stderr_has(&["benchmark", "interleaved and sequential; measuring takes at least"]);
    assert_eq!(outcome.stdout(), "");
}
