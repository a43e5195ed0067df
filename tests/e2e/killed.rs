//! A killed run leaves nothing that disturbs the next one or that the next one does not remove.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Lines},
    path::PathBuf,
    process::{Child, ChildStderr, ExitStatus},
    time::{Duration, Instant},
};

use cargo_rbench::{model::Slot, store::Store};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Builds, TestProject,
    rbench::{Outcome, PROGRAM},
    script::{Gate, script},
    tree,
};

const TWO: [&str; 4] = ["--builds", "2", "--config", "build.strategy=relink"];

/// All paths of the cache, the storage and the directory for temporary files, except markers of the
/// last use and logs.
fn leftovers(project: &TestProject) -> BTreeSet<PathBuf> {
    let mut paths = tree::paths(&project.home());
    paths.extend(tree::paths(&project.storage()));
    // Each run has a log of its own.
    let logs = project.storage().join("logs/runs");
    paths.retain(|path| !path.ends_with("used") && !path.starts_with(&logs));
    paths
}

/// Kills a build while the calls of `variable`'s script that match `pattern` wait, and compares the
/// next build with an undisturbed one.
#[track_caller]
fn assert_killed_run_leaves_no_trace(variable: &str, pattern: &str, value: &str) {
    let project = TestProject::of("sums");
    let gate = Gate::new(&project.beside(""));
    gate.shut();
    let path = project.beside("stand-in");
    let lines = gate.lines(pattern) + "\n" + value;
    let path = script(&path, &lines);
    let setting = if variable == "RUSTFLAGS" { format!("-Clinker={path}") } else { path };
    let command = || project.build_command(&TWO).env(variable, &setting);

    gate.open();
    let undisturbed = Builds::of(command().ok());
    let left = leftovers(&project);
    project.rbench(&["clean", "--max-size", "0"]).ok();
    gate.shut();

    let mut killed = command().start();
    gate.wait_until_reached();
    killed.kill().unwrap();
    let killed = killed.wait_with_output().unwrap();
    assert!(!killed.status.success() && killed.stdout.is_empty());
    gate.open();
    let after_kill = Builds::of(command().ok());
    assert_eq!(after_kill.digests(0), undisturbed.digests(0));
    assert_eq!(after_kill.distinct(0), (2, 2));
    assert!(after_kill.printed(0).starts_with("steps 135\n"));
    let left_after_kill = leftovers(&project);
    let more: Vec<_> = left_after_kill.difference(&left).collect();
    assert!(more.is_empty(), "left behind: {more:#?}");
}

#[test]
fn run_killed_while_compiling_leaves_no_trace() {
    let pattern = "*'--crate-name work'*";
    assert_killed_run_leaves_no_trace("RUSTC_WRAPPER", pattern, "exec \"$@\"");
}

/// Covers a compiler, a build script, and their children.
#[test]
fn free_lock_means_that_all_cargo_processes_have_ended() {
    for signal in [Signal::KILL, Signal::INT] {
        let project = TestProject::of("sums");
        let gate = Gate::new(&project.beside(""));
        gate.shut();
        let id = project.beside("id");
        let lines = format!(
            "case \"$*\" in *'--crate-name work'*) echo $$ > '{}';; esac\n{}\nexec \"$@\"",
            id.display(),
            gate.lines("*'--crate-name work'*")
        );
        let wrapper = script(&project.beside("wrapper"), &lines);
        let mut child = project.build_command(&TWO).env("RUSTC_WRAPPER", wrapper).start();
        gate.wait_until_reached();
        let process = PathBuf::from("/proc").join(std::fs::read_to_string(id).unwrap().trim());
        assert!(process.exists());
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert!(!child.wait().unwrap().success());
        let mut sites = std::fs::read_dir(project.home().join("cache/cargo-rbench")).unwrap();
        let lock = std::fs::File::open(sites.next().unwrap().unwrap().path().join("lock")).unwrap();
        lock.lock().unwrap();
        assert!(!process.exists(), "signal {signal:?}");
    }
}

#[test]
fn run_killed_while_linking_leaves_no_trace() {
    let pattern = "*symbol-ordering-file*";
    assert_killed_run_leaves_no_trace("RUSTFLAGS", pattern, "exec cc \"$@\"");
}

/// A comparison of one benchmark with itself made thirty times slower: 2 versions × 4 builds × 2
/// executions in each of two stages, each execution with this warm-up.
struct Comparison {
    project: TestProject,
    warm_up: &'static str,
}

impl Comparison {
    fn new(warm_up: &'static str) -> Self {
        let project = TestProject::of("counted");
        project.replace("src/lib.rs", "u64 = 1_000", "u64 = 30_000");
        project.commit("Work more");
        Self { project, warm_up }
    }

    /// A comparison whose executions last a minute. The iterations of a measurement are already
    /// known, so it begins with an execution that counts.
    fn long() -> Self {
        let long = Self::new("60000ms");
        let short =
            ["compare", "--config", "build.strategy=relink", "-l", "2", "-m", "1", "-n", "1"];
        let rest = [
            "--filter",
            "changing",
            "--config",
            "experiment.warm-up=1ms",
            "--config=verdict.confirm=false",
        ];
        let outcome = long.project.rbench(&[&short[..], &rest].concat()).run();
        assert!(matches!(outcome.status().code(), Some(0 | 1)), "{}", outcome.printed());
        long
    }

    fn start(&self) -> Running {
        self.start_by(PROGRAM)
    }

    fn start_by(&self, program: &str) -> Running {
        let compare =
            ["compare", "--config", "build.strategy=relink", "-l", "4", "-m", "2", "-n", "3"];
        let warm_up = format!("experiment.warm-up={}", self.warm_up);
        let rest = ["--filter", "changing", "--config", &warm_up];
        let command = self.project.rbench(&[&compare[..], &rest].concat());
        let command = command.env("RBENCH_LOG", "cargo_rbench::measure=debug");
        let mut child = command.program(program).start();
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        Running { child, stderr }
    }

    fn store(&self) -> Store<'static> {
        Store::open(&self.project.root().join(".rbench/results.sqlite"), &|| {}).unwrap()
    }

    /// The slots of each experiment, and whether it is finished.
    fn experiments(&self) -> Vec<(BTreeSet<Slot>, bool)> {
        let store = self.store();
        let slots = |experiment| {
            let of_one = |benchmark| store.rows(benchmark, &[experiment]).unwrap();
            let all = store.measured_metrics(experiment).unwrap();
            let rows = all.iter().flat_map(|measured| of_one(&measured.benchmark));
            rows.filter(|row| row.outcome.is_ok()).map(|row| row.slot).collect()
        };
        let all = store.experiments().unwrap();
        all.into_iter().map(|one| (slots(one.id), one.finished.is_some())).collect()
    }

    /// The process that runs one of the project's builds.
    fn executed(&self) -> Option<Pid> {
        let builds = self.project.storage().join("builds");
        let mut processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let found = processes.find(|process| {
            let executable = std::fs::read_link(process.join("exe"));
            executable.is_ok_and(|executable| executable.starts_with(&builds))
        });
        Pid::from_raw(found?.file_name()?.to_str()?.parse().ok()?)
    }

    #[track_caller]
    fn wait_until(&self, executing: bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.executed().is_some() != executing {
            assert!(Instant::now() < deadline, "is a benchmark executed: {}", !executing);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Waits until a process that was sent a stop signal has stopped. Until it is scheduled on its CPU,
/// it would handle other signals first.
fn wait_until_stopped(process: Pid) {
    let status = format!("/proc/{}/status", process.as_raw_pid());
    while !std::fs::read_to_string(&status).unwrap().contains("State:\tT") {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A running comparison.
struct Running {
    child: Child,
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Running {
    /// Reads standard error up to a line that contains `part`; returns that line.
    #[track_caller]
    fn wait_for_line(&mut self, text: &str) -> String {
        let mut stderr = self.stderr.by_ref().map(Result::unwrap);
        stderr.find(|line| line.contains(text)).unwrap_or_else(|| panic!("it never said `{text}`"))
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Waits for the end; returns the exit status and the rest of standard error.
    fn end(mut self) -> (ExitStatus, String) {
        let rest: Vec<String> = self.stderr.map(Result::unwrap).collect();
        (self.child.wait().unwrap(), rest.join("\n"))
    }
}

#[test]
#[ignore = "takes long"]
fn comparison_killed_in_any_stage_keeps_finished_executions() {
    // Long enough that none has ended when the signal comes.
    let comparison = Comparison::new("10ms");
    let mut executed = 0;
    for text in ["measured 4 of", "with fresh layouts", "measured 4 of"] {
        let mut running = comparison.start();
        let line = running.wait_for_line(text);
        running.signal(Signal::KILL);
        let (status, _) = running.end();
        assert_eq!(status.code(), None);
        comparison.wait_until(false);
        assert_eq!(comparison.store().check().unwrap(), [""; 0]);
        executed = if line.contains("measured") { executed + 4 } else { 16 };
        let (slots, finished) = comparison.experiments().pop().unwrap();
        assert!(slots.len() >= executed && !finished, "{} of {executed}", slots.len());
        executed = slots.len();
    }
    let (status, rest) = comparison.start().end();
    assert_eq!(status.code(), Some(1), "{rest}");
    let (undisturbed, rest) = comparison.start().end();
    assert_eq!(undisturbed.code(), Some(1), "{rest}");
    let experiments = comparison.experiments();
    let [(resumed, true), (undisturbed, true)] = &experiments[..] else {
        panic!("one was killed and continued, one was not: {experiments:?}")
    };
    // Fresh layouts belong to one experiment alone.
    let places = |slots: &BTreeSet<Slot>| -> Vec<_> {
        let mut all: Vec<_> = slots.iter().map(|t| (t.version, t.stage, t.round)).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(places(resumed), places(undisturbed));
    assert_eq!(resumed.len(), 32);
}

#[test]
fn killed_run_takes_the_benchmark_with_it() {
    let comparison = Comparison::long();
    let mut running = comparison.start();
    running.wait_for_line("plan: ");
    comparison.wait_until(true);
    running.signal(Signal::KILL);
    running.end();
    comparison.wait_until(false);
}

#[test]
fn termination_signals_end_the_execution_and_hint_to_resume() {
    let comparison = Comparison::long();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut running = comparison.start();
        running.wait_for_line("plan: ");
        comparison.wait_until(true);
        running.signal(signal);
        let (status, rest) = running.end();
        assert_eq!(status.code(), Some(130), "{rest}");
        assert!(rest.contains("hint: run the same command again to resume"), "{rest}");
        comparison.wait_until(false);
    }
}

#[test]
fn ignored_signal_stays_ignored() {
    let comparison = Comparison::new("1ms");
    let path = comparison.project.beside("as-nohup");
    let program = script(&path, &format!("trap '' HUP\nexec '{PROGRAM}' \"$@\""));
    let mut running = comparison.start_by(&program);
    running.wait_for_line("measured 4 of");
    running.signal(Signal::HUP);
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(1), "{rest}");
    assert!(rest.contains("finished in "), "{rest}");
}

#[test]
fn second_ctrl_c_does_not_wait_for_a_deaf_benchmark() {
    let comparison = Comparison::long();
    let mut running = comparison.start();
    running.wait_for_line("plan: ");
    comparison.wait_until(true);
    // A stopped benchmark does not react to the request to end; rbench would kill it after two
    // seconds.
    let benchmark = comparison.executed().unwrap();
    kill_process(benchmark, Signal::STOP).unwrap();
    wait_until_stopped(benchmark);
    while running.child.try_wait().unwrap().is_none() {
        running.signal(Signal::INT);
        // Signals that come before the first is handled merge with it.
        std::thread::sleep(Duration::from_millis(1));
    }
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(130), "{rest}");
    assert!(rest.contains("error: stopped\n  every finished execution is kept\n"), "{rest}");
    comparison.wait_until(false);
}

#[test]
fn request_to_end_a_build_does_not_wait_for_the_compiler() {
    let project = TestProject::of("compared");
    let kept = "every finished compilation is kept";
    for (command, keeps) in [
        (&["compare", "HEAD", "HEAD"][..], true),
        (&["list"], false),
        (&["exec", "HEAD", "any"], false),
    ] {
        let directory = project.beside(command[0]);
        std::fs::create_dir(&directory).unwrap();
        let gate = Gate::new(&directory);
        gate.shut();
        let lines = gate.lines("*'--crate-name work'*") + "\nexec \"$@\"";
        let wrapper = script(&directory.join("wrapper"), &lines);
        let child = project.rbench(command).env("RUSTC_WRAPPER", wrapper).start();
        gate.wait_until_reached();
        let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(id, Signal::TERM).unwrap();
        // The gate is still shut.
        let outcome = Outcome::of(child, command[0]).assert_exit(130);
        assert!(outcome.stderr().contains("error: stopped\n"), "{}", outcome.printed());
        assert_eq!(outcome.stderr().contains(kept), keeps, "{}", outcome.printed());
        assert!(!outcome.stderr().contains("execution"), "{}", outcome.printed());
        gate.open();
    }
}
