//! Results move from one store to another, completely or not at all, and become one history.

#[cfg(feature = "postgres")]
mod database;
#[cfg(feature = "postgres")]
mod figures;

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use crate::{
    history::{self, Lines, Session},
    support::{COMPARE_QUICK, TestProject, rbench::PROGRAM},
};

/// The least that gives a result, and quick.
const RUN: [&str; 12] = [
    "run",
    "HEAD",
    "--config",
    "build.strategy=relink",
    "-l",
    "2",
    "-m",
    "1",
    "-n",
    "2",
    "--config",
    "experiment.warm-up=1ms",
];

#[test]
fn file_is_imported_once_and_shown_elsewhere() {
    let project = TestProject::of("counted");
    let secret = ["--cargo-arg=--config", "--cargo-arg=env.TOKEN='s3cret'"];
    project.rbench(&[&RUN[..], &secret].concat()).ok();
    let file = project.beside("results.jsonl");
    let file = file.to_str().unwrap();
    project.rbench(&["push", file]).ok().assert_stderr_has(&["wrote all finished experiments to"]);
    let printed = project.rbench(&["push", "-"]).ok().stdout();
    assert_eq!(printed, fs::read_to_string(file).unwrap());
    assert!(printed.contains("env.TOKEN=blake3:") && !printed.contains("s3cret"), "{printed}");

    let elsewhere = project.clone_elsewhere();
    let first = elsewhere.rbench(&["pull", file]).ok();
    first.assert_stdout_has(&["imported 1 new experiment with 4 executions"]);
    let second = elsewhere.rbench(&["pull", file]).ok();
    second.assert_stdout_has(&["imported 0 new experiments", "1 experiment was already stored"]);
    assert_eq!(elsewhere.rbench(&["push", "-"]).ok().stdout(), printed);
    elsewhere.rbench(&["history"]).ok().assert_stdout_has(&["changing", "steady"]);
}

#[test]
fn interleaved_results_keep_their_mode_through_a_file() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    project.commit("Change the work");
    let compare = ["--config=verdict.confirm=false", "--fail-on", "never", "--no-skip"];
    project.rbench(&[&COMPARE_QUICK[..], &compare].concat()).ok();
    let exported = project.rbench(&["push", "-"]).ok().stdout();
    // The fixture reads no clock, so neither benchmark can be interleaved. The edited file claims
    // that one was.
    let alone = r#""schedule":{"unavailable":"no_clock"}"#;
    assert!(exported.contains(alone), "{exported}");
    let claimed = |line: &str| {
        let changes = line.contains(r#""id":"changing""#);
        let schedule = if changes { r#""schedule":{"interleaved":98}"# } else { alone };
        line.replacen(alone, schedule, 1)
    };
    let exported: String = exported.split_inclusive('\n').map(claimed).collect();
    // An edited file has no checksum.
    let (lines, _) = exported.rsplit_once(",\"checksum\":").unwrap();
    let exported = format!("{lines}}}}}\n");
    let elsewhere = project.clone_elsewhere();
    let file = elsewhere.beside("results.jsonl");
    fs::write(&file, &exported).unwrap();
    elsewhere.rbench(&["pull", file.to_str().unwrap()]).ok();
    let again = elsewhere.rbench(&["push", "-"]).ok().stdout();
    assert_eq!(again.rsplit_once(",\"checksum\":").unwrap().0, lines);

    let stored = ["compare", "--stored", "--config=verdict.confirm=false", "--fail-on", "never"];
    let detailed = [&stored[..], &["--reasons"]].concat();
    elsewhere.rbench(&detailed).ok().assert_stdout_has(&[
        "estimator pairwise where interleaved, minimum otherwise, ",
        "measured sequentially, because it reads the clock too seldom",
    ]);
    let compared = elsewhere.rbench(&[&stored[..], &["--format", "json"]].concat());
    let measured = |benchmark: &serde_json::Value| {
        ["id", "mode", "interleaving_unavailable", "estimator"].map(|key| benchmark[key].clone())
    };
    let expected = [
        ["changing".into(), "interleaved".into(), serde_json::Value::Null, "pairwise".into()],
        ["steady", "sequential", "no_clock", "minimum"].map(serde_json::Value::from),
    ];
    let version = ["history", "HEAD", "--format", "json"];
    let reports = [
        compared.ok().json("compare")["benchmarks"].clone(),
        elsewhere.rbench(&version).ok().json("history-version")["benchmarks"].clone(),
    ];
    for benchmarks in reports {
        let mut all: Vec<_> = benchmarks.as_array().unwrap().iter().map(measured).collect();
        all.sort_by_key(|one| one[0].to_string());
        assert_eq!(all, expected);
    }
}

#[test]
fn invalid_file_is_rejected_with_its_line() {
    let project = TestProject::of("counted");
    project.rbench(&RUN).ok();
    let export = project.rbench(&["push", "-"]).ok().stdout();
    let cut_off: String = export.split_inclusive('\n').take(4).collect();
    let newer = export.replacen("\"schema_version\":1", "\"schema_version\":99", 1);
    let elsewhere = project.clone_elsewhere();
    for (text, words) in [
        ("not even JSON\n", &["line 1"][..]),
        ("", &["line 1"]),
        (&cut_off, &["line 5", "ends before its end line"]),
        (&newer, &["line 1", "schema 99"]),
    ] {
        let file = elsewhere.beside("bad.jsonl");
        fs::write(&file, text).unwrap();
        let outcome = elsewhere.rbench(&["pull", file.to_str().unwrap()]).fails_with(2);
        outcome.assert_stderr_has(words);
        outcome.assert_stderr_has(&["cannot import", "bad.jsonl"]);
    }
    elsewhere.rbench(&["history"]).fails_with(2).assert_stderr_has(&["no results are stored yet"]);
    let missing = elsewhere.rbench(&["pull", "no such file.jsonl"]).fails_with(2);
    missing.assert_stderr_has(&["cannot read no such file.jsonl"]);
}

#[test]
fn file_replaces_only_an_earlier_one_once_complete() {
    let project = TestProject::of("counted");
    project.rbench(&RUN).ok();
    let link = project.beside("link.jsonl");
    std::os::unix::fs::symlink(project.root().join(".rbench/results.sqlite"), &link).unwrap();
    for (file, words) in [
        ("./.rbench/results.sqlite", "it is a file; one with results ends in .jsonl"),
        (link.to_str().unwrap(), "where the results are stored"),
    ] {
        let outcome = project.rbench(&["push", file]).fails_with(2);
        outcome.assert_stderr_has(&["cannot write ", words]);
    }
    let printed = project.rbench(&["push", "-"]).ok().stdout();

    let earlier = project.write("earlier.jsonl", "an earlier export\n");
    let cut_off = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let cut_off = ["-c", cut_off, "sh", PROGRAM, "push", "earlier.jsonl"];
    project.rbench(&cut_off).program("sh").fails_with(2);
    assert_eq!(fs::read_to_string(&earlier).unwrap(), "an earlier export\n");
    fs::set_permissions(&earlier, Permissions::from_mode(0o600)).unwrap();
    project.rbench(&["push", "earlier.jsonl"]).ok();
    assert_eq!(fs::metadata(&earlier).unwrap().permissions().mode() & 0o777, 0o600);
    let link = project.beside("to nothing.jsonl");
    std::os::unix::fs::symlink(project.beside("target.jsonl"), &link).unwrap();
    project.rbench(&["push", link.to_str().unwrap()]).ok();
    assert!(link.is_symlink() && project.beside("target.jsonl").is_file());
    assert_eq!(fs::read_to_string(&earlier).unwrap(), printed);
    assert_eq!(project.git(&["status", "--porcelain"]), "?? earlier.jsonl");
    project.rbench(&["push", "/dev/null"]).fails_with(2);
}

#[test]
fn directory_takes_each_experiment_once() {
    let (project, commits) = history::project(2);
    let elsewhere = project.clone_elsewhere();
    let directory = project.beside("shared");
    let place = directory.to_str().unwrap();
    for (project, identities) in [(&project, ["a", "b"]), (&elsewhere, ["b", "c"])] {
        fill(project, &commits, &identities);
    }
    let push = |project: &TestProject| project.rbench(&["push", place]).ok();
    push(&project).assert_stderr_has(&["sent 2 of 2 finished experiments to"]);
    push(&project).assert_stderr_has(&["sent 0 of 2 finished experiments to", "; 2 were there"]);
    push(&elsewhere).assert_stderr_has(&["sent 1 of 2 finished experiments to", "; 1 were there"]);
    for project in [&project, &elsewhere] {
        project.rbench(&["pull"]).env("RBENCH_SHARED", place).ok();
    }
    let all = |project: &TestProject| project.rbench(&["push", "-"]).ok().stdout();
    assert_eq!(all(&project).matches("\"identity\"").count(), 3);
    assert!(sorted(&all(&project)) == sorted(&all(&elsewhere)));
    let pulled = project.rbench(&["pull", place, "--since", "2020-01-01"]).ok();
    pulled.assert_stdout_has(&["imported 0 new experiments", "3 experiments were already stored"]);

    // A newer machine only wants what is new.
    let third = project.clone_elsewhere();
    let since = |since: &str| third.rbench(&["pull", place, "--since", since]);
    since("2024-01-01").ok().assert_stdout_has(&["imported 0 new experiments"]);
    since("1d").ok().assert_stdout_has(&["imported 0 new experiments"]);
    since("v9").fails_with(2).assert_stderr_has(&["`v9`", "a date (2026-01-31)"]);
    since("HEAD").ok().assert_stdout_has(&["imported 3 new experiments"]);
    third.rbench(&["pull"]).fails_with(2).assert_stderr_has(&["set RBENCH_SHARED"]);
    third
        .rbench(&["pull", "./nowhere"])
        .fails_with(2)
        .assert_stderr_has(&["cannot read ./nowhere"]);
    // A word that was meant as something else makes no directory.
    third
        .rbench(&["push", "nowhere"])
        .fails_with(2)
        .assert_stderr_has(&["begin with ./: ./nowhere"]);
    assert!(!third.root().join("nowhere").exists());
}

#[test]
fn invalid_documents_do_not_keep_others_out() {
    let (project, commits) = history::project(2);
    fill(&project, &commits, &["a", "b", "c"]);
    let directory = project.beside("shared");
    let place = directory.to_str().unwrap();
    project.rbench(&["push", place]).ok();
    let file = |identity: &str| directory.join(format!("experiments/00/{identity:0>32}.jsonl.z"));
    fs::copy(file("b"), file("a")).unwrap();
    fs::write(file("c"), "no document").unwrap();
    let elsewhere = project.clone_elsewhere();
    let outcome = elsewhere.rbench(&["pull", place]).fails_with(2);
    outcome.assert_stderr_has(&[
        "the experiment is 0000000000000000000000000000000b, not 0000000000000000000000000000000a",
        "cannot decompress experiment 0000000000000000000000000000000c",
        "cannot import 2 experiments",
        "imported 1 other",
    ]);
    elsewhere.rbench(&["history"]).ok();
}

#[test]
fn results_are_sent_after_measuring_without_changing_the_verdict() {
    let project = TestProject::of("counted");
    project.write(
        "build.rs",
        "//! Fails if it sees the place.\n\nfn main() {\n    \
         for name in [\"RBENCH_SHARED\", \"RBENCH_SHARED_FILE\"] {\n        \
         assert!(std::env::var_os(name).is_none());\n    }\n}\n",
    );
    project.commit("Look for the place");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.commit("Work more");
    let directory = project.beside("shared");
    let file = project.beside("place");
    fs::write(&file, format!("{}\n", directory.display())).unwrap();
    let few = [
        "--push",
        "--config=verdict.confirm=false",
        "-l",
        "3",
        "-n",
        "3",
        "--mode",
        "sequential",
        "--config",
        "experiment.warm-up=1ms",
    ];
    let compare = [&["compare"], &few[..]].concat();
    let measured = project.rbench(&compare).env("RBENCH_SHARED_FILE", &file).run();
    measured.assert_stderr_has(&["sent 1 of 1 finished experiment to", "; 0 were there"]);
    let run = [&["run"], &RUN[1..], &["--push"]].concat();
    let unsent = project.rbench(&run).ok();
    unsent.assert_stderr_has(&["--push sends nothing: no place of shared results is given"]);
    let run = project.rbench(&run).env("RBENCH_SHARED", &directory).ok();
    run.assert_stderr_has(&["sent 2 of 3 finished experiments to", "; 1 were there"]);

    // Nothing listens there, or rbench knows no database. The password is in no output and in no log.
    let place = "postgres://me:s3cret@127.0.0.1:1/x?sslmode=require&connect_timeout=1";
    let ci = ["ci", "--provider", "none", "--base", "HEAD~1", "--head", "HEAD"];
    let ci = project.rbench(&[&ci, &few[..]].concat()).env("RBENCH_SHARED", place).run();
    ci.assert_stderr_has(&if cfg!(feature = "postgres") {
        [
            "warning: cannot read the database `x` of 127.0.0.1",
            "send them later with: cargo rbench push",
        ]
    } else {
        [
            "warning: --push sends nothing: cannot use a PostgreSQL database",
            "cargo install --path . --features postgres",
        ]
    });
    assert_eq!(ci.status(), measured.status(), "{}", ci.printed());
    let pushed = project.rbench(&["push", place, "-vv"]).fails_with(2);
    let logs = fs::read_dir(project.storage().join("logs/runs")).unwrap();
    let logs: Vec<_> = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap()).collect();
    for text in logs.into_iter().chain([ci.printed(), pushed.stderr()]) {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

/// Gives a store made-up comparisons of the commits.
fn fill(project: &TestProject, commits: &[(String, String)], identities: &[&str]) {
    let values = commits.iter().zip([100.0, 200.0]);
    let versions: Vec<_> =
        values.map(|((commit, tree), value)| (&**commit, &**tree, value)).collect();
    for identity in identities {
        let mut lines = Lines::new();
        lines.class = Some("ax42");
        lines.session(&Session { identity, machine: "A", versions: &versions });
        history::import(project, lines);
    }
}

/// The lines of experiments in an order that does not depend on that of the experiments.
fn sorted(exported: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = exported.lines().filter(|line| !line.contains("\"end\"")).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn store_path_comes_from_bench_toml() {
    let project = TestProject::of("counted");
    project.write("bench.toml", "[store]\npath = \"kept/here.sqlite\"\n");
    project.rbench(&RUN).ok();
    assert!(project.root().join("kept/here.sqlite").exists());
    assert!(!project.root().join(".rbench").exists());
    project.rbench(&["history", "HEAD"]).ok().assert_stdout_has(&["changing"]);
}
