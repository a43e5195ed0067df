//! Sizes of executables and times of compiling: nothing is run.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;

use crate::support::{TestProject, tree};

/// Two versions, of which the second has a larger function and more data.
fn project() -> TestProject {
    let project = TestProject::of("compared");
    let more = "pub fn steady() -> u64 {\n    let numbers = [12_345_u64, 2, 3].map(std::hint::black_box);\n    \
                println!(\"{numbers:?}\");\n";
    project.replace("src/lib.rs", "pub fn steady() -> u64 {\n", more);
    project.commit("Print");
    project
}

fn compared(project: &TestProject, words: &[&str], exit: i32) -> Value {
    let words = [&["compare", "HEAD~1", "HEAD", "--metric", "size"], words].concat();
    let words = [&words[..], &["--format", "json"]].concat();
    project.rbench(&words).run().assert_exit(exit).json("compare")
}

/// Text, data and bss of every executable below rbench's storage, by `size`.
fn by_size(project: &TestProject) -> Vec<[u64; 3]> {
    let is_executable = |path: &PathBuf| {
        fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
            && path.extension().is_none()
    };
    let executables = tree::paths(&project.storage()).into_iter().filter(is_executable);
    let sizes = executables.filter_map(|path| {
        let output = Command::new("size").arg(path).output().expect("binutils");
        let text = String::from_utf8(output.stdout).unwrap();
        let numbers = text.lines().nth(1)?.split_whitespace();
        let numbers: Vec<u64> = numbers.take(3).map(|number| number.parse().unwrap()).collect();
        numbers.try_into().ok()
    });
    sizes.collect()
}

#[test]
fn sizes_are_those_of_the_executables() {
    let project = project();
    let report = compared(&project, &["--min-effect", "0%"], 1);
    let sizes = &report["sizes"][0];
    let known = by_size(&project);
    for version in ["base", "head"] {
        let section = |name: &str| sizes[version][name].as_u64().unwrap();
        let own = ["text", "data", "bss"].map(section);
        assert!(known.contains(&own), "{version}: {own:?} is none of {known:?}");
        let value = report["benchmarks"][0][version]["value"].as_f64().unwrap();
        assert!((value - (own[0] + own[1]) as f64).abs() < 0.5);
    }
    let own = sizes["crates"].as_array().unwrap().iter().find(|one| one["name"] == "compared");
    let own = own.unwrap();
    assert!(own["head"].as_u64() > own["base"].as_u64(), "{own}");
    let functions = sizes["functions"].as_array().unwrap();
    assert!(functions.iter().any(|one| one["name"] == "compared::steady"), "{functions:?}");
    // Nothing was linked in another layout.
    assert!(!project.storage().join("builds").exists());
    assert!(!project.root().join(".rbench").exists());
}

#[test]
fn size_has_its_own_limit() {
    let project = project();
    project.write(
        "bench.toml",
        "[verdict]\nmin-effect = \"0%\"\n[metric.size]\nmin-effect = \"50%\"\n",
    );
    let report = compared(&project, &[], 0);
    assert_eq!(report["benchmarks"][0]["verdict"], "unchanged");
    project.write("bench.toml", "[metric.size]\nmin-effect = \"0%\"\n");
    let outcome = project.rbench(&["compare", "HEAD~1", "HEAD", "--metric", "size"]).run();
    let outcome = outcome.assert_exit(1);
    outcome.assert_stdout_has(&["regressed", "bytes of code by functions", "nothing was run"]);
    assert!(!outcome.stdout().contains("accept"), "{}", outcome.stdout());
}

#[test]
fn sizes_are_of_compilations_and_not_stored() {
    let project = project();
    for (words, named) in [
        (&["compare", "--stored", "--metric", "size"][..], "stored sizes"),
        (&["compare", "--stored", "--metric", "wall,size"], "stored sizes"),
        (&["run", "--metric", "size"], "`size`"),
        (&["run", "--metric", "compile-cpu"], "`compile-cpu`"),
    ] {
        project.rbench(words).fails_with(2).assert_stderr_has(&[named]);
    }
}

#[test]
fn benchmarks_and_executables_are_in_one_report() {
    let project = project();
    let page = project.beside("report.html");
    let words = ["compare", "HEAD~1", "HEAD", "--metric", "allocations,size", "--exact"];
    let words = [&words[..], &["--filter", "steady", "--min-effect", "0%"]].concat();
    let words = [&words[..], &["--output", page.to_str().unwrap(), "--format", "json"]].concat();
    let outcome = project.rbench(&words).run();
    let report = outcome.assert_exit(1).json("compare");
    let rows = report["benchmarks"].as_array().unwrap();
    let of = |row: &Value| [&row["id"], &row["metric"]].map(|one| one.as_str().unwrap().to_owned());
    let rows: Vec<_> = rows.iter().map(of).collect();
    assert_eq!(rows, [["steady", "allocations"], ["work", "size"]]);
    assert_eq!(report["sizes"].as_array().unwrap().len(), 1);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("(size)") && page.contains("(allocations)"));
}

#[test]
fn times_of_compiling_are_planned_before_they_are_measured() {
    let project = project();
    let words = ["compare", "HEAD~1", "HEAD", "--metric", "size,compile-time", "--dry-run"];
    let planned = project.rbench(&words).ok();
    planned.assert_stderr_has(&[
        "work (size): ",
        "plan: compile-time: 5 to 20 compilations of each version, about ",
    ]);
    assert!(!planned.stderr().contains("again"), "{}", planned.stderr());
    assert_eq!(planned.stdout(), "");
}

/// Two versions, of which the second has some hundred functions more.
fn project_that_compiles_longer() -> TestProject {
    let project = TestProject::of("compared");
    let functions = (0..400).map(|number| {
        format!(
            "pub fn sorted_{number}(text: &str) -> Vec<String> {{\n    let mut all: Vec<String> = \
             text.split(\"{number}\").map(str::to_owned).collect();\n    all.sort();\n    all\n}}\n"
        )
    });
    let library = fs::read_to_string(project.root().join("src/lib.rs")).unwrap();
    project.write("src/lib.rs", &(library + &functions.collect::<String>()));
    project.commit("Sort");
    project
}

#[test]
#[ignore = "takes long"]
fn times_of_compiling_are_compared() {
    let project = project_that_compiles_longer();
    let words = ["compare", "HEAD~1", "HEAD", "--metric", "size,compile-cpu", "--builds", "3"];
    let words = [&words[..], &["--min-effect", "0%", "--format", "json"]].concat();
    let outcome = project.rbench(&words).run().assert_exit(1);
    let report = outcome.json("compare");
    let metrics = report["benchmarks"].as_array().unwrap().iter().map(|row| &row["metric"]);
    assert_eq!(metrics.collect::<Vec<_>>(), ["size", "compile-cpu"]);
    let row = &report["benchmarks"][1];
    assert_eq!(
        (&row["id"], &row["verdict"]),
        (&"cargo bench --no-run".into(), &"regressed".into())
    );
    assert!(row["base"]["value"].as_f64() > Some(1e6), "{row}");
    outcome.assert_stderr_has(&[
        "plan: compile-cpu: 3 compilations of each version, about ",
        "compiled both versions again: 3 times",
        "confirming a change: ",
    ]);
    // Only what every comparison keeps is left.
    let compilations = fs::read_dir(project.storage().join("compilations")).unwrap();
    assert_eq!(compilations.count(), 2);
    assert!(!project.root().join(".rbench").exists());
}

#[test]
fn compiler_cache_is_not_measured() {
    let project = project();
    project
        .rbench(&["compare", "HEAD~1", "HEAD", "--metric", "compile-time"])
        .env("RUSTC_WRAPPER", "env")
        .fails_with(2)
        .assert_stderr_has(&["cannot measure the time of compiling", "RUSTC_WRAPPER="]);
}
