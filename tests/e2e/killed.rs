//! A run that is killed leaves nothing that the next one trips over or does not tidy up.

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

/// All paths of the cache, the storage and the directory for temporary files, without what only says
/// when something was used.
fn leftovers(project: &TestProject) -> BTreeSet<PathBuf> {
    let mut paths = tree::paths(&project.home());
    paths.extend(tree::paths(&project.storage()));
    // Each run has a log of its own.
    let logs = project.storage().join("logs/runs");
    paths.retain(|path| !path.ends_with("used") && !path.starts_with(&logs));
    paths
}

/// Kills a build while its calls of `variable`'s script that match `pattern` wait, and holds the next
/// one against a build that nobody disturbed.
#[track_caller]
fn the_next_run_is_as_if_nothing_had_happened(variable: &str, pattern: &str, value: &str) {
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
fn a_run_killed_while_it_compiles_is_forgotten_by_the_next() {
    let pattern = "*'--crate-name work'*";
    the_next_run_is_as_if_nothing_had_happened("RUSTC_WRAPPER", pattern, "exec \"$@\"");
}

/// A compiler, a build script, and whatever they start.
#[test]
fn when_the_lock_is_free_everything_that_cargo_started_has_ended() {
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
fn a_run_killed_while_it_links_is_forgotten_by_the_next() {
    let pattern = "*symbol-ordering-file*";
    the_next_run_is_as_if_nothing_had_happened("RUSTFLAGS", pattern, "exec cc \"$@\"");
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

    /// One whose executions go on for a minute. The iterations of a measurement are known, so that it begins
    /// with an execution that counts.
    fn long() -> Self {
        let long = Self::new("60000ms");
        let short =
            ["compare", "--config", "build.strategy=relink", "-l", "2", "-m", "1", "-n", "1"];
        let rest = ["--filter", "changing", "--config", "experiment.warm-up=1ms", "--no-confirm"];
        let outcome = long.project.rbench(&[&short[..], &rest].concat()).run();
        assert!(matches!(outcome.status().code(), Some(0 | 1)), "{}", outcome.told());
        long
    }

    fn start(&self) -> Running {
        self.start_by(PROGRAM)
    }

    fn start_by(&self, program: &str) -> Running {
        let compare =
            ["compare", "--config", "build.strategy=relink", "-l", "4", "-m", "2", "-n", "3"];
        let rest = ["--filter", "changing", "--warm-up", self.warm_up];
        let command = self.project.rbench(&[&compare[..], &rest].concat());
        let mut child = command.program(program).start();
        let said = BufReader::new(child.stderr.take().unwrap()).lines();
        Running { child, said }
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

/// Waits until a process to which that signal was sent has stopped: until it is its turn on its CPU, it would
/// heed other signals first.
fn wait_until_stopped(process: Pid) {
    let status = format!("/proc/{}/status", process.as_raw_pid());
    while !std::fs::read_to_string(&status).unwrap().contains("State:\tT") {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A comparison that goes on.
struct Running {
    child: Child,
    said: Lines<BufReader<ChildStderr>>,
}

impl Running {
    /// Reads on until it says this.
    #[track_caller]
    fn wait_until_it_says(&mut self, part: &str) -> String {
        let mut said = self.said.by_ref().map(Result::unwrap);
        said.find(|line| line.contains(part)).unwrap_or_else(|| panic!("it never said `{part}`"))
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// How it ended, and what else it said.
    fn end(mut self) -> (ExitStatus, String) {
        let rest: Vec<String> = self.said.map(Result::unwrap).collect();
        (self.child.wait().unwrap(), rest.join("\n"))
    }
}

#[test]
#[ignore = "takes long"]
fn a_comparison_killed_in_any_stage_loses_nothing_that_it_said_was_done() {
    // Long enough that none has ended when the signal comes.
    let comparison = Comparison::new("10ms");
    let mut said = 0;
    for part in ["measured 4 of", "with fresh layouts", "measured 4 of"] {
        let mut running = comparison.start();
        let line = running.wait_until_it_says(part);
        running.signal(Signal::KILL);
        let (status, _) = running.end();
        assert_eq!(status.code(), None);
        comparison.wait_until(false);
        assert_eq!(comparison.store().check().unwrap(), [""; 0]);
        said = if line.starts_with("measured") { said + 4 } else { 16 };
        let (slots, finished) = comparison.experiments().pop().unwrap();
        assert!(slots.len() >= said && !finished, "{} of {said}", slots.len());
        said = slots.len();
    }
    let (status, rest) = comparison.start().end();
    assert_eq!(status.code(), Some(1), "{rest}");
    let (undisturbed, rest) = comparison.start().end();
    assert_eq!(undisturbed.code(), Some(1), "{rest}");
    let experiments = comparison.experiments();
    let [(resumed, true), (undisturbed, true)] = &experiments[..] else {
        panic!("one was killed and continued, one was not: {experiments:?}")
    };
    // Fresh layouts are of one experiment alone.
    let places = |slots: &BTreeSet<Slot>| -> Vec<_> {
        let mut all: Vec<_> = slots.iter().map(|t| (t.version, t.stage, t.round)).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(places(resumed), places(undisturbed));
    assert_eq!(resumed.len(), 32);
}

#[test]
fn a_killed_run_takes_the_benchmark_with_it() {
    let comparison = Comparison::long();
    let mut running = comparison.start();
    running.wait_until_it_says("plan: ");
    comparison.wait_until(true);
    running.signal(Signal::KILL);
    running.end();
    comparison.wait_until(false);
}

#[test]
fn any_request_to_end_ends_the_execution_and_says_how_to_go_on() {
    let comparison = Comparison::long();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut running = comparison.start();
        running.wait_until_it_says("plan: ");
        comparison.wait_until(true);
        running.signal(signal);
        let (status, rest) = running.end();
        assert_eq!(status.code(), Some(130), "{rest}");
        assert!(rest.contains("hint: run the same command again to resume"), "{rest}");
        comparison.wait_until(false);
    }
}

#[test]
fn a_signal_that_is_to_be_ignored_is() {
    let comparison = Comparison::new("1ms");
    let path = comparison.project.beside("as-nohup");
    let program = script(&path, &format!("trap '' HUP\nexec '{PROGRAM}' \"$@\""));
    let mut running = comparison.start_by(&program);
    running.wait_until_it_says("measured 4 of");
    running.signal(Signal::HUP);
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(1), "{rest}");
    assert!(rest.contains("finished in "), "{rest}");
}

#[test]
fn the_second_ctrl_c_does_not_wait_for_a_benchmark_that_is_deaf() {
    let comparison = Comparison::long();
    let mut running = comparison.start();
    running.wait_until_it_says("plan: ");
    comparison.wait_until(true);
    // Asked to end, it does not while it is stopped, and would be killed after two seconds.
    let benchmark = comparison.executed().unwrap();
    kill_process(benchmark, Signal::STOP).unwrap();
    wait_until_stopped(benchmark);
    while running.child.try_wait().unwrap().is_none() {
        running.signal(Signal::INT);
        // Signals that come before the first is handled are one with it.
        std::thread::sleep(Duration::from_millis(1));
    }
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(130), "{rest}");
    assert!(rest.contains("error: stopped\n  every finished execution is kept\n"), "{rest}");
    comparison.wait_until(false);
}

#[test]
fn a_request_to_end_a_build_does_not_wait_for_the_compiler() {
    let project = TestProject::of("sums");
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
        assert!(outcome.stderr().contains("error: stopped\n"), "{}", outcome.told());
        assert_eq!(outcome.stderr().contains(kept), keeps, "{}", outcome.told());
        assert!(!outcome.stderr().contains("execution"), "{}", outcome.told());
        gate.open();
    }
}
