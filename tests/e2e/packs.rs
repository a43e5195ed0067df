//! A pack is measured on a machine without cargo, rustc, a compiler driver and a clone, with the builds that the machine
//! that compiled would make.

use std::{
    collections::BTreeMap,
    fs,
    ops::Deref,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{QUICK, TestProject, rbench::Rbench};

/// Options of a quick comparison of a pack, whose strategy is known.
fn quickly() -> Vec<&'static str> {
    [&QUICK[1..], &["--config=verdict.confirm=false", "--fail-on", "never"]].concat()
}

/// A bench target that reads what a commit has, what a build script makes and what cargo's configuration sets.
const READS: &str = r#"
use rbench_harness::Suite;

fn reads(suite: &mut Suite) {
    let text = |path: &str| std::fs::read_to_string(path).unwrap();
    suite.bench("of the commit", |bencher| {
        let text = text(concat!(env!("CARGO_MANIFEST_DIR"), "/data/words.txt"));
        bencher.iter(|| fixture_native::count(&text));
    });
    suite.bench("made", |bencher| {
        let text = text(concat!(env!("OUT_DIR"), "/made.txt")) + &text("data/generated.txt");
        bencher.iter(|| fixture_native::count(&text));
    });
    suite.bench("configured", |bencher| {
        let text = std::env::var("WORDS_OF_CONFIGURATION").unwrap();
        bencher.iter(|| fixture_native::count(&text));
    });
}

rbench_harness::main!(reads);
"#;

const BUILD_SCRIPT: &str = r#"
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    std::fs::write(std::env::var("OUT_DIR").unwrap() + "/made.txt", "one two").unwrap();
    std::fs::write("data/generated.txt", "three four").unwrap();
}
"#;

/// A project and a directory for the places of its packs, above which no other user can write.
struct Packs {
    project: TestProject,
    places: TempDir,
}

impl Deref for Packs {
    type Target = TestProject;

    fn deref(&self) -> &TestProject {
        &self.project
    }
}

/// Two versions whose function `sum` differs.
fn project() -> Packs {
    let project = TestProject::of("native");
    for target in ["bad", "raw"] {
        fs::remove_file(project.root().join(format!("benches/{target}.rs"))).unwrap();
    }
    project.replace("Cargo.toml", "\n[[bench]]\nname = \"raw\"\nharness = false\n", "");
    project.replace("Cargo.toml", "\"bad\"", "\"reads\"");
    project.write("benches/reads.rs", READS);
    project.write("build.rs", BUILD_SCRIPT);
    project.write("data/words.txt", "lorem ipsum");
    project.write(".gitignore", "target\ndata/generated.txt\n");
    project.write(".cargo/config.toml", "[env]\nWORDS_OF_CONFIGURATION = \"five six\"\n");
    project.write("bench.toml", "[store]\npath = \"../outside.sqlite\"\n");
    project.commit("Read files");
    project.replace("src/lib.rs", "(0..200)", "(0..300)");
    project.commit("Add up more");
    Packs { project, places: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
}

fn places(project: &Packs) -> PathBuf {
    project.places.path().join("places")
}

/// The place of the one pack.
fn place(project: &Packs) -> PathBuf {
    let mut all = fs::read_dir(places(project)).unwrap();
    let place = all.next().unwrap().unwrap().path();
    assert!(all.next().is_none());
    place
}

fn packing(project: &Packs, pack: &Path, more: &[&str]) -> Rbench {
    let arguments = ["build", "HEAD~1", "HEAD", "--pack", pack.to_str().unwrap()];
    let command = project.rbench(&[&arguments[..], more].concat());
    command.env("RBENCH_PACK_DIR", places(project))
}

/// Packs the last two versions.
fn packed(project: &Packs) -> PathBuf {
    let pack = project.beside("x.pack");
    packing(project, &pack, &[]).ok().assert_stdout_has(&["wrote ", "compare --pack "]);
    pack
}

/// A command about a pack on the machine that compiled.
fn here(project: &Packs, pack: &Path, more: &[&str]) -> Rbench {
    let arguments = ["compare", "--pack", pack.to_str().unwrap()];
    let command = project.rbench(&[&arguments[..], &quickly(), more].concat());
    command.env("RBENCH_PACK_DIR", places(project))
}

/// The same on another machine, which has nothing but git.
fn elsewhere(project: &Packs, pack: &Path, more: &[&str]) -> Rbench {
    let (home, tools) = (project.beside("other home"), project.beside("tools"));
    fs::create_dir_all(home.join("tmp")).unwrap();
    fs::create_dir_all(&tools).unwrap();
    let git = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|directory| directory.join("git"))
        .find(|git| git.is_file());
    let _ = std::os::unix::fs::symlink(git.unwrap(), tools.join("git"));
    let arguments = ["compare", "--pack", pack.to_str().unwrap()];
    let arguments = [&arguments[..], &quickly(), more].concat();
    Rbench::new(&home, &home, &arguments)
        .env("PATH", tools)
        .env("CARGO_HOME", home.join("none"))
        .env("RUSTUP_HOME", home.join("none"))
        .env("RBENCH_PACK_DIR", places(project))
}

/// Makes this the other machine: nothing of the one that compiled is left.
fn leave(project: &Packs) {
    fs::remove_dir_all(places(project)).unwrap();
    fs::rename(project.root(), project.beside("gone")).unwrap();
}

fn come_back(project: &Packs) {
    fs::rename(project.beside("gone"), project.root()).unwrap();
}

/// The digest of each build of the pack, by the name of its directory.
fn digests(project: &Packs) -> BTreeMap<String, String> {
    let builds = fs::read_dir(place(project).join("packed/builds")).unwrap();
    let digest = |build: PathBuf| {
        let text = fs::read_to_string(build.join("build.json")).unwrap();
        let record: Value = serde_json::from_str(text.rsplitn(3, '\n').nth(2).unwrap()).unwrap();
        let name = build.file_name().unwrap().to_string_lossy().into_owned();
        (name, record["digest"].as_str().unwrap().to_owned())
    };
    builds.map(|build| digest(build.unwrap().path())).collect()
}

/// The verdict of each benchmark.
fn verdicts(report: &Value) -> BTreeMap<String, String> {
    let rows = report["benchmarks"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    rows.map(|row| (text(&row["id"]), text(&row["verdict"]))).collect()
}

#[test]
#[ignore = "takes long"]
fn pack_gives_the_same_builds_without_cargo_compiler_and_clone() {
    let project = project();
    let pack = packed(&project);
    let of_compiler: BTreeMap<String, String> = {
        here(&project, &pack, &[]).ok();
        digests(&project)
    };
    leave(&project);
    let outcome = elsewhere(&project, &pack, &["--format", "json"]).ok();
    assert_eq!(digests(&project), of_compiler);
    // Both targets in both versions, of which that without a change is linked for its identity.
    assert!(of_compiler.len() >= 8, "{of_compiler:?}");
    let report = outcome.json("compare");
    let verdicts = verdicts(&report);
    assert_eq!(verdicts["count/64"], "unaffected", "{}", outcome.printed());
    for identical in ["of the commit", "made", "configured"] {
        assert_eq!(verdicts[identical], "identical", "{}", outcome.printed());
    }
    assert!(!["unaffected", "identical", "failed"].contains(&&*verdicts["sum"]));
    assert_eq!(report["head"]["summary"], "Add up more");
    assert!(!place(&project).join("outside.sqlite").exists());
    assert!(place(&project).join("results.sqlite").exists());

    // What reads files can be measured too, and nothing is extracted again.
    let all = elsewhere(&project, &pack, &["--no-skip", "--format", "json"]).ok();
    let verdicts = self::verdicts(&all.json("compare"));
    for read in ["of the commit", "made", "configured"] {
        let verdict = &*verdicts[read];
        assert!(!["failed", "unaffected", "identical"].contains(&verdict), "{}", all.printed());
    }
    assert!(!all.stderr().contains("extracting"), "{}", all.printed());
}

#[test]
#[ignore = "takes long"]
fn results_of_a_pack_are_comparable_with_those_of_a_clone() {
    let project = project();
    let pack = packed(&project);
    let sequential = ["--mode", "sequential"];
    let compare = [&["compare"], &quickly()[..], &sequential].concat();
    project.rbench(&compare).ok();
    let shared = project.beside("shared");
    fs::create_dir(&shared).unwrap();
    project.rbench(&["push", shared.to_str().unwrap()]).ok();
    leave(&project);
    // The place is in the environment, and the sandbox would be on.
    let pushing = elsewhere(&project, &pack, &["--mode", "sequential", "--push", "--no-sandbox"])
        .env("RBENCH_SHARED", &shared);
    pushing.ok().assert_stderr_has(&["sent 1 "]);
    come_back(&project);
    project.rbench(&["pull", shared.to_str().unwrap()]).ok();
    let lines = project.rbench(&["push", "-"]).ok().stdout();
    let keys: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["experiment"].clone())
        .filter(|experiment| !experiment.is_null())
        .collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0]["settings"], keys[1]["settings"]);
    assert_eq!(keys[0]["settings_key"], keys[1]["settings_key"]);
}

#[test]
#[ignore = "takes long"]
fn pack_refuses_what_it_cannot_do() {
    let project = project();
    let pack = packed(&project);
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let damaged = project.beside("damaged.pack");
    fs::write(&damaged, bytes).unwrap();
    let refused = elsewhere(&project, &damaged, &[]).fails_with(2);
    refused.assert_stderr_has(&["cannot read the pack", "is damaged: "]);
    assert!(!place(&project).join("packed/compilations").exists(), "nothing of it is used");

    let cannot = "only its layouts can be linked here";
    for more in [["--config", "build.strategy=rebuild"], ["--layout", "rehashed"]] {
        elsewhere(&project, &pack, &more).fails_with(2).assert_stderr_has(&[cannot]);
    }
    let other = project.places.path().join("elsewhere");
    let other = elsewhere(&project, &pack, &[]).env("RBENCH_PACK_DIR", other);
    other.fails_with(2).assert_stderr_has(&["it was compiled at", "hint: set RBENCH_PACK_DIR="]);

    fs::set_permissions(place(&project), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = elsewhere(&project, &pack, &[]).fails_with(2);
    refused.assert_stderr_has(&["other users may write there"]);
    fs::set_permissions(place(&project), fs::Permissions::from_mode(0o700)).unwrap();

    // Also where the whole one is extracted already.
    let refused = elsewhere(&project, &damaged, &[]).fails_with(2);
    refused.assert_stderr_has(&["cannot read the pack", "is damaged: "]);
    elsewhere(&project, &pack, &[]).ok();

    let again = |more: &[&str]| packing(&project, &project.beside("y.pack"), more);
    again(&["--cargo-arg=--config=env.A='s3cret'"])
        .fails_with(2)
        .assert_stderr_has(&["its value may be a secret"]);
    again(&["HEAD~2"]).fails_with(2).assert_stderr_has(&["a pack is for a comparison of two"]);
    assert!(!project.beside("y.pack").exists());
}
