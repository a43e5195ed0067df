//! The log of a run has enough to analyse a failure elsewhere, and no secret.

use std::{
    fs,
    io::{BufRead as _, BufReader},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{TestProject, rbench::Outcome};

const SECRET: &str = "hunter2-and-more";

/// The log that the last line of standard error names.
fn log_of(outcome: &Outcome) -> String {
    let stderr = outcome.stderr();
    let path = stderr.lines().find_map(|line| line.strip_prefix("log: "));
    fs::read_to_string(path.unwrap_or_else(|| panic!("{}", outcome.printed()))).unwrap()
}

#[test]
fn log_of_a_failure_has_the_exit_status_and_no_secret() {
    let project = TestProject::native();
    let exec = |id: &str| {
        let run = project.rbench(&["exec", ".", "--exact", id]);
        run.env("DEPLOY_TOKEN", SECRET).env("RBENCH_LOG", "debug")
    };
    let outcome = exec("exit with 3").fails_with(4);
    let log = log_of(&outcome);
    for part in ["rbench exec . --exact 'exit with 3'", "compiler: rustc ", "list", "Exited(3)"] {
        assert!(log.contains(part), "no `{part}` in\n{log}");
    }
    assert!(log.contains("error: cannot execute benchmark `exit with 3`"), "{log}");
    let unknown = exec(SECRET).fails_with(2);
    assert!(log_of(&unknown).contains("rbench exec . --exact ***"), "{}", log_of(&unknown));
    for text in [log, log_of(&unknown)] {
        assert!(!text.contains(SECRET), "{text}");
    }
    let printed = unknown.stderr();
    let lines = printed.lines().filter(|line| line.contains("DEBUG") || line.contains("INFO"));
    assert!(lines.clone().count() > 5, "{printed}");
    assert!(lines.clone().all(|line| !line.contains(SECRET)), "{printed}");
}

#[test]
fn log_of_a_comparison_has_phases_and_decisions() {
    let project = TestProject::of("counted");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
    project.rbench(&["compare", "HEAD", ".", "-l", "4", "-m", "1", "-n", "5"]).run().assert_exit(1);
    let logs = project.storage().join("logs/runs");
    let logs: Vec<_> = fs::read_dir(logs).unwrap().map(|entry| entry.unwrap().path()).collect();
    let log = logs.iter().find(|path| path.display().to_string().contains("-compare-")).unwrap();
    let log = fs::read_to_string(log).unwrap();
    for phase in [
        "checkout",
        "compile",
        "list",
        "trace",
        "machine code",
        "link",
        "measure",
        "statistics",
        "report",
    ] {
        let closed = |line: &str| line.contains(phase) && line.contains("close time.busy=");
        assert!(log.lines().any(closed), "no duration of `{phase}` in\n{log}");
    }
    for decision in ["unaffected=false", "measuring ", "exit code "] {
        assert!(log.contains(decision), "no `{decision}` in\n{log}");
    }
}

#[test]
fn log_lines_are_printed_only_on_request() {
    let project = TestProject::native();
    let list = |options: &[&str]| project.rbench(&[&["list"], options].concat());
    let has_lines = |outcome: Outcome| outcome.stderr().contains(" INFO ");
    assert!(!has_lines(list(&[]).ok()));
    assert!(has_lines(list(&["-v"]).ok()));
    assert!(has_lines(list(&[]).env("RBENCH_LOG", "info").ok()));
    assert!(!has_lines(list(&[]).env("RBENCH_LOG", "another_crate=debug").ok()));
    assert_eq!(list(&["-q"]).env("RBENCH_LOG", "debug").ok().stderr(), "");
    let refused = list(&[]).env("RBENCH_LOG", "cargo_rbench=loud").fails_with(2);
    refused.assert_stderr_has(&["cannot use RBENCH_LOG=cargo_rbench=loud"]);
}

#[test]
fn phase_that_takes_long_says_how_far_it_is() {
    let project = TestProject::of("counted");
    let slow = "{\n        std::thread::sleep(std::time::Duration::from_secs(25));\n        \
                bencher.iter(counted::changing)\n    }";
    project.replace("benches/work.rs", "bencher.iter(counted::changing)", slow);
    project.commit("Sleep in the set-up");
    project.replace("src/lib.rs", "u64 = 1_000", "u64 = 2_000");
    let mut child = project.rbench(&["diff", "HEAD", ".", "--by-benchmark"]).start();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut of_phases = lines.filter(|line| line.starts_with("still "));
    let line = of_phases.next().expect("a line while the first benchmark is traced");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("still tracing HEAD"), "{line}");
    assert!(line.ends_with(", 20 s: 0 of 2 benchmarks"), "{line}");
}
