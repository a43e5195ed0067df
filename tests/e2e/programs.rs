//! Whole programs: both versions run at once on one CPU if they compute alone, otherwise sequentially, and the time that
//! suits a program decides it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::TestProject;

/// Two versions of the fixture: the second makes twice as long a text.
fn project() -> TestProject {
    let project = TestProject::of("program");
    project.replace("src/main.rs", "repeat(200)", "repeat(400)");
    project.commit("A text of twice the length");
    project
}

const COMPARE: [&str; 9] = [
    "compare",
    "HEAD~1",
    "HEAD",
    "--config",
    "build.strategy=relink",
    "--config=verdict.confirm=false",
    "--fail-on",
    "never",
    "--quiet",
];

/// A comparison of these commands.
fn comparison<'c>(commands: &[&'c str], more: &[&'c str]) -> Vec<&'c str> {
    let commands = commands.iter().flat_map(|command| ["--command", *command]);
    COMPARE.into_iter().chain(commands).chain(more.iter().copied()).collect()
}

/// The rows of a program in a report, by metric.
fn rows<'r>(report: &'r Value, id: &str) -> BTreeMap<&'r str, &'r Value> {
    let rows = report["benchmarks"].as_array().unwrap().iter().filter(|row| row["id"] == id);
    rows.filter_map(|row| Some((row["metric"].as_str()?, row))).collect()
}

#[test]
#[ignore = "takes long"]
fn programs_are_decided_by_the_time_that_suits_them() {
    let project = project();
    let file = project.beside("written").display().to_string();
    let write = format!("word-count --write {file}");
    let start = "word-count --start /bin/true";
    let (rounds, sleep, threads) =
        ("word-count --rounds 3000", "word-count --sleep 4", "word-count --threads 2");
    let commands = [rounds, sleep, start, write.as_str(), threads];
    let outcome = project.rbench(&comparison(&commands, &["-l", "4", "--format", "json"])).ok();
    let report = outcome.json("compare");
    let unavailable =
        |id: &str, metric: &str| rows(&report, id)[metric]["interleaving_unavailable"].clone();
    for (id, metrics, reason) in [
        (rounds, &["cpu", "peak-memory"][..], Value::Null),
        (sleep, &["peak-memory", "wall"], "waits".into()),
        (start, &["cpu", "peak-memory", "wall"], "starts_processes".into()),
        (&write, &["cpu", "peak-memory", "wall"], json!({ "shared": file })),
    ] {
        let rows = rows(&report, id);
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), metrics, "{id}");
        let mode = if reason.is_null() { "interleaved" } else { "sequential" };
        for (metric, row) in &rows {
            assert_eq!(row["mode"], mode, "{id} {metric}");
            assert_eq!(unavailable(id, metric), reason, "{id} {metric}");
        }
    }
    // Wall time depends on what else the machine does.
    let row = rows(&report, rounds)["cpu"];
    assert_eq!(row["verdict"], "regressed", "{row}");
    assert!(row["change"]["estimate"].as_f64().unwrap() > 0.5, "{row}");
    // On one CPU, or beside other programs that use all of them, its threads may seem to compute one after the other.
    let reason = unavailable(threads, "cpu");
    assert!(reason == "parallel" || reason.is_null(), "{reason}");
    let more = ["-l", "2", "--metric", "user,cpu,wall"];
    let text = project.rbench(&comparison(&commands[..2], &more)).env("COLUMNS", "300").ok();
    text.assert_stdout_has(&[
        "compared by CPU time, both versions at once on one CPU, because it computes alone; \
         its waiting, at most 5 % of the time, is not compared: word-count --rounds 3000\n",
        "decided by wall time and CPU time, because it waits for more than 5 % of its run time: \
         word-count --sleep 4\n",
        "word-count --rounds 3000  user ",
    ]);
}

/// What a program counts, in one of two versions.
const COUNT: &str = "None => count(&text, ROUNDS),";

/// Asserts that two versions of a program that count in these ways run sequentially, for one of these reasons.
#[track_caller]
fn assert_sequential([base, head]: [&str; 2], reasons: &[&str]) {
    let project = TestProject::of("program");
    project.replace("src/main.rs", COUNT, base);
    project.commit("One way");
    project.replace("src/main.rs", base, head);
    project.commit("Another way");
    let more = ["--format", "json", "-l", "5"];
    let report = project.rbench(&comparison(&["word-count"], &more)).ok().json("compare");
    let rows = rows(&report, "word-count");
    for row in rows.values() {
        assert_eq!(row["mode"], "sequential", "{row}");
        let reason = row["interleaving_unavailable"].as_str().unwrap();
        assert!(reasons.contains(&reason), "{row}");
    }
    assert!(rows.contains_key("wall"));
}

#[test]
#[ignore = "takes long"]
fn program_that_waits_longer_in_one_version_is_decided_by_wall_time() {
    // More on a busy machine, but never nothing.
    let waits = "None => { let start = std::time::Instant::now(); let count = count(&text, MANY_ROUNDS); \
                 thread::sleep(start.elapsed().mul_f64(0.02)); count },";
    let computes = "None => count(&text, MANY_ROUNDS),";
    for versions in [[computes, waits], [waits, computes]] {
        assert_sequential(versions, &["waits_differ", "waits"]);
    }
}

#[test]
#[ignore = "takes long"]
fn program_slowed_down_in_one_version_at_once_runs_sequentially() {
    // Only versions at once are batch jobs.
    let disturbed = "None => { unsafe extern \"C\" { fn sched_getscheduler(process: i32) -> i32; }\n\
                     let times = if unsafe { sched_getscheduler(0) } == 3 { 20 } else { 1 };\n\
                     count(&text, times * ROUNDS) },";
    for versions in [[COUNT, disturbed], [disturbed, COUNT]] {
        assert_sequential(versions, &["change_differs", "slower_interleaved"]);
    }
}

#[test]
#[ignore = "takes long"]
fn equal_programs_are_unchanged() {
    let project = TestProject::of("program");
    project.replace("src/main.rs", "what is {other}?", "what on earth is {other}?");
    project.commit("Another text of an error");
    // Far above the noise of any machine.
    let more = ["--no-skip", "--min-effect", "50%", "--format", "json", "-l", "5"];
    let report = project.rbench(&comparison(&["word-count"], &more)).ok().json("compare");
    let rows = rows(&report, "word-count");
    assert_eq!(rows["cpu"]["mode"], "interleaved");
    assert_eq!(rows["cpu"]["verdict"], "unchanged", "{}", rows["cpu"]);
}

/// A bench target with its own `main`, which measures in one of three ways.
const MEASURES_ITSELF: &str = r#"
use std::{hint::black_box, time::{Duration, Instant}};

fn work(rounds: u64) -> u64 {
    // In registers: some CPUs take up to four times as long for a value that goes through memory.
    (0..black_box(rounds)).fold(7, |a: u64, b| (a.rotate_left(5) ^ b).wrapping_mul(0x9e37_79b9))
}

fn main() {
    let start = Instant::now();
    match std::env::args().nth(1).as_deref() {
        Some("until") => while start.elapsed() < Duration::from_millis(20) {
            black_box(work(50_000));
        },
        Some("odd") => (0..100).for_each(|_| {
            black_box(work(1_000));
            black_box(Instant::now());
            black_box(Instant::now());
        }),
        Some("shifted") => {
            (0..100).for_each(|_| {
                let start = Instant::now();
                black_box(work(1_000));
                black_box(start.elapsed());
            });
            black_box(start.elapsed());
        }
        _ => (0..100).for_each(|_| {
            black_box(work(100_000));
            black_box(Instant::now());
        }),
    }
}
"#;

#[test]
fn clock_readings_of_a_program_are_measurements_if_its_work_is_always_the_same() {
    let project = TestProject::of("program");
    project.append("Cargo.toml", "\n[[bench]]\nname = \"own\"\nharness = false\n");
    project.write("benches/own.rs", MEASURES_ITSELF);
    let table = |id: &str, clock: &str| {
        format!(
            "[[command]]\nid = {id:?}\nbench = \"own\"\narguments = [{id:?}]\nclock = {clock:?}\n"
        )
    };
    let tables = [
        table("same", "laps"),
        table("until", "laps"),
        table("odd", "pairs"),
        table("shifted", "pairs"),
        table("head", "laps"),
    ];
    project.write("bench.toml", &tables.concat());
    project.commit("A target that measures itself");
    let more =
        MEASURES_ITSELF.replace("100_000", "120_000").replace("\"until\"", "\"until\" | \"head\"");
    project.write("benches/own.rs", &more);
    project.commit("More work");
    let arguments = [&COMPARE[..], &["-l", "4", "--no-skip", "--format", "json"]].concat();
    let outcome = project.rbench(&arguments).run();
    let report = outcome.json("compare");
    let same = rows(&report, "same")["wall"];
    assert!(same["interleaving_unavailable"].is_null(), "{same}");
    let change = same["change"]["estimate"].as_f64().unwrap();
    assert!((0.15..0.25).contains(&change), "{same}");
    for (id, reason) in [
        ("until", "depends on the time"),
        // Only in the head.
        ("head", "depends on the time"),
        ("odd", "their number is odd"),
        ("shifted", "is there one more before them?"),
    ] {
        let all = report["benchmarks"].as_array().unwrap();
        let row = all.iter().find(|row| row["id"] == id).unwrap();
        assert_eq!(row["verdict"], "failed", "{row}");
        assert!(row.to_string().contains(reason), "{row}");
    }
    let exec = project.rbench(&["exec", "HEAD", "same"]).run();
    assert!(exec.printed().contains("is not preloaded here"), "{}", exec.printed());
}

#[test]
fn program_is_not_taken_for_a_bench_target_of_its_name() {
    let project = TestProject::of("sums");
    project.write("src/bin/work.rs", "fn main() { std::process::exit(3) }\n");
    project.write("src/bin/other.rs", "fn main() { std::process::exit(5) }\n");
    project.write("bench.toml", "[[command]]\nid = 'target'\nbench = 'work'\n");
    project.commit("A program of the same name");
    // Cargo compiles both programs for the bench target, and not again.
    project.rbench(&["exec", "HEAD", "target"]).ok();
    for (program, status) in [("work", "status 3"), ("other", "status 5")] {
        let failed = project.rbench(&["exec", "HEAD", program, "--command", program]).run();
        assert!(failed.printed().contains(status), "{}", failed.printed());
    }
    project.rbench(&["exec", "HEAD", "target"]).ok();
}
