//! `cargo rbench list` shows the benchmarks that every harness has.

use std::fs;

use serde_json::Value;

use crate::support::{TestProject, rbench::Outcome};

/// A report of `list`, checked against its schema.
fn report(outcome: &Outcome) -> Value {
    outcome.json("list")
}

fn ids(report: &Value) -> Vec<String> {
    let benchmarks = report["benchmarks"].as_array().unwrap();
    benchmarks
        .iter()
        .map(|line| {
            let part = |name: &str| line[name].as_str().unwrap().to_owned();
            format!("{}: {}", part("target"), part("id"))
        })
        .collect()
}

fn listed(project: &TestProject, arguments: &[&str]) -> Vec<String> {
    ids(&report(&project.rbench(&[&["list", "--format", "json", "."], arguments].concat()).ok()))
}

#[test]
fn benchmarks_are_listed_with_target_and_harness() {
    let project = TestProject::native();
    let report = report(&project.rbench(&["list", "--format", "json"]).ok());
    assert_eq!(report["version"]["revision"], ".");
    assert_eq!(report["failed_targets"], Value::Array(Vec::new()));
    assert_eq!(ids(&report)[..2], ["bad: good", "bad: panic"]);
    assert!(ids(&report).contains(&"same: count/1024".to_owned()));
    for line in report["benchmarks"].as_array().unwrap() {
        assert_eq!([&line["package"], &line["harness"]], ["fixture-native", "native"]);
    }
    let text = project.rbench(&["list", "HEAD", "count"]).ok().stdout();
    assert_eq!(text, "fixture-native/same (native)\n  count/64\n  count/1024\n");
}

#[test]
fn filters_choose_benchmarks() {
    let project = TestProject::native();
    let listed = |arguments: &[&str]| listed(&project, arguments);
    assert_eq!(listed(&["^count/[0-9]{2}$"]), ["same: count/64"]);
    assert_eq!(listed(&["/64", "^sum"]), ["same: sum", "same: count/64"]);
    assert_eq!(listed(&["--exact", "sum"]), ["same: sum"]);
    assert_eq!(listed(&["--bench", "bad", "^good$|empty"]), ["bad: good"]);
    assert_eq!(listed(&["-p", "fixture-native", "--bench", "bad", "again"]), ["bad: good again"]);
}

#[test]
fn filter_without_match_suggests_similar_names() {
    let project = TestProject::native();
    let outcome = project.rbench(&["list", ".", "--exact", "count/1023"]).fails_with(2);
    outcome.assert_stderr_has(&["no benchmark matches `count/1023`", "hint: ", "`count/1024`"]);
    assert_eq!(outcome.stdout(), "");
    let outcome = project.rbench(&["list", ".", "(unclosed"]).fails_with(2);
    outcome.assert_stderr_has(&[
        "no benchmark matches `(unclosed`",
        "not a valid regular expression",
        "hint: ",
    ]);
}

#[test]
fn odd_ids_are_unchanged_and_select_their_benchmark() {
    let project = TestProject::native();
    let all = listed(&project, &[]);
    for odd in ["größe \"of\" 'it' / a\\b $HOME (x|y)* — 名前", "long".repeat(75).as_str()] {
        assert!(all.contains(&format!("same: {odd}")), "{all:?}");
        assert_eq!(listed(&project, &["--exact", odd]), [format!("same: {odd}")]);
    }
}

#[test]
fn control_characters_in_ids_are_escaped_in_text_only() {
    let project = TestProject::of("counted");
    let id = "a\u{1b}[2J\u{202e}b";
    let source = format!("suite.bench(\"{}\",", id.escape_unicode());
    project.replace("benches/work.rs", "suite.bench(\"steady\",", &source);
    let list = || project.rbench(&["list", "."]);
    let text = list().ok().stdout();
    assert!(text.contains("\n  a\\u{1b}[2J\\u{202e}b\n"), "{text}");
    assert_eq!(list().env("CLICOLOR_FORCE", "1").ok().stdout(), text);
    assert!(listed(&project, &[]).contains(&format!("work: {id}")));
}

#[test]
fn unlistable_target_does_not_hide_the_others() {
    let project = TestProject::of("counted");
    project.write("benches/mute.rs", "fn main() {}\n");
    project.append("Cargo.toml", "\n[[bench]]\nname = \"mute\"\nharness = false\n");
    let outcome = project.rbench(&["list", ".", "--format", "json"]).fails_with(4);
    outcome.assert_stderr_has(&[
        "cannot list the benchmarks of mute",
        "it exited with success but wrote no result",
        "hint: reproduce with: cargo rbench list . --bench mute",
    ]);
    let report = report(&outcome);
    assert_eq!(ids(&report), ["work: changing", "work: steady"]);
    let [failed] = &report["failed_targets"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!([&failed["package"], &failed["target"]], ["counted", "mute"]);
    assert!(failed["error"].as_str().unwrap().contains("wrote no result"));
}

#[test]
fn unsupported_target_is_left_out() {
    let project = TestProject::of("counted");
    project.add_unsupported_target();
    let outcome = project.rbench(&["list", ".", "--format", "json"]).ok();
    outcome.assert_stderr_has(&["note: bench target counted/own is left out", "[[command]]"]);
    let report = report(&outcome);
    assert_eq!(ids(&report), ["work: changing", "work: steady"]);
    assert_eq!(report["failed_targets"], Value::Array(Vec::new()));
    assert_eq!(report["unsupported_targets"][0]["target"], "own");
    // Its name asks for it.
    let both = ["list", ".", "--bench", "work", "--bench", "own"];
    let outcome = project.rbench(&both).fails_with(4);
    outcome.assert_stderr_has(&["error: cannot determine the harness"]);
    project.rbench(&["list", ".", "--bench", "own"]).fails_with(4);
}

#[test]
fn benches_in_a_library_get_the_lines_that_make_them_a_target() {
    let project = TestProject::of("counted");
    let target = "[[bench]]\nname = \"work\"\nharness = false\n";
    project.replace("Cargo.toml", target, "");
    project.git(&["rm", "-q", "benches/work.rs"]);
    let bench = "#[bench]\nfn counts(_: &mut test::Bencher) {}\n";
    project.append("src/lib.rs", "pub mod inner;\n");
    project.write("src/inner/mod.rs", "#[cfg(test)] mod tests;\n");
    project.write("src/inner/tests.rs", bench);
    project.commit("Benchmarks beside the code");
    let lines = "[[bench]]\nname = \"unit\"\npath = \"src/lib.rs\"";
    let outcome = project.rbench(&["list", "."]).fails_with(2);
    outcome.assert_stderr_has(&["counted has #[bench] functions in its library", lines]);
    let init = project.rbench(&["init", "--dry-run"]).ok();
    init.assert_stdout_has(&["counted has #[bench] functions in its library"]);
    project.append("Cargo.toml", &format!("\n{lines}\n"));
    let outcome = project.rbench(&["list", "."]).run();
    assert!(!outcome.stderr().contains("#[bench] functions"), "{}", outcome.stderr());
    // The modules of a program are beside those of the library.
    project.write("src/lib.rs", "");
    project.write("src/main.rs", "mod inner;\nfn main() {}\n");
    let init = project.rbench(&["init", "--dry-run"]).ok();
    init.assert_stdout_has(&[
        "counted has #[bench] functions in its program",
        "path = \"src/main.rs\"",
    ]);
}

#[test]
fn unsupported_targets_alone_are_an_error_with_lines_for_all() {
    let project = TestProject::of("sums");
    project.add_unsupported_target();
    let reasons = ["sums/own: rbench does not run benchmarks of brunch", "sums/work: "];
    let compared = project.rbench(&["compare", ".", "."]).fails_with(2);
    compared.assert_stderr_has(&reasons);
    assert!(!compared.stderr().contains("compiling"), "{}", compared.stderr());
    let outcome = project.rbench(&["list", "."]).fails_with(2);
    outcome.assert_stderr_has(&reasons);
    // What is not compiled yet is not compiled to learn it again.
    project.commit("Add a target");
    project.append("src/lib.rs", "// More\n");
    let compared = project.rbench(&["compare", "HEAD", "."]).fails_with(2);
    compared.assert_stderr_has(&reasons);
    assert!(!compared.stderr().contains("compiling . ("), "{}", compared.stderr());
    let stderr = outcome.stderr();
    let lines = stderr.split("in bench.toml:\n").nth(1).unwrap();
    project.write("bench.toml", lines.split("log: ").next().unwrap());
    assert_eq!(listed(&project, &[]), ["own: own", "work: work"]);
}

#[test]
fn target_for_nightly_toolchains_is_left_out() {
    let project = TestProject::of("counted");
    project.write("benches/early.rs", "#![feature(test)]\nextern crate test;\n");
    let outcome = project.rbench(&["list", ".", "--format", "json"]).ok();
    outcome.assert_stderr_has(&["bench target counted/early is left out", "cargo +nightly rbench"]);
    assert_eq!(ids(&report(&outcome)), ["work: changing", "work: steady"]);
    project.write(".cargo/config.toml", "[env]\nRUSTC_BOOTSTRAP = \"1\"\n");
    let outcome = project.rbench(&["list", ".", "--format", "json"]).ok();
    assert_eq!(report(&outcome)["unsupported_targets"], Value::Array(Vec::new()));
    fs::remove_file(project.root().join(".cargo/config.toml")).unwrap();
    let outcome = project.rbench(&["list", ".", "--bench", "early"]).fails_with(3);
    outcome.assert_stderr_has(&["counted/early has `#![feature(…)]`", "cargo +nightly rbench"]);
    assert!(!outcome.stderr().contains("compiling"), "{}", outcome.stderr());
}

#[test]
fn target_of_unknown_harness_gets_the_lines_to_measure_it() {
    let project = TestProject::of("sums");
    let outcome = project.rbench(&["list"]).fails_with(2);
    outcome.assert_stderr_has(&["cannot determine the harness of bench target `work`", "hint: "]);
    let stderr = outcome.stderr();
    let lines = stderr.split("in bench.toml:\n").nth(1).unwrap();
    project.write("bench.toml", lines.split("log: ").next().unwrap());
    assert_eq!(listed(&project, &[]), ["work: work"]);
}

#[test]
fn bench_toml_can_set_the_harness_of_a_target() {
    let project = TestProject::of("sums");
    let speaks_for_itself = include_str!("../../fixtures/native/benches/raw.rs");
    project.write("benches/work.rs", speaks_for_itself);
    project.write("bench.toml", "[[harness]]\nbench = \"work\"\nharness = \"native\"\n");
    assert_eq!(listed(&project, &[])[0], "work: garbage");
    project.write("bench.toml", "[[harness]]\nbench = \"work\"\nharness = \"divan\"\n");
    let outcome = project.rbench(&["list"]).fails_with(4);
    outcome.assert_stderr_has(&[
        "bench.toml names the harness divan",
        "hint: add divan to the dependencies",
    ]);
}

#[test]
fn parts_of_a_criterion_name_survive() {
    let project = TestProject::criterion();
    let report =
        report(&project.rbench(&["list", "--format", "json", ".", "parameter", "64"]).ok());
    let lines: Vec<[&Value; 5]> = report["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| ["harness", "id", "group", "function", "parameter"].map(|part| &line[part]))
        .collect();
    let text = |text: &str| Value::String(text.to_owned());
    let [odd, count] = [
        ["criterion", "group/1/function/parameter/2", "group/1", "function", "parameter/2"]
            .map(text),
        ["criterion", "count/64", "count", "", "64"].map(text),
    ];
    assert_eq!(lines[0], odd.each_ref());
    let null = Value::Null;
    assert_eq!(lines[1], [&count[0], &count[1], &count[2], &null, &count[4]]);
}

/// A virtual workspace of packages with one benchmark each, which is called like its package.
fn workspace() -> TestProject {
    let project = TestProject::bare("repository");
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.write(".gitignore", "target\n");
    let root = "[workspace]\nresolver = \"2\"\nmembers = [\"a\", \"b\", \"c\"]\n\
                default-members = [\"a\", \"b\"]\n";
    project.write("Cargo.toml", root);
    let harness = concat!(env!("CARGO_MANIFEST_DIR"), "/harness");
    for name in ["a", "b", "c"] {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n\
             [dev-dependencies]\nrbench-harness = {{ path = {harness:?} }}\n\
             [[bench]]\nname = \"work\"\nharness = false\n"
        );
        project.write(&format!("{name}/Cargo.toml"), &manifest);
        project.write(&format!("{name}/lib.rs"), "");
        let bench = format!(
            "use rbench_harness::{{main, Suite}};\nfn all(suite: &mut Suite) {{\n    \
             suite.bench(\"{name}\", |bencher| bencher.iter(|| 1));\n}}\nmain!(all);\n"
        );
        project.write(&format!("{name}/benches/work.rs"), &bench);
    }
    project.commit("Begin");
    project
}

#[test]
fn workspace_members_are_selected_as_by_cargo() {
    let project = workspace();
    assert_eq!(listed(&project, &[]), ["work: a", "work: b"]);
    assert_eq!(listed(&project, &["--workspace"]), ["work: a", "work: b", "work: c"]);
    assert_eq!(listed(&project, &["--workspace", "--exclude", "a"]), ["work: b", "work: c"]);
    assert_eq!(listed(&project, &["-p", "c"]), ["work: c"]);
    assert_eq!(listed(&project, &["--manifest-path", "c/Cargo.toml"]), ["work: c"]);
    let project = project.in_workspace("c/benches");
    assert_eq!(listed(&project, &[]), ["work: c"]);
    assert_eq!(listed(&project, &["-p", "a"]), ["work: a"]);
}

#[test]
fn all_members_are_listed_if_default_ones_have_no_benches() {
    let project = workspace();
    project.replace("Cargo.toml", "\"c\"]", "\"c\", \"plain\"]");
    project.replace("Cargo.toml", "\"a\", \"b\"]\n", "\"plain\"]\n");
    project.write("plain/Cargo.toml", "[package]\nname = \"plain\"\n[lib]\npath = \"lib.rs\"\n");
    project.write("plain/lib.rs", "");
    project.commit("Add a package without benchmarks, and make it the default");
    let outcome = project.rbench(&["list"]).ok();
    outcome.assert_stderr_has(&["the default members of the workspace have no bench target"]);
    assert_eq!(listed(&project, &[]), ["work: a", "work: b", "work: c"]);
    assert_eq!(listed(&project, &["-p", "b"]), ["work: b"]);
}

#[test]
fn feature_of_an_unselected_member_is_off() {
    let project = workspace();
    project.append("a/Cargo.toml", "[features]\nx = []\n");
    project.append(
        "a/Cargo.toml",
        "[[bench]]\nname = \"more\"\nharness = false\nrequired-features = [\"x\"]\n",
    );
    project.write("a/benches/more.rs", &project.read("a/benches/work.rs"));
    // Its benchmarks are not selected, but it turns the feature on.
    let dependency = "[dependencies]\na = { path = \"../a\", features = [\"x\"] }\n[lib]";
    project.replace("c/Cargo.toml", "[lib]", dependency);
    assert_eq!(listed(&project, &[]), ["work: a", "work: b"]);
    let all = ["more: a", "work: a", "work: b", "work: c"];
    assert_eq!(listed(&project, &["--workspace"]), all);
    assert_eq!(listed(&project, &["--features", "a/x"]), all[..3]);
    assert_eq!(listed(&project, &["-p", "a", "--bench", "more"]), ["more: a"]);
}

#[test]
fn renamed_or_moved_member_is_the_same_member() {
    let project = workspace();
    project.git(&["mv", "c", "d"]);
    project.replace("Cargo.toml", "\"c\"", "\"d\"");
    project.commit("Move a member");
    project.replace("d/Cargo.toml", "name = \"c\"", "name = \"d\"");
    project.commit("Rename it");
    let project = project.in_workspace("d");
    let listed =
        |revision| ids(&report(&project.rbench(&["list", "--format", "json", revision]).ok()));
    assert_eq!(listed("HEAD"), ["work: c"]);
    assert_eq!(listed("HEAD~1"), ["work: c"]);
    let outcome = project.rbench(&["list", "HEAD~2"]).fails_with(2);
    outcome.assert_stderr_has(&["it has no package `d` or d", "--workspace"]);
}
