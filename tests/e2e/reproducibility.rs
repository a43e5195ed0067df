//! The strategy `auto` checks once whether compiling is reproducible, reports the result and
//! remembers it.

use crate::support::{Builds, TestProject};

const TWO: [&str; 2] = ["--builds", "2"];

#[track_caller]
fn assert_strategy(builds: &Builds, strategy: &str, compilations: usize, reason: &[&str]) {
    let version = builds.version(0);
    assert_eq!(version["strategy"], strategy, "{}", builds.outcome.printed());
    assert_eq!(version["compilations"], compilations, "{}", builds.outcome.printed());
    for part in reason {
        assert!(version["reason"].as_str().unwrap().contains(part), "{}", builds.outcome.printed());
    }
}

/// The number of compilations of this run.
fn compilations_now(builds: &Builds) -> usize {
    builds.outcome.stderr().lines().filter(|line| line.starts_with("compiling ")).count()
}

#[track_caller]
fn assert_detected_and_rebuilt(fixture: &str) {
    let project = TestProject::of(fixture);
    let builds = project.build(&TWO);
    assert_strategy(&builds, "rebuild", 2, &["differ in", "determined just now"]);
    // The first one is listed and compared; each build has a separate one.
    assert_eq!(compilations_now(&builds), 3);
    builds.outcome.assert_stderr_has(&["so each of the 2 builds is compiled separately"]);
    assert_eq!(builds.distinct(0), (2, 2));
    assert_eq!(builds.printed(0), "all 85344\n", "the order does not matter to the sum");

    let again = project.build(&TWO);
    assert_strategy(&again, "rebuild", 2, &["known from an earlier run"]);
    assert!(again.nothing_was_made(0), "{}", again.outcome.printed());
    assert_eq!(again.digests(0), builds.digests(0), "what was built stays");
    let text = project.rbench(&["build", "--builds", "2"]).ok();
    text.assert_stdout_has(&["rebuild: two compilations of the same files differ in"]);
}

#[test]
fn random_build_script_is_detected_and_rebuilt() {
    assert_detected_and_rebuilt("random-build-script");
}

#[test]
fn random_procedural_macro_is_detected_and_rebuilt() {
    assert_detected_and_rebuilt("random-macro");
}

#[test]
fn reproducible_build_is_checked_once_and_then_relinked() {
    let project = TestProject::of("sums");
    let builds = project.build(&TWO);
    assert_strategy(&builds, "relink", 1, &["reproducible", "determined just now"]);
    assert_eq!(compilations_now(&builds), 2);
    assert_eq!(builds.distinct(0), (2, 2));

    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    let builds = project.build(&TWO);
    assert_strategy(&builds, "relink", 1, &["reproducible", "known from an earlier run"]);
    assert_eq!(compilations_now(&builds), 1);
    assert!(builds.printed(0).starts_with("steps 180\n"));
}

#[test]
fn same_machine_code_needs_no_second_compilation() {
    let project = TestProject::of("sums");
    project.append("src/lib.rs", "\n// A comment at the end moves no line.\n");
    project.commit("Explain");
    let builds = project.build(&["--builds", "2", "HEAD~1", "HEAD"]);
    assert_strategy(&builds, "relink", 1, &["all versions have the same machine code"]);
    assert_eq!(compilations_now(&builds), 2, "{}", builds.outcome.printed());
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    let builds = project.build(&["--builds", "2", "HEAD~1", "HEAD"]);
    assert_strategy(&builds, "relink", 1, &["reproducible", "determined just now"]);
    builds.outcome.assert_stderr_has(&[
        "to check that compiling is reproducible (once per lock file, toolchain and settings",
    ]);
}

#[test]
fn debug_info_with_its_directory_makes_no_other_program() {
    let project = TestProject::of("native-code");
    // Like a configure script: in the build script's directory, which is different each time.
    project.replace(
        "build.rs",
        r#"["-O2", "-fPIC", "-c", "src/native.c", "-o"]).arg(&object)"#,
        r#"["-g", "-O2", "-fPIC", "-c", "-o"]).arg(&object)
            .arg(env::current_dir().unwrap().join("src/native.c")).current_dir(&out)"#,
    );
    project.commit("Compile with debug information");
    let builds = project.build(&TWO);
    assert_strategy(&builds, "relink", 1, &["reproducible", "determined just now"]);
    assert_eq!(compilations_now(&builds), 2);
}

#[test]
fn check_is_remembered_without_a_lock_file() {
    let project = TestProject::of("sums");
    project.git(&["rm", "-q", "Cargo.lock"]);
    project.commit("Leave the lock file out");
    assert_strategy(&project.build(&TWO), "relink", 1, &["determined just now"]);
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    assert_strategy(&project.build(&TWO), "relink", 1, &["known from an earlier run"]);
}

#[test]
fn check_is_repeated_for_another_profile() {
    let project = TestProject::of("sums");
    project.append("Cargo.toml", "\n[profile.other]\ninherits = \"bench\"\nopt-level = 1\n");
    project.commit("Add a profile");
    let builds = project.build(&["--builds", "1"]);
    assert_strategy(&builds, "relink", 1, &["determined just now"]);
    let builds = project.build(&["--builds", "1", "--profile", "other"]);
    assert_strategy(&builds, "relink", 1, &["determined just now"]);
}
