//! The first minutes with rbench: `init`, `doctor`, completions and help.

use std::fs;

use crate::support::{TestProject, rbench::PROGRAM};

#[test]
fn init_writes_a_neutral_configuration_and_a_workflow() {
    let project = TestProject::of("program");
    let planned = project.rbench(&["init", "--ci", "github", "--dry-run"]).ok();
    planned.assert_stdout_has(&[
        "no bench target",
        "would write bench.toml",
        "--command word-count, it is",
        "--command 'word-count ARGUMENTS'\n",
    ]);
    assert!(!project.root().join("bench.toml").exists(), "a dry run writes nothing");

    let outcome = project.rbench(&["init", "--ci", "github"]).ok();
    let workflow = ".github/workflows/rbench.yml";
    outcome.assert_stdout_has(&["wrote bench.toml", workflow, "next:"]);
    let shown = crate::support::sources::project().join("docs/workflows/pull-request.yml");
    assert_eq!(project.read(workflow), fs::read_to_string(shown).unwrap());
    let written = project.read("bench.toml");
    assert!(written.lines().count() <= 15 && written.contains("bench.toml.example"), "{written}");
    project.rbench(&["list", "--command", "word-count"]).ok();

    project.write("bench.toml", "# mine\n");
    let again = project.rbench(&["init"]).ok();
    again.assert_stdout_has(&["bench.toml already exists"]);
    assert_eq!(project.read("bench.toml"), "# mine\n");
    project.write("AGENTS.md", "# Mine");
    let outcome = project.rbench(&["init", "--agents"]).ok();
    outcome.assert_stdout_has(&["wrote AGENTS.md: a section about benchmarks"]);
    let agents = project.read("AGENTS.md");
    assert!(agents.starts_with("# Mine\n\n<!-- cargo-rbench: begin -->"), "{agents}");
    project.rbench(&["init", "--agents"]).ok().assert_stdout_has(&["was up to date"]);
    assert_eq!(project.read("AGENTS.md"), agents);
    project.rbench(&["init", "--force"]).ok();
    assert!(project.read("bench.toml").contains("[verdict]"));
}

#[test]
fn inspecting_a_project_leaves_its_lock_file_alone() {
    let project = TestProject::of("native");
    let inspect = || {
        project.rbench(&["init", "--dry-run"]).ok();
        project.rbench(&[]).fails_with(2).assert_stderr_has(&["cargo rbench compare HEAD ."]);
    };
    // Cargo would replace this one, and make one where there is none.
    project.write("Cargo.lock", "# mine\n");
    inspect();
    assert_eq!(project.read("Cargo.lock"), "# mine\n");
    let path = project.root().join("Cargo.lock");
    fs::remove_file(&path).unwrap();
    inspect();
    assert!(!path.exists());
}

#[test]
fn init_offers_no_tasks_of_the_project_and_goes_on_beside_a_broken_manifest() {
    let project = TestProject::of("program");
    project.replace("Cargo.toml", "[workspace]", "[workspace]\nmembers = ['xtask']");
    let manifest = |name: &str| format!("[package]\nname = '{name}'\nedition = '2024'\n");
    project.write("xtask/Cargo.toml", &manifest("xtask"));
    project.write("xtask/src/main.rs", "fn main() {}\n");
    // Cargo wants it to be a member.
    project.write("speed/src/lib.rs", "");
    project.write("speed/benches/speed.rs", "");
    project.write("speed/Cargo.toml", &(manifest("speed") + "[[bench]]\nname = 'speed'\n"));
    let outcome = project.rbench(&["init", "--dry-run"]).ok();
    outcome.assert_stdout_has(&[
        "program word-count",
        "note: speed/Cargo.toml has bench targets, but: cannot find a cargo workspace at",
        "believes it's in a workspace when it's not",
        "would write bench.toml",
        "--command word-count --quick\n",
    ]);
    assert!(!outcome.stdout().contains("xtask:"), "{}", outcome.stdout());
    project.replace("Cargo.toml", "name = \"word-count\"\npath = \"src/main.rs\"", "");
    project.replace("Cargo.toml", "[[bin]]", "[lib]");
    fs::rename(project.root().join("src/main.rs"), project.root().join("src/lib.rs")).unwrap();
    let outcome = project.rbench(&["init", "--dry-run"]).ok();
    outcome.assert_stdout_has(&["next: follow a hint above, or add a bench target"]);
}

#[test]
fn program_that_fails_without_arguments_gets_the_command_with_some() {
    let project = TestProject::of("program");
    project.write("src/main.rs", "fn main() { std::process::exit(2) }\n");
    let words = ["compare", "HEAD", ".", "--quick", "--command", "word-count"];
    let outcome = project.rbench(&words).run().assert_exit(4);
    outcome.assert_stderr_has(&["exit code 4, since a benchmark failed"]);
    outcome.assert_stdout_has(&[
        "it exited with status 2; it was started without arguments",
        "give word-count the arguments that it needs:",
        "compare HEAD . --command 'word-count ARGUMENTS' --quick\n",
    ]);
    // Where the base fails, the head is not compiled to learn the same.
    project.commit("Need arguments");
    project.write("src/main.rs", "fn main() { std::process::exit(3) }\n");
    let outcome = project.rbench(&words).fails_with(4);
    outcome.assert_stderr_has(&[
        "it exited with status 2; it was started without arguments",
        "so nothing can be compared",
        "compare HEAD . --command 'word-count ARGUMENTS' --quick\n",
    ]);
    let progress = outcome.stderr();
    assert!(
        progress.contains("traced 1 benchmark of HEAD (") && !progress.contains("compiling"),
        "{progress}"
    );
}

#[test]
fn init_finds_bench_targets_with_harnesses_and_missing_lines() {
    let project = TestProject::of("native");
    let before = project.rbench(&["init", "--dry-run", "--ci", "gitlab"]).ok();
    before.assert_stdout_has(&[": native\n", ".gitlab/rbench.yml", "compare HEAD . --quick"]);
    let manifest = project.read("Cargo.toml");
    project.write("Cargo.toml", &manifest.replace("harness = false\n", ""));
    let after = project.rbench(&["init", "--dry-run"]).ok();
    after.assert_stdout_has(&[": libtest\n"]);
    project.write("benches/same.rs", "#![feature(test)]\n");
    let unstable = project.rbench(&["init", "--dry-run"]).ok();
    unstable.assert_stdout_has(&["same needs a nightly toolchain and is left out without it"]);
    let manifest =
        manifest.replace("name = \"raw\"\n", "name = \"raw\"\nrequired-features = [\"x\"]\n");
    project.write("Cargo.toml", &format!("{manifest}\n[features]\nx = [\"y\"]\ny = []\n"));
    let library = project.read("src/lib.rs");
    project
        .write("src/lib.rs", &format!("#![cfg_attr(feature = \"y\", feature(test))]\n{library}"));
    let unstable = project.rbench(&["init", "--dry-run"]).ok();
    unstable.assert_stdout_has(&["raw and 1 more need a nightly toolchain"]);
    assert!(!unstable.stdout().contains("--features"), "{}", unstable.stdout());
    project.write("src/lib.rs", &library);
    let off = project.rbench(&["init", "--dry-run"]).ok();
    off.assert_stdout_has(&["raw needs --features x"]);
}

#[test]
fn init_names_a_way_to_run_other_harnesses() {
    let project = TestProject::of("native");
    let manifest = "[package]\nname = \"p\"\n[lib]\nbench = false\n[workspace]\n\
                    [[bench]]\nname = \"same\"\nharness = false\n";
    project.write("Cargo.toml", manifest);
    project.write("benches/same.rs", "fn main() {}\n");
    for other in ["bad", "raw"] {
        fs::remove_file(project.root().join(format!("benches/{other}.rs"))).unwrap();
    }
    let outcome = project.rbench(&["init", "--dry-run"]).ok();
    outcome.assert_stdout_has(&["cannot be run", "[[command]]", "follow a hint above"]);
    // What can be run besides needs nightly.
    project.append("Cargo.toml", "[[bench]]\nname = \"unstable\"\n");
    project.write("benches/unstable.rs", "#![feature(test)]\n");
    let outcome = project.rbench(&["init", "--dry-run"]).ok();
    outcome.assert_stdout_has(&[
        "unstable needs a nightly toolchain",
        "cargo +nightly rbench compare",
    ]);
}

#[test]
fn symlink_in_place_of_a_file_is_not_followed() {
    let project = TestProject::of("program");
    let target = project.beside("elsewhere.toml");
    fs::write(&target, "# kept\n").unwrap();
    std::os::unix::fs::symlink(&target, project.root().join("bench.toml")).unwrap();
    let outcome = project.rbench(&["init", "--force"]).fails_with(2);
    outcome.assert_stderr_has(&["bench.toml", "not a file"]);
    assert_eq!(fs::read_to_string(target).unwrap(), "# kept\n");
}

#[test]
fn doctor_changes_nothing_and_works_outside_of_projects() {
    let project = TestProject::of("program");
    let report = project.rbench(&["doctor", "--format", "json"]).ok().json("doctor");
    let findings = report["findings"].as_array().unwrap();
    for check in
        ["project", "cargo", "linker", "interleaving", "tracing", "perf-events", "governor", "load"]
    {
        assert!(findings.iter().any(|one| one["check"] == check), "{check} is missing: {report}");
    }
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert!(!project.root().join(".rbench").exists());
    let outside = TestProject::bare("empty");
    let text = outside.rbench(&["doctor"]).ok().stdout();
    assert!(text.contains("project: ") && text.contains("fine: "), "{text}");
    assert!(outside.rbench(&["doctor", "--format", "markdown"]).ok().stdout().starts_with("### "));
}

#[test]
fn quiet_prints_only_the_report_and_errors() {
    let project = TestProject::of("program");
    let list = project.rbench(&["list", "-q", "--command", "word-count"]).ok();
    assert_eq!(list.stderr(), "");
    list.assert_stdout_has(&["word-count"]);
    let words = ["compare", "HEAD", ".", "--quiet", "--no-skip", "--command", "word-count"];
    let compared = project.rbench(
        &[&words[..], &["-l", "2", "--config=verdict.confirm=false", "--fail-on", "never"]]
            .concat(),
    );
    assert_eq!(compared.ok().stderr(), "");
    let failed = project.rbench(&["-q", "list", "nonsense~1"]).fails_with(2);
    failed.assert_stderr_has(&["error: cannot find revision"]);
}

#[test]
fn comparison_is_suggested_if_no_command_is_typed() {
    let project = TestProject::of("native");
    let help = "`cargo rbench --help` lists all commands";
    let nothing = project.rbench(&[]).fails_with(2);
    nothing.assert_stderr_has(&["no command is given", "cargo rbench compare HEAD .", help]);
    let program = TestProject::of("program").rbench(&[]).fails_with(2);
    program.assert_stderr_has(&["cargo rbench compare HEAD . --command word-count"]);
    TestProject::bare("empty").rbench(&[]).fails_with(2).assert_stderr_has(&[help]);
}

#[test]
fn comparison_is_offered_on_a_terminal() {
    let project = TestProject::of("native");
    // `script` gives the program a terminal, on which nobody answers here.
    let offered = project.rbench(&["-qec", PROGRAM, "/dev/null"]).program("script").ok();
    offered.assert_stdout_has(&[": native", "head: ", "Run `cargo rbench compare HEAD .`? [Y/n]"]);
    assert!(!offered.stdout().contains("compiling"), "{}", offered.printed());
}

#[test]
fn completions_are_printed_or_written() {
    let project = TestProject::bare("empty");
    project.rbench(&["completions", "bash"]).ok().assert_stdout_has(&["complete -F", "selftest"]);
    let directory = project.beside("written");
    let output = ["--output", directory.to_str().unwrap()];
    project.rbench(&[&["completions", "zsh"][..], &output].concat()).ok();
    assert!(directory.join("_cargo-rbench").exists());
}

#[test]
fn short_help_is_short_and_names_the_common_options() {
    let project = TestProject::bare("empty");
    let short = project.rbench(&["compare", "-h"]).ok().stdout();
    assert!(short.contains("--quick") && !short.contains("--metric"), "{short}");
    assert!(short.contains("cargo rbench compare main ."), "{short}");
}
