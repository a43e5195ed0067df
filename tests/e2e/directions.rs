//! The directions of the house: which part may know what.

use crate::support::sources::{SourceFile, rust_files};

/// Every product line below `directories` that has one of `words`, outside of the files `allowed`.
fn uses(directories: &[&str], words: &[&str], allowed: &[&str]) -> Vec<String> {
    let files = rust_files(directories);
    assert!(!files.is_empty(), "nothing is found in {directories:?}");
    let is_allowed = |file: &&SourceFile| {
        !allowed.iter().any(|path| file.path == *path || file.path.starts_with(&format!("{path}/")))
    };
    let mut found = Vec::new();
    for file in files.iter().filter(is_allowed) {
        for (number, line) in file.product_lines() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    found
}

#[track_caller]
fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_model_and_the_statistics_know_no_edge() {
    let edges = [
        "std::fs",
        "std::process",
        "std::env",
        "std::net",
        "Instant",
        "SystemTime::now",
        "fs::",
        "env::",
        "println!",
        "print!",
        "git2",
        "rusqlite",
    ];
    assert_none(&uses(&["src/model", "src/stats"], &edges, &[]));
}

/// The modules of this crate that a file's product code names after `crate::`.
fn own_modules(file: &SourceFile) -> Vec<String> {
    let code: Vec<&str> = file.product_lines().map(|(_, line)| line).collect();
    let code = code.join("\n");
    let mut modules = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let list = rest.strip_prefix('{').and_then(|rest| rest.split_once("};"));
        let Some((list, _)) = list else {
            modules.push(name_at(rest));
            continue;
        };
        let mut depth = 0;
        let outermost = |c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        };
        let paths = list.split(outermost).map(str::trim).filter(|path| !path.is_empty());
        modules.extend(paths.map(name_at));
    }
    modules
}

/// The identifier that a text begins with.
fn name_at(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn the_model_knows_nobody_and_the_statistics_know_only_the_model() {
    for (directory, allowed) in [("src/model", &["model"][..]), ("src/stats", &["model", "stats"])]
    {
        for file in rust_files(&[directory]) {
            for module in own_modules(&file) {
                assert!(allowed.contains(&module.as_str()), "{} uses crate::{module}", file.path);
            }
        }
    }
}

#[test]
fn names_after_crate_are_found_however_they_are_written() {
    let text =
        "use crate::{\n    a::{b, c},\n    d,\n};\nuse crate::e::f;\nfn g() { crate::h::i() }\n";
    let file = SourceFile { path: "src/x.rs".to_owned(), text: text.to_owned() };
    assert_eq!(own_modules(&file), ["a", "d", "e", "h"]);
}

#[test]
fn only_three_files_of_a_build_and_the_process_of_a_measurement_spawn() {
    let spawning = [".spawn()", ".output()", ".status()", ".exec()", "posix_spawn", "fork("];
    let allowed =
        ["src/build/tool.rs", "src/build/run_cargo.rs", "src/build/supervisor.rs", "src/process"];
    assert_none(&uses(&["src"], &spawning, &allowed));
}

#[test]
fn only_the_console_and_what_runs_in_place_of_a_tool_print() {
    let printing = ["println!", "print!(", "stdout()", "stderr()", "dbg!"];
    let allowed = [
        "src/console.rs",
        "src/main.rs",
        // Processes of their own, started by cargo and rustc: standard error is all they have.
        "src/build/wrapper.rs",
        "src/build/shim.rs",
        "src/build/supervisor.rs",
        "src/build/tool.rs",
        // The last words of a signal handler, which may call nothing that locks or allocates.
        "src/process/interrupt.rs",
    ];
    assert_none(&uses(&["src"], &printing, &allowed));
}

#[test]
fn only_the_source_knows_git_and_only_the_command_line_knows_clap_commands() {
    assert_none(&uses(&["src"], &["git2"], &["src/source"]));
    assert_none(&uses(
        &["src"],
        &["clap::Parser", "clap::Args", "derive(Debug, Parser)"],
        &["src/cli.rs", "src/cli"],
    ));
}

#[test]
fn the_process_of_a_measurement_knows_neither_terminal_nor_store() {
    let files = ["src/process", "src/machine"];
    assert_none(&uses(
        &files,
        &["crate::console", "crate::store", "crate::report", "indicatif"],
        &[],
    ));
}

#[test]
fn no_edge_knows_the_command_line_or_the_reports() {
    let edges =
        ["src/source", "src/build", "src/code", "src/harness", "src/process", "src/machine"];
    assert_none(&uses(
        &edges,
        &["crate::cli", "crate::command", "crate::report", "crate::console"],
        &[],
    ));
}
