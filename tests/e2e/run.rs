//! `run` stores the results of a version; over a range it compares each version with the previous
//! one and can be resumed.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use cargo_rbench::{
    machine::this_machine,
    model::{Benchmark, Name, Partition, Version},
    store::Store,
};
use serde_json::Value;

use crate::support::{TestProject, rbench::Rbench};

/// The least that is stored, and quick.
const LITTLE: [&str; 10] = [
    "--config",
    "build.strategy=relink",
    "-l",
    "2",
    "-m",
    "1",
    "-n",
    "3",
    "--config",
    "experiment.warm-up=1ms",
];

fn run(project: &TestProject, arguments: &[&str]) -> Rbench {
    project.rbench(&[&["run"], arguments, &LITTLE[..]].concat())
}

/// Four versions; the second does not compile.
fn project() -> TestProject {
    let project = TestProject::of("counted");
    project.git(&["tag", "base"]);
    project.append("src/lib.rs", "fn broken( {\n");
    project.commit("Break the build");
    project.replace("src/lib.rs", "fn broken( {\n", "");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    project.commit("Repair it and do more");
    project.replace("src/lib.rs", "u64 = 2_000", "u64 = 3_000");
    project.commit("Do still more");
    project
}

#[test]
#[ignore = "takes long"]
fn range_runs_newest_first_and_records_failed_builds() {
    let project = project();
    let unused = project.storage().join("builds/unused");
    fs::create_dir_all(&unused).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(60 * 24 * 3600);
    fs::File::open(&unused).unwrap().set_modified(long_ago).unwrap();
    let first = run(&project, &["base..HEAD"]).ok();
    let lines: Vec<String> = first.stderr().lines().map(str::to_owned).collect();
    let place = |text: &str| {
        let found = lines.iter().position(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("no `{text}` in {}", first.printed()))
    };
    assert!(place("comparison 1: ") < place("skipped: cannot compile"));
    assert!(place("skipped: cannot compile") < place("comparison 2: base ("));
    // A long range may need more room than there is, so the cache is cleaned before its end.
    assert!(place("removed 1 entry of the cache") < place("comparison 2: "));

    let again = run(&project, &["base..HEAD"]).ok();
    again.assert_stderr_has(&["are already measured", "could not be built before", " --builds 2 "]);
    assert!(!again.stderr().contains(" executions,"), "{}", again.printed());
}

#[test]
fn listed_versions_are_compared_with_their_predecessors() {
    let project = project();
    let outcome = run(&project, &["base", "HEAD~1", "HEAD", "--dry-run"]).ok();
    let lines = outcome.stderr();
    let [first, second] = ["comparison 1: HEAD~1 (", "comparison 2: base ("]
        .map(|line| lines.find(line).unwrap_or_else(|| panic!("{}", outcome.printed())));
    assert!(first < second, "{}", outcome.printed());
}

#[test]
fn environment_failure_ends_a_range_and_is_not_stored() {
    let project = TestProject::of("counted");
    let temporary = project.beside("temporary");
    fs::create_dir(&temporary).unwrap();
    project.replace(
        "src/lib.rs",
        "    rounds(ROUNDS)",
        &format!("    let _ = std::fs::remove_dir_all({temporary:?});\n    rounds(ROUNDS)"),
    );
    project.commit("Remove the directory for temporary files");
    let outcome = run(&project, &["HEAD~1", "HEAD"]).env("TMPDIR", &temporary).fails_with(2);
    outcome.assert_stderr_has(&["set TMPDIR", "run the same command again to resume"]);
    assert!(!outcome.stderr().contains("skipped"), "{}", outcome.printed());
    fs::create_dir(&temporary).unwrap();
    project.replace("src/lib.rs", "let _ = std::fs::remove_dir_all", "let _ = std::fs::read_dir");
    project.commit("Leave it");
    run(&project, &["HEAD"]).env("TMPDIR", &temporary).ok();
}

#[test]
fn steps_are_spread_evenly_over_the_range() {
    let project = project();
    let outcome = run(&project, &["base..HEAD", "--steps", "2", "--dry-run"]).ok();
    outcome.assert_stderr_has(&["comparison 1: base ("]);
    assert!(!outcome.stderr().contains("comparison 2"), "{}", outcome.printed());
}

#[test]
fn budget_compares_the_ends_of_a_range_before_its_halves() {
    let project = project();
    let outcome = run(&project, &["base..HEAD", "--budget", "1h", "--dry-run"]).ok();
    let lines = outcome.stderr();
    let place = |line: &str| lines.find(line).unwrap_or_else(|| panic!("{}", outcome.printed()));
    let newer = project.git(&["rev-parse", "HEAD~1"]);
    let second = format!("comparison 2: {}", &newer[..7]);
    assert!(place("comparison 1: base (") < place(&second));
    let none = run(&project, &["base..HEAD", "--budget", "0s"]).fails_with(2);
    none.assert_stderr_has(&["--budget"]);
}

#[test]
fn range_measures_benchmarks_without_results() {
    let project = project();
    run(&project, &["HEAD~1..HEAD", "--filter", "steady"]).ok();
    let rest = run(&project, &["HEAD~1..HEAD"]).ok();
    rest.assert_stderr_has(&["plan: 1 benchmark of 2 versions"]);
    let again = run(&project, &["HEAD~1..HEAD", "--format", "json"]).ok();
    again.assert_stderr_has(&["are already measured"]);
    assert!(!again.stderr().contains("executions"), "{}", again.printed());
    assert_eq!(again.json("run-range")["versions"].as_array().unwrap().len(), 2);
}

/// The pairs of commits of all experiments in a directory, as the subjects of base and head.
fn shared_pairs(place: &str) -> Vec<[String; 2]> {
    let reader = TestProject::of("counted");
    reader.rbench(&["pull", place]).ok();
    let lines = reader.rbench(&["push", "-"]).ok().stdout();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let versions = lines.filter_map(|line| line.pointer("/experiment/versions").cloned());
    let subject = |version: &Value| version["version"]["summary"].as_str().unwrap().to_owned();
    let pair = |versions: Value| [0, 1].map(|index| subject(&versions[index]));
    let mut pairs: Vec<_> = versions.map(pair).collect();
    pairs.sort_unstable();
    pairs
}

#[test]
fn parts_of_a_range_measure_each_pair_once() {
    let project = TestProject::of("counted");
    project.git(&["tag", "base"]);
    let mut rounds = "1_000".to_owned();
    for (number, part) in [(1, 1), (2, 2), (3, 1)] {
        // The files of a head decide its part.
        let wanted = Partition { part, of: 2 };
        let mut head = Version::default();
        for more in 2_000 * number.. {
            let [old, new] = [&rounds, &more.to_string()].map(|rounds| format!("u64 = {rounds};"));
            project.replace("src/lib.rs", &old, &new);
            rounds = more.to_string();
            project.git(&["add", "--all"]);
            head.tree = project.git(&["write-tree"]).trim().to_owned();
            if wanted.has_head(&head) {
                break;
            }
        }
        project.commit(&format!("Commit {number}"));
    }
    let elsewhere = project.clone_elsewhere();
    let directory = project.beside("shared");
    let place = directory.to_str().unwrap();
    let part = |project: &TestProject, part: &str| {
        let run = run(project, &["base..HEAD", "--part", part, "--push", "--filter", "changing"]);
        run.env("RBENCH_SHARED", place).env("RBENCH_CLASS", "ax42").ok().stderr()
    };
    let printed = [part(&project, "1/2"), part(&elsewhere, "2/2")];
    let made = printed.each_ref().map(|text| text.matches("\ncomparison ").count());
    for (number, text) in printed.iter().enumerate() {
        let line = format!("part {}/2: {} of 3 comparisons", number + 1, made[number]);
        assert!(text.contains(&line), "{line}: {text}");
    }
    assert_eq!(made, [2, 1], "{printed:#?}");
    let pairs = shared_pairs(place);
    let first = project.git(&["log", "-1", "--format=%s", "base"]);
    let all = [first.trim(), "Commit 1", "Commit 2", "Commit 3"];
    let mut neighbors: Vec<_> =
        all.windows(2).map(|pair| [pair[0].to_owned(), pair[1].to_owned()]).collect();
    neighbors.sort_unstable();
    assert_eq!(pairs, neighbors);

    // A machine that was lost comes back without its results, and another one takes over the other part.
    fs::remove_dir_all(project.root().join(".rbench")).unwrap();
    for text in [part(&project, "1/2"), part(&project, "2/2")] {
        let own = text.matches("\ncomparison ").count();
        assert_eq!(text.matches("are already measured").count(), own, "{text}");
        assert!(!text.contains(" executions"), "{text}");
    }
    assert_eq!(shared_pairs(place), pairs);
}

#[test]
fn part_that_cannot_be_shared_or_divided_is_an_error() {
    let project = project();
    let part = |arguments: &[&str], place: &str| {
        run(&project, arguments).env("RBENCH_SHARED", place).fails_with(2)
    };
    for (wrong, why) in [
        ("0/8", "the parts are 1 to 8, and 0 is none of them"),
        ("9/8", "the parts are 1 to 8, and 9 is none of them"),
        ("x", "`x` is not a part; example: 1/3"),
    ] {
        part(&["base..HEAD", "--part", wrong], "").assert_stderr_has(&["--part", why]);
    }
    let one = part(&["HEAD", "--part", "1/2"], "");
    one.assert_stderr_has(&["cannot divide the measurement of one version", "name a range A..B"]);
    let file = part(&["base..HEAD", "--part", "1/2", "--push"], "results.jsonl");
    file.assert_stderr_has(&["cannot share results.jsonl among parts", "name a directory"]);
    let budget = part(&["base..HEAD", "--part", "1/2", "--budget", "1h"], "");
    budget.assert_stderr_has(&["cannot be used with '--budget"]);
}

#[test]
fn version_requested_by_name_is_measured_again() {
    let project = project();
    for _ in 0..2 {
        let outcome = run(&project, &["HEAD"]).ok();
        outcome.assert_stderr_has(&["measured 4 of 4 executions in "]);
        outcome.assert_stdout_has(&["changing", "steady"]);
    }
}

#[test]
fn json_report_has_the_measured_results() {
    let project = project();
    let run = |metric| run(&project, &["HEAD", "--format", "json", "--metric", metric]);
    let shown = run("wall").ok().json("history-version");
    assert_eq!(shown["benchmarks"].as_array().unwrap().len(), 2);
    // The results are stored anyway.
    let nothing = run("cycles").ok();
    nothing.assert_stderr_has(&["warning: ", "no results in cycles", "they have: wall"]);
    assert_eq!(nothing.json("history-version")["benchmarks"].as_array().unwrap().len(), 0);
}

#[test]
fn single_version_that_does_not_build_is_an_error() {
    let outcome = run(&project(), &["HEAD~2"]).fails_with(3);
    outcome.assert_stderr_has(&["cannot compile"]);
}

#[test]
fn filter_without_match_in_any_version_is_an_error() {
    let outcome = run(&project(), &["HEAD~2..HEAD", "--filter", "staedy"]).fails_with(2);
    outcome.assert_stderr_has(&["no benchmark matches", "steady"]);
}

#[test]
fn benchmark_settings_apply_unless_quick_overrides_them() {
    let project = project();
    project.write("bench.toml", "[[benchmark]]\nfilter = 'steady'\nexecutions = 3\n");
    let arguments = ["run", "HEAD", "-l", "2", "-n", "3", "--config", "experiment.warm-up=1ms"];
    let own = project.rbench(&arguments).ok();
    own.assert_stderr_has(&["(1 with their own sample sizes)", "of 10 executions"]);
    let quick = project.rbench(&["run", "HEAD", "--quick", "--dry-run"]).ok();
    quick.assert_stderr_has(&["5 builds × 1 execution × 5 measurements"]);
    assert!(!quick.stderr().contains("with their own sample sizes"), "{}", quick.printed());
}

#[test]
fn benchmark_too_slow_for_its_iterations_is_tuned_again() {
    let project = TestProject::of("counted");
    let store = Store::open(&project.root().join(".rbench/results.sqlite"), &|| {}).unwrap();
    let (package, target) = ("counted".to_owned(), "work".to_owned());
    let steady = Benchmark { package, target, name: Name::plain("steady") };
    let min_time = Duration::from_micros(100);
    // This number would take an hour.
    store.record_tuned(&steady, &this_machine(), min_time, 1_000_000_000).unwrap();
    let outcome =
        run(&project, &["HEAD", "--filter", "steady", "--config", "experiment.deadline=1s"]).ok();
    outcome.assert_stdout_has(&["steady"]);
    let iterations = store.tuned(&steady, &this_machine(), min_time).unwrap();
    assert!(iterations.is_some_and(|iterations| iterations < 1000), "{iterations:?}");
}

#[test]
fn divan_sample_size_is_tuned_once_and_passed_to_each_run() {
    let project = TestProject::divan();
    let store = Store::open(&project.root().join(".rbench/results.sqlite"), &|| {}).unwrap();
    let (package, target) = ("fixture-divan".to_owned(), "same".to_owned());
    let sum = Benchmark { package, target, name: Name::plain("same::sum") };
    let min_time = Duration::from_micros(100);
    let sample_sizes = [
        "-l",
        "2",
        "-m",
        "2",
        "-n",
        "20",
        "--config",
        "experiment.min-time=100us",
        "--config",
        "build.strategy=relink",
    ];
    let iterations = |filter: &str| {
        let run = project
            .rbench(&[&["run", "HEAD", "--filter", filter], &sample_sizes[..]].concat())
            .ok();
        run.assert_stderr_has(&["cannot have 20 measurements: the table of Divan shows at most 3"]);
        let exported = project.rbench(&["push", "-"]).ok().stdout();
        let lines = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut iterations: Vec<u64> = lines
            .filter_map(|line| line.pointer("/execution/metrics/0/iterations").cloned())
            .flat_map(|iterations| serde_json::from_value::<Vec<u64>>(iterations).unwrap())
            .collect();
        let mut newest = iterations.split_off(iterations.len() - 4);
        newest.sort_unstable();
        newest
    };
    // This number is so small that it is tuned again after the first execution.
    store.record_tuned(&sum, &this_machine(), min_time, 2).unwrap();
    let first = iterations("same::sum");
    let found = store.tuned(&sum, &this_machine(), min_time).unwrap().unwrap();
    assert!(found > 100, "{found}");
    assert_eq!(first, [2, found, found, found]);
    // The tuned number is suitable, so it stays.
    assert_eq!(iterations("same::sum"), [found; 4]);
}
