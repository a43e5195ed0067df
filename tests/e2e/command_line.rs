//! Commands that cannot work are rejected before compiling, with a suggestion.

use crate::support::{
    TestProject,
    rbench::{Outcome, PROGRAM},
};

#[track_caller]
fn assert_nothing_was_compiled(outcome: &Outcome) {
    assert!(!outcome.stderr().contains("compiling"), "{}", outcome.printed());
}

#[test]
fn unwritable_report_is_rejected_at_once() {
    let project = TestProject::of("sums");
    for (file, words) in [
        ("report.csv", [".json, .md, .txt", "--output"]),
        ("report", [".json, .md, .txt", "--output"]),
        ("absent/report.md", ["cannot write the report absent/report.md", "no directory absent"]),
    ] {
        for command in [
            &["compare", "HEAD", "."][..],
            &["compare", "HEAD", ".", "--dry-run"],
            &["compare", "HEAD", ".", "--stored"],
            &["history"],
            &["history", "HEAD"],
        ] {
            let outcome = project.rbench(&[command, &["--output", file]].concat()).fails_with(2);
            outcome.assert_stderr_has(&words);
            assert_nothing_was_compiled(&outcome);
        }
    }
}

#[test]
fn missing_cpu_and_temporary_directory_are_rejected_at_once() {
    let project = TestProject::of("sums");
    for command in ["compare", "run", "exec"] {
        let words = if command == "compare" { &[command, "HEAD", "."][..] } else { &[command] };
        let outcome = project.rbench(&[words, &["--cpu", "9999"]].concat()).fails_with(2);
        outcome.assert_stderr_has(&["CPU 9999"]);
        assert_nothing_was_compiled(&outcome);
        let outcome = project.rbench(words).env("TMPDIR", "/nonexistent").fails_with(2);
        outcome.assert_stderr_has(&["/nonexistent", "TMPDIR"]);
        assert_nothing_was_compiled(&outcome);
    }
}

#[test]
fn word_that_is_no_revision_is_suggested_as_a_filter() {
    let project = TestProject::of("sums");
    let outcome = project.rbench(&["list", "f64", "-F", "simd"]).fails_with(2);
    let hint = "did you mean `cargo rbench list . --filter f64 --features simd`?";
    outcome.assert_stderr_has(&["cannot find revision `f64`", hint]);
    assert_nothing_was_compiled(&outcome);
}

#[test]
fn table_for_an_unknown_bench_target_is_warned_of() {
    let project = TestProject::of("sums");
    let table = "[build]\nseed = 2\n\n[[command]]\nid = \"x\"\nbench = \"nonexist\"\n";
    project.write("bench.toml", table);
    let outcome = project.rbench(&["list"]).fails_with(2);
    let words =
        "line 4: [[command]] is about bench target `nonexist`, which the working tree does not";
    outcome.assert_stderr_has(&["error: ", words, "the bench targets are"]);
    assert_nothing_was_compiled(&outcome);
    let outcome = project.rbench(&["history", "HEAD"]).fails_with(2);
    outcome.assert_stderr_has(&["warning: ", words, "no results are stored"]);
}

#[test]
fn single_commit_can_be_compared_with_the_uncommitted_tree() {
    let project = TestProject::of("sums");
    let outcome = project.rbench(&["compare"]).fails_with(2);
    outcome.assert_stderr_has(&["HEAD~1", "cargo rbench compare HEAD ."]);
}

#[test]
fn typed_toolchain_is_in_the_suggested_commands() {
    let project = TestProject::of("sums");
    // This is an installed one, if rustup has chosen one for these tests.
    let name = std::env::var("RUSTUP_TOOLCHAIN").unwrap_or("nightly".to_owned());
    let outcome = project
        .rbench(&["compare"])
        .env("RUSTUP_TOOLCHAIN", &name)
        .env("RUSTUP_TOOLCHAIN_SOURCE", "cli")
        .fails_with(2);
    outcome.assert_stderr_has(&[&format!("cargo +{name} rbench compare HEAD .")]);
}

#[test]
fn full_disk_is_not_a_defect_of_rbench() {
    let project = TestProject::of("sums");
    let full = "\"$0\" clean --dry-run > /dev/full";
    let outcome = project.rbench(&["-c", full, PROGRAM]).program("sh").fails_with(2);
    outcome.assert_stderr_has(&["cannot write the result", "No space left"]);
}

#[test]
fn help_has_the_default_of_every_option_and_examples() {
    let project = TestProject::of("sums");
    let help = project.rbench(&["compare", "--help"]).ok().stdout();
    for part in ["[default: same-address]", "[default: HEAD~1]", "Stored results:", "Examples:"] {
        assert!(help.contains(part), "no `{part}` in {help}");
    }
    let builds = project.rbench(&["compare", "-l", "1"]).fails_with(2);
    builds.assert_stderr_has(&["at least 2 builds are needed to know how layouts vary"]);
}
