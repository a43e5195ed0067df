//! Instruction counts are exact and come from executions in which nothing is timed.

use serde_json::Value;

use crate::support::{TestProject, rbench::Outcome};

const COUNT: [&str; 5] =
    ["compare", "--metric", "instructions", "--config", "build.strategy=relink"];

/// The fixture, and a second version in which one benchmark does more work.
fn project(benchmark: &str, units: &str) -> TestProject {
    let project = TestProject::of("executed");
    more_work(&project, benchmark, units);
    project
}

/// Commits a version in which a benchmark does this number of units of work.
fn more_work(project: &TestProject, benchmark: &str, units: &str) {
    let text = project.read("src/lib.rs");
    let begin = text.find(&format!("fn {benchmark}(")).unwrap();
    let (before, own) = text.split_at(begin);
    let (_, behind) = own.split_once(" = ").unwrap();
    let (_, behind) = behind.split_once(';').unwrap();
    let head = own.split_once(" = ").unwrap().0;
    project.write("src/lib.rs", &format!("{before}{head} = {units};{behind}"));
    project.commit(&format!("More work for {benchmark}"));
}

fn rows(outcome: &Outcome) -> Vec<Value> {
    outcome.json("compare")["benchmarks"].as_array().unwrap().clone()
}

fn row<'r>(rows: &'r [Value], id: &str) -> &'r Value {
    rows.iter().find(|row| row["id"] == id).unwrap()
}

#[test]
#[ignore = "takes long"]
fn more_work_in_one_benchmark_is_found_with_repeatable_counts() {
    let project = project("sort", "404");
    let count =
        || project.rbench(&[&COUNT[..], &["--format", "json"]].concat()).run().assert_exit(1);
    let first = rows(&count());
    for one in &first {
        let expected = if one["id"] == "sort" { "regressed" } else { "unaffected" };
        assert_eq!(one["verdict"], expected, "{one:#}");
    }
    let sort = row(&first, "sort");
    assert_eq!(
        (&sort["metric"], &sort["reason"]["kind"]),
        (&"instructions".into(), &"counted".into())
    );
    let change = sort["change"]["estimate"].as_f64().unwrap();
    assert!((0.005..0.0101).contains(&change), "{change}");
    let again = rows(&count());
    for side in ["base", "head"] {
        assert_eq!(row(&again, "sort")[side], sort[side]);
    }
    let stored = ["compare", "--stored", "--metric", "instructions", "--format", "json"];
    let stored = rows(&project.rbench(&stored).run().assert_exit(1));
    assert_eq!(row(&stored, "sort")["head"], sort["head"]);
    // Counts are not times, and no other command takes them for times.
    project.rbench(&["compare", "--stored"]).fails_with(2);
}

#[test]
#[ignore = "takes long"]
fn hash_maps_have_the_same_states_so_equal_work_counts_equal() {
    let project = project("map", "400 + 0");
    let outcome = project.rbench(&[&COUNT[..], &["--no-skip", "--format", "json"]].concat()).ok();
    for one in rows(&outcome) {
        assert_eq!(one["verdict"], "unchanged", "{one:#}");
        assert_eq!(one["change"]["estimate"], 0.0, "{one:#}");
    }
}

#[test]
#[ignore = "takes long"]
fn counts_depending_on_hash_order_are_compared_in_six_states() {
    let project = TestProject::of("executed");
    let text = project.read("src/lib.rs");
    let begin = text.find("fn map(").unwrap();
    let (before, own) = text.split_at(begin);
    for least in [0, 2000] {
        let units = format!(
            "let found = known.keys().take_while(|key| **key != 7).count() as u64;\n    \
             (0..{least} + UNITS + 40 * found)"
        );
        project.write("src/lib.rs", &format!("{before}{}", own.replacen("(0..UNITS)", &units, 1)));
        project.commit("More work that depends on the order");
    }
    let only = ["--filter", "^map$", "--format", "json"];
    let outcome = project.rbench(&[&COUNT[..], &only[..]].concat()).run().assert_exit(1);
    let stored = ["compare", "--stored", "--metric", "instructions"];
    let stored = project.rbench(&[&stored[..], &only[..]].concat()).run().assert_exit(1);
    for outcome in [outcome, stored] {
        let rows = rows(&outcome);
        let reason = &row(&rows, "map")["reason"];
        assert_eq!(reason["kind"], "counted", "{reason:#}");
        let by_chance = reason["by_chance"].as_f64().unwrap();
        assert!((by_chance - 2.0 / 924.0).abs() < 1e-9, "{by_chance}");
    }
}

#[test]
#[ignore = "takes long"]
fn history_of_counts_has_exact_steps_and_bisect_finds_them() {
    let project = project("fold", "400 + 0");
    more_work(&project, "fold", "420");
    more_work(&project, "fold", "420 + 0");
    let only = ["--metric", "instructions", "--filter", "^fold$", "--format", "json"];
    let search =
        [&["bisect", "HEAD~3..HEAD", "--config", "build.strategy=relink"], &only[..]].concat();
    let found = project.rbench(&search).ok().json("bisect");
    let one = &found["line"]["benchmarks"][0];
    assert_eq!(one["id"], "fold");
    let named = &one["places"][0]["commits"][0]["summary"];
    assert_eq!(named, "More work for fold", "{one:#}");
    let [low, high] = ["low", "high"].map(|end| one["places"][0]["change"][end].as_f64().unwrap());
    assert!(0.03 < low && high < 0.08, "{one:#}");
    let range = [&["run", "HEAD~3..HEAD", "--config", "build.strategy=relink"], &only[..]].concat();
    project.rbench(&range).ok();
    let history = project.rbench(&[&["history"], &only[..]].concat()).ok().json("history");
    let series = &history["benchmarks"][0];
    assert_eq!(series["metric"], "instructions");
    let changes = series["series"]["changes"].as_array();
    assert_eq!(changes.map(Vec::len), Some(1), "{series:#}");
}

#[test]
#[ignore = "takes long"]
fn several_metrics_are_measured_together_and_bisected_singly() {
    let project = project("fold", "420");
    let only = ["--config", "build.strategy=relink", "--filter", "^fold$", "--format", "json"];
    let both = ["--metric", "instructions,allocations"];
    let range = [&["run", "HEAD~1..HEAD"], &both[..], &only[..]].concat();
    let range = project.rbench(&range).ok().json("run-range");
    let changes = range["comparisons"][0]["changes"].as_array().unwrap();
    assert_eq!((changes.len(), &changes[0]["metric"]), (1, &"instructions".into()), "{range:#}");
    let metrics = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["metric"].as_str().unwrap_or_default().to_owned()).collect()
    };
    for version in range["versions"].as_array().unwrap() {
        assert_eq!(metrics(&version["benchmarks"]), ["instructions", "allocations"]);
    }
    let stored = [&["compare", "--stored"], &both[..], &only[2..]].concat();
    let stored = project.rbench(&stored).run().assert_exit(1).json("compare");
    assert_eq!(metrics(&stored["benchmarks"]), ["instructions", "allocations"]);

    let timed =
        ["run", "HEAD", "--metric", "wall,allocations", "--builds", "2", "--executions", "1"];
    let timed = project.rbench(&[&timed[..], &only[..]].concat()).ok().json("history-version");
    assert_eq!(metrics(&timed["benchmarks"]), ["wall", "allocations"]);

    let search = [&["bisect", "HEAD~1..HEAD"], &both[..]].concat();
    project.rbench(&search).fails_with(2).assert_stderr_has(&[
        "cannot search for changes of instructions, allocations at once",
        "bisect HEAD~1..HEAD --metric instructions",
        "bisect HEAD~1..HEAD --metric allocations",
    ]);
}
