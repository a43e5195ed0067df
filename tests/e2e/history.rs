//! A history shows results in the order of the repository and compares only comparable ones; of one version, it shows
//! every build and execution.
//!
//! Most tests need many commits, so they import made-up results: lines as `push` writes them.

mod changes;
mod paths;
mod version;

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{COMPARE_QUICK, TestProject};

/// Three layout seeds.
const SEEDS: [u32; 3] = [11, 22, 33];

/// A made-up export.
pub struct Lines {
    text: String,
    count: usize,
    /// The measured benchmark.
    id: &'static str,
    /// Another benchmark of the plan.
    also: Option<&'static str>,
    /// The class of the machines, which then differ by their installation instead of their CPU.
    pub class: Option<&'static str>,
}

/// One experiment of the export.
pub struct Session<'a> {
    pub identity: &'a str,
    pub machine: &'a str,
    /// Commit, tree and nanoseconds per iteration.
    pub versions: &'a [(&'a str, &'a str, f64)],
}

impl Lines {
    pub fn new() -> Self {
        let mut lines =
            Self { text: String::new(), count: 0, id: "parse/1", also: None, class: None };
        lines.push(&json!({"header": {"format": "rbench-results", "schema_version": 1, "rbench": "0.1.0"}}));
        lines
    }

    fn push(&mut self, line: &Value) {
        writeln!(self.text, "{line}").unwrap();
        self.count += 1;
    }

    pub fn session(&mut self, session: &Session<'_>) {
        let started = 1_700_000_000_000_000_000 + 1_000_000_000 * self.count as u64;
        let versions: Vec<Value> = session
            .versions
            .iter()
            .map(|(commit, tree, _)| {
                json!({
                    "version": {
                        "revision": "HEAD", "commit": commit, "tree": tree, "dirty": false,
                        "summary": "Made up", "committed_at": "2023-11-14T22:13:21Z",
                    },
                    "toolchain": "rustc 1", "failure": null,
                })
            })
            .collect();
        let dimensions = json!({"builds": 3, "executions": 1, "measurements": 2});
        let planned = std::iter::once(self.id).chain(self.also);
        let planned: Vec<Value> = planned
            .map(|id| json!({"benchmark": benchmark(id), "sample_sizes": dimensions}))
            .collect();
        let (cpu, installation) = match self.class {
            Some(_) => ("A", session.machine),
            None => (session.machine, "0123"),
        };
        self.push(&json!({"experiment": {
            "identity": format!("{:0>32}", session.identity),
            "started_ns": started, "finished_ns": started + 5,
            "machine": {
                "cpu": cpu, "cores": 2, "memory_bytes": 8_589_934_592_u64, "os": "linux",
                "architecture": "x86_64", "id": installation, "class": self.class.unwrap_or_default(),
            },
            "rbench": "0.1.0", "settings": "{}", "settings_key": "k",
            "sample_sizes": dimensions, "seed": 1, "versions": versions, "benchmarks": planned,
        }}));
        for (version, (_, _, value)) in session.versions.iter().enumerate() {
            for (index, seed) in SEEDS.iter().enumerate() {
                // The layout's share, common to both versions, and a small difference between them.
                let noise = 0.0001 * ((3 * index + version) % 4) as f64;
                self.execution(version, *seed, value * (1.0 + 0.001 * index as f64 + noise));
            }
        }
    }

    fn execution(&mut self, version: usize, seed: u32, value: f64) {
        self.push(&json!({"execution": {
            "benchmark": benchmark(self.id),
            "slot": {"version": version, "stage": "first", "round": 0, "seed": seed},
            "request": {
                "measurements": 2, "warm_up_ns": 1, "min_time_ns": 1, "iterations": null, "seed": 0,
            },
            "metrics": [{
                "name": "wall", "unit": "ns", "measurements": [value, value], "iterations": [1, 1],
                "resolution": 0.0,
            }],
            "throughput": [], "warm_up_ns": null, "schedule": "not_requested",
            "resources": {
                "start_ns": 1_700_000_000_000_000_000_u64, "wall_ns": 1000, "user_ns": 900,
                "system_ns": 0, "peak_memory_bytes": null, "voluntary_switches": 0,
                "involuntary_switches": 0,
            },
        }}));
    }

    /// Records that the last experiment did not measure a benchmark.
    fn unmeasured(&mut self, id: &str, verdict: &str) {
        self.push(&json!({"unmeasured": {
            "benchmark": benchmark(id),
            "verdict": verdict,
        }}));
    }

    fn skip(&mut self, id: &str, seed: u32, reason: &str) {
        self.push(&json!({"skip": {
            "benchmark": benchmark(id),
            "slot": {"version": 0, "stage": "first", "round": 0, "seed": seed},
            "reason": reason,
        }}));
    }

    fn end(mut self) -> String {
        let lines = self.count;
        self.push(&json!({"end": {"lines": lines}}));
        self.text
    }
}

/// A benchmark with this id.
fn benchmark(id: &str) -> Value {
    json!({
        "package": "p", "target": "t", "id": id,
        "group": null, "function": null, "parameter": null,
    })
}

/// A project with `commits` commits after the first, and their hashes and trees, oldest first.
pub fn project(commits: usize) -> (TestProject, Vec<(String, String)>) {
    let project = TestProject::of("sums");
    for number in 0..commits {
        project.write("count", &number.to_string());
        project.commit(&format!("Commit {number}"));
    }
    let log = project.git(&["log", "--reverse", "--format=%H %T"]);
    let pair = |line: &str| {
        let (commit, tree) = line.split_once(' ').unwrap();
        (commit.to_owned(), tree.to_owned())
    };
    let all = log.lines().map(pair).skip(1).collect();
    (project, all)
}

#[track_caller]
pub fn import(project: &TestProject, lines: Lines) {
    let file = project.beside("results.jsonl");
    std::fs::write(&file, lines.end()).unwrap();
    project.rbench(&["pull", file.to_str().unwrap()]).ok();
}

fn history(project: &TestProject, more: &[&str]) -> Vec<Value> {
    let arguments = [&["history", "--format", "json"], more].concat();
    let report = project.rbench(&arguments).ok().json("history");
    report["benchmarks"][0]["versions"].as_array().unwrap().clone()
}

fn field<'v>(versions: &'v [Value], path: &str) -> Vec<&'v str> {
    versions
        .iter()
        .map(|version| version.pointer(path).map_or("-", |value| value.as_str().unwrap_or("-")))
        .collect()
}

#[test]
fn versions_are_ordered_by_the_repository_and_compared() {
    let (project, commits) = project(3);
    let version = |index: usize, value: f64| (&*commits[index].0, &*commits[index].1, value);
    let mut lines = Lines::new();
    // Stored newest first, and the last two together.
    lines.session(&Session {
        identity: "1",
        machine: "A",
        versions: &[version(1, 100.0), version(2, 150.0)],
    });
    lines.session(&Session { identity: "2", machine: "A", versions: &[version(0, 100.0)] });
    import(&project, lines);
    let versions = history(&project, &["--config=verdict.confirm=false"]);
    let ids: Vec<&str> = commits.iter().map(|(commit, _)| &**commit).collect();
    assert_eq!(field(&versions, "/version/commit"), ids);
    assert_eq!(
        field(&versions, "/against/relation"),
        ["-", "across_experiments", "same_experiment"]
    );
    assert_eq!(field(&versions, "/against/verdict"), ["-", "not_comparable", "regressed"]);

    let text = project.rbench(&["history", "parse", "--config=verdict.confirm=false"]).ok();
    text.assert_stdout_has(&[
        "▁▁█",
        "+50.00 %",
        "not checked by fresh builds",
        "no commit was measured twice",
    ]);
    text.assert_stdout_has(&[&format!("cargo rbench run {}", &ids[1][..7])]);
    let overview = project.rbench(&["history", "--config=verdict.confirm=false"]).ok();
    overview.assert_stdout_has(&["parse/1", "▁▁█", "regressed"]);
}

#[test]
fn unmeasured_version_takes_the_value_of_the_one_before() {
    let (project, commits) = project(4);
    let version = |index: usize, value: f64| (&*commits[index].0, &*commits[index].1, value);
    let mut lines = Lines::new();
    lines.session(&Session { identity: "1", machine: "A", versions: &[version(0, 100.0)] });
    for (identity, index, verdict) in [("2", 0, "unaffected"), ("3", 1, "identical")] {
        lines.id = "other";
        let versions = [version(index, 7.0), version(index + 1, 7.0)];
        lines.session(&Session { identity, machine: "A", versions: &versions });
        lines.unmeasured("parse/1", verdict);
    }
    lines.id = "parse/1";
    let versions = [version(2, 100.0), version(3, 150.0)];
    lines.session(&Session { identity: "4", machine: "A", versions: &versions });
    import(&project, lines);

    let versions = history(&project, &["parse", "--config=verdict.confirm=false"]);
    let verdicts = field(&versions, "/against/verdict");
    assert_eq!(verdicts, ["-", "unaffected", "identical", "regressed"]);
    assert_eq!(versions[1]["result"], versions[0]["result"]);
    let text = project.rbench(&["history", "parse", "--config=verdict.confirm=false"]).ok();
    text.assert_stdout_has(&["▁▁▁█", "unaffected"]);
    assert!(!text.stdout().contains('~'), "{}", text.printed());

    let stored = ["compare", "HEAD~3", "HEAD~2", "--stored"];
    let compared = project.rbench(&stored).ok();
    compared.assert_stdout_has(&["unaffected (no changed code or data; not measured): parse/1"]);
    // The newer of its two experiments decides.
    let shown = project.rbench(&["history", "HEAD~2"]).ok();
    shown.assert_stdout_has(&["parse/1: identical: not measured (the versions of this experiment"]);
}

#[test]
fn commit_measured_again_makes_experiments_comparable() {
    let (project, commits) = project(2);
    let version = |index: usize, value: f64| (&*commits[index].0, &*commits[index].1, value);
    let mut lines = Lines::new();
    for (identity, value) in [("1", 100.0), ("2", 100.5), ("3", 99.8), ("4", 100.2)] {
        lines.session(&Session { identity, machine: "A", versions: &[version(0, value)] });
    }
    lines.session(&Session { identity: "5", machine: "A", versions: &[version(1, 150.0)] });
    import(&project, lines);
    let versions = history(&project, &[]);
    assert_eq!(field(&versions, "/against/verdict"), ["-", "regressed"]);
    let text = project.rbench(&["history", "parse"]).ok();
    text.assert_stdout_has(&[
        "regressed ~",
        "the results of two experiments",
        "1 version measured again",
    ]);

    let arguments = ["compare", "HEAD~1", "HEAD", "--stored", "--format", "json"];
    let report = project.rbench(&arguments).run().assert_exit(1).json("compare");
    assert_eq!(report["benchmarks"][0]["verdict"], "regressed");
    assert_eq!(report["benchmarks"][0]["reason"]["kind"], "two_experiments");
}

/// The older versions were measured on another machine than the newest.
#[test]
fn machine_variation_is_not_mixed_with_other_verdicts() {
    let (project, commits) = project(3);
    let version = |index: usize, value: f64| (&*commits[index].0, &*commits[index].1, value);
    let mut lines = Lines::new();
    for (identity, machine, index, value) in [
        ("1", "A", 0, 100.0),
        ("2", "A", 1, 100.1),
        ("3", "A", 1, 100.2),
        ("4", "B", 2, 150.0),
        ("5", "B", 2, 180.0),
    ] {
        lines.session(&Session { identity, machine, versions: &[version(index, value)] });
    }
    import(&project, lines);
    let report = project.rbench(&["history", "--format", "json"]).ok().json("history");
    let relations =
        field(report["benchmarks"][0]["versions"].as_array().unwrap(), "/against/relation");
    assert_eq!(relations, ["-", "across_experiments", "different_conditions"]);
    assert_eq!(report["benchmarks"][0]["sessions"], Value::Null);
}

#[test]
fn results_of_another_machine_are_compared_only_on_request() {
    let (project, commits) = project(2);
    let version = |index: usize, value: f64| (&*commits[index].0, &*commits[index].1, value);
    let mut lines = Lines::new();
    lines.session(&Session { identity: "1", machine: "A", versions: &[version(0, 100.0)] });
    for (identity, value) in [("2", 150.0), ("3", 150.4), ("4", 149.9)] {
        lines.session(&Session { identity, machine: "B", versions: &[version(1, value)] });
    }
    import(&project, lines);
    let versions = history(&project, &[]);
    assert_eq!(field(&versions, "/against/verdict"), ["-", "not_comparable"]);
    assert_eq!(field(&versions, "/machine/cpu"), ["A", "B"]);
    let text = project.rbench(&["history", "parse"]).ok();
    text.assert_stdout_has(&["machine: CPU: A, not B", "--ignore-environment"]);
    let allowed = project.rbench(&["history", "--ignore-environment"]).ok();
    let top = allowed.stdout().lines().next().unwrap().to_owned();
    assert!(
        top.contains(
            "warning: results from different machines, compilers or settings are compared"
        ),
        "{top}"
    );

    let compare = ["compare", "HEAD~1", "HEAD", "--stored"];
    project.rbench(&compare).ok().assert_stdout_has(&["not comparable", "CPU: A, not B"]);
    let allowed = project.rbench(&[&compare[..], &["--ignore-environment"]].concat()).run();
    allowed.assert_stdout_has(&["warning: compared despite different conditions", "CPU: A, not B"]);
}

#[test]
fn skipped_benchmark_is_shown_as_skipped_where_it_was() {
    let (project, commits) = project(3);
    let version = |index: usize, value: f64| (&*commits[index].0, &*commits[index].1, value);
    let mut lines = Lines::new();
    let both = [version(0, 100.0), version(1, 100.1)];
    lines.session(&Session { identity: "1", machine: "A", versions: &both });
    lines.also = Some("gpu/1");
    lines.session(&Session { identity: "2", machine: "A", versions: &[version(2, 100.2)] });
    lines.skip("gpu/1", SEEDS[0], "there is no GPU here");
    import(&project, lines);
    for command in [&["history", "HEAD"][..], &["history", "gpu"]] {
        let outcome = project.rbench(command).ok();
        outcome.assert_stdout_has(&["skipped", "there is no GPU here"]);
        assert!(!outcome.stdout().contains("failed"), "{}", outcome.printed());
    }
    let stored = ["compare", "HEAD~2", "HEAD~1", "--stored", "--filter", "gpu"];
    project.rbench(&stored).fails_with(2).assert_stderr_has(&[
        "nothing is stored of these benchmarks of HEAD~2 (",
        "measure them with: cargo rbench compare HEAD~2 HEAD~1 --filter gpu\n",
    ]);
}

#[test]
fn missing_commits_are_listed_and_only_newest_are_shown() {
    let (project, commits) = project(3);
    let gone = "0123456789012345678901234567890123456789";
    let mut lines = Lines::new();
    lines.session(&Session { identity: "0", machine: "A", versions: &[(gone, "tree", 100.0)] });
    for (number, (commit, tree)) in commits.iter().enumerate() {
        let versions = &[(&**commit, &**tree, 100.0)];
        lines.session(&Session { identity: &format!("a{number}"), machine: "A", versions });
    }
    import(&project, lines);
    let text = project.rbench(&["history", "parse"]).ok();
    text.assert_stdout_has(&["(0123456)", "no longer in this repository"]);
    let shown = project.rbench(&["history", "01234567"]).ok();
    shown.assert_stdout_has(&["0123456", "parse/1", "100.0 ns"]);
    let short = project.rbench(&["history", "parse", "--last", "2"]).ok();
    short.assert_stdout_has(&["2 other stored versions not shown"]);
    let since = history(&project, &["--since", "HEAD~1"]);
    assert_eq!(field(&since, "/version/commit"), [&*commits[1].0, &*commits[2].0]);
    assert_eq!(field(&since, "/against/version/commit"), ["-", &*commits[1].0]);

    let shallow = TestProject::bare("a shallow clone");
    let from = format!("file://{}", project.root().display());
    shallow.git(&["clone", "--quiet", "--depth", "1", &from, "."]);
    let file = project.beside("results.jsonl");
    shallow.rbench(&["pull", file.to_str().unwrap()]).ok();
    shallow.rbench(&["history"]).ok().assert_stdout_has(&["git fetch --unshallow"]);
    let unknown = project.rbench(&["history", "--since", "v9"]).fails_with(2);
    unknown.assert_stderr_has(&["cannot find revision `v9`"]);
}

#[test]
fn results_stay_in_the_history_despite_later_runs() {
    let (project, commits) = project(2);
    let values = commits.iter().zip([100.0, 200.0]);
    let versions: Vec<_> =
        values.map(|((commit, tree), value)| (&**commit, &**tree, value)).collect();
    let mut lines = Lines::new();
    lines.session(&Session { identity: "a", machine: "A", versions: &versions });
    lines.id = "print";
    for identity in ["b0", "b1", "b2", "b3", "b4"] {
        lines.session(&Session { identity, machine: "A", versions: &versions });
    }
    import(&project, lines);
    // It is flagged, and was not confirmed.
    let parse = history(&project, &["parse"]);
    assert_eq!(field(&parse, "/against/verdict"), ["-", "inconclusive"]);
}

#[test]
fn empty_store_explains_how_to_fill_it_and_makes_no_file() {
    let project = TestProject::of("sums");
    for arguments in
        [&["history"][..], &["history", "HEAD"], &["push", "-"], &["compare", "--stored"]]
    {
        let outcome = project.rbench(&[arguments, &["--manifest-path", "Cargo.toml"]].concat());
        let outcome = if arguments[0] == "compare" {
            project.commit("Second");
            outcome.fails_with(2)
        } else {
            outcome.fails_with(2)
        };
        outcome.assert_stderr_has(&[
            "no results are stored yet",
            "cargo rbench run --manifest-path Cargo.toml\n",
        ]);
    }
    assert!(!project.root().join(".rbench").exists());
}

#[test]
fn unknown_benchmark_is_rejected_with_similar_names() {
    let (project, commits) = project(1);
    let (commit, tree) = &commits[0];
    let mut lines = Lines::new();
    lines.session(&Session { identity: "1", machine: "A", versions: &[(commit, tree, 100.0)] });
    import(&project, lines);
    let outcome = project.rbench(&["history", "pares"]).fails_with(2);
    outcome.assert_stderr_has(&["no benchmark matches", "`parse/1`"]);
    // Its first word may also be a version with a typing error, which is not dropped beside a filter.
    let outcome = project.rbench(&["history", "v9", "parse"]).fails_with(2);
    outcome.assert_stderr_has(&[
        "no benchmark matches `v9`",
        "it names no version either: cannot find revision `v9`",
    ]);
    let outcome = project.rbench(&["history", "HEAD~1..HEAD"]).fails_with(2);
    outcome.assert_stderr_has(&["names a range", "cargo rbench history --since HEAD~1\n"]);
    let outcome = project.rbench(&["history", "HEAD", "--last", "3"]).fails_with(2);
    outcome.assert_stderr_has(&["`--last` is about several versions", "`HEAD` names one"]);
}

#[test]
fn stored_verdicts_match_those_of_compare() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.commit("Change the work");
    let compare = [&COMPARE_QUICK[..], &["--format", "json"]].concat();
    let measured = project.rbench(&compare).run().assert_exit(1).json("compare");
    let stored = ["compare", "--stored", "--format", "json"];
    let stored = project.rbench(&stored).run().assert_exit(1).json("compare");
    let rows = |report: &Value| {
        let mut rows = report["benchmarks"].as_array().unwrap().clone();
        rows.sort_by_key(|row| row["id"].to_string());
        // The functions that a benchmark executes are not stored.
        for row in &mut rows {
            row["impact"] = Value::Null;
        }
        rows
    };
    assert_eq!(rows(&measured), rows(&stored));

    let report = project.rbench(&["history", "changing", "--format", "json"]).ok().json("history");
    let against = &report["benchmarks"][0]["versions"][1]["against"];
    let row = rows(&measured).into_iter().find(|row| row["id"] == "changing").unwrap();
    assert_eq!((&against["verdict"], &against["reason"]), (&row["verdict"], &row["reason"]));
    assert_eq!(against["relation"], "same_experiment");
}
