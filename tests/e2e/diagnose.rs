//! Diagnoses are measured, stored and shown again, and never mixed with comparisons.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    process::Command,
    thread,
    time::{Duration, SystemTime},
};

use cargo_rbench::store::Store;
use serde_json::Value;

use crate::support::{TestProject, rbench::Outcome};

/// Few and short executions, each with enough measurements for the detection of level shifts.
const FEW: [&str; 8] = ["-l", "2", "-m", "3", "-n", "200", "--min-time", "100us"];

fn project() -> TestProject {
    TestProject::shared("diagnosed", "diagnosed", |_| {})
}

fn diagnose(project: &TestProject, arguments: &[&str]) -> Outcome {
    project.rbench(&[&["diagnose", "HEAD"], arguments].concat()).ok()
}

/// The diagnosis in a report of a single benchmark.
fn only(report: &Value) -> &Value {
    let [benchmark] = &report["benchmarks"].as_array().unwrap()[..] else { panic!("not one") };
    &benchmark["diagnosis"]
}

#[test]
#[ignore = "takes long"]
fn diagnosis_is_shown_again_from_stored_results() {
    let project = TestProject::of("diagnosed");
    let [file, page] = ["diagnosis.json", "diagnosis.html"].map(|name| project.beside(name));
    let to = ["--output", file.to_str().unwrap(), "--output", page.to_str().unwrap()];
    let arguments = [&["--exact", "notifies"], &FEW[..], &to].concat();
    let brief = diagnose(&project, &arguments);
    brief.assert_stdout_has(&["machine or benchmark? ", "--from-stored --reasons"]);
    assert!(brief.stdout().lines().count() < 20, "{}", brief.stdout());
    let text = diagnose(&project, &["--from-stored", "--reasons", "notifies"]);
    text.assert_stdout_has(&[
        "2 builds × 3 executions × 200 measurements",
        "Where does the variance come from?",
        "Do previous benchmarks matter?",
        "after `registers` in one process",
        "Which estimator is best?",
        "lower-quartile",
        "How long must a measurement be?",
        "Chen & Revels 2016",
    ]);
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let found = only(&written);
    assert_eq!(found["order_effect"]["others"], serde_json::json!(["registers"]));
    assert_eq!(found["has_control"], true);
    assert!(found["length"]["points"].as_array().unwrap().len() > 3);
    let page = fs::read_to_string(&page).unwrap();
    assert_eq!(page.matches("<svg xmlns").count(), 7, "a plot of each finding");

    // The same again, without measuring.
    let again = diagnose(&project, &["--from-stored", "notifies", "--format", "json"]);
    let again = again.json("diagnose");
    let again = only(&again);
    for finding in [
        "/sample_sizes",
        "/experiments",
        "/trend",
        "/level_shifts",
        "/order_effect",
        "/length",
        "/has_control",
    ] {
        assert!(found.pointer(finding).is_some(), "{finding}");
        assert_eq!(again.pointer(finding), found.pointer(finding), "{finding}");
    }

    // A diagnosis is part of no history and no overview, and lets no comparison skip a benchmark.
    let nothing = project.rbench(&["history", "HEAD"]).fails_with(2);
    nothing.assert_stderr_has(&["no results are stored for HEAD"]);
    project.rbench(&["history"]).fails_with(2).assert_stderr_has(&["no results are stored yet"]);
    let exported = project.rbench(&["push", "-"]).ok().stdout();
    assert!(exported.contains("notifies"), "every measurement can be had");
    let run = ["run", "HEAD", "--exact", "--filter", "notifies", "-l", "2", "-m", "1", "-n", "5"];
    project.rbench(&run).ok();
    let words = ["history", "HEAD", "--format", "json"];
    let shown = project.rbench(&words).ok().json("history-version");
    assert_eq!(shown["experiments"].as_array().unwrap().len(), 1);
    assert_eq!(shown["benchmarks"].as_array().unwrap().len(), 1);
}

#[test]
#[ignore = "takes long"]
fn results_of_a_comparison_answer_some_questions() {
    let project = TestProject::of("diagnosed");
    let run = ["run", "HEAD", "--exact", "--filter", "steady", "-l", "2", "-m", "2", "-n", "5"];
    project.rbench(&run).ok();
    let found = diagnose(&project, &["--from-stored", "--format", "json"]).json("diagnose");
    let found = only(&found);
    assert!(found["variance"]["mean"].is_number(), "{found:#}");
    let unanswered = |question: &str| found[question]["unanswered"].as_str().unwrap().to_owned();
    assert!(unanswered("level_shifts").contains("this needs 200 measurements or more"));
    assert!(unanswered("order_effect").contains("come from a comparison"));
    assert!(unanswered("length").contains("come from a comparison"));
    let other = project.rbench(&["diagnose", "HEAD", "--from-stored", "leaps"]).fails_with(2);
    other.assert_stderr_has(&["error: "]);
}

#[test]
fn many_benchmarks_are_diagnosed_only_on_request() {
    let project = project();
    let refused = project.rbench(&["diagnose"]).fails_with(2);
    refused.assert_stderr_has(&["there are 6 benchmarks", "steady", "name one or a few"]);
    let word = project.rbench(&["diagnose", "steady"]).fails_with(2);
    word.assert_stderr_has(&["did you mean", "diagnose HEAD --filter steady"]);
}

/// A quick experiment that separates all levels.
const PILOT: [&str; 8] = ["--config", "build.strategy=relink", "-l", "3", "-m", "2", "-n", "4"];

#[test]
fn recommended_sample_sizes_can_be_used_as_printed() {
    let project = TestProject::of("counted");
    project.rbench(&[&["run"], &PILOT[..]].concat()).ok();
    let plan = ["--from-stored", "--plan", "--min-effect", "50%", "."];
    let lines = diagnose(&project, &plan).stdout();
    let parsed: toml::Table = toml::from_str(&lines).unwrap();
    let tables = parsed["benchmark"].as_array().unwrap();
    assert_eq!(tables.len(), 2, "{lines}");
    let json = diagnose(&project, &[&plan[..], &["--format", "json"]].concat()).json("diagnose");
    assert_eq!(json["plan"], *lines);
    for (table, benchmark) in tables.iter().zip(json["benchmarks"].as_array().unwrap()) {
        let advised = &benchmark["diagnosis"]["advice"]["dimensions"];
        for key in ["builds", "executions"] {
            assert_eq!(table[key].as_integer(), advised[key].as_i64(), "{key}: {lines}");
        }
    }
    project.write("bench.toml", &lines);
    let planned = project.rbench(&["run", "--dry-run"]).ok().stderr();
    let sizes = |table: &toml::Value| ["builds", "executions"].map(|key| table.get(key).cloned());
    let are_equal = sizes(&tables[0]) == sizes(&tables[1]);
    let expected = if are_equal {
        let [builds, executions] =
            ["builds", "executions"].map(|key| tables[0][key].as_integer().unwrap());
        format!("{builds} builds × {executions} execution")
    } else {
        "2 with their own sample sizes".to_owned()
    };
    assert!(planned.contains(&expected), "{planned}: {expected}");
}

#[test]
fn failing_benchmark_has_its_reason_among_recommended_sample_sizes() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "    rounds(700)", "    panic!(\"the table is missing\")");
    project.commit("Break one");
    project.rbench(&[&["run"], &PILOT[..]].concat()).run().assert_exit(4);
    let plan = ["diagnose", "HEAD", "--from-stored", "--plan", "."];
    let outcome = project.rbench(&plan).run().assert_exit(4);
    outcome.assert_stdout_has(&["# steady: failed: ", "the table is missing", "changing"]);
}

/// The ids of the child processes that keep CPUs busy.
fn busy(parent: u32) -> Vec<u32> {
    let list = Command::new("ps").args(["-eo", "pid,ppid,args"]).output().unwrap();
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        let id = words.next()?.parse().ok()?;
        (words.next()?.parse() == Ok(parent) && line.contains("while :")).then_some(id)
    };
    list.lines().filter_map(of_line).collect()
}

/// True if the process is running or runnable.
fn is_running(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !stat.is_empty() && !rest.starts_with('Z'))
}

#[test]
#[ignore = "takes long"]
fn busy_processes_end_with_rbench_however_it_ends() {
    let project = TestProject::of("diagnosed");
    let long = ["diagnose", "HEAD", "--load", "2", "--exact", "steady", "-l", "2", "-m", "50"];
    let mut child = project.rbench(&long).start();
    let soon = |what: &mut dyn FnMut() -> bool| {
        (0..1200).any(|_| {
            thread::sleep(Duration::from_millis(50));
            what()
        })
    };
    let mut found = Vec::new();
    let has_two = soon(&mut || {
        found = busy(child.id());
        found.len() == 2
    });
    assert!(has_two, "two busy processes are started: {found:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(soon(&mut || !found.iter().any(|id| is_running(*id))), "{found:?}");
}

/// The start time of each stored execution.
fn starts(project: &TestProject) -> BTreeSet<SystemTime> {
    let store = Store::open(&project.root().join(".rbench/results.sqlite"), &|| {}).unwrap();
    let ids: Vec<_> = store.experiments().unwrap().iter().map(|stored| stored.id).collect();
    let benchmarks = store.benchmarks().unwrap();
    let rows = benchmarks.iter().flat_map(|benchmark| store.rows(benchmark, &ids).unwrap());
    rows.filter_map(|row| Some(row.outcome.ok()?.resources.start)).collect()
}

#[test]
#[ignore = "takes long"]
fn interrupted_diagnosis_resumes() {
    let project = TestProject::of("diagnosed");
    let arguments = ["diagnose", "HEAD", "--exact", "steady", "-l", "2", "-m", "20", "-n", "200"];
    let arguments = [&arguments[..], &["--min-time", "200us"]].concat();
    let mut child = project.rbench(&arguments).start();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let has_begun =
        |line: &String| line.contains(" of 40 executions") && !line.contains("measured 0");
    assert!(lines.any(|line| has_begun(&line)));
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let printed: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{printed:#?}");
    let before = starts(&project);
    assert!(!before.is_empty());
    let again = project.rbench(&arguments).ok();
    again.assert_stderr_has(&["resuming an interrupted run, after"]);
    // The resumed diagnosis executed nothing a second time.
    assert!(before.is_subset(&starts(&project)));
    let shown = diagnose(&project, &["--from-stored", "--reasons", "steady"]);
    shown.assert_stdout_has(&["2 builds × 20 executions × 200 measurements"]);
}
