//! `compare --watch` answers after each save in one line.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, ChildStdout},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{COMPARE_QUICK, TestProject};

/// A comparison that watches, with its answers.
struct Watching {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Watching {
    fn start(project: &TestProject) -> Self {
        let words = [&COMPARE_QUICK[..], &["HEAD", ".", "--watch"]].concat();
        let mut child = project.rbench(&words).start();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// The next line, without the time of day.
    #[track_caller]
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let Some((time, rest)) = line.trim_end().split_once("  ") else {
            let mut stderr = String::new();
            let _ = self.child.stderr.take().unwrap().read_to_string(&mut stderr);
            panic!("no line but `{line}`: {stderr}")
        };
        assert!(time.len() == 8 && time.matches(':').count() == 2, "{line}");
        rest.to_owned()
    }

    /// Ends it as Ctrl-C does. Returns the exit code, and what else was printed on both outputs.
    fn end(mut self) -> (Option<i32>, String, String) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code(), rest, stderr)
    }
}

/// Saves as editors do: another file is written, and renamed.
fn save(project: &TestProject, path: &str, content: &str) {
    let new = project.write(&format!("{path}.new"), content);
    fs::rename(new, project.root().join(path)).unwrap();
}

#[test]
fn each_save_is_answered_in_one_line_until_ctrl_c() {
    let project = TestProject::of("counted");
    let text = project.read("src/lib.rs");
    let with_rounds = |rounds: &str| text.replace("u64 = 1_000", &format!("u64 = {rounds}"));
    assert_ne!(with_rounds("2_000"), text);
    let mut watching = Watching::start(&project);
    assert_eq!(watching.line(), "same: all 2 execute nothing that changed");

    save(&project, "src/lib.rs", &with_rounds("2_000"));
    let slower = watching.line();
    assert!(slower.starts_with("changing slower: +"), "{slower}");
    assert!(slower.ends_with("); 1 executes nothing that changed"), "{slower}");

    save(&project, "src/lib.rs", &with_rounds("2_000 +"));
    let broken = watching.line();
    assert!(broken.starts_with("cannot compile lib of `counted` of . ("), "{broken}");
    assert!(broken.contains("error: ") && broken.contains("(src/lib.rs:"), "{broken}");

    // None of these is a save of the tree, so the next answer is about what follows.
    project.write("target/note", "ignored");
    project.write(".git/note", "git's own");
    project.write(".rbench/accepted.toml", "");
    project.write("src/lib.rs", &with_rounds("2_000 +"));
    std::thread::sleep(std::time::Duration::from_millis(500));
    save(&project, "src/lib.rs", &with_rounds("500"));
    let faster = watching.line();
    assert!(faster.starts_with("changing faster: -"), "{faster}");

    // A directory that was not there when the wait began.
    fs::create_dir(project.root().join("notes")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    project.write("notes/a.md", "more");
    let again = watching.line();
    assert!(again.starts_with("changing faster: -"), "{again}");

    save(&project, "Cargo.toml", "[package");
    let broken = watching.line();
    assert!(broken.starts_with("cannot find a cargo workspace at "), "{broken}");

    let (code, stdout, stderr) = watching.end();
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "{stderr}");
    let after = stderr.split_once("each save is compared; Ctrl-C ends it\n").unwrap().1;
    assert_eq!(after, "", "only the answers are printed");
}

#[test]
fn only_the_uncommitted_tree_can_be_watched() {
    let project = TestProject::of("counted");
    let outcome = project.rbench(&["compare", "HEAD", "HEAD", "--watch"]).fails_with(2);
    let hint = "hint: watch it with: cargo rbench compare HEAD . --watch";
    outcome.assert_stderr_has(&["cannot watch `HEAD`", hint]);
    let job = project.rbench(&["compare", "HEAD", ".", "--watch"]).env("CI", "true");
    job.fails_with(2).assert_stderr_has(&["cannot watch in a CI job", "leave out --watch"]);
    project.rbench(&["compare", "HEAD", ".", "--watch", "no-such"]).fails_with(2);
}
