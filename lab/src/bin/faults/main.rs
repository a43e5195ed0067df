//! The faults of docs/research/robustness.md: leftovers, wrong failures and wrong stored results when interleaved
//! benchmarks misbehave.
//!
//! `cargo run --release -p lab --bin faults [FAULTS] [SEED]` injects faults into two versions of
//! the fixture `faults`, 1,000 by default: one version or both crash, hang, are stopped, fork,
//! leave processes behind or read other clocks, at random times. Most are pairs of processes, and a
//! third are whole experiments, in this process; a few dozen are comparisons by the real program,
//! which gets a signal in half of them. After each, nothing may hang or be left; only the version
//! with the fault may fail, for its own reason; the other benchmark must have all its executions,
//! interleaved; and interleaved executions must be stored as whole pairs. It fails if anything is
//! wrong.
//!
//! `cargo run --release -p lab --bin faults commands [FAULTS] [SEED]` throws faults at whole commands: signals, limits
//! of the shell, a clock that is set, and damaged bytes.
//!
//! With `--sandbox` before the other words, the sandbox confines the benchmarks, and the commands.
//!
//! On an emulated machine, `FAULTS_SLOWER=20` multiplies all deadlines, and `RBENCH_PROGRAM` has the path of rbench.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use cargo_rbench::{
    cli::{Cli, Command},
    command,
    config::{Purpose, StoppingRule},
    harness::Executable,
    measure::{ExperimentSettings, Runner},
    model::Mode,
    process::Interrupt,
    project::Project,
};
use rbench_stats::Random;
use rustix::process::Signal;

use kind::{Fault, Kind, file};
use left::Left;
use pair::Pairs;
use program::Programs;
use tally::{Tally, Wrong};
use watch::watched;
use whole::{Silent, Whole};

mod commands;
mod kind;
mod left;
mod pair;
mod patience;
mod program;
mod stored;
mod tally;
mod watch;
mod whole;

/// Comparisons with as little work as possible.
const COMPARE: [&str; 18] = [
    "--filter",
    "good",
    "--filter",
    "bad",
    "--config",
    "build.strategy=relink",
    "-l",
    "2",
    "-m",
    "2",
    "-n",
    "5",
    "--config",
    "experiment.warm-up=2ms",
    "--config",
    "experiment.min-time=200us",
    "--config=verdict.confirm=false",
    "--no-skip",
];
/// The executions of one benchmark in a comparison: 2 versions × 2 builds × 2.
const EXECUTIONS: usize = 8;

/// The longest accepted duration of one trial in this process: several deadlines. A stopped process
/// is killed two seconds after each.
const PATIENCE: Duration = Duration::from_secs(60);

/// Words that turn the sandbox on, and let code read the harness, which is outside of the fixture's repository.
fn sandbox_words() -> [String; 2] {
    let root = lab::root().display().to_string();
    ["--sandbox".to_owned(), format!("--config=sandbox.read=[{root:?}]")]
}

/// The words of a comparison with this deadline of an execution on a usual machine; in the sandbox, which permits to
/// write in this directory, if there is one.
fn compare_words(deadline: Duration, written: Option<&Path>) -> Vec<String> {
    let deadline = format!("experiment.deadline={}ms", patience::usual(deadline).as_millis());
    let mut words = vec!["compare".to_owned()];
    words.extend(COMPARE.map(str::to_owned));
    words.extend(["--config".to_owned(), deadline]);
    if let Some(written) = written {
        words.extend(sandbox_words());
        words.push(format!("--config=sandbox.write=[{:?}]", written.display().to_string()));
    }
    words
}

fn main() -> ExitCode {
    lab::program(run)
}

fn run() -> Result<bool, Box<dyn Error>> {
    let Some(home) = std::env::var_os(HOME) else { return in_a_home_of_its_own() };
    let home = PathBuf::from(home);
    let mut arguments = std::env::args().skip(1).peekable();
    let is_confined = arguments.next_if(|word| word == "--sandbox").is_some();
    let of_commands = arguments.next_if(|word| word == "commands").is_some();
    let faults: usize = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let random = Random::new(arguments.next().map_or(Ok(1), |text| text.parse())?);
    if of_commands {
        return commands::run(&home, faults, is_confined, random);
    }
    let project = lab::Project::of_fixture("faults")?;
    let (tree, file) = (&project.tree, home.join("faults"));
    let literal = format!("{:?}", file.display().to_string());
    fs::write(tree.path().join(".gitignore"), "target\n")?;
    tree.edit("src/lib.rs", |text| text.replace("\"/no/file\"", &literal))?;
    tree.commit("Read the file of faults")?;
    tree.edit("src/lib.rs", |text| text.replace("\"BASE\"", "\"HEAD\""))?;
    tree.commit("Head")?;
    let mut trials = Trials { home, file, tally: Tally::default(), random };
    let programs = Programs {
        rbench: lab::rbench::build("release")?,
        tree: tree.path().to_owned(),
        file: trials.file.clone(),
        environment: vec![("RBENCH_CACHE_DIR", trials.home.join("cache"))],
        executions: EXECUTIONS,
        written: is_confined.then(|| trials.home.clone()),
    };
    let real = (faults / 25).max(1);
    trials.in_this_process(tree.path(), faults - real, is_confined)?;
    trials.by_the_program(&programs, project.scratch(), real)?;
    Ok(trials.tally.print())
}

/// The variable with the directory of all files, for this process and all others.
const HOME: &str = "FAULTS_HOME";

/// Runs the same program with a directory for temporary files that no other program uses.
fn in_a_home_of_its_own() -> Result<bool, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let temporary = home.path().join("tmp");
    fs::create_dir(&temporary)?;
    let status = std::process::Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(HOME, home.path())
        .env("TMPDIR", temporary)
        .env("RBENCH_CACHE_DIR", home.path().join("cache"))
        .status()?;
    Ok(status.success())
}

struct Trials {
    home: PathBuf,
    file: PathBuf,
    tally: Tally,
    random: Random,
}

impl Trials {
    /// Writes the file of faults; with `once`, for one process of each version.
    fn prepare(&self, faults: &[Fault; 2], once: bool) -> Result<(), Box<dyn Error>> {
        for version in ["BASE", "HEAD"] {
            let _ = fs::remove_file(format!("{}.{version}", self.file.display()));
        }
        let cannot = |error| format!("cannot write {}: {error}", self.file.display());
        Ok(fs::write(&self.file, file(faults, once)).map_err(cannot)?)
    }

    fn in_this_process(
        &mut self,
        tree: &Path,
        count: usize,
        is_confined: bool,
    ) -> Result<(), Box<dyn Error>> {
        // Each trial with a fault that runs to the deadline takes several deadlines.
        let written = is_confined.then_some(&*self.home);
        let cli = Cli::parse_words(&compare_words(Duration::from_secs(1), written))?;
        command::sandbox::decide(&cli)?;
        let Some(Command::Compare(args)) = cli.command else {
            return Err("the words are not those of a comparison".into());
        };
        let config = &args.experiment.target.project.config;
        let project = Project::find(Some(&tree.join("Cargo.toml")), config)?;
        let (mode, stopping) = (Mode::Interleaved, StoppingRule::SingleAnalysis);
        let purpose = Purpose::Comparison { mode, stopping };
        let settings = ExperimentSettings::resolve(&project, &args.experiment, purpose);
        let interrupt = Interrupt::new()?;
        let runner = Runner::open(&project, settings, &interrupt, &Silent)?;
        let revisions = ["HEAD~1", "HEAD"].map(|revision| project.repository.resolve(revision));
        let [base, head] = revisions;
        let versions = [runner.list(base?)?, runner.list(head?)?];
        let benchmarks = versions[0].benchmarks();
        let builds =
            runner.link(&versions, &benchmarks, runner.first_seeds(&versions, &benchmarks))?;
        let mut executables = Vec::new();
        for (version, builds) in versions.iter().zip(&builds.versions) {
            let listed = version.listing.targets.first().ok_or("no target")?;
            let target = builds.targets.first().ok_or("no build")?;
            let path = target.builds.first().ok_or("no build")?.executable.clone();
            let directory = self.home.clone();
            executables.push(Executable { path, directory, ..listed.executable.clone() });
        }
        let executables = executables.try_into().map_err(|_| "two versions")?;
        let homes = [self.home.clone(), self.home.clone()];
        let pairs = Pairs::new(executables, homes, &self.home)?;
        let whole = Whole {
            runner: &runner,
            versions: &versions,
            builds: &builds,
            benchmarks,
            executions: EXECUTIONS,
        };
        // Afterwards the iterations are known.
        self.prepare(&[Fault::NONE; 2], false)?;
        whole.throw(&[Fault::NONE; 2], false)?;
        let left = Left::watching(&self.home, &std::env::temp_dir());
        let scratch = tree.parent().ok_or("no parent")?;
        let left = [left, Left::watching(scratch, &std::env::temp_dir())];
        for number in 0..count {
            self.one_in_this_process(number, &pairs, &whole, &left)?;
        }
        Ok(())
    }

    fn one_in_this_process(
        &mut self,
        number: usize,
        pairs: &Pairs,
        whole: &Whole<'_>,
        left: &[Left; 2],
    ) -> Result<(), Box<dyn Error>> {
        let is_whole = number % 3 == 2;
        // An experiment has many executions, and one that hangs is tried in several ways.
        let wanted = |kind: &Kind| !(is_whole && kind.is_slow) || number % 30 == 2;
        let faults = Fault::draw_pair(&mut self.random, wanted);
        let once = is_whole && self.random.chance(0.3);
        let interrupted = !is_whole && self.random.chance(0.15);
        self.prepare(&faults, once)?;
        let kill = || left.iter().for_each(Left::kill);
        let (found, hung) = watched(patience::usual(PATIENCE), kill, || {
            if is_whole {
                whole.throw(&faults, once)
            } else {
                pairs.throw(&faults, interrupted, &mut self.random)
            }
        });
        let mut found = found?;
        if hung {
            found.push((Wrong::Hang, format!("it took more than {PATIENCE:?}")));
        }
        for left in left {
            found.extend(left.found().into_iter().map(|what| (Wrong::Left, what)));
            left.kill();
        }
        let (level, signal) = match (is_whole, once, interrupted) {
            (true, true, _) => ("whole", "once"),
            (true, false, _) => ("whole", ""),
            (false, _, true) => ("pair", "interrupt"),
            (false, _, false) => ("pair", ""),
        };
        self.tally.add_pair(level, &faults, signal, &found);
        Ok(())
    }

    fn by_the_program(
        &mut self,
        programs: &Programs,
        scratch: &Path,
        count: usize,
    ) -> Result<(), Box<dyn Error>> {
        let left = Left::watching(scratch, &std::env::temp_dir());
        for number in 0..count {
            let signal = match number % 6 {
                0 => Some(Signal::KILL),
                2 => Some(Signal::INT),
                4 => Some(Signal::TERM),
                _ => None,
            };
            // Processes that a benchmark itself started survive when rbench is killed.
            let wanted = |kind: &Kind| {
                !(kind.is_slow || signal == Some(Signal::KILL) && kind.leaves_processes)
            };
            let faults = Fault::draw_pair(&mut self.random, wanted);
            let once = signal.is_some() && self.random.chance(0.5);
            self.prepare(&faults, once)?;
            let mut found = programs.throw(&faults, once, signal, &mut self.random)?;
            found.extend(left.found().into_iter().map(|what| (Wrong::Left, what)));
            left.kill();
            let name = match signal {
                Some(Signal::KILL) => "SIGKILL",
                Some(Signal::INT) => "SIGINT",
                Some(_) => "SIGTERM",
                None => "",
            };
            self.tally.add_pair("program", &faults, name, &found);
        }
        println!();
        Ok(())
    }
}
