//! `compare` measures two versions and gives every benchmark the right verdict.
//!
//! The benchmarks count instead of timing, so the verdicts do not depend on the machine.

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    time::Duration,
};

use cargo_rbench::{
    machine::this_machine,
    model::{Benchmark, Name, Stage},
    store::Store,
};

use crate::support::{COMPARE_QUICK, TestProject};

/// The least that gives a verdict.
const SHORT: [&str; 9] =
    ["compare", "--config", "build.strategy=relink", "-l", "4", "-m", "1", "-n", "5"];

/// Two versions of `counted`; the second does this many rounds.
fn project(rounds: &str) -> TestProject {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", &format!("u64 = {rounds}"));
    project.commit("Change the work");
    project
}

#[test]
fn first_targets_are_compared_before_the_others_are_compiled_if_each_takes_long() {
    let project = TestProject::of("counted");
    project.append("Cargo.toml", "\n[[bench]]\nname = \"more\"\nharness = false\n");
    let bench = project.read("benches/work.rs").replace("\"changing\"", "\"other\"");
    project.write("benches/more.rs", &bench);
    project.commit("Add a bench target");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    project.commit("Do more work");
    let compare = |more: &[&str]| {
        let revisions = ["HEAD~1", "HEAD", "--format", "json", "--config", "build.jobs=1"];
        let command =
            project.rbench(&[&SHORT[..], &revisions[..2], more, &revisions[2..]].concat());
        let outcome = command.env("CARGO_PROFILE_BENCH_LTO", "thin").run().assert_exit(1);
        let report = outcome.json("compare");
        let rows = report["benchmarks"].as_array().unwrap().iter();
        let rows: Vec<String> =
            rows.map(|row| format!("{} {}", row["benchmark"], row["verdict"])).collect();
        (rows, outcome.stderr())
    };
    let (rows, progress) = compare(&[]);
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row.contains("regressed")).count(), 2, "{rows:?}");
    let lines: Vec<&str> = progress.lines().collect();
    let place = |text: &str| {
        let found = lines.iter().position(|line| line.starts_with(text));
        found.unwrap_or_else(|| panic!("{text}: {progress}"))
    };
    assert!(lines[0].starts_with("with lto = thin, each of the 2 bench targets"), "{progress}");
    assert!(
        place("more: 1 regressed") < place("compiling bench target work of HEAD~1"),
        "{progress}"
    );
    place("work: 1 regressed");
    let (rows, progress) = compare(&["changing"]);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(progress.contains("(2 of 2 bench targets)"), "{progress}");
}

#[test]
fn only_targets_with_the_words_of_the_filter_are_compiled() {
    const MORE: &str = "use rbench_harness::{main, Suite};\n\nmod ids;\n\nfn benchmarks(suite: &mut Suite) {\n    for id in \
        [ids::OTHER.to_owned(), [\"joi\", \"ned\"].concat(), [\"chan\", \"ging\"].concat(),\n        \
        [ids::OTHER, \"/ri\", \"sing\"].concat()] {\n        \
        suite.bench(&id, |bencher| bencher.iter(counted::steady));\n    }\n}\n\nmain!(benchmarks);\n";
    let project = TestProject::of("counted");
    project.append("Cargo.toml", "\n[[bench]]\nname = \"more\"\nharness = false\n");
    project.write("benches/more.rs", MORE);
    project.write("benches/ids/mod.rs", "pub const OTHER: &str = \"other\";\n");
    project.commit("Add a bench target");
    project.append("src/lib.rs", "// The end.\n");
    project.commit("A comment");
    let compare = |versions: [&str; 2], filter: &str| {
        let more = [versions[0], versions[1], filter, "--format", "json"];
        let outcome = project.rbench(&[&SHORT[..], &more].concat()).ok();
        let report = outcome.json("compare");
        let texts = |of: &str, key: &str| -> Vec<String> {
            let all = report[of].as_array().into_iter().flatten();
            all.map(|one| one[key].as_str().unwrap().to_owned()).collect()
        };
        let ids = [texts("benchmarks", "id"), texts("added", "id")].concat();
        (ids, texts("left_out", "target"), outcome.stderr())
    };
    let first = ["HEAD~1", "HEAD"];
    let (rows, left_out, progress) = compare(first, "^other$");
    assert_eq!((&rows[..], &left_out[..]), (&["other".into()][..], &["work".into()][..]));
    assert!(progress.contains("compiling bench target more of HEAD~1"), "{progress}");
    assert!(progress.starts_with("only 1 of 2 bench targets: the names"), "{progress}");
    let (rows, left_out, _) = compare(first, "changing");
    assert_eq!((&rows[..], &left_out[..]), (&["changing".into()][..], &["more".into()][..]));
    let text = project.rbench(&[&SHORT[..], &["HEAD~1", "HEAD", "other"]].concat()).ok();
    text.assert_stdout_has(&["not compiled (name and source lack", "compares one): work"]);
    // One source has most of the words.
    let (rows, left_out, _) = compare(first, "other/rising");
    assert_eq!((&rows[..], &left_out[..]), (&["other/rising".into()][..], &["work".into()][..]));
    // Each of several benchmarks, of which one has all its words in a source.
    let (rows, left_out, _) = compare(first, "^changing$|^other/rising$");
    assert!(rows.contains(&"other/rising".to_owned()) && left_out.is_empty(), "{rows:?}");
    // No source has this word, so that all are compiled.
    let (rows, left_out, progress) = compare(first, "joined");
    assert_eq!((&rows[..], &left_out[..]), (&["joined".into()][..], &[][..]), "{progress}");
    // The base is compiled as a whole now, and its list says more than the sources.
    project.replace("benches/ids/mod.rs", "\"other\"", "\"new\"");
    project.commit("Another id");
    let (rows, left_out, _) = compare(first, "^new$");
    assert_eq!((&rows[..], &left_out[..]), (&["new".into()][..], &["work".into()][..]));
    let (rows, left_out, _) = compare(first, "changing");
    assert_eq!((&rows[..], &left_out[..]), (&["changing".into(), "changing".into()][..], &[][..]));
}

#[test]
fn unsupported_target_fails_only_if_the_base_could_run_it() {
    let project = project("1_000");
    project.add_unsupported_target();
    project.commit("Add a bench target of another harness");
    let outcome = project.rbench(&[&SHORT[..], &["HEAD~1", "HEAD"]].concat()).ok();
    outcome.assert_stderr_has(&["note: bench target counted/own is left out: rbench does not"]);
    let sources = ["work", "own"].map(|name| project.read(&format!("benches/{name}.rs")));
    project.write("benches/own.rs", &sources[0]);
    project.write("benches/work.rs", &sources[1]);
    project.commit("Exchange the sources");
    let outcome = project.rbench(&[&SHORT[..], &["HEAD~1", "HEAD"]].concat()).run().assert_exit(4);
    assert!(outcome.stdout().contains("counted/work: failed in head: "), "{}", outcome.stdout());
}

#[test]
fn thirtyfold_work_is_the_only_regression() {
    let project = project("30_000");
    let store = Store::open(&project.root().join(".rbench/results.sqlite"), &|| {}).unwrap();
    let (package, target) = ("counted".to_owned(), "work".to_owned());
    let changing = Benchmark { package, target, name: Name::plain("changing") };
    // It has become faster since it was tuned, in both versions.
    store.record_tuned(&changing, &this_machine(), Duration::from_micros(100), 1).unwrap();
    let outcome =
        project.rbench(&[&COMPARE_QUICK[..], &["--format", "json"]].concat()).run().assert_exit(1);
    assert!(!outcome.stderr().contains("provisional"), "{}", outcome.stderr());
    let report = outcome.json("compare");
    let rows = report["benchmarks"].as_array().unwrap();
    let row = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap();
    assert_eq!(row("changing")["verdict"], "regressed");
    let change = &row("changing")["change"];
    assert!(change["estimate"].as_f64().unwrap() > 1.0, "{change}");
    assert_eq!(change["paired"], true);
    assert_ne!(row("steady")["verdict"], "regressed");
    // A confirmed benchmark has its value from the fresh builds in every command.
    let result_of = |words: &[&str]| {
        let json = project.rbench(&[words, &["changing", "--format", "json"]].concat()).ok();
        let schema = if words.len() == 1 { "history" } else { "history-version" };
        json.json(schema)["benchmarks"][0].clone()
    };
    let versions = result_of(&["history"])["versions"].clone();
    for (index, (revision, side)) in [("HEAD~1", "base"), ("HEAD", "head")].into_iter().enumerate()
    {
        assert_eq!(result_of(&["history", revision])["result"], row("changing")[side]);
        assert_eq!(versions[index]["result"], row("changing")[side]);
    }
    // The iterations suit the slower version, except in the executions that discovered this.
    let iterations = iterations(&store, &changing);
    let unsuited = iterations.iter().filter(|iterations| !(3..=5).contains(*iterations));
    assert!(unsuited.count() <= 3 && iterations.len() == 8, "{iterations:?}");
}

/// The number of iterations in each execution of the first stage.
fn iterations(store: &Store<'_>, benchmark: &Benchmark) -> Vec<u64> {
    let ids: Vec<_> = store.experiments().unwrap().iter().map(|stored| stored.id).collect();
    let rows = store.rows(benchmark, &ids).unwrap().into_iter();
    let first = rows.filter(|row| row.slot.stage == Stage::First);
    first.map(|row| row.outcome.unwrap().series[0].iterations[0]).collect()
}

#[test]
fn less_work_is_an_improvement_and_exit_code_zero() {
    let project = project("30");
    let output = project.beside("report.md");
    let arguments =
        [&COMPARE_QUICK[..], &["--filter", "changing", "--output", output.to_str().unwrap()]];
    let outcome = project.rbench(&arguments.concat()).ok();
    outcome.assert_stdout_has(&[" fresh builds: changing (", "1 improved"]);
    outcome.assert_stderr_has(&[
        "if all benchmarks are flagged and measured again\n",
        "\nfinished in ",
    ]);
    let markdown = std::fs::read_to_string(output).unwrap();
    assert!(markdown.contains("| `changing` |") && markdown.contains("| improved |"), "{markdown}");
}

#[test]
fn identical_machine_code_is_not_measured() {
    let project = project("30_000");
    project.write("README.md", "# Compared\n");
    project.commit("Describe");
    let outcome = project.rbench(&COMPARE_QUICK).ok();
    outcome.assert_stdout_has(&[
        "identical (same machine code; not measured): changing, steady",
        "2 identical",
    ]);
    assert!(!outcome.stderr().contains("\nmeasured "), "{}", outcome.printed());

    // A report that finally cannot be written to its file is still printed.
    let full = project.beside("full.md");
    symlink("/dev/full", &full).unwrap();
    let output = ["--output", full.to_str().unwrap()];
    let outcome = project.rbench(&[&COMPARE_QUICK[..], &output].concat()).fails_with(2);
    outcome.assert_stdout_has(&["2 identical"]);
    outcome.assert_stderr_has(&["cannot write the report", "full.md"]);
}

/// One of two identical programs is executed, once for all of its benchmarks.
#[test]
fn identical_program_is_traced_once() {
    let project = TestProject::of("compared");
    let executed = project.beside("executed");
    // What a traced execution creates is removed after it.
    std::fs::write(&executed, "").unwrap();
    let note = format!(
        "use std::io::Write as _; \
         let mut file = std::fs::File::options().append(true).open({executed:?}).unwrap(); \
         writeln!(file, \"once\").unwrap();"
    );
    project.replace(
        "benches/work.rs",
        "|bencher| bencher.iter(compared::steady)",
        &format!("|bencher| {{ {note} bencher.iter(compared::steady) }}"),
    );
    project.commit("Note each execution");
    let mut counts = Vec::new();
    for text in ["one", "two"] {
        // Cargo would tell every process of a new README.
        project.write("CHANGELOG.md", text);
        project.commit("Describe");
        let outcome = project.rbench(&["compare", "HEAD~1", "HEAD"]).ok();
        outcome.assert_stdout_has(&["2 identical"]);
        let noted = std::fs::read_to_string(&executed).unwrap();
        counts.push(noted.lines().count());
    }
    assert_eq!(counts, [1, 2]);
}

#[test]
fn benchmarks_of_an_identical_program_are_traced_one_by_one_only_for_a_change() {
    let project = TestProject::criterion();
    let diff = |versions: &str| {
        let arguments = ["diff", versions, "--bench", "same", "--by-benchmark"];
        let outcome = project.rbench(&arguments).env("RBENCH_LOG", "debug").ok();
        let log = outcome.stderr();
        let is_one = |line: &&str| line.contains(" same ") && line.contains("unaffected=");
        (
            outcome.stdout(),
            log.contains("is read by any benchmark"),
            log.lines().filter(is_one).count(),
        )
    };
    let (_, together, alone) = diff("reads~2..reads~1");
    assert!(together && alone == 0, "{alone}");
    // Criterion.rs calls the function of all three, whichever is selected.
    let (shown, together, alone) = diff("reads~1..reads");
    assert!(!together && alone == 3, "{together} {alone} {shown}");
    assert!(shown.contains("words.txt"), "{shown}");
}

#[test]
fn external_program_is_measured_despite_identical_builds() {
    let project = TestProject::of("sums");
    let command = "[[command]]\nid = 'script'\nbench = 'work'\nprogram = '/bin/sh'\n";
    project.write("bench.toml", &format!("{command}arguments = ['run.sh']\n"));
    for word in ["one", "other"] {
        project.write("run.sh", &format!("echo {word}\n"));
        project.commit("Say something");
    }
    let outcome = project.rbench(&[&COMPARE_QUICK[..], &["--fail-on", "never"]].concat()).ok();
    outcome.assert_stderr_has(&["measured 8 of 8 executions"]);
    assert!(!outcome.stdout().contains("identical"), "{}", outcome.printed());
    // The bench target is not executed, so its functions do not matter.
    assert!(!outcome.stdout().contains("machine code: "), "{}", outcome.printed());
    let stored = project.rbench(&["compare", "--stored", "--fail-on", "never"]).ok();
    stored.assert_stdout_has(&["script"]);
    assert!(!stored.stdout().contains("identical"), "{}", stored.printed());
}

#[test]
fn benchmarks_of_one_version_or_failing_do_not_hide_others() {
    let project = project("30_000");
    project.replace(
        "benches/work.rs",
        "    suite.bench(\"steady\"",
        "    suite.bench(\"new\", |bencher| bencher.iter(counted::steady));\n    suite.bench(\"steady\"",
    );
    project.replace("src/lib.rs", "    rounds(700)", "    panic!(\"the table is missing\")");
    project.commit("Break one, add one");
    let outcome =
        project.rbench(&[&COMPARE_QUICK[..], &["HEAD~2", "HEAD"]].concat()).run().assert_exit(1);
    outcome.assert_stdout_has(&[
        "): new",
        " fresh builds: changing (",
        "steady: failed in head: ",
        "the table is missing",
    ]);
}

/// Starts a comparison and interrupts it once it measures; returns the rest of its output.
fn interrupted(project: &TestProject, arguments: &[&str]) -> Vec<String> {
    let mut child = project.rbench(arguments).start();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    while !stderr.next().expect("it measures").unwrap().starts_with("measured ") {}
    let id = i32::try_from(child.id()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(id).unwrap(),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let rest: Vec<String> = stderr.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:#?}");
    rest
}

#[test]
#[ignore = "takes long"]
fn interrupted_comparison_is_resumed_by_the_same_command() {
    let project = project("30_000");
    let slow = [&SHORT[..], &["--config", "experiment.warm-up=60ms"]].concat();
    let rest = interrupted(&project, &slow);
    assert!(rest.iter().any(|line| line.contains("same command again to resume")), "{rest:#?}");
    let history = project.rbench(&["history"]).fails_with(2);
    history.assert_stderr_has(&["no experiment has finished yet", "unfinished: 1 experiment\n"]);

    let other =
        [&SHORT[..], &["--config", "build.seed=7", "--config", "experiment.warm-up=1ms"]].concat();
    let outcome = project.rbench(&other).run().assert_exit(1);
    outcome.assert_stderr_has(&["cannot be resumed, because it differs", "seed: 1, not 7"]);

    let outcome = project.rbench(&slow).run().assert_exit(1);
    outcome.assert_stderr_has(&["resuming an interrupted run, after"]);
    outcome.assert_stdout_has(&[" fresh builds: changing ("]);
    let again = project.rbench(&slow).run().assert_exit(1);
    assert!(!again.stderr().contains("resum"), "a finished one is not continued");
}

#[test]
#[ignore = "takes long"]
fn filtered_comparison_leaves_an_interrupted_full_one_alone() {
    let project = project("30_000");
    let slow = [&SHORT[..], &["--config", "experiment.warm-up=60ms", "--no-skip"]].concat();
    interrupted(&project, &slow);
    let filtered = [&slow[..], &["--filter", "steady"]].concat();
    let outcome = project.rbench(&filtered).ok();
    outcome.assert_stderr_has(&["measured 8 of 8 executions", "number of benchmarks: 2, not 1"]);
    let outcome = project.rbench(&slow).run().assert_exit(1);
    outcome.assert_stderr_has(&["resuming an interrupted run, after"]);
}

#[test]
fn interleaved_results_are_kept_apart_from_those_of_a_run() {
    let project = project("2_000");
    let one_by_one = ["--config", "experiment.min-time=1ms", "--config", "experiment.parallel=1"];
    let little = [&COMPARE_QUICK[1..], &one_by_one].concat();
    project.rbench(&[&["run", "HEAD"], &little[..]].concat()).ok();
    for how in [&["--mode", "sequential"][..], &[]] {
        let confirmed = ["--fail-on", "never", "--config=verdict.confirm=false"];
        project.rbench(&[&["compare"], &little[..], &confirmed, how].concat()).ok();
    }
    let store = Store::open(&project.root().join(".rbench/results.sqlite"), &|| {}).unwrap();
    let plans: Vec<_> = store.experiments().unwrap().into_iter().map(|one| one.plan).collect();
    let [run, alone, in_turns] = &plans[..] else { panic!("{} experiments", plans.len()) };
    assert_eq!(alone.incompatibilities(run), [""; 0]);
    assert_eq!(in_turns.incompatibilities(run), ["settings: mode interleaved"]);
}

#[test]
fn each_comparison_confirms_on_layouts_of_its_own() {
    let project = project("30_000");
    let filtered = [&COMPARE_QUICK[..], &["--filter", "changing"]].concat();
    let fresh = || {
        let outcome = project.rbench(&filtered).run().assert_exit(1);
        let line = outcome.stderr();
        let line = line.lines().find(|line| line.contains("with fresh layouts")).unwrap();
        line.to_owned()
    };
    assert_ne!(fresh(), fresh());
}

#[test]
fn stored_comparison_repeats_failures_and_skips() {
    let project = project("1_000");
    project.replace("src/lib.rs", "    rounds(700)", "    panic!(\"the table is missing\")");
    let skip = "bencher.skip(\"there is no GPU here\")";
    project.replace("benches/work.rs", "bencher.iter(counted::changing)", skip);
    project.commit("Break one, skip one");
    let stored = ["compare", "--stored"];
    for compare in [&COMPARE_QUICK[..], &stored] {
        let outcome = project.rbench(compare).run().assert_exit(4);
        outcome.assert_stdout_has(&[
            "steady: failed in head: ",
            "the table is missing",
            "changing: skipped in head: ",
            "there is no GPU here",
        ]);
    }
    // A skipped benchmark alone is not an error.
    let skipped = project.rbench(&[&stored[..], &["--filter", "changing"]].concat()).ok();
    skipped.assert_stdout_has(&["changing: skipped in head: ", "1 skipped"]);
}

#[test]
fn id_that_differs_in_each_listing_is_warned_of() {
    let project = TestProject::of("counted");
    project.replace(
        "benches/work.rs",
        "    suite.bench(\"steady\"",
        "    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();\n    \
         suite.bench(&format!(\"at {}\", now.as_nanos()), |bencher| bencher.iter(counted::steady));\n    \
         suite.bench(\"steady\"",
    );
    project.commit("Call one by the time");
    project.append("src/lib.rs", "/// Something else.\npub fn more() {}\n");
    project.commit("Add a function");
    let only_it = ["--filter", "^at ", "--format", "json", "--fail-on", "inconclusive"];
    let outcome = project.rbench(&[&COMPARE_QUICK[..], &only_it].concat()).run().assert_exit(5);
    assert!(!outcome.stderr().contains("plan: "), "{}", outcome.printed());
    let report = outcome.json("compare");
    let [nothing, warning] = &report["warnings"].as_array().unwrap()[..] else {
        panic!("{report:#}")
    };
    assert_eq!(nothing["kind"], "nothing_compared");
    assert_eq!(warning["kind"], "changing_ids");
    assert_eq!(warning["ids"].as_array().unwrap().len(), 1, "{warning}");
    let text = warning["text"].as_str().unwrap();
    assert!(text.starts_with("1 benchmark has a different id in each listing"), "{text}");
    assert_eq!([&report["counts"]["added"], &report["counts"]["removed"]], [1, 1]);
}

#[test]
#[ignore = "takes long"]
fn exit_code_can_include_inconclusive_or_nothing() {
    let project = project("1_010");
    // Four builds with a change of 1 % cannot show that it is less than a thousandth of that.
    let unsure = ["--min-effect", "0.001%", "--config", "verdict.false-alarm-rate=0.0001%"];
    project.rbench(&[&COMPARE_QUICK[..], &unsure].concat()).ok();
    let stopped = ["compare", "--stored", "--fail-on", "inconclusive"];
    project.rbench(&[&stopped[..], &unsure].concat()).run().assert_exit(5);

    project.replace("src/lib.rs", "u64 = 1_010", "u64 = 30_000");
    project.commit("Do far more");
    project.rbench(&[&COMPARE_QUICK[..], &["--fail-on", "never"]].concat()).ok();
}

#[test]
fn invalid_settings_are_rejected_before_building() {
    let project = project("30_000");
    let outcome =
        project.rbench(&["compare", "--config", "verdict.false-alarm-rate=5"]).fails_with(2);
    assert!(!outcome.stderr().contains("compiling"), "{}", outcome.printed());
}

#[test]
fn removed_benchmarks_are_reported_with_reasons_live_and_stored() {
    let project = TestProject::of("counted");
    let lost =
        project.read("benches/work.rs").replace("steady", "lost").replace("changing", "gone");
    project.write(
        "benches/extra.rs",
        &lost
            .replace("counted::gone", "counted::changing")
            .replace("counted::lost", "counted::steady"),
    );
    project.append("Cargo.toml", "\n[[bench]]\nname = \"extra\"\nharness = false\n");
    project.commit("Add a target");
    project.replace("Cargo.toml", "name = \"extra\"\nharness = false", "name = \"extra\"");
    project.replace("benches/work.rs", "\"steady\"", "\"calm\"");
    project.commit("Rename a benchmark, and lose a target");
    let quick = [
        "compare",
        "--no-skip",
        "-l",
        "2",
        "-n",
        "5",
        "--config=verdict.confirm=false",
        "--format",
        "json",
    ];
    let live = project.rbench(&[&quick[..], &["--fail-on", "missing"]].concat()).run();
    let live = live.assert_exit(4).json("compare");
    let stored = ["compare", "--stored", "--config=verdict.confirm=false", "--format", "json"];
    let stored = project.rbench(&stored).ok().json("compare");
    for report in [live, stored] {
        assert_eq!(report["counts"]["removed"], 3, "{report:#}");
        let removed = report["removed"].as_array().unwrap().iter();
        let parts = removed.map(|one| {
            let text = |part: &serde_json::Value| part.as_str().unwrap_or_default().to_owned();
            [text(&one["id"]), text(&one["absence"]), text(&one["renamed"]["id"])]
        });
        let mut parts: Vec<_> = parts.collect();
        parts.sort();
        let expected = [
            ["gone", "no_harness", ""],
            ["lost", "no_harness", ""],
            ["steady", "undefined", "calm"],
        ];
        assert_eq!(parts, expected);
        assert_eq!(report["added"][0]["id"], "calm");
    }
    let text =
        project.rbench(&["compare", "--stored", "--config=verdict.confirm=false"]).ok().stdout();
    for part in [
        "gone, ",
        "(the bench target has no `harness = false` in head)",
        "perhaps renamed: steady to calm",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

/// As for a base whose benchmarks are all others, for instance because the package was renamed.
#[test]
fn base_without_bench_targets_is_compared() {
    let project = TestProject::of("counted");
    let bench = "[[bench]]\nname = \"work\"\nharness = false\n";
    project.git(&["mv", "benches", "kept"]);
    project.replace("Cargo.toml", bench, "");
    project.commit("Remove the benchmarks");
    project.git(&["mv", "kept", "benches"]);
    project.append("Cargo.toml", bench);
    project.commit("Add them again");
    let report = project.rbench(&["compare", "--format", "json"]).ok().json("compare");
    assert_eq!([&report["counts"]["added"], &report["counts"]["removed"]], [2, 0]);
    let outcome = project.rbench(&["compare", "HEAD~2", "HEAD~1", "--format", "json"]).ok();
    let report = outcome.json("compare");
    assert_eq!(report["removed"][0]["absence"], "no_target");
    project.rbench(&["compare", "HEAD~1", "HEAD~1"]).fails_with(2);
}

#[test]
fn measurements_so_far_are_shown_on_a_terminal() {
    let project = project("30_000");
    let shown = |drawn: &str| anstream::adapter::strip_str(drawn).to_string();
    let (code, drawn) = project.rbench(&COMPARE_QUICK).on_terminal();
    let drawn = shown(&drawn);
    assert_eq!(code, Some(1), "{drawn}");
    for part in ["change so far", "provisional", "provisional, to be confirmed"] {
        assert!(drawn.contains(part), "no `{part}` in\n{drawn}");
    }
}

#[test]
fn benchmark_missing_in_the_head_fails_on_request() {
    let project = project("1_000");
    let steady = "suite.bench(\"steady\", |bencher| bencher.iter(counted::steady));";
    let skips = "suite.bench(\"steady\", |bencher| bencher.skip(\"no GPU\"));";
    project.replace("benches/work.rs", steady, skips);
    project.commit("Need a GPU");
    project.replace("src/lib.rs", "rounds(700)", "rounds(701)");
    project.commit("Do more, still without a GPU");
    project.replace("benches/work.rs", skips, "");
    project.commit("Need nothing");
    let compared = |versions: [&str; 2], exit| {
        let words = [&SHORT[..], &versions, &["--fail-on", "missing"]].concat();
        project.rbench(&words).run().assert_exit(exit)
    };
    let skipped = compared(["HEAD~3", "HEAD~2"], 4);
    skipped.assert_stdout_has(&["1 skipped", "1 missing in the head", "in head: no GPU"]);
    let both = compared(["HEAD~2", "HEAD~1"], 0);
    assert!(!both.stdout().contains("missing"), "{}", both.printed());
    let removed = compared(["HEAD~3", "HEAD"], 4);
    removed.assert_stdout_has(&["1 missing in the head", "only in HEAD~3"]);
    project.rbench(&[&SHORT[..], &["HEAD~3", "HEAD"]].concat()).ok();
}

#[test]
fn plan_includes_the_start_of_the_program() {
    let project = TestProject::of("compared");
    let begin = "fn benchmarks(suite: &mut Suite) {\n";
    let sleep = "    std::thread::sleep(std::time::Duration::from_millis(300));\n";
    project.replace("benches/work.rs", begin, &(begin.to_owned() + sleep));
    project.commit("Load a dictionary");
    let words = ["compare", "HEAD", ".", "--no-skip", "--dry-run", "-l", "3", "-n", "5"];
    let planned = project.rbench(&words).ok().stderr();
    let (_, time) = planned.split_once("measuring all of them takes at least ").unwrap();
    let (seconds, _) = time.split_once(" s").unwrap();
    // Two benchmarks of two versions, three builds of each.
    assert!(seconds.parse::<f64>().unwrap() >= 12.0 * 0.3, "{planned}");
}
