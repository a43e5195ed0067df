//! Set-ups: commands around executions, and what they start, which ends however rbench ends.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::TestProject;

const SHORT: [&str; 10] = [
    "compare",
    "HEAD~1",
    "HEAD",
    "--config",
    "build.strategy=relink",
    "-l",
    "2",
    "-n",
    "5",
    "^changing$",
];

/// Two versions with this set-up, in which `LOG` is a file for the words of its commands.
fn project(setup: &str) -> (TestProject, PathBuf) {
    let project = TestProject::of("compared");
    project.replace("src/lib.rs", "= 1_000", "= 1_100");
    project.commit("Do more");
    let log = project.beside("log");
    let setup = setup.replace("LOG", &format!("'{}'", log.display()));
    project.write("bench.toml", &format!("[setup]\n{setup}\n"));
    (project, log)
}

/// Runs the comparison to its end, with any verdict.
#[track_caller]
fn finish(project: &TestProject) {
    let outcome = project.rbench(&SHORT).run();
    let printed = outcome.printed();
    assert!(printed.contains("finished in"), "{printed}");
}

fn words(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The server of a version: a shell that writes its id and waits.
const SERVER: &str =
    "setup = \"setsid sh -c 'echo server $$ >> LOG; while :; do sleep 1; done' &\"\n";

/// True if a server still runs.
fn servers_run(log: &Path) -> bool {
    words(log).iter().filter_map(|word| word.strip_prefix("server ")).any(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    })
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(120), "not within two minutes: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn setup_steps_surround_executions_of_each_version() {
    let steps = ["setup", "prepare", "conclude", "cleanup"]
        .map(|key| format!("{key} = \"echo {key} $(basename $PWD) >> LOG\"\n"));
    let (project, log) = project(&steps.concat());
    finish(&project);
    let words = words(&log);
    let number = |step: &str| words.iter().filter(|word| word.starts_with(step)).count();
    assert_eq!((number("setup"), number("cleanup")), (2, 2), "{words:?}");
    // Two traces, then pairs; executions of one version never overlap.
    assert_eq!(number("prepare"), number("conclude"), "{words:?}");
    assert!(number("prepare") >= 2 + 2 * 2, "{words:?}");
    assert!(words[0].starts_with("setup ") && words[1].starts_with("prepare "), "{words:?}");
    for version in [&words[words.len() - 1], &words[words.len() - 2]] {
        let name = version.strip_prefix("cleanup ").expect("the end is the clean-up");
        let own: Vec<&str> = words
            .iter()
            .filter_map(|word| word.split_once(' ').filter(|(_, other)| *other == name))
            .map(|(step, _)| step)
            .collect();
        let steps = own[1..own.len() - 1].chunks(2);
        assert!(steps.into_iter().all(|pair| pair == ["prepare", "conclude"]), "{own:?}");
    }
}

#[test]
fn server_of_a_setup_lives_until_the_cleanup() {
    let check = "conclude = \"kill -0 $(sed -n 's/server //p' LOG)\"\n\
                 cleanup = \"kill -0 $(sed -n 's/server //p' LOG) && echo lived >> LOG\"";
    let (project, log) = project(&format!("{SERVER}{check}"));
    finish(&project);
    assert_eq!(words(&log).iter().filter(|word| *word == "lived").count(), 2);
    assert!(!servers_run(&log));
}

#[test]
#[ignore = "takes long"]
fn failing_setup_is_reported_as_its_own_failure() {
    for (setup, messages) in [
        (
            "setup = \"for i in 2 3 4 5 6 7 8 9 10 11 12; do echo line-$i; done >&2; exit 3\"",
            ["`setup` of a set-up failed: for i", "exit status: 3, in ", "line-3\n", "line-12\n"],
        ),
        // It ignores SIGTERM, and has a child of its own.
        (
            "prepare = \"trap '' TERM; sleep 100 & sleep 100\"\ntimeout = \"200ms\"",
            [
                "`prepare` of a set-up failed: trap",
                "it was still running after 0.2 s",
                "error",
                "error",
            ],
        ),
        ("conclude = \"kill -9 $$\"", ["`conclude` of a set-up", "signal: 9", "error", "error"]),
    ] {
        let (project, log) = project(&format!("{setup}\ncleanup = \"echo cleaned >> LOG\""));
        let outcome = project.rbench(&SHORT).fails_with(3);
        outcome.assert_stderr_has(&messages);
        assert!(!outcome.printed().contains("line-2\n"), "the last ten lines are enough");
        assert_eq!(words(&log), ["cleaned"], "{setup}");
    }
}

#[test]
#[ignore = "takes long"]
fn killed_run_leaves_nothing_of_its_setup() {
    for signal in [Signal::KILL, Signal::TERM, Signal::INT] {
        let rest =
            "prepare = \"echo prepare >> LOG; sleep 0.05\"\ncleanup = \"echo cleaned >> LOG\"";
        let (project, log) = project(&format!("{SERVER}{rest}"));
        let child = project.rbench(&SHORT).start();
        let prepared = || words(&log).iter().filter(|word| *word == "prepare").count() > 3;
        wait_until("executions", prepared);
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait_with_output().unwrap();
        let cleaned = || words(&log).iter().filter(|word| *word == "cleaned").count() == 2;
        wait_until("the clean-up", cleaned);
        wait_until("the end of the servers", || !servers_run(&log));
        // The next run waits for the clean-up.
        finish(&project);
    }
}

#[test]
fn results_with_another_setup_are_not_comparable() {
    let (project, _) = project("prepare = \"true\"");
    let run = |version: &str| {
        let words = ["run", version, "--config", "build.strategy=relink", "-l", "2", "-n", "5"];
        project.rbench(&words).ok();
    };
    run("HEAD~1");
    project.write("bench.toml", "[setup]\nprepare = \"exit 0\"\n");
    run("HEAD");
    let outcome = project.rbench(&["compare", "--stored", "HEAD~1", "HEAD"]).run();
    outcome.assert_stdout_has(&["not comparable", "setup"]);
}
