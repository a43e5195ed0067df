//! Results go from one store to another, whole or not at all.

use std::fs;

use crate::support::TestProject;

/// The least that can be judged, and quick.
const RUN: [&str; 12] =
    ["run", "HEAD", "--strategy", "relink", "-l", "2", "-m", "1", "-n", "2", "--warm-up", "1ms"];

#[test]
fn what_is_exported_is_imported_once_and_shown_elsewhere() {
    let project = TestProject::of("counted");
    project.rbench(&RUN).ok();
    let file = project.beside("results.jsonl");
    let file = file.to_str().unwrap();
    project.rbench(&["export", file]).ok().assert_stderr_has(&["exported to"]);
    let printed = project.rbench(&["export"]).ok().stdout();
    assert_eq!(printed, fs::read_to_string(file).unwrap());

    let elsewhere = project.clone_elsewhere();
    let first = elsewhere.rbench(&["import", file]).ok();
    first.assert_stdout_has(&["imported 1 new experiment with 4 executions"]);
    let second = elsewhere.rbench(&["import", file]).ok();
    second.assert_stdout_has(&["imported 0 new experiments", "1 experiment was already stored"]);
    assert_eq!(elsewhere.rbench(&["export"]).ok().stdout(), printed);
    elsewhere.rbench(&["history"]).ok().assert_stdout_has(&["changing", "steady"]);
}

#[test]
fn what_is_no_export_is_refused_with_its_line_and_nothing_is_changed() {
    let project = TestProject::of("counted");
    project.rbench(&RUN).ok();
    let export = project.rbench(&["export"]).ok().stdout();
    let cut_off: String = export.split_inclusive('\n').take(4).collect();
    let newer = export.replacen("\"schema_version\":2", "\"schema_version\":99", 1);
    let broken_id = export.replacen("\"id\":\"changing", "\"id\":\"a\\nb", 1);
    let elsewhere = project.clone_elsewhere();
    for (text, words) in [
        ("not even JSON\n", &["line 1"][..]),
        ("", &["line 1"]),
        (&cut_off, &["line 5", "ends before its end line"]),
        (&newer, &["line 1", "schema 99"]),
        (&broken_id, &["a line break"]),
    ] {
        let file = elsewhere.beside("bad.jsonl");
        fs::write(&file, text).unwrap();
        let outcome = elsewhere.rbench(&["import", file.to_str().unwrap()]).fails_with(2);
        outcome.assert_stderr_has(words);
        outcome.assert_stderr_has(&["cannot import", "bad.jsonl"]);
    }
    elsewhere.rbench(&["history"]).fails_with(2).assert_stderr_has(&["no results are stored yet"]);
    let missing = elsewhere.rbench(&["import", "no such file"]).fails_with(2);
    missing.assert_stderr_has(&["cannot read no such file"]);
}

#[test]
fn the_store_lies_where_bench_toml_says() {
    let project = TestProject::of("counted");
    project.write("bench.toml", "[store]\npath = \"kept/here.sqlite\"\n");
    project.rbench(&RUN).ok();
    assert!(project.root().join("kept/here.sqlite").exists());
    assert!(!project.root().join(".rbench").exists());
    project.rbench(&["show", "HEAD"]).ok().assert_stdout_has(&["changing"]);
}
