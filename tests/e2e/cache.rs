//! Cached files are reused, checked for damage, shared between processes, and cleaned.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::support::{
    Builds, TestProject,
    rbench::{Outcome, PROGRAM},
    script::{Gate, logging, script},
    tree,
};

const THREE: [&str; 4] = ["--builds", "3", "--config", "build.strategy=relink"];

fn fresh(builds: &Builds) -> Vec<bool> {
    let each = builds.target(0)["builds"].as_array().unwrap().iter();
    each.map(|build| build["fresh"] == Value::Bool(true)).collect()
}

/// The only entry of a directory.
#[track_caller]
fn only_entry(directory: &Path) -> PathBuf {
    let mut entries = fs::read_dir(directory).unwrap();
    let entry = entries.next().expect("an entry").unwrap().path();
    assert!(entries.next().is_none(), "one entry in {}", directory.display());
    entry
}

#[test]
fn damaged_build_is_relinked() {
    let project = TestProject::of("sums");
    let builds = project.build(&THREE);
    let executables = builds.executables(0);
    let mut bytes = fs::read(&executables[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&executables[0], bytes).unwrap();
    fs::write(executables[2].with_file_name("build.json"), "{\"digest\": ").unwrap();

    let again = project.build(&THREE);
    assert_eq!(fresh(&again), [true, false, true]);
    assert_eq!(again.digests(0), builds.digests(0));
    assert_eq!(again.version(0)["compiled"], false);
    assert!(again.printed(0).starts_with("steps 135\n"));
}

/// What is derived from a compilation is made again, and does not get into a build.
#[test]
fn damaged_copies_of_link_inputs_are_made_again() {
    let project = TestProject::of("sums");
    let builds = project.build(&THREE);
    let compilation = only_entry(&project.storage().join("compilations"));
    let recipe = only_entry(&compilation.join("recipes"));
    let copies = tree::paths(&recipe.join("distinct")).into_iter().filter(|path| path.is_file());
    let mut derived: Vec<PathBuf> = copies.collect();
    assert!(!derived.is_empty());
    derived.push(recipe.join("placeable.json"));
    for path in derived {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, &bytes).unwrap();
        fs::remove_dir_all(project.storage().join("builds")).unwrap();
        let again = project.build(&THREE);
        assert_eq!(again.digests(0), builds.digests(0), "{}", path.display());
        assert_eq!(again.version(0)["compiled"], false);
        assert_ne!(fs::read(&path).unwrap(), bytes, "{}", path.display());
    }
}

#[test]
fn damaged_compilation_is_recompiled() {
    let project = TestProject::of("sums");
    let builds = project.build(&THREE);
    let compilation = only_entry(&project.storage().join("compilations"));
    fs::write(compilation.join("compilation.json"), "{\"family\": \"").unwrap();
    let again = project.build(&THREE);
    assert_eq!(again.version(0)["compiled"], true);
    assert_eq!(again.digests(0), builds.digests(0));

    let recipe = only_entry(&compilation.join("recipes"));
    let object = fs::read_dir(recipe.join("objects")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(object).unwrap();
    let again = project.build(&THREE);
    assert_eq!(again.version(0)["compiled"], true);
    assert_eq!(again.digests(0), builds.digests(0));
    assert!(again.printed(0).starts_with("steps 135\n"));

    fs::write(recipe.join("recipe.json"), "{").unwrap();
    let again = project.build(&THREE);
    assert_eq!(again.version(0)["compiled"], true);
    assert_eq!(again.digests(0), builds.digests(0));
}

#[test]
fn dependencies_of_a_failed_compilation_are_reused() {
    let project = TestProject::of("native");
    project.replace("Cargo.toml", "[dev-dependencies]\n", "[dev-dependencies]\ncfg-if = \"1\"\n");
    fs::remove_file(project.root().join("Cargo.lock")).unwrap();
    let bench = project.read("benches/same.rs");
    project.write("benches/same.rs", "fn broken( {\n");
    let list = ["list", "--bench", "same", "-v"];
    let failed = project.rbench(&list).fails_with(3);
    failed.assert_stderr_has(&["Compiling cfg-if", "cannot compile bench target `same`"]);
    // The second failure has the key of the first.
    for _ in 0..2 {
        let again = project.rbench(&list).fails_with(3).stderr();
        assert!(!again.contains("Compiling cfg-if"), "{again}");
    }
    project.write("benches/same.rs", &bench);
    let listed = project.rbench(&list).ok().stderr();
    assert!(!listed.contains("Compiling cfg-if"), "{listed}");
}

#[test]
fn library_is_compiled_once_for_all_bench_targets_of_the_same_files() {
    let project = TestProject::of("native");
    let list = |bench: &str| {
        let log = project.beside("rustc.log");
        let wrapper = logging(&project.beside("rustc-wrapper"), &log, "\"$@\"");
        let command = project.rbench(&["list", "--bench", bench]);
        let outcome = command.env("RUSTC_WRAPPER", wrapper).ok();
        let compiled = fs::read_to_string(&log).unwrap();
        fs::remove_file(log).unwrap();
        let made = |name: &str| compiled.contains(&format!("--crate-name {name} "));
        (made("fixture_native"), made(bench), outcome.stdout())
    };
    let (library, own, _) = list("same");
    assert!(library && own);
    let (library, own, other) = list("raw");
    assert!(!library && own, "the library is that of the first");
    assert!(other.contains("raw") && !other.contains("same"), "{other}");
    project.append("src/lib.rs", "pub fn another() {}\n");
    let (library, own, _) = list("raw");
    assert!(library && own, "the library of another tree");
}

#[test]
fn damaged_memo_is_recomputed() {
    let project = TestProject::of("sums");
    project.git(&["rm", "-q", "Cargo.lock"]);
    project.commit("Leave the lock file out");
    let builds = project.build(&["--builds", "1"]);
    let remembered = only_entry(&project.storage().join("reproducibility"));
    project.rbench(&["clean"]).ok();
    let cache_dir = only_entry(&project.home().join("cache/cargo-rbench"));
    let locks = tree::paths(&cache_dir.join("resolved"));
    let lock = locks.into_iter().find(|path| path.extension().is_some_and(|end| end == "lock"));
    for path in [remembered, lock.expect("a lock file")] {
        fs::write(path, "{\"").unwrap();
        let again = project.build(&["--builds", "1"]);
        assert_eq!(again.digests(0), builds.digests(0));
    }
}

#[test]
fn damaged_checkout_is_not_compiled() {
    let project = TestProject::of("sums");
    let builds = project.build(&THREE);
    let checkouts = project.home().join("cache/cargo-rbench");
    let checkouts = only_entry(&checkouts).join("checkouts");
    let source = fs::read_dir(&checkouts).unwrap().map(|entry| entry.unwrap().path());
    let source = source.map(|path| path.join("src/lib.rs")).find(|path| path.exists()).unwrap();
    let code = fs::read_to_string(&source).unwrap();
    fs::write(&source, code.replace("STEP: u64 = 3", "STEP: u64 = 4")).unwrap();
    fs::remove_dir_all(project.storage()).unwrap();
    let again = project.build(&THREE);
    assert_eq!(again.digests(0), builds.digests(0));
    assert!(again.printed(0).starts_with("steps 135\n"));
}

#[test]
fn concurrent_runs_wait_for_each_other_and_succeed() {
    let project = TestProject::of("sums");
    let gate = Gate::new(&project.beside(""));
    gate.shut();
    let lines = gate.lines("*'--crate-name work'*") + "\nexec \"$@\"";
    let wrapper = script(&project.beside("wrapper"), &lines);
    let command = || project.build_command(&THREE).env("RUSTC_WRAPPER", &wrapper);

    let first = command().start();
    gate.wait_until_reached();
    let mut second = command().start();
    let mut said = BufReader::new(second.stderr.take().unwrap()).lines();
    let waiting = said.by_ref().map(Result::unwrap).find(|line| line.starts_with("waiting for "));
    assert!(waiting.is_some_and(|line| line.contains("lock")), "the second has to say so");
    gate.open();
    let rest = std::thread::spawn(move || said.map(Result::unwrap).collect::<Vec<_>>());
    let first = Builds::of(Outcome::of(first, "the first build").assert_exit(0));
    let second = Builds::of(Outcome::of(second, "the second build").assert_exit(0));
    drop(rest.join());
    assert_eq!(first.version(0)["compiled"], true);
    assert!(second.nothing_was_made(0));
    assert_eq!(first.digests(0), second.digests(0));
}

#[test]
fn versions_built_concurrently_keep_their_own_code() {
    let project = TestProject::of("sums");
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    let base = project.build_command(&[&THREE[..], &["HEAD~1"]].concat()).start();
    let head = project.build_command(&[&THREE[..], &["HEAD"]].concat()).start();
    let base = Builds::of(Outcome::of(base, "build HEAD~1").assert_exit(0));
    let head = Builds::of(Outcome::of(head, "build HEAD").assert_exit(0));
    assert!(base.printed(0).starts_with("steps 135\n"));
    assert!(head.printed(0).starts_with("steps 180\n"));
}

#[test]
fn clean_removes_everything_unless_dry_and_builds_work_after() {
    let project = TestProject::of("sums");
    let builds = project.build(&THREE);
    let all = || {
        let mut paths = tree::paths(&project.home());
        paths.extend(tree::paths(&project.storage()));
        // Each run has a log of its own.
        paths.retain(|path| !path.starts_with(project.storage().join("logs/runs")));
        paths
    };
    let before = all();
    let dry = project.rbench(&["clean", "--max-size", "0", "--dry-run"]).ok();
    let commit = project.git(&["rev-parse", "--short=7", "HEAD"]);
    dry.assert_stdout_has(&[
        "would remove",
        "0 B left",
        "\n  build: 3, ",
        "\n  checkout: 1, ",
        "\n  compilation: 1, ",
        &format!("\n  of {commit}: 2, "),
    ]);
    assert_eq!(all(), before, "a dry run removes nothing");

    let kept = project.rbench(&["clean"]).ok();
    kept.assert_stdout_has(&["removed 0 B of"]);
    assert_eq!(all(), before, "what is new and small is kept");

    let gone = project.rbench(&["clean", "--max-size", "0"]).ok();
    gone.assert_stdout_has(&["0 B left"]);
    for executable in builds.executables(0) {
        assert!(!executable.exists());
    }
    let storage = project.storage();
    for directory in ["builds", "compilations"] {
        assert_eq!(fs::read_dir(storage.join(directory)).unwrap().count(), 0, "{directory}");
    }
    let again = project.build(&THREE);
    assert_eq!(again.digests(0), builds.digests(0));
    assert!(again.printed(0).starts_with("steps 135\n"));
}

#[test]
fn dry_run_of_clean_does_not_wait_for_a_run() {
    let project = TestProject::of("sums");
    project.rbench(&["clean"]).ok();
    let cache_dir = only_entry(&project.home().join("cache/cargo-rbench"));
    let lock = fs::File::create(cache_dir.join("lock")).unwrap();
    lock.lock().unwrap();
    project.rbench(&["60", PROGRAM, "clean", "--dry-run"]).program("timeout").ok();
}

#[test]
fn run_removes_unused_entries_but_none_of_its_own() {
    let project = TestProject::of("sums");
    project.build(&THREE);
    let unused = project.storage().join("builds/unused");
    fs::create_dir(&unused).unwrap();
    let compilation = only_entry(&project.storage().join("compilations"));
    for directory in [&unused, &compilation] {
        let file = fs::File::open(directory).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60 * 24 * 3600)).unwrap();
    }
    let again = project.build(&THREE);
    again.outcome.assert_stderr_has(&["note: removed 1 entry of the cache"]);
    assert!(again.nothing_was_made(0));
    assert!(!unused.exists() && compilation.exists());
}

#[test]
fn clean_keeps_other_projects_in_a_shared_target_dir() {
    let (project, other) = (TestProject::of("sums"), TestProject::of("settings"));
    let shared = project.beside("shared");
    let build = || project.build_command(&THREE).env("CARGO_TARGET_DIR", &shared).ok();
    Builds::of(build());
    let clean = other.rbench(&["clean", "--max-size", "0"]).env("CARGO_TARGET_DIR", &shared);
    clean.ok().assert_stdout_has(&["removed 0 B of 0 B"]);
    assert!(Builds::of(build()).nothing_was_made(0));
    let clean = project.rbench(&["clean", "--max-size", "0"]).env("CARGO_TARGET_DIR", &shared);
    clean.ok().assert_stdout_has(&["\n  build: 3, ", "0 B left"]);
}

#[test]
fn clean_keeps_the_most_recently_used() {
    let project = TestProject::of("sums");
    project.replace("src/lib.rs", "STEP: u64 = 3", "STEP: u64 = 4");
    project.commit("Take larger steps");
    let base = project.build(&[&THREE[..], &["HEAD~1"]].concat());
    let head = project.build(&[&THREE[..], &["HEAD"]].concat());
    // The base is reused, so it is the most recently used.
    project.build(&[&THREE[..], &["HEAD~1"]].concat());
    let size: u64 = head.executables(0).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    let all = project.rbench(&["clean", "--dry-run", "--max-size", "0", "-v"]).ok().stderr();
    assert!(
        all.matches("would remove ").count() >= 8,
        "two versions have more entries than that:\n{all}"
    );
    let total: u64 = tree_size(&project);
    let limit = (total - size / 2).to_string();
    project.rbench(&["clean", "--max-size", &limit]).ok();
    assert!(base.executables(0).iter().all(|file| file.exists()), "used last");
    let text = project.build(&[&THREE[..], &["HEAD~1"]].concat());
    assert!(text.nothing_was_made(0));
}

/// The size in bytes of the files that `clean` counts.
fn tree_size(project: &TestProject) -> u64 {
    let text = project.rbench(&["clean", "--dry-run"]).ok().stdout();
    assert!(text.contains(" left"), "{text}");
    let homes = [project.home().join("cache"), project.storage()];
    let files = homes.iter().flat_map(|home| tree::paths(home));
    files
        .filter_map(|path| fs::symlink_metadata(path).ok())
        .filter(fs::Metadata::is_file)
        .map(|m| m.len())
        .sum()
}
