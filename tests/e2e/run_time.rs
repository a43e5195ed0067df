//! Benchmarks get the same run-time environment from rbench as from cargo.
//!
//! The bench target prints its environment; plain `cargo bench` gives the expected output.

use std::{fs, process::Command};

use crate::support::{TestProject, rbench, rbench::Outcome};

/// Prints its environment and then fails, so that rbench shows the output.
const BENCH: &str = r#"//! Prints what cargo gives to it at run time.

use std::{env, path::Path};

fn main() {
    for name in ["OF_SCRIPT", "CONFIGURED", "SET", "FORCED", "CARGO_PKG_NAME", "GIVEN"] {
        println!("{name}: {:?}", env::var(name));
    }
    let own = env::var("CARGO_MANIFEST_DIR").unwrap();
    let relative = env::var("RELATIVE").unwrap_or_default();
    println!("relative: {:?}", Path::new(&relative).strip_prefix(own));
    let out = env::var("OUT_DIR").unwrap_or_default();
    let libraries = env::var_os("LD_LIBRARY_PATH").unwrap();
    let built = env::current_exe().unwrap();
    let deps = built.parent().unwrap().file_name();
    for library in env::split_paths(&libraries) {
        if library.starts_with(&out) {
            println!("library: {:?} in OUT_DIR", library.strip_prefix(&out));
        }
        if library.starts_with("/outside") || library.file_name() == deps {
            println!("library: {:?}", library.file_name());
        }
    }
    std::process::exit(7);
}
"#;

const SCRIPT: &str = r#"//! Says what counts at run time.

fn main() {
    println!("cargo:rustc-env=OF_SCRIPT=said");
    println!("cargo:rustc-env=CARGO_PKG_NAME=never");
    println!("cargo:rustc-link-search=native={}/lib", std::env::var("OUT_DIR").unwrap());
    println!("cargo:rustc-link-search=/outside");
}
"#;

const CONFIG: &str = "[env]\nCONFIGURED = 'plain'\nSET = 'never'\nCARGO_PKG_NAME = 'never'\n\
    FORCED = { value = 'forced', force = true }\nRELATIVE = { value = 'data', relative = true }\n";

fn project() -> TestProject {
    printing(TestProject::of("sums"))
}

fn printing(project: TestProject) -> TestProject {
    project.write("benches/work.rs", BENCH);
    project.write("build.rs", SCRIPT);
    project.write(".cargo/config.toml", CONFIG);
    project.write("bench.toml", "[[command]]\nid = 'work'\nbench = 'work'\n");
    project.commit("Print what is given at run time");
    project
}

/// Asserts that the bench target prints the same under rbench as under plain cargo; returns that
/// output.
#[track_caller]
fn prints_as_with_cargo(project: &TestProject, words: &[&str], set: &[(&str, &str)]) -> String {
    let mut cargo = Command::new("cargo");
    rbench::hermetic(&mut cargo, &project.home());
    cargo.current_dir(project.root()).envs(set.iter().copied());
    cargo.args(["bench", "--bench", "work"]).args(words);
    let printed = cargo.arg("--target-dir").arg(project.beside("plain")).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();

    let words: Vec<String> = words.iter().map(|word| format!("--cargo-arg={word}")).collect();
    let words = words.iter().map(String::as_str);
    let arguments: Vec<&str> = ["exec", "HEAD", "work"].into_iter().chain(words).collect();
    let mut command = project.rbench(&arguments);
    for (name, value) in set {
        command = command.env(name, value);
    }
    let lines: Vec<&str> = printed.lines().collect();
    let shown = format!("the end of its output:\n    {}\nhint: ", lines.join("\n    "));
    command.fails_with(4).assert_stderr_has(&[&shown]);
    printed
}

#[test]
fn variables_and_libraries_match_those_of_cargo() {
    const GIVEN: [&str; 2] = ["--config", "env.GIVEN='by a flag'"];
    const SET: [(&str, &str); 2] = [("SET", "by the user"), ("FORCED", "by the user")];
    let printed = prints_as_with_cargo(&project(), &GIVEN, &SET);
    assert!(printed.contains("FORCED: Ok(\"forced\")\n"), "{printed}");
}

#[test]
fn variables_of_included_files_match_those_of_cargo() {
    let project = project();
    let included = "[env]\nCONFIGURED = 'included'\nGIVEN = 'included'\n";
    project.write(".cargo/more.toml", included);
    let include = "include = [{ path = 'more.toml' }, { path = 'none.toml', optional = true }]\n";
    // Cargo refuses a variable that is text in one file and a table in the other.
    let config = CONFIG.replace("RELATIVE = { value = 'data', relative = true }\n", "");
    project.write(".cargo/config.toml", &format!("{include}{config}"));
    project.commit("Include another file");
    let printed = prints_as_with_cargo(&project, &[], &[]);
    for line in ["CONFIGURED: Ok(\"plain\")", "GIVEN: Ok(\"included\")"] {
        assert!(printed.lines().any(|other| other == line), "no `{line}` in:\n{printed}");
    }
}

#[test]
fn version_variable_overrides_outer_config_and_flag_both() {
    let project = printing(TestProject::at("sums", "projects/repository"));
    fs::create_dir(project.beside("projects/.cargo")).unwrap();
    let config = "[env]\nCONFIGURED = 'above'\nSET = 'above'\nGIVEN = 'above'\n";
    fs::write(project.beside("projects/.cargo/config.toml"), config).unwrap();
    let printed = prints_as_with_cargo(&project, &["--config", "env.SET='by a flag'"], &[]);
    let expected = ["CONFIGURED: Ok(\"plain\")", "SET: Ok(\"by a flag\")", "GIVEN: Ok(\"above\")"];
    for line in expected {
        assert!(printed.lines().any(|other| other == line), "no `{line}` in:\n{printed}");
    }
}

#[test]
fn runner_is_ignored_with_a_warning() {
    let project = project();
    let is_told = |outcome: &Outcome| {
        outcome.assert_stderr_has(&[
            "warning: cargo's configuration has a runner, `valgrind`, which is not used",
            "it exited with status 7",
        ]);
    };
    let exec = || project.rbench(&["exec", "HEAD", "work"]);
    let variable =
        format!("CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_RUNNER", std::env::consts::ARCH.to_uppercase());
    is_told(&exec().env(&variable, "valgrind").fails_with(4));
    let table = "\n[target.'cfg(unix)']\nrunner = ['valgrind', '-q']\n";
    project.append(".cargo/config.toml", table);
    project.commit("Run by another program");
    is_told(&exec().fails_with(4));
}

#[test]
#[ignore = "takes long"]
fn versions_with_different_variables_are_not_identical() {
    let project = TestProject::of("counted");
    let script = |size: u64| {
        let path = "{}/data\", std::env::var(\"OUT_DIR\").unwrap()";
        let lines = [format!("println!(\"cargo:rustc-env=SIZE={size}\");")]
            .into_iter()
            .chain([format!("println!(\"cargo:rustc-env=DATA={path});")]);
        format!("fn main() {{ {} }}\n", lines.collect::<Vec<_>>().join(" "))
    };
    let config = |value| format!("[env]\nINPUT = {{ value = '{value}', relative = true }}\n");
    project.write("build.rs", &script(1));
    project.write(".cargo/config.toml", &config("small"));
    project.commit("Set variables");
    project.write("README.md", "# Counted\n");
    project.commit("Describe");
    project.write("build.rs", &script(2));
    project.commit("Set another size");
    project.write(".cargo/config.toml", &config("large"));
    project.commit("Set another input");
    let identical = |head: &str| {
        let base = format!("{head}~1");
        let quick = [
            "--config",
            "build.strategy=relink",
            "-l",
            "2",
            "-m",
            "1",
            "-n",
            "3",
            "--config",
            "experiment.warm-up=1ms",
        ];
        let compare = ["compare", &base, head, "--filter", "steady", "--format", "json"];
        let outcome = project.rbench(&[&compare[..], &quick].concat()).ok();
        outcome.json("compare")["benchmarks"][0]["verdict"] == "identical"
    };
    assert_eq!(["HEAD~2", "HEAD~1", "HEAD"].map(identical), [true, false, false]);
}
