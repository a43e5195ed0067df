//! Code of a commit gets no secret of the user's or of a CI job.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::support::{QUICK, TestProject, rbench::Rbench};

/// Code that panics unless exactly these variables of [`given`] are set.
fn demand(names: &str) -> String {
    format!(
        "fn demand() {{\n    let names = [\"LISTED\", \"PLAIN\", \"OTHER\", \"DB_KEY\", \"SAME\", \"DATABASE_URL\", \"CC_OPTIONS\", \
         \"SSH_AUTH_SOCK\", \"GITHUB_ENV\", \"CREDENTIALS_DIRECTORY\", \"GIT_CONFIG_COUNT\"];\n    \
         let set: Vec<&str> =\n        names.into_iter().filter(|name| std::env::var_os(name).is_some()).collect();\n    \
         assert_eq!(set.join(\" \"), \"{names}\");\n}}\n"
    )
}

/// Sets variables that look like secrets in different ways, and others.
fn given(command: Rbench) -> Rbench {
    command
        .env("PLAIN", "1")
        .env("OTHER", "2")
        .env("LISTED", "3")
        .env("DB_KEY", "s3cret-of-the-database")
        .env("SAME", "s3cret-of-the-database")
        .env("DATABASE_URL", "postgres://me:s3cret@db/x")
        .env("CC_OPTIONS", "--token=s3cret-of-the-database")
        .env("SSH_AUTH_SOCK", "/tmp/agent")
        .env("GITHUB_ENV", "/tmp/env")
        .env("CREDENTIALS_DIRECTORY", "/run/credentials")
}

/// A project whose build script, benchmarks and set-ups demand exactly these variables.
fn demanding(names: [&str; 2], bench_toml: &str) -> TestProject {
    let project = TestProject::of("counted");
    let [build, run] = names.map(demand);
    project.write(
        "build.rs",
        &format!("//! Demands variables.\n\nfn main() {{\n    demand();\n}}\n\n{build}"),
    );
    project.append("benches/work.rs", &format!("\n{run}"));
    project.replace(
        "benches/work.rs",
        "suite: &mut Suite) {",
        "suite: &mut Suite) {\n    demand();",
    );
    let setup =
        "env > set-up.txt; ! grep -E '^(SAME|DATABASE_URL|SSH_AUTH_SOCK|GITHUB_ENV)=' set-up.txt";
    project.write("bench.toml", &format!("{bench_toml}\n[setup]\nprepare = \"{setup}\"\n"));
    project.commit("Demand variables");
    project
}

#[test]
fn secrets_are_not_passed_at_the_desk() {
    let names = ["LISTED PLAIN OTHER SSH_AUTH_SOCK", "LISTED PLAIN OTHER"];
    let project = demanding(names, "");
    given(project.rbench(&[&["run", "."], &QUICK[..]].concat())).ok();

    let project = demanding(
        ["LISTED PLAIN OTHER DB_KEY SSH_AUTH_SOCK", "LISTED PLAIN OTHER DB_KEY"],
        "pass-environment = [\"DB_KEY\", \"DATABASE_*\"]",
    );
    given(project.rbench(&[&["run", "."], &QUICK[..]].concat())).ok();
}

#[test]
fn code_in_ci_gets_listed_variables_and_those_that_the_base_names() {
    let passed = "pass-environment = [\"LIST*\", \"DB_KEY\", \"SA*\"]";
    let project = demanding(["LISTED DB_KEY"; 2], passed);
    // The head passes everything.
    let toml = project.read("bench.toml");
    let all = "pass-environment = [\"PLAIN\", \"OTHER\", \"LISTED\", \"DB_KEY\", \"SAME\", \"DATABASE_URL\"]";
    project.write("bench.toml", &toml.replace(passed, all));
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 1_001");
    project.commit("Pass all");
    let words = ["ci", "--provider", "none", "--base", "HEAD~1", "--head", "HEAD"];
    let outcome = given(project.rbench(&[&words, &QUICK[..]].concat()))
        .env("RBENCH_LOG", "cargo_rbench=info")
        .ok();
    outcome.assert_stdout_has(&[
        "code of both versions gets what may be secrets",
        "names them: DB_KEY\n",
    ]);
    let withheld = "only if bench.toml names them: CC_OPTIONS CREDENTIALS_DIRECTORY DATABASE_URL DB_KEY GITHUB_ENV";
    outcome.assert_stderr_has(&[withheld]);
    assert!(!outcome.printed().contains("s3cret"), "{}", outcome.printed());
}

#[test]
fn working_tree_passes_nothing_to_cargo_in_a_job() {
    let project = TestProject::of("counted");
    project.write("bench.toml", "pass-environment = [\"DB_KEY\"]\n");
    project.commit("Pass the key");
    let (seen, shim) = (project.beside("seen"), project.beside("cargo-shim"));
    let script = format!(
        "#!/bin/sh\necho \"$1 ${{DB_KEY:-nothing}}\" >> {}\nexec cargo \"$@\"\n",
        seen.display()
    );
    fs::write(&shim, script).unwrap();
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).unwrap();
    let compare = |ci: &str| {
        let words = [&["compare", "HEAD~1", "HEAD"], &QUICK[..]].concat();
        let command = project.rbench(&words).env("CARGO", &shim).env("CI", ci);
        command.env("DB_KEY", "s3cret-key").ok();
        fs::read_to_string(&seen).unwrap()
    };
    let of_job = compare("true");
    assert!(of_job.contains("metadata nothing") && !of_job.contains("s3cret-key"), "{of_job}");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 1_001");
    project.commit("Do more");
    let at_the_desk = compare("");
    assert!(at_the_desk.contains("s3cret-key"), "{at_the_desk}");
}

#[test]
fn failure_for_a_variable_that_is_not_passed_has_a_hint() {
    let project = TestProject::of("counted");
    project.append("src/lib.rs", "pub const KEY: &str = env!(\"DATABASE_KEY\");\n");
    let outcome = project.rbench(&["run", "."]).env("DATABASE_KEY", "s3cret-key").fails_with(3);
    outcome.assert_stderr_has(&[
        "hint: DATABASE_KEY is not passed to code of a commit: add `pass-environment = [\"DATABASE_KEY\"]` to bench.toml",
    ]);
    project.write("bench.toml", "pass-environment = [\"DATABASE_KEY\"]\n");
    let words = [&["run", "."], &QUICK[..]].concat();
    project.rbench(&words).env("DATABASE_KEY", "s3cret-key").ok();
}

#[test]
fn impossible_name_in_bench_toml_is_an_error() {
    let project = TestProject::of("counted");
    project.write("bench.toml", "pass-environment = [\"GITHUB_ENV\"]\n");
    let outcome = project.rbench(&["list", "."]).fails_with(2);
    outcome.assert_stderr_has(&["no code gets the variable GITHUB_ENV"]);
}
