//! Several jobs each measure a part of the benchmarks; another job merges their results.

use std::fs;

use serde_json::Value;

use super::branches;
use crate::support::{QUICK, TestProject, schema};

#[test]
#[ignore = "takes long"]
fn parts_cover_all_benchmarks_and_merge_into_one_report() {
    let project = TestProject::of("counted");
    branches(&project);
    let files: Vec<String> = (1..=3)
        .map(|part| {
            let directory = project.beside(&format!("part {part}"));
            let partition = format!("hash:{part}/3");
            let words = ["ci", "--base", "main", "--partition", &partition, "--output-dir"];
            let words = [&words[..], &[directory.to_str().unwrap()], &QUICK].concat();
            let code = project.rbench(&words).run().status().code();
            assert!(matches!(code, Some(0 | 1)), "{code:?}");
            directory.join("compare.json").to_str().unwrap().to_owned()
        })
        .collect();
    let parts = files.iter().map(|file| {
        let part: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        schema::check("compare", &part).unwrap();
        part["benchmarks"].as_array().unwrap().len()
    });
    assert_eq!(parts.sum::<usize>(), 2);

    let nowhere = TestProject::bare("no repository");
    let merge = |files: &[String]| {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        nowhere.rbench(&[&["ci", "merge", "--output-dir", "joined"], &files[..]].concat())
    };
    let outcome = merge(&files).run().assert_exit(1);
    outcome.assert_stdout_has(&["### Benchmarks: regressed", "1 regressed, 1 unaffected"]);
    let joined: Value = serde_json::from_str(&nowhere.read("joined/compare.json")).unwrap();
    schema::check("compare", &joined).unwrap();
    assert_eq!(joined["counts"]["regressed"], 1);
    assert!(nowhere.read("joined/junit.xml").contains("tests=\"2\""));
    merge(&[&files[1..], &[]].concat())
        .fails_with(2)
        .assert_stderr_has(&["of 3 parts, 1 is missing"]);
    let advisory =
        nowhere.rbench(&["ci", "merge", "--fail-on", "never", &files[0], &files[1], &files[2]]);
    advisory.ok();

    // On GitHub, nothing printed is taken for a command by the runner.
    let job = |files: &[String]| merge(files).env("GITHUB_ACTIONS", "true").run();
    assert!(job(&files).assert_exit(1).stdout().starts_with("::stop-commands::"));
    let mut hostile: Value = serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap();
    hostile["partition"]["of"] = serde_json::json!(u32::MAX);
    let wrong = nowhere.root().join("wrong.json").to_str().unwrap().to_owned();
    fs::write(&wrong, hostile.to_string()).unwrap();
    let outcome = job(&[wrong]).assert_exit(2);
    outcome.assert_stderr_has(&["its part is not one of at most 1000"]);
}
