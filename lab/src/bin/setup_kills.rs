//! The kills of docs/research/robustness.md, "Set-ups": nothing is left, whenever and however rbench is killed.
//!
//! `cargo run -p lab --bin setup_kills [KILLS] [SEED]` runs comparisons whose set-up starts two servers, one
//! of which ignores SIGTERM, and sends each comparison a random signal at a random moment, from before its set-up until
//! after its clean-up. Afterwards no process may run in its directories, and each version that was set up must have been
//! cleaned up.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use rbench_stats::Random;
use rustix::process::{Pid, Signal, kill_process};

/// The time until everything has ended: a clean-up, and the time from SIGTERM to SIGKILL.
const PATIENCE: Duration = Duration::from_secs(30);

const SETUP: &str = "[setup]
setup = \"echo setup >> LOG; setsid sh -c 'while :; do sleep 0.2; done' & sh -c 'trap : TERM; while :; do sleep 0.2; done' & sleep 0.1\"
prepare = \"sleep 0.02\"
conclude = \"sleep 0.02\"
cleanup = \"sleep 0.1; echo cleanup >> LOG\"
";

fn main() -> ExitCode {
    lab::program(run)
}

fn run() -> Result<bool, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let kills: usize = arguments.next().map_or(Ok(500), |text| text.parse())?;
    let mut random = Random::new(arguments.next().map_or(Ok(1), |text| text.parse())?);
    let rbench = lab::rbench::build("dev")?;
    let project = lab::Project::compared()?;
    let (tree, log) = (project.tree.path().to_owned(), project.scratch().join("log"));
    let setup = SETUP.replace("LOG", &log.display().to_string());
    fs::write(tree.join("bench.toml"), setup)?;
    let start = |seed: usize| {
        let seed = format!("build.seed={seed}");
        let mut command = Command::new(&rbench);
        command.args([
            "compare",
            "HEAD~1",
            "HEAD",
            "--filter",
            "changing",
            "--config=verdict.confirm=false",
        ]);
        command.args([
            "--config",
            "build.strategy=relink",
            "--config",
            &seed,
            "-l",
            "2",
            "-n",
            "5",
        ]);
        command.current_dir(&tree).env("RBENCH_CACHE_DIR", project.scratch().join("cache"));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    };
    start(0)?.wait()?;
    let begin = Instant::now();
    start(1)?.wait()?;
    let whole = begin.elapsed().mul_f64(1.1);
    let signals = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];
    let (mut wrong, mut during) = (0, 0);
    for index in 0..kills {
        let _ = fs::remove_file(&log);
        let signal = signals[random.below(signals.len())];
        let after = whole.mul_f64(random.unit());
        let mut child = start(2 + index)?;
        thread::sleep(after);
        if child.try_wait()?.is_none() {
            kill_process(Pid::from_child(&child), signal)?;
        }
        child.wait()?;
        let begin = Instant::now();
        let left = || processes_in(project.scratch());
        while !left().is_empty() && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
        let text = fs::read_to_string(&log).unwrap_or_default();
        let count = |word: &str| text.lines().filter(|line| *line == word).count();
        let (setups, cleanups, left) = (count("setup"), count("cleanup"), left());
        during += usize::from(setups > 0);
        if setups > cleanups || !left.is_empty() {
            wrong += 1;
            println!(
                "{signal:?} after {after:?}: {setups} set up, {cleanups} cleaned up, left: {left:#?}"
            );
        }
    }
    println!(
        "{kills} kills within {whole:.1?}, {during} of them after a set-up began: {wrong} left something"
    );
    Ok(wrong == 0)
}

/// The processes that run something of this directory, or in it.
fn processes_in(place: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let found = entries.flatten().filter_map(|entry| {
        let process = entry.path();
        let is_there = ["exe", "cwd"].iter().any(|link| {
            fs::read_link(process.join(link)).is_ok_and(|path| path.starts_with(place))
        });
        is_there.then(|| fs::read_to_string(process.join("cmdline")).unwrap_or_default())
    });
    found.collect()
}
