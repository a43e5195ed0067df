//! rbench works with the paths that users have: spaces, quotes, other alphabets, even invalid
//! UTF-8.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

use crate::support::{Builds, TestProject, rbench::Rbench};

const TWO: [&str; 4] = ["--builds", "2", "--config", "build.strategy=relink"];

#[test]
fn paths_with_spaces_quotes_and_non_ascii_letters_work() {
    let project = TestProject::at("workspace-below", "wörk, 'räum' 日本/repo").in_workspace("rust");
    project.replace("shared/src/lib.rs", "shared 1", "shared 2");
    project.commit("Change the package outside of the workspace");
    let named = |name: &str| {
        let path = project.beside(name);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let (target, cache, temporary) = (named("zièl, dir"), named("càche dir"), named("tëmp, dir"));
    let hermetic = |arguments: &[&str]| {
        project
            .rbench(arguments)
            .env("CARGO_TARGET_DIR", &target)
            .env("XDG_CACHE_HOME", &cache)
            .env("TMPDIR", &temporary)
    };
    let arguments = [&["build", "--format", "json"], &TWO[..], &["HEAD~1", "HEAD"]].concat();
    let builds = Builds::of(hermetic(&arguments).ok());
    for version in 0..2 {
        assert_eq!(builds.distinct(version), (2, 2));
    }
    assert!(builds.printed(0).starts_with("engine 1, shared 1\n"));
    assert!(builds.printed(1).starts_with("engine 1, shared 2\n"));
    assert!(builds.printed(1).contains("/càche dir/"), "{}", builds.printed(1));
    assert!(builds.executables(0)[0].starts_with(&target));
    assert!(builds.agreement(0).same_phase > 0.99);
    let diff = hermetic(&["diff", "HEAD~1", "--format", "json"]).ok().json("diff");
    assert!(!diff["targets"][0]["changed"].as_array().unwrap().is_empty(), "{diff}");
}

#[test]
fn ids_with_paths_of_the_checkout_are_the_same_in_all_versions() {
    let project = TestProject::of("counted");
    let bench = "fn benchmarks(suite: &mut Suite) {\n    let here = std::env::current_dir().unwrap();\n    \
                 let named = concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/data/b\");\n    \
                 for id in [format!(\"read/{}/data/a\", here.display()), named.to_owned()] {\n        \
                 suite.bench(&id, |bencher| bencher.iter(counted::changing));\n    }\n";
    project.replace("benches/work.rs", "fn benchmarks(suite: &mut Suite) {\n", bench);
    project.commit("Name benchmarks after files");
    project.replace("src/lib.rs", "= 1_000", "= 30_000");
    project.commit("Work more");
    let short = ["-l", "4", "-m", "1", "-n", "5", "--filter", "data", "--format", "json"];
    let words = [&["compare", "HEAD~1", "HEAD"], &TWO[2..], &short].concat();
    let report = project.rbench(&words).run().assert_exit(1).json("compare");
    let rows = report["benchmarks"].as_array().unwrap();
    let ids = rows.iter().map(|row| [&row["id"], &row["verdict"]].map(|it| it.as_str().unwrap()));
    let mut ids: Vec<[&str; 2]> = ids.collect();
    ids.sort_unstable();
    assert_eq!(ids, [["data/b", "regressed"], ["read/data/a", "regressed"]]);
}

#[test]
fn bench_targets_with_non_ascii_names_are_built() {
    let project = TestProject::of("sums");
    project.git(&["mv", "benches/work.rs", "benches/größe.rs"]);
    project.replace("Cargo.toml", "name = \"work\"", "name = \"größe\"");
    project.commit("Name it in another language");
    let builds = project.build(&[&TWO[..], &["--bench", "größe"]].concat());
    assert_eq!(builds.target(0)["target"], "größe");
    assert!(builds.printed(0).starts_with("steps 135\n"));
}

#[test]
fn path_that_is_not_utf8_is_used_or_rejected_without_a_panic() {
    let project = TestProject::of("sums");
    let strange = OsStr::from_bytes(b"no \xff text");
    let moved = project.root().with_file_name(strange);
    fs::rename(project.root(), &moved).unwrap();
    let arguments = [&["build"], &TWO[..]].concat();
    let outcome = Rbench::new(&moved, &project.home(), &arguments).run();
    let code = outcome.status().code();
    assert!(matches!(code, Some(0 | 2 | 3)), "{}", outcome.printed());
    assert_eq!(code != Some(0), outcome.stderr().contains("error: "), "{}", outcome.printed());
    assert!(!outcome.stderr().contains("panicked"), "{}", outcome.printed());
}

#[test]
fn bare_repository_is_rejected_as_bare() {
    let project = TestProject::of("sums");
    let bare = project.beside("bare.git");
    project.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let outcome = Rbench::new(&bare, &project.home(), &["build"]).fails_with(2);
    outcome
        .assert_stderr_has(&["bare.git is bare", "hint: run rbench in a clone of it: git clone "]);
}

#[test]
fn single_commit_is_offered_the_uncommitted_tree() {
    let project = TestProject::of("sums");
    for command in ["compare", "diff"] {
        let outcome = project.rbench(&[command]).fails_with(2);
        outcome.assert_stderr_has(&[
            "HEAD is the first commit",
            &format!("cargo rbench {command} HEAD ."),
        ]);
    }
}
