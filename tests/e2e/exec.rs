//! `cargo rbench exec` gives exactly the requested measurements, or the reason why not.

use std::process::{Command, Output};

use crate::support::{
    TestProject,
    rbench::{Outcome, PROGRAM, Rbench, hermetic},
};

/// Runs in the working tree with a short warm-up and short measurements, to be quick.
fn exec(project: &TestProject, arguments: &[&str]) -> Rbench {
    project.rbench(&[&["exec", ".", "--warm-up", "2ms", "--min-time", "0ms"], arguments].concat())
}

/// The standard output of a successful `exec`.
fn executed(project: &TestProject, arguments: &[&str]) -> String {
    exec(project, arguments).ok().stdout()
}

/// The ids of the measured benchmarks of one bench target, which is given as `package target`.
fn ids<'t>(text: &'t str, target: &str) -> Vec<&'t str> {
    let heads = text.lines().filter_map(|line| line.strip_prefix(target)?.split_once(" ("));
    heads.map(|(id, _)| id.trim_start()).collect()
}

/// The values of each metric of each benchmark, in the order of the output.
fn metrics(text: &str) -> Vec<(&str, Vec<f64>)> {
    let mut metrics: Vec<(&str, Vec<f64>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some((name, _)) = line.split_once(" in ")
            && line.ends_with(" per iteration")
        {
            metrics.push((name, Vec::new()));
        }
        let value = line.split_once("  (").map_or(line, |(value, _)| value).parse();
        if let (Ok(value), Some((_, values))) = (value, metrics.last_mut()) {
            values.push(value);
        }
    }
    metrics
}

/// The number of wall-time measurements of each benchmark.
fn counts(text: &str) -> Vec<usize> {
    let walls = metrics(text).into_iter().filter(|(name, _)| *name == "wall");
    walls.map(|(_, values)| values.len()).collect()
}

/// Introduces the command that executes a failed benchmark again.
const BY_RBENCH: &str = "hint: reproduce with: ";

/// Runs the command that follows `words` on standard error in a shell. Returns its output, and both
/// streams as one text.
fn repeat(project: &TestProject, outcome: &Outcome, words: &str) -> (Output, String) {
    let stderr = outcome.stderr();
    let hint = stderr.split(words).nth(1).unwrap_or_else(|| panic!("{stderr}"));
    let command = hint.lines().next().unwrap().replace("cargo rbench", PROGRAM);
    let mut shell = Command::new("sh");
    hermetic(&mut shell, &project.home());
    shell.current_dir(project.root());
    let output = shell.args(["-c", &command]).output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output, text)
}

#[test]
fn native_harness_takes_exactly_the_requested_measurements() {
    let project = TestProject::native();
    for (asked, number) in [("7", 7), ("30", 30)] {
        let text = executed(&project, &["--exact", "count/64", "-n", asked, "--seed", "9"]);
        assert!(text.starts_with("fixture-native same count/64 (native) of ."), "{text}");
        assert_eq!(counts(&text), [number], "{text}");
        assert!(!text.contains(" instead of "), "{text}");
    }
    let text = executed(&project, &["--exact", "sum", "-n", "3", "--iterations", "17"]);
    assert_eq!(text.matches("  (17 iterations)\n").count(), 3, "{text}");
}

#[test]
#[ignore = "takes long"]
fn criterion_takes_ten_or_more_and_explains_the_minimum() {
    let project = TestProject::criterion();
    for (id, asked, number, reason) in [
        ("sum", "12", 12, None),
        ("sum", "7", 10, Some("10 measurements instead of 7: Criterion.rs takes at least 10\n")),
        (
            "own/settings",
            "30",
            12,
            Some("12 measurements instead of 30: the benchmark has its own settings\n"),
        ),
    ] {
        let text = executed(&project, &["--exact", id, "-n", asked]);
        assert_eq!(counts(&text), [number], "{text}");
        assert_eq!(text.contains(" instead of "), reason.is_some(), "{text}");
        assert!(reason.is_none_or(|reason| text.contains(reason)), "{text}");
    }

    let outcome = exec(&project, &["bad/panic"]).fails_with(4);
    outcome.assert_stderr_has(&["cannot execute benchmark `bad/panic`", "no such luck"]);
    let (output, text) = repeat(&project, &outcome, BY_RBENCH);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("no such luck"), "{text}");

    let text = executed(&project, &["--whole-target", "^sum$|^count/"]);
    assert_eq!(
        ids(&text, "fixture-criterion-0-8 same"),
        ["sum", "count/64", "count/1024"],
        "{text}"
    );
}

#[test]
fn several_matches_are_rejected_with_their_names() {
    let project = TestProject::native();
    let outcome = exec(&project, &["count"]).fails_with(2);
    outcome.assert_stderr_has(&[
        "2 benchmarks match, not one",
        "fixture-native same count/64",
        "fixture-native same count/1024",
        "--exact",
        "--whole-target",
    ]);
    let outcome = exec(&project, &["summ"]).fails_with(2);
    outcome.assert_stderr_has(&["no benchmark matches", "`sum`"]);
}

#[test]
fn whole_target_runs_in_one_process_and_loses_only_failures() {
    let project = TestProject::native();
    let arguments = ["--whole-target", "--bench", "bad", "^good|^panic$|twice", "-n", "4"];
    let outcome = exec(&project, &arguments).fails_with(4);
    outcome.assert_stderr_has(&["cannot execute benchmark `panic` of bad", "no such luck"]);
    let failures = outcome.stderr().matches("error: ").count();
    assert_eq!(failures, 3, "`panic`, and `twice` twice: {}", outcome.printed());
    let text = outcome.stdout();
    assert_eq!(ids(&text, "fixture-native bad"), ["good", "good again"], "{text}");
    assert_eq!(counts(&text), [4, 4], "{text}");
    let outcome = exec(&project, &["--whole-target", "good|sum"]).fails_with(2);
    outcome.assert_stderr_has(&["the benchmarks that match are in 2 bench targets", "--bench"]);
}

#[test]
fn failed_benchmark_gives_its_reason_and_a_repeat_command() {
    let project = TestProject::native();
    for (id, reason, last_words, again) in [
        ("panic", "panicked: no such luck", "panicked at", "no such luck"),
        ("abort", "it was killed by signal 6", "", ""),
        ("exit with 3", "it exited with status 3", "", ""),
        ("exit with success", "it exited with success but wrote no result", "", ""),
        ("never iterates", "it never called `iter`", "", "it never called `iter`"),
        ("missing file", "cannot read the input", "No such file", "No such file"),
    ] {
        let outcome = exec(&project, &["--exact", id]).fails_with(4);
        let what = format!("error: cannot execute benchmark `{id}` of bad");
        outcome.assert_stderr_has(&[&what, reason, last_words]);
        assert_eq!(outcome.stdout(), "", "{id}");
        let longest = outcome.stderr().lines().map(str::len).max();
        assert!(longest < Some(250), "{}", outcome.printed());
        let (output, text) = repeat(&project, &outcome, BY_RBENCH);
        assert_eq!(output.status.code(), Some(4), "{id}: {text}");
        assert!(text.contains(&what) && text.contains(reason), "{id}: {text}");

        let outcome = exec(&project, &["-v", "--exact", id]).fails_with(4);
        let (output, text) = repeat(&project, &outcome, "hint: or without rbench: ");
        assert!(text.contains(again), "{id}: {text}");
        let expected = match id {
            "abort" => None,
            "exit with 3" => Some(3),
            "exit with success" => Some(0),
            _ => Some(101),
        };
        let shells_word_for_an_abort = 128 + 6;
        let code = output.status.code().filter(|code| *code != shells_word_for_an_abort);
        assert_eq!(code, expected, "{id}: {text}");
    }
}

#[test]
fn skipped_benchmark_is_not_a_failure() {
    let project = TestProject::native();
    let outcome = exec(&project, &["--exact", "skips"]).ok();
    outcome.assert_stderr_has(&["skipped: skips: there is no GPU here"]);
    assert_eq!(outcome.stdout(), "", "{}", outcome.printed());
}

#[test]
fn daemon_of_a_benchmark_is_killed_and_named() {
    let project = TestProject::native();
    let outcome = exec(&project, &["--exact", "leaves a daemon behind"]).ok();
    outcome.assert_stderr_has(&[
        "warning: leaves a daemon behind: it left processes running, which were killed: sleep",
    ]);
    for id in ["good", "prints megabytes", "leaves a child behind"] {
        let outcome = exec(&project, &["--exact", id]).ok();
        assert!(!outcome.stderr().contains("it left processes"), "{}", outcome.printed());
    }
}

#[test]
fn preconditions_are_checked_before_compiling() {
    let project = TestProject::native();
    for (command, words) in [
        (exec(&project, &["sum", "--cpu", "99999"]), "cannot pin to CPU 99999"),
        (
            exec(&project, &["sum"]).env("TMPDIR", "/no/such"),
            "cannot create a directory in /no/such",
        ),
        (project.rbench(&["list"]).env("TMPDIR", "/no/such"), "set TMPDIR"),
    ] {
        let outcome = command.fails_with(2);
        outcome.assert_stderr_has(&[words]);
        assert!(!outcome.stderr().contains("compiling"), "{}", outcome.printed());
    }
}

#[test]
fn hanging_benchmark_is_ended_at_its_deadline() {
    let project = TestProject::native();
    let outcome = exec(&project, &["hangs", "--deadline", "1s"]).fails_with(4);
    outcome.assert_stderr_has(&["still running after 1.0 s", "--deadline", BY_RBENCH]);
}

#[test]
fn odd_ids_are_executed() {
    let project = TestProject::native();
    let long = "long".repeat(75);
    for id in ["größe \"of\" 'it' / a\\b $HOME (x|y)* — 名前", &long, "with inputs"] {
        let text = executed(&project, &["--exact", id, "-n", "3"]);
        let head = format!("fixture-native same {id} (native) of .");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").starts_with(&head), "{text}");
        assert_eq!(counts(&text), [3], "{text}");
    }
    let text = executed(&project, &["-n", "3", "--exact", "--", "-v"]);
    assert!(text.starts_with("fixture-native same -v (native) of ."), "{text}");
}

#[test]
fn program_in_bench_toml_is_a_benchmark() {
    let project = TestProject::of("sums");
    project.write("run.sh", "dd if=/dev/zero of=/dev/null bs=\"$1\" count=1\n");
    project.write(
        "bench.toml",
        "[[command]]\nid = \"copy 8 \u{b5}s\"\nbench = \"work\"\nprogram = \"/bin/sh\"\n\
         arguments = [\"run.sh\", \"8M\"]\n\
         [[command]]\nid = \"missing\"\nbench = \"work\"\nprogram = \"no/such\"\n\
         [[command]]\nid = \"fails\"\nbench = \"work\"\nprogram = \"/bin/sh\"\n\
         arguments = [\"-c\", \"echo it is over; exit 7\"]\n",
    );
    let text = executed(&project, &["copy", "-n", "1"]);
    assert!(text.contains(" (command) of ."), "{text}");
    let metrics = metrics(&text);
    let names: Vec<&str> = metrics.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["wall", "cpu", "user", "system", "peak-memory"]);
    let peak = metrics[4].1[0] / f64::from(1 << 20);
    assert!((8.0..20.0).contains(&peak), "{peak} MiB");
    let text = executed(&project, &["copy"]);
    let reason = "1 measurement instead of 10: one run of a program is one measurement\n";
    assert!(text.contains(reason), "{text}");

    let outcome = exec(&project, &["missing"]).fails_with(4);
    outcome.assert_stderr_has(&["cannot run ", "no/such", "No such file"]);
    let outcome = exec(&project, &["fails"]).fails_with(4);
    outcome.assert_stderr_has(&["it exited with status 7", "    it is over"]);
    let (output, text) = repeat(&project, &outcome, BY_RBENCH);
    assert_eq!(output.status.code(), Some(4));
    assert!(text.contains("it exited with status 7"), "{text}");
    let outcome = exec(&project, &["--whole-target", "fails|missing"]).fails_with(2);
    outcome.assert_stderr_has(&["not in one"]);
}
