//! A compilation is reused only under the conditions that it was made under: variables, files outside of the repository,
//! and programs that build scripts start.

use std::{fs, os::unix::fs::PermissionsExt as _};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Builds, TestProject,
    rbench::{Rbench, host_path},
    script::{Gate, script},
};

const ONE: [&str; 3] = ["--builds=1", "--config", "build.strategy=relink"];

/// A script that makes the constant `ROUNDS` of the variable `WORK`, and declares only what this text says.
const SCRIPT: &str = r#"
fn main() {
    println!("DECLARED");
    let rounds = std::env::var("WORK").unwrap_or_else(|_| "1000".to_owned());
    let file = format!("{}/rounds.rs", std::env::var("OUT_DIR").unwrap());
    std::fs::write(file, format!("pub const ROUNDS: u64 = {rounds};")).unwrap();
}
"#;

/// A project with a build script that prints `declared` and makes code of the variable `WORK`.
fn with_script(declared: &str) -> TestProject {
    let project = TestProject::of("sums");
    project.write("build.rs", &SCRIPT.replace("DECLARED", declared));
    project.append("src/lib.rs", "include!(concat!(env!(\"OUT_DIR\"), \"/rounds.rs\"));\n");
    project.replace("src/lib.rs", "(0..count)", "(0..count * ROUNDS / 1000)");
    project.commit("a build script");
    project
}

/// Builds under some conditions twice, and once under others, which must compile again and say why.
#[track_caller]
fn assert_compiled_again(
    project: &TestProject,
    before: impl Fn(Rbench) -> Rbench,
    after: impl Fn(Rbench) -> Rbench,
    reason: &str,
) {
    project.commit("conditions");
    let build =
        |change: &dyn Fn(Rbench) -> Rbench| Builds::of(change(project.build_command(&ONE)).ok());
    assert_eq!(build(&before).version(0)["compiled"], true);
    assert_eq!(build(&before).version(0)["compiled"], false);
    let again = build(&after);
    assert_eq!(again.version(0)["compiled"], true);
    again.outcome.assert_stderr_has(&["is compiled again: ", reason]);
    assert_eq!(build(&after).version(0)["compiled"], false);
}

fn with_work(value: &str) -> impl Fn(Rbench) -> Rbench {
    move |rbench| rbench.env("WORK", value)
}

fn unchanged(rbench: Rbench) -> Rbench {
    rbench
}

#[test]
fn variable_of_a_build_script_is_a_condition() {
    let project = with_script("cargo::rerun-if-env-changed=WORK");
    let reason = "the variable WORK has another value";
    assert_compiled_again(&project, with_work("1000"), with_work("2000"), reason);
}

#[test]
fn variable_of_a_crate_is_a_condition() {
    let project = TestProject::of("sums");
    project.append("src/lib.rs", "pub const WORK: Option<&str> = option_env!(\"WORK\");\n");
    let reason = "the variable WORK has another value";
    assert_compiled_again(&project, unchanged, with_work("1"), reason);
}

#[test]
fn included_file_outside_is_a_condition() {
    let project = TestProject::of("sums");
    let path = project.beside("text");
    fs::write(&path, "one").unwrap();
    let line = format!("pub static TEXT: &str = include_str!({path:?});\n");
    project.append("src/lib.rs", &line);
    let write = |rbench: Rbench| {
        fs::write(&path, "two").unwrap();
        rbench
    };
    assert_compiled_again(&project, unchanged, write, "/text has changed");
}

/// A package outside of the repository, which is edited between two commands.
fn assert_package_outside_is_a_condition(project: &TestProject) {
    let source = project.beside("cfg-if/src/lib.rs");
    fs::create_dir_all(source.parent().unwrap()).unwrap();
    let manifest = "[package]\nname = \"cfg-if\"\nversion = \"1.0.4\"\nedition = \"2021\"\n";
    fs::write(project.beside("cfg-if/Cargo.toml"), manifest).unwrap();
    fs::write(&source, "pub const MORE: u64 = 1;\n").unwrap();
    project.replace("src/lib.rs", "(0..count)", "(0..count * cfg_if::MORE)");
    let edit = |rbench: Rbench| {
        fs::write(&source, "pub const MORE: u64 = 2;\n").unwrap();
        rbench
    };
    assert_compiled_again(project, unchanged, edit, "/cfg-if/src/lib.rs has changed");
}

#[test]
fn package_at_an_absolute_path_is_a_condition() {
    let project = TestProject::of("sums");
    let path = project.beside("cfg-if");
    project.append("Cargo.toml", &format!("[dependencies]\ncfg-if = {{ path = {path:?} }}\n"));
    assert_package_outside_is_a_condition(&project);
}

#[test]
fn package_that_the_user_patches_is_a_condition() {
    let project = TestProject::of("sums");
    project.append("Cargo.toml", "[dependencies]\ncfg-if = \"1\"\n");
    fs::remove_file(project.root().join("Cargo.lock")).unwrap();
    let path = project.beside("cfg-if");
    let above = project.beside(".cargo/config.toml");
    fs::create_dir_all(above.parent().unwrap()).unwrap();
    fs::write(above, format!("[patch.crates-io]\ncfg-if = {{ path = {path:?} }}\n")).unwrap();
    assert_package_outside_is_a_condition(&project);
}

#[test]
fn compiler_of_build_scripts_is_a_condition() {
    let project = with_script("cargo::rerun-if-changed=build.rs");
    let bin = project.beside("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::join_paths(
        std::iter::once(bin.clone()).chain(std::env::split_paths(&host_path())),
    )
    .unwrap();
    let compiler = |text: &'static str| {
        let (bin, path) = (&bin, &path);
        move |rbench: Rbench| {
            fs::write(bin.join("g++"), format!("#!/bin/sh\n# {text}\n")).unwrap();
            fs::set_permissions(bin.join("g++"), fs::Permissions::from_mode(0o755)).unwrap();
            rbench.env("PATH", path)
        }
    };
    let reason = "the program `g++` is another one";
    assert_compiled_again(&project, compiler("13"), compiler("14"), reason);
}

#[test]
fn undeclared_variable_does_not_count_as_a_change() {
    let project = with_script("cargo::rerun-if-changed=build.rs");
    project.write("README.md", "A line\n");
    project.commit("a line");
    project.rbench(&["build", "HEAD~1", "--builds=1"]).env("WORK", "1000").ok();
    let compare = || {
        let compare = project.rbench(&["compare", "HEAD~1", "HEAD", "--metric", "size"]);
        compare.env("WORK", "2000").ok()
    };
    let compared = compare();
    compared.assert_stderr_has(&["is compiled again: it was compiled at another time"]);
    let again = compare().stderr();
    assert!(!again.contains("compiled again"), "{again}");
    let differing = project.rbench(&["diff", "HEAD~1", "HEAD"]).env("WORK", "2000").ok();
    differing.assert_stdout_has(&["functions are the same"]);
}

/// An edit makes a new version each time, which is compared with a version of an earlier command.
#[test]
fn base_stays_compiled_if_its_script_makes_the_same() {
    let project = with_script("cargo::rerun-if-changed=build.rs");
    project.append("src/lib.rs", "pub fn another() {}\n");
    project.commit("another");
    project.rbench(&["build", "HEAD~1", "--builds=1"]).ok();
    let compared = project.rbench(&["compare", "HEAD~1", "HEAD", "--metric", "size"]).ok();
    let text = compared.stderr();
    assert!(!text.contains("compiled again") && text.contains("compiling HEAD ("), "{text}");
}

/// The script would not be run again by cargo, so that the variable that it reads counts only beside another version.
#[test]
fn interrupted_compilation_with_a_script_continues() {
    let project = with_script("cargo::rerun-if-changed=build.rs");
    project.append("src/lib.rs", "pub fn another() {}\n");
    project.commit("another");
    let (gate, log) = (Gate::new(&project.beside("")), project.beside("log"));
    let lines = format!(
        "{}\necho \"$@\" >> '{}'\nexec \"$@\"",
        gate.lines("*'--crate-name work'*"),
        log.display()
    );
    let wrapper = script(&project.beside("wrapper"), &lines);
    let compare = |work: &str| {
        let words = ["compare", "HEAD~1", "HEAD", "--metric", "size"];
        project.rbench(&words).env("RUSTC_WRAPPER", &wrapper).env("WORK", work)
    };
    let interrupt = || {
        gate.shut();
        let mut child = compare("1000").start();
        gate.wait_until_reached();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert!(!child.wait().unwrap().success());
        gate.open();
    };
    interrupt();
    let compiled = |crate_: &str| {
        let log = fs::read_to_string(&log).unwrap();
        log.matches(&format!("--crate-name {crate_} ")).count()
    };
    let library = compiled("sums");
    compare("1000").ok();
    assert_eq!(compiled("sums"), library + 1, "that of HEAD");

    fs::remove_dir_all(project.storage().join("compilations")).unwrap();
    fs::remove_file(project.beside("reached")).unwrap();
    interrupt();
    let compared = compare("2000").ok();
    compared.assert_stderr_has(&["HEAD~1", "is compiled again: it was compiled at another time"]);
}
