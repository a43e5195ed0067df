//! Results move from one store to another, completely or not at all.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use crate::support::{TestProject, rbench::PROGRAM};

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
fn export_is_imported_once_and_shown_elsewhere() {
    let project = TestProject::of("counted");
    let secret = ["--cargo-arg=--config", "--cargo-arg=env.TOKEN='s3cret'"];
    project.rbench(&[&RUN[..], &secret].concat()).ok();
    let file = project.beside("results.jsonl");
    let file = file.to_str().unwrap();
    project.rbench(&["store", "export", file]).ok().assert_stderr_has(&["exported to"]);
    let printed = project.rbench(&["store", "export"]).ok().stdout();
    assert_eq!(printed, fs::read_to_string(file).unwrap());
    assert!(printed.contains("env.TOKEN=blake3:") && !printed.contains("s3cret"), "{printed}");

    let elsewhere = project.clone_elsewhere();
    let first = elsewhere.rbench(&["store", "import", file]).ok();
    first.assert_stdout_has(&["imported 1 new experiment with 4 executions"]);
    let second = elsewhere.rbench(&["store", "import", file]).ok();
    second.assert_stdout_has(&["imported 0 new experiments", "1 experiment was already stored"]);
    assert_eq!(elsewhere.rbench(&["store", "export"]).ok().stdout(), printed);
    elsewhere.rbench(&["history"]).ok().assert_stdout_has(&["changing", "steady"]);
}

#[test]
fn interleaved_results_keep_their_mode_through_an_export() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    project.commit("Change the work");
    let short = [
        "--config",
        "build.strategy=relink",
        "-l",
        "4",
        "-m",
        "1",
        "-n",
        "5",
        "--config",
        "experiment.warm-up=1ms",
    ];
    let compare = ["compare", "--no-confirm", "--fail-on", "never", "--no-skip"];
    project.rbench(&[&compare, &short[..]].concat()).ok();
    let exported = project.rbench(&["store", "export"]).ok().stdout();
    // The fixture reads no clock, so neither benchmark can be interleaved. The edited file claims
    // that one was.
    let alone = r#""schedule":{"unavailable":"no_clock"}"#;
    assert!(exported.contains(alone), "{exported}");
    let claimed = |line: &str| {
        let changes = line.contains(r#""id":"changing""#);
        let turns = if changes { r#""schedule":{"interleaved":98}"# } else { alone };
        line.replacen(alone, turns, 1)
    };
    let exported: String = exported.split_inclusive('\n').map(claimed).collect();
    // An edited file has no checksum.
    let (lines, _) = exported.rsplit_once(",\"checksum\":").unwrap();
    let exported = format!("{lines}}}}}\n");
    let elsewhere = project.clone_elsewhere();
    let file = elsewhere.beside("results.jsonl");
    fs::write(&file, &exported).unwrap();
    elsewhere.rbench(&["store", "import", file.to_str().unwrap()]).ok();
    let again = elsewhere.rbench(&["store", "export"]).ok().stdout();
    assert_eq!(again.rsplit_once(",\"checksum\":").unwrap().0, lines);

    let stored = ["compare", "--stored", "--no-confirm", "--fail-on", "never"];
    let detailed = [&stored[..], &["--reasons"]].concat();
    elsewhere.rbench(&detailed).ok().assert_stdout_has(&[
        "estimator pairwise where interleaved, minimum otherwise, ",
        "measured sequentially, because its first thread does not",
    ]);
    let compared = elsewhere.rbench(&[&stored[..], &["--format", "json"]].concat());
    let measured = |benchmark: &serde_json::Value| {
        ["id", "mode", "interleaving_unavailable", "estimator"].map(|key| benchmark[key].clone())
    };
    let expected = [
        ["changing".into(), "interleaved".into(), serde_json::Value::Null, "pairwise".into()],
        ["steady", "sequential", "no_clock", "minimum"].map(serde_json::Value::from),
    ];
    let reports = [
        compared.ok().json("compare")["benchmarks"].clone(),
        elsewhere.rbench(&["show", "HEAD", "--format", "json"]).ok().json("show")["benchmarks"]
            .clone(),
    ];
    for benchmarks in reports {
        let mut all: Vec<_> = benchmarks.as_array().unwrap().iter().map(measured).collect();
        all.sort_by_key(|one| one[0].to_string());
        assert_eq!(all, expected);
    }
}

#[test]
fn invalid_export_is_rejected_with_its_line() {
    let project = TestProject::of("counted");
    project.rbench(&RUN).ok();
    let export = project.rbench(&["store", "export"]).ok().stdout();
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
        let outcome = elsewhere.rbench(&["store", "import", file.to_str().unwrap()]).fails_with(2);
        outcome.assert_stderr_has(words);
        outcome.assert_stderr_has(&["cannot import", "bad.jsonl"]);
    }
    elsewhere.rbench(&["history"]).fails_with(2).assert_stderr_has(&["no results are stored yet"]);
    let missing = elsewhere.rbench(&["store", "import", "no such file"]).fails_with(2);
    missing.assert_stderr_has(&["cannot read no such file"]);
}

#[test]
fn export_replaces_only_an_earlier_export_once_complete() {
    let project = TestProject::of("counted");
    project.rbench(&RUN).ok();
    let link = project.beside("link.sqlite");
    std::os::unix::fs::symlink(project.root().join(".rbench/results.sqlite"), &link).unwrap();
    for file in [".rbench/results.sqlite", link.to_str().unwrap()] {
        let outcome = project.rbench(&["store", "export", file]).fails_with(2);
        outcome.assert_stderr_has(&["cannot write ", "where the results are stored"]);
    }
    let printed = project.rbench(&["store", "export"]).ok().stdout();

    let earlier = project.write("earlier.jsonl", "an earlier export\n");
    let cut_off = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let cut_off = ["-c", cut_off, "sh", PROGRAM, "store", "export", "earlier.jsonl"];
    project.rbench(&cut_off).program("sh").fails_with(2);
    assert_eq!(fs::read_to_string(&earlier).unwrap(), "an earlier export\n");
    fs::set_permissions(&earlier, Permissions::from_mode(0o600)).unwrap();
    project.rbench(&["store", "export", "earlier.jsonl"]).ok();
    assert_eq!(fs::metadata(&earlier).unwrap().permissions().mode() & 0o777, 0o600);
    let link = project.beside("to nothing.jsonl");
    std::os::unix::fs::symlink(project.beside("target.jsonl"), &link).unwrap();
    project.rbench(&["store", "export", link.to_str().unwrap()]).ok();
    assert!(link.is_symlink() && project.beside("target.jsonl").is_file());
    assert_eq!(fs::read_to_string(&earlier).unwrap(), printed);
    assert_eq!(project.git(&["status", "--porcelain"]), "?? earlier.jsonl");
    project.rbench(&["store", "export", "/dev/null"]).ok();
}

#[test]
fn store_path_comes_from_bench_toml() {
    let project = TestProject::of("counted");
    project.write("bench.toml", "[store]\npath = \"kept/here.sqlite\"\n");
    project.rbench(&RUN).ok();
    assert!(project.root().join("kept/here.sqlite").exists());
    assert!(!project.root().join(".rbench").exists());
    project.rbench(&["show", "HEAD"]).ok().assert_stdout_has(&["changing"]);
}
