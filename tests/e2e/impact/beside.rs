//! Benchmarks that are traced beside each other, which share state that the first of them in a process makes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::TestProject;

const LIBRARY: &str = r#"
use std::{cell::Cell, hint::black_box, sync::OnceLock};

#[inline(never)]
pub fn table() -> u64 { black_box(1) }
#[inline(never)]
pub fn of_thread() -> u64 { black_box(10) }
#[inline(never)]
pub fn alone() -> u64 { black_box(100) }

pub fn once() -> u64 {
    static TABLE: OnceLock<u64> = OnceLock::new();
    *TABLE.get_or_init(table)
}
pub fn in_thread() -> u64 {
    thread_local!(static MADE: Cell<u64> = Cell::new(of_thread()));
    MADE.get()
}
pub fn text() -> usize {
    static TEXT: OnceLock<usize> = OnceLock::new();
    *TEXT.get_or_init(|| std::fs::read("words.txt").unwrap().len())
}
pub fn write() {
    std::fs::write("RESULT", "x").unwrap();
}
"#;

const BENCHMARKS: &str = r#"
use rbench_harness::Suite;

fn all(suite: &mut Suite) {
    for round in ["a", "b"] {
        suite.bench(format!("once {round}"), |bencher| bencher.iter(compared::once));
        suite.bench(format!("thread {round}"), |bencher| bencher.iter(compared::in_thread));
        suite.bench(format!("text {round}"), |bencher| bencher.iter(compared::text));
        suite.bench(format!("alone {round}"), |bencher| bencher.iter(compared::alone));
        suite.bench(format!("rest {round}"), |bencher| bencher.iter(|| 1));
    }
    suite.bench("write", |bencher| { compared::write(); bencher.iter(|| 2) });
    suite.bench("once c", |bencher| bencher.iter(compared::once));
    suite.bench("text c", |bencher| bencher.iter(compared::text));
    suite.bench("rest c", |bencher| bencher.iter(|| 3));
}

rbench_harness::main!(all);
"#;

/// The impact on each benchmark of what differs between two versions: parts of functions' names, and files.
fn impacts(project: &TestProject) -> BTreeMap<String, Vec<String>> {
    let arguments = ["diff", "HEAD~1", "HEAD", "--by-benchmark", "--format", "json"];
    let report = project.rbench(&arguments).ok().json("diff");
    let rows = report["targets"][0]["benchmarks"].as_array().unwrap();
    let impact = |row: &Value| {
        let impact = &row["impact"];
        assert_eq!(impact["uncertainties"], serde_json::json!([]), "{row:#}");
        let functions = impact["functions"].as_array().unwrap().iter();
        let functions = functions.map(|function| function["name"].as_str().unwrap());
        let files = impact["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap());
        let last = |name: &str| name.rsplit(['/', ':']).next().unwrap().to_owned();
        (row["id"].as_str().unwrap().to_owned(), functions.chain(files).map(last).collect())
    };
    rows.iter().map(impact).collect()
}

#[test]
fn lazily_made_state_is_traced_in_every_benchmark_that_uses_it() {
    let project = TestProject::of("compared");
    let result = project.beside("result").display().to_string();
    project.write("src/lib.rs", &LIBRARY.replace("RESULT", &result));
    project.write("benches/work.rs", BENCHMARKS);
    project.write("words.txt", "one");
    project.commit("Share lazily made state");
    for (old, new) in
        [("box(1)", "box(2) * 3"), ("box(10)", "box(20) * 3"), ("box(100)", "box(7) * 3")]
    {
        project.replace("src/lib.rs", old, new);
    }
    project.write("words.txt", "one two");
    project.commit("Change what all of them use");

    for (id, impact) in impacts(&project) {
        let expected: &[&str] = match id.split(' ').next().unwrap() {
            "once" => &["table"],
            "thread" => &["of_thread"],
            "text" => &["words.txt"],
            "alone" => &["alone"],
            _ => &[],
        };
        assert_eq!(impact, expected, "{id}");
    }
}
