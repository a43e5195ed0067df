//! Unusable stores, and results that cannot be stored.

use std::fs;

use crate::support::{TestProject, rbench::PROGRAM};

fn project() -> TestProject {
    with_more_work(TestProject::of("counted"))
}

fn with_more_work(project: TestProject) -> TestProject {
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.commit("Work more");
    project
}

const QUICK: [&str; 11] = [
    "compare",
    "--config",
    "build.strategy=relink",
    "-l",
    "3",
    "-m",
    "1",
    "-n",
    "3",
    "--config",
    "experiment.warm-up=1ms",
];

#[test]
fn invalid_store_is_named_before_building_and_untouched() {
    let project = project();
    let store = project.root().join(".rbench/results.sqlite");
    fs::create_dir_all(store.parent().unwrap()).unwrap();
    fs::write(&store, "Dear diary, ".repeat(1000)).unwrap();
    let outcome = project.rbench(&QUICK).fails_with(2);
    outcome.assert_stderr_has(&["results.sqlite", "not a database", "hint: nothing was changed"]);
    assert!(!outcome.stderr().contains("compil"), "{}", outcome.printed());
    assert_eq!(fs::read_to_string(&store).unwrap(), "Dear diary, ".repeat(1000));

    fs::remove_file(&store).unwrap();
    fs::create_dir(&store).unwrap();
    let outcome = project.rbench(&QUICK).fails_with(2);
    outcome.assert_stderr_has(&["results.sqlite", "it is not a regular file", "hint: "]);
}

#[test]
fn exit_code_shows_that_every_benchmark_failed() {
    let project = project();
    for work in ["    rounds(700)", "    rounds(ROUNDS)"] {
        project.replace("src/lib.rs", work, "    panic!(\"the table is missing\")");
    }
    project.commit("Break both");
    let outcome = project.rbench(&QUICK).run().assert_exit(4);
    outcome.assert_stdout_has(&["changing, steady: failed in head", "the table is missing"]);
    assert!(!outcome.stderr().contains("linked"), "{}", outcome.stderr());
}

#[test]
fn target_that_cannot_be_listed_is_named_with_its_versions() {
    let project = project();
    let manifest = project.read("Cargo.toml");
    project.append("Cargo.toml", "\n[[bench]]\nname = \"mute\"\nharness = false\n");
    project.write("benches/mute.rs", "fn main() { panic!(\"the table is missing\") }\n");
    project.commit("Add a target that fails");
    let outcome = project.rbench(&QUICK).run().assert_exit(4);
    outcome.assert_stdout_has(&["mute: failed in head: ", "the table is missing"]);
    project.append("src/lib.rs", "// Nothing\n");
    project.commit("Comment");
    let outcome = project.rbench(&QUICK).run().assert_exit(4);
    outcome.assert_stdout_has(&["mute: failed in both: "]);
    // Where nothing of the base can be listed, the head is not compiled to learn the same.
    project.write("Cargo.toml", &manifest);
    project.write("benches/work.rs", "fn main() { panic!(\"the table is missing\") }\n");
    project.commit("Break the only target");
    let outcome = project.rbench(&["compare", "HEAD", "HEAD~1", "--quick"]).fails_with(4);
    outcome.assert_stderr_has(&["cannot list the benchmarks of ", "so nothing can be compared"]);
    let progress = outcome.stderr();
    assert!(
        progress.contains("compiling HEAD (") && !progress.contains("compiling HEAD~1"),
        "{progress}"
    );
}

#[test]
fn failure_names_the_version_or_the_file_that_git_ignores() {
    let project = project();
    let read =
        "    std::fs::read(\"large.txt\").expect(\"cannot read the input\");\n    rounds(700)";
    project.replace("src/lib.rs", "    rounds(700)", read);
    project.write(".gitignore", "target\nlarge.txt\n");
    project.write("large.txt", "many words");
    project.commit("Read a file");
    let outcome = project.rbench(&QUICK).run().assert_exit(4);
    outcome.assert_stdout_has(&["failed in head: git ignores large.txt, which it needs"]);
    project.replace("src/lib.rs", "    rounds(ROUNDS)", "    rounds(ROUNDS + 1)");
    project.commit("Work more");
    let outcome = project.rbench(&[&QUICK[..], &["--no-skip"]].concat()).run().assert_exit(4);
    outcome.assert_stdout_has(&["failed in both: git ignores large.txt, which it needs"]);
}

#[test]
#[ignore = "takes long"]
fn duplicate_id_is_one_failing_benchmark() {
    // The real harness has to detect it.
    let project = with_more_work(TestProject::of("compared"));
    project.append(
        "benches/work.rs",
        "fn again(suite: &mut Suite) { suite.bench(\"steady\", |b| b.iter(compared::changing)); }\n",
    );
    project.replace("benches/work.rs", "main!(benchmarks);", "main!(benchmarks, again);");
    project.commit("Call another one steady too");
    project.replace("src/lib.rs", "u64 = 30_000", "u64 = 35_000");
    project.commit("Work even more");
    let outcome = project.rbench(&QUICK).run();
    outcome.assert_stdout_has(&["1 failed"]);
    outcome.assert_stderr_has(&["plan: 1 benchmark of 2 versions"]);
    assert_eq!(
        outcome.stdout().matches("two benchmarks of this target have this id").count(),
        1,
        "{}",
        outcome.printed()
    );
    let outcome = project.rbench(&["exec", "HEAD", "--exact", "steady"]).fails_with(4);
    outcome.assert_stderr_has(&["two benchmarks of this target have this id"]);
    // Only a change that has caused it fails.
    for (base, exit) in [("HEAD~1", 0), ("HEAD~2", 4)] {
        let command = [&QUICK[..], &[base, "HEAD", "^steady$"]].concat();
        project.rbench(&command).run().assert_exit(exit).assert_stdout_has(&["1 failed"]);
    }
}

#[test]
#[ignore = "takes long"]
fn full_store_ends_the_run_and_the_same_command_resumes() {
    let project = project();
    let much =
        [&QUICK[..5], &["-m", "10", "-n", "3", "--config", "experiment.warm-up=1ms"]].concat();
    project
        .rbench(&["build", "HEAD~1", "HEAD", "--builds", "3", "--config", "build.strategy=relink"])
        .ok();
    // The first limit that fits the empty store and some executions, but not all of them.
    let mut limits = (6..16).map(|exponent| {
        let limited = format!("ulimit -f {}; exec \"$@\"", 1 << exponent);
        let limited = ["-c", &limited, "sh", PROGRAM];
        project.rbench(&[&limited[..], &much].concat()).program("sh").run()
    });
    let outcome = limits
        .find(|outcome| outcome.stderr().contains("error: cannot store an execution in "))
        .expect("all executions need more room than an empty store")
        .assert_exit(2);
    outcome.assert_stderr_has(&[
        "results.sqlite",
        "hint: free some disk space; stored results are kept",
    ]);
    let outcome = project.rbench(&much).run();
    outcome.assert_stderr_has(&["resuming an interrupted run, after "]);
    outcome.assert_stdout_has(&["changing: "]);
}
