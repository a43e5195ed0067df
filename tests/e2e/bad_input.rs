//! Invalid input is rejected with the reason, the next step and the right exit code.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::support::{Builds, TestProject, rbench, script::script};

#[test]
fn directory_without_a_repository_is_rejected() {
    let project = TestProject::bare("nothing here");
    project.write("Cargo.toml", "[package]\nname = 'x'\n");
    project.write("src/lib.rs", "");
    let outcome = project.rbench(&["build"]).fails_with(2);
    outcome.assert_stderr_has(&["git repository", "nothing here", "hint: "]);
}

#[test]
fn repository_without_a_cargo_workspace_is_rejected() {
    let project = TestProject::bare("empty");
    project.git(&["init", "--quiet"]);
    project.commit("Nothing");
    let outcome = project.rbench(&["build"]).fails_with(2);
    outcome.assert_stderr_has(&["there is no Cargo.toml at or above", "cargo init"]);
    project.write("below/Cargo.toml", "[package]\nname = \"below\"\n");
    project.commit("Begin below");
    let outcome = project.rbench(&["build"]).fails_with(2);
    outcome.assert_stderr_has(&["use --manifest-path below/Cargo.toml"]);
    project.git(&["sparse-checkout", "set", "other"]);
    let outcome = project.rbench(&["build"]).fails_with(2);
    outcome.assert_stderr_has(&["git sparse-checkout add below"]);
}

#[test]
fn unknown_revision_is_rejected_with_a_similar_name() {
    let project = TestProject::of("sums");
    project.git(&["branch", "faster-parser"]);
    let outcome = project.rbench(&["build", "faster-praser"]).fails_with(2);
    outcome.assert_stderr_has(&["`faster-praser`", "hint: ", "faster-parser"]);
    let outcome = project.rbench(&["build", "HEAD~7"]).fails_with(2);
    outcome.assert_stderr_has(&["HEAD~7"]);
}

#[test]
fn version_without_a_bench_target_is_rejected() {
    let project = TestProject::of("sums");
    project.git(&["rm", "--quiet", "-r", "benches"]);
    project.replace("Cargo.toml", "[[bench]]\nname = \"work\"\nharness = false\n", "");
    project.commit("Remove the benchmarks");
    let outcome = project.rbench(&["build"]).fails_with(2);
    outcome.assert_stderr_has(&["HEAD", "bench target", "hint: add a bench target"]);
}

#[test]
fn benchmarks_in_a_separate_workspace_are_pointed_to() {
    let project = TestProject::of("sums");
    let manifest = project.read("Cargo.toml").replace("\"sums\"", "\"benchmarks\"");
    let bench = "[[bench]]\nname = \"work\"\nharness = false\n";
    project.replace("Cargo.toml", bench, "");
    project.write(
        "benchmarks/Cargo.toml",
        &manifest.replace("[workspace]", "[dependencies]\nsums.path = \"..\"\n\n[workspace]"),
    );
    project.git(&["mv", "benches", "benchmarks/"]);
    project.commit("Move the benchmarks into a workspace of their own");
    let outcome = project.rbench(&["build"]).fails_with(2);
    outcome.assert_stderr_has(&["use it with --manifest-path benchmarks/Cargo.toml"]);
    project.build(&["--builds", "1", "--manifest-path", "benchmarks/Cargo.toml"]);
}

#[test]
fn version_without_the_workspace_is_rejected() {
    let project = TestProject::of("workspace-below").in_workspace("rust");
    project.git(&["mv", "rust", "elsewhere"]);
    project.commit("Move the workspace");
    let project = project.in_workspace("elsewhere");
    let outcome = project.rbench(&["build", "HEAD~1"]).fails_with(2);
    outcome.assert_stderr_has(&["HEAD~1", "elsewhere/Cargo.toml", "hint: "]);
}

#[test]
fn unknown_bench_target_is_rejected_with_the_existing_ones() {
    let project = TestProject::of("workspace-below").in_workspace("rust");
    for wrong in [["--bench", "frist"], ["--package", "engine"], ["--exclude", "tools"]] {
        let outcome = project.rbench(&[&["build"], &wrong[..]].concat()).fails_with(2);
        outcome.assert_stderr_has(&["-p tools --bench first", "-p tools --bench second", wrong[1]]);
    }
}

#[test]
fn compile_error_is_reported_with_a_command_to_see_it() {
    let project = TestProject::of("sums");
    project.replace("benches/work.rs", "fn main() {", "fn main() {\n    let wrong: u8 = \"text\";");
    project.commit("Break it");
    project.replace("benches/work.rs", "let wrong: u8 = \"text\";", "");
    project.commit("Repair it");
    let broken = project.git(&["rev-parse", "--short=12", "HEAD~1"]);

    let outcome = project.rbench(&["build", "HEAD~1"]).fails_with(3);
    outcome.assert_stderr_has(&["HEAD~1", "bench target `work`", "mismatched types", "hint: "]);
    let stderr = outcome.stderr();
    let log = stderr.lines().find_map(|line| line.trim().strip_prefix("full output: ")).unwrap();
    assert!(fs::read_to_string(log).unwrap().contains("error[E0308]: mismatched types"));

    // The command is for the user's shell: it must reproduce the error and change nothing else.
    let hint = stderr.split("reproduce with: ").nth(1).unwrap().lines().next().unwrap();
    assert!(hint.contains(&broken), "{hint}");
    let mut shell = Command::new("sh");
    rbench::hermetic(&mut shell, &project.home());
    let output = shell
        .current_dir(project.root())
        .env("CARGO_TARGET_DIR", project.beside("reproduced"))
        .args(["-c", hint])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("mismatched types"), "{hint}\n{text}");
    let removal = stderr.lines().find_map(|line| line.strip_prefix("hint: and afterwards: git "));
    let words: Vec<&str> = removal.expect("a way to tidy up").split(' ').collect();
    project.git(&words);
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);

    project.build(&["--builds", "1", "--config", "build.strategy=relink", "HEAD"]);
}

#[test]
fn link_error_is_reported() {
    let project = TestProject::of("sums");
    project.append("src/lib.rs", "extern \"C\" { fn no_such_function() -> u64; }\n");
    project.append("src/lib.rs", "pub fn call() -> u64 { unsafe { no_such_function() } }\n");
    project.replace("benches/work.rs", "fn main() {", "fn main() {\n    sums::call();");
    project.commit("Call what is not there");
    let outcome = project.rbench(&["build"]).fails_with(3);
    outcome.assert_stderr_has(&["HEAD", "no_such_function", "full output: "]);
}

#[test]
fn unwritable_target_dir_is_named() {
    let project = TestProject::of("sums");
    let target = project.write("target", "a file where a directory is needed");
    let outcome = project.rbench(&["build"]).fails_with(3);
    outcome.assert_stderr_has(&["cannot create the directory", &target.display().to_string()]);

    fs::remove_file(&target).unwrap();
    fs::create_dir(&target).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o555)).unwrap();
    // Modes stop root only without this capability, which others do not have.
    let setpriv = ["--bounding-set=-dac_override", rbench::PROGRAM, "build"];
    let rbench = if rustix::process::geteuid().is_root() {
        project.rbench(&setpriv).program("setpriv")
    } else {
        project.rbench(&setpriv[2..])
    };
    let outcome = rbench.fails_with(3);
    outcome.assert_stderr_has(&["cannot create", &target.display().to_string()]);
    fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn low_limits_of_the_shell_are_named_after_a_failure() {
    let project = TestProject::of("sums");
    let lines = format!("ulimit -n 12\nexec '{}' \"$@\"", rbench::PROGRAM);
    let limited = script(&project.beside("limited"), &lines);
    let outcome = project.rbench(&["build"]).program(limited).fails_with(3);
    let limit = "note: these limits of the shell may explain it: 12 open files (ulimit -n)";
    outcome.assert_stderr_has(&[limit, "(os error 24)"]);
}

#[test]
fn unwritable_cache_directory_is_named() {
    let project = TestProject::of("sums");
    let cache = project.beside("a file");
    fs::write(&cache, "").unwrap();
    let outcome = project.rbench(&["build"]).env("XDG_CACHE_HOME", &cache).fails_with(3);
    outcome.assert_stderr_has(&["cannot create the directory", "a file"]);
}

#[test]
fn missing_cargo_is_named() {
    let project = TestProject::of("sums");
    let outcome = project.rbench(&["build"]).env("PATH", project.beside("no tools")).fails_with(3);
    outcome.assert_stderr_has(&["cannot start `cargo`", "hint: install `cargo`"]);
}

/// Builds on a disk of a megabyte, makes it larger, and builds again. Only this shell and its
/// children see the disk, and it always disappears with them.
const ON_A_FULL_DISK: &str = "
    mount -t tmpfs -o size=1m rbench-test target || exit 125
    \"$0\" build >&2
    echo \"ended with $?\" >&2
    mount -o remount,size=256m target
    exec \"$0\" build --builds 1 --config build.strategy=relink --format json
";

#[test]
fn full_disk_is_reported_and_the_next_run_with_room_succeeds() {
    let project = TestProject::of("sums");
    let target = project.root().join("target");
    fs::create_dir(&target).unwrap();
    let alone = |arguments: &[&str]| project.rbench(arguments).program("unshare");
    let may_mount = |flags: &[&str]| {
        let mount = ["mount", "-t", "tmpfs", "rbench-test", "target"];
        Command::new("unshare")
            .args([flags, &mount].concat())
            .current_dir(project.root())
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let ways = [&["--mount"][..], &["--mount", "--map-root-user"]];
    let flags = ways.into_iter().find(|flags| may_mount(flags));
    let flags = flags.expect("this user may mount a file system of a certain size");
    let script = ["sh", "-c", ON_A_FULL_DISK, rbench::PROGRAM];
    let outcome = alone(&[flags, &script].concat()).ok();
    outcome.assert_stderr_has(&[
        "the disk of ",
        "bytes left",
        "hint: free some space",
        "ended with 3",
    ]);
    assert_eq!(Builds::of(outcome).distinct(0), (1, 1));
    assert!(fs::read_dir(&target).unwrap().next().is_none(), "this test's disk is its own");
}

#[test]
fn unknown_configuration_key_is_rejected_with_its_line() {
    let project = TestProject::of("sums");
    project.write("bench.toml", "[build]\nseed = 3\nseeed = 4\n");
    let outcome = project.rbench(&["build"]).fails_with(2);
    outcome.assert_stderr_has(&["bench.toml", "line 3", "seeed", "hint: "]);
}

#[test]
fn invalid_values_are_rejected() {
    let project = TestProject::of("sums");
    for (arguments, named) in [
        (["build", "--builds", "0"], "0"),
        (["build", "--builds", "many"], "many"),
        (["build", "--layout", "neat"], "neat"),
        (["build", "--config", "build.strategy=guess"], "guess"),
        (["build", "--config", "build.seed=lucky"], "lucky"),
        (["build", "--config", "build.jobs=0"], "0"),
        (["build", "--format", "xml"], "xml"),
        (["clean", "--max-size", "7 parsecs"], "parsecs"),
    ] {
        let outcome = project.rbench(&arguments).fails_with(2);
        outcome.assert_stderr_has(&[arguments[1], named]);
    }
    let outcome = project.rbench(&["biuld"]).fails_with(2);
    outcome.assert_stderr_has(&["biuld", "build"]);
}

#[test]
fn unknown_profile_is_named() {
    let project = TestProject::of("sums");
    let outcome = project.rbench(&["build", "--profile", "fastest"]).fails_with(3);
    outcome.assert_stderr_has(&["profile `fastest` is not defined"]);
}

#[test]
fn source_behind_an_absent_feature_names_the_feature() {
    let project = TestProject::of("counted");
    project.append("Cargo.toml", "\n[features]\nrand = []\n");
    let source = project.read("benches/work.rs");
    project.write("benches/work.rs", &format!("#![cfg(feature = \"rand\")]\n{source}"));
    for arguments in [&["list", "."][..], &["list", ".", "--bench", "work"]] {
        let outcome = project.rbench(arguments).ok();
        outcome.assert_stderr_has(&["is compiled with --features rand"]);
    }
    let outcome = project.rbench(&["list", ".", "--features", "rand"]).ok();
    assert!(!outcome.stderr().contains("--features"), "{}", outcome.stderr());
    project.replace("Cargo.toml", "rand = []", "other = []");
    let outcome = project.rbench(&["list", "."]).fails_with(2);
    outcome.assert_stderr_has(&["--bench work (needs --features rand)", "hint: add the features"]);
}
