//! The demo prints its chapters, stops on request and leaves nothing behind.
//!
//! The four verdicts are not checked here: they need a quiet machine and a minute.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command},
};

use crate::support::{TestProject, rbench::hermetic, tree};

/// Starts the demo and interrupts it at the first line on standard error that begins with `sign`;
/// returns its standard output.
#[track_caller]
fn stopped_at(place: &TestProject, arguments: &[&str], sign: &str) -> String {
    let mut child: Child = place.rbench(arguments).start();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    while !stderr.next().expect("the sign is given").unwrap().starts_with(sign) {}
    let id = i32::try_from(child.id()).unwrap();
    let id = rustix::process::Pid::from_raw(id).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = stderr.map(Result::unwrap).collect();
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:#?}");
    assert!(rest.iter().any(|line| line == "error: the demo was stopped"), "{rest:#?}");
    stdout
}

#[test]
#[ignore = "takes long"]
fn interrupted_demo_keeps_finished_chapters_and_cleans_up() {
    let place = TestProject::bare("anywhere");
    let printed = stopped_at(&place, &["demo"], "compiling HEAD~2 ");
    for part in [
        "1 of 4: documentation only",
        "HEAD~4 HEAD~3",
        "5 identical",
        "As expected: All 5 benchmarks have the same machine code",
        "2 of 4: unrelated code",
    ] {
        assert!(printed.contains(part), "`{part}` is not printed:\n{printed}");
    }
    assert_eq!(printed.matches("s expected: ").count(), 1, "the first is explained:\n{printed}");
    assert!(!printed.contains("3 of 4"), "{printed}");
    let left = tree::paths(&place.beside(""));
    let written: Vec<_> = left.iter().filter(|path| path.is_file()).collect();
    assert!(written.is_empty(), "left behind: {written:#?}");
    assert!(fs::read_dir(place.home().join("tmp")).unwrap().next().is_none());
}

#[test]
fn kept_demo_project_has_five_commits_its_tools_accept() {
    let place = TestProject::bare("anywhere");
    let elsewhere = place.beside("target of the user");
    let printed = stopped_at(&place, &["demo", "--keep"], "compiling ");
    let root =
        printed.lines().find_map(|line| line.strip_suffix(" (kept)")).expect("a place is printed");
    let root = Path::new(root.trim());
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        hermetic(&mut command, &place.home());
        command.env("CARGO_TARGET_DIR", &elsewhere);
        let output = command.args(arguments).current_dir(root).output().unwrap();
        let [out, error] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{program} {arguments:?}: {out}\n{error}");
        assert!(!error.contains("warning"), "{program} {arguments:?}: {error}");
        out
    };
    assert_eq!(run("git", &["log", "--oneline"]).lines().count(), 5);
    assert_eq!(run("git", &["status", "--porcelain"]), "");
    for behind in ["4", "3", "2", "1", "0"] {
        run(
            "git",
            &["-c", "advice.detachedHead=false", "checkout", "--quiet", &format!("main~{behind}")],
        );
        run("cargo", &["check", "--quiet", "--locked", "--offline", "--all-targets"]);
        run("cargo", &["fmt", "--check", "-p", "toolbox"]);
    }
}
