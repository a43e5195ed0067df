//! What is left when a comparison is killed at random moments, and whether the next one goes on there.
//!
//! `cargo run --release --example killed [KILLS] [SEED]` compares two versions of the fixture `compared`
//! again and again and kills it (SIGKILL), 50 times unless told otherwise: while it builds, in both stages
//! of measuring, and while it ends the experiment. After each kill the store must open and be whole,
//! have every execution that was there or was reported before, and no process may be left. In the
//! end every experiment must have exactly the executions of one that nobody disturbed. It fails if not.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    io::Read,
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use cargo_rbench::{
    model::{Slot, Stage},
    stats::Random,
    store::{ExperimentId, Store},
};
use support::Project;

mod support;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The comparison, with short executions.
const COMPARE: [&str; 15] = [
    "rbench",
    "compare",
    "HEAD~1",
    "HEAD",
    "--filter",
    "changing",
    "--strategy",
    "relink",
    "-l",
    "8",
    "-m",
    "2",
    "-n",
    "5",
    "--warm-up",
];
/// The warm-up.
const WARM_UP: &str = "5ms";

/// How long a process may take to go once rbench is killed: a compiler ends its file.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    support::program_and_rbench(|| run().map(|()| true))
}

fn run() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let kills: u32 = arguments.next().map_or(Ok(50), |text| text.parse())?;
    let mut random = Random::new(arguments.next().map_or(Ok(1), |text| text.parse())?);
    let trial = Trial::new()?;
    let start = Instant::now();
    let undisturbed = trial.undisturbed()?;
    let took = start.elapsed();
    println!("nobody disturbed: {} executions", undisturbed.len());

    let mut moments: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut lost, mut extra, mut late, mut left_over) = (0, 0, 0, Duration::ZERO);
    for number in 0.. {
        if moments.values().sum::<u32>() == kills {
            break;
        }
        let (moment, kept) = trial.kill(Aim::of(number, took, &mut random), &mut random)?;
        match moment {
            Some(moment) => *moments.entry(moment).or_default() += 1,
            None => late += 1,
        }
        lost += kept.lost;
        extra += kept.stored.difference(&undisturbed).count();
        left_over = left_over.max(kept.left_over);
    }
    trial.start(Stdio::null())?.wait()?;
    let all = trial.experiments()?;
    let differing = all.iter().filter(|one| **one != undisturbed).count();

    println!("killed {kills} times:");
    for (moment, count) in &moments {
        println!("{count:>6} {moment}");
    }
    println!("{late:>6} times it had ended before: not counted");
    println!("executions seen or reported before a kill and lost: {lost}");
    println!("executions that nobody planned:                     {extra}");
    println!("findings in the store after a kill:                 0");
    println!("longest that a process was left behind:             {left_over:.1?}");
    println!("experiments: {}, with other executions than one undisturbed: {differing}", all.len());
    if lost + extra + differing > 0 {
        return Err("something was lost, or measured twice".into());
    }
    Ok(())
}

/// What is to be hit.
#[derive(Clone, Copy)]
enum Aim {
    /// Whatever happens in so many seconds.
    Any(f64),
    /// A compilation or a link: everything is built anew.
    Building(f64),
    /// A moment after so many executions are stored.
    After(usize),
}

impl Aim {
    fn of(number: u32, took: Duration, random: &mut Random) -> Self {
        // What took so long was built from nothing.
        let took = took.as_secs_f64();
        match number % 5 {
            0 => Self::Building(0.5 * took * random.unit()),
            1 => Self::After(ALL),
            2 => Self::After(ALL / 2 + random.below(ALL / 2)),
            _ => Self::Any(0.5 * took * random.unit()),
        }
    }
}

/// The executions of the whole comparison: 2 stages × 2 versions × 8 builds × 2.
const ALL: usize = 64;

/// What was found after a kill.
struct Kept {
    stored: BTreeSet<Slot>,
    lost: usize,
    left_over: Duration,
}

/// The two versions, compared again and again.
struct Trial {
    project: Project,
}

impl Trial {
    fn new() -> Outcome<Self> {
        Ok(Self { project: Project::compared()? })
    }

    fn start(&self, stderr: Stdio) -> Outcome<Child> {
        Ok(Command::new(std::env::current_exe()?)
            .args(COMPARE)
            .arg(WARM_UP)
            .current_dir(self.project.tree.path())
            .env("RBENCH_CACHE_DIR", self.project.scratch().join("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()?)
    }

    fn undisturbed(&self) -> Outcome<BTreeSet<Slot>> {
        let status = self.start(Stdio::inherit())?.wait()?;
        let found = self.newest()?;
        if status.code() != Some(1) || found.len() != ALL {
            return Err(format!("{status} and {} executions", found.len()).into());
        }
        Ok(found)
    }

    /// Starts a comparison, kills it, and looks what is left: when that was, unless it had ended by itself,
    /// and what is kept.
    fn kill(&self, aim: Aim, random: &mut Random) -> Outcome<(Option<&'static str>, Kept)> {
        if let Aim::Building(_) = aim {
            std::fs::remove_dir_all(self.project.tree.path().join("target/rbench"))?;
        }
        let wanted = self.count()? + usize::from(self.is_finished()?);
        let mut child = self.start(Stdio::piped())?;
        match aim {
            Aim::Any(seconds) | Aim::Building(seconds) => {
                thread::sleep(Duration::from_secs_f64(seconds));
            }
            Aim::After(executions) => {
                while child.try_wait()?.is_none()
                    && (self.count()? < wanted || self.newest()?.len() < executions)
                {
                    thread::sleep(Duration::from_millis(1));
                }
                thread::sleep(Duration::from_secs_f64(0.002 * random.unit()));
            }
        }
        let before = self.experiments()?;
        child.kill()?;
        let ended = child.wait()?;
        let killed = Instant::now();
        let mut said = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut said)?;
        }
        while !self.left_over().is_empty() {
            if killed.elapsed() > PATIENCE {
                return Err(format!("left behind: {:?}", self.left_over()).into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        let left_over = killed.elapsed();
        let findings = self.store()?.check()?;
        if !findings.is_empty() {
            return Err(format!("the store is damaged: {findings:?}").into());
        }
        let stored = self.newest()?;
        let after = self.experiments()?;
        let seen =
            before.iter().zip(&after).map(|(before, after)| before.difference(after).count());
        let lost = seen.sum::<usize>() + missing(&said, &stored);
        let moment = match () {
            () if self.is_finished()? && said.contains("measured") => {
                "after the end of the experiment"
            }
            () if stored.len() == ALL && said.contains("measured") => {
                "while the experiment was ended"
            }
            () if said.contains("with fresh layouts") => "in the second stage",
            () if said.contains("measured") => "in the first stage",
            () if said.contains("compiling") || said.contains("linked") => "while building",
            () => "before or between: reading git, listing, first executions",
        };
        let moment = ended.code().is_none().then_some(moment);
        Ok((moment, Kept { stored, lost, left_over }))
    }

    fn store(&self) -> Outcome<Store<'static>> {
        Ok(Store::open(&self.project.tree.path().join(".rbench/results.sqlite"), &|| {})?)
    }

    /// The slots of the newest experiment.
    fn newest(&self) -> Outcome<BTreeSet<Slot>> {
        let store = self.store()?;
        let newest = store.experiments()?.pop();
        newest.map_or(Ok(BTreeSet::new()), |experiment| slots(&store, experiment.id))
    }

    fn count(&self) -> Outcome<usize> {
        Ok(self.store()?.experiments()?.len())
    }

    fn is_finished(&self) -> Outcome<bool> {
        let experiments = self.store()?.experiments()?;
        Ok(experiments.last().is_some_and(|experiment| experiment.finished.is_some()))
    }

    /// The slots of every experiment.
    fn experiments(&self) -> Outcome<Vec<BTreeSet<Slot>>> {
        let store = self.store()?;
        let experiments = store.experiments()?;
        experiments.iter().map(|experiment| slots(&store, experiment.id)).collect()
    }

    /// The processes that run something of the project, or for it.
    fn left_over(&self) -> Vec<String> {
        let scratch = self.project.scratch().display().to_string();
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        let own = std::process::id().to_string();
        let command_lines = processes.filter_map(|process| {
            let path = process.ok()?.path();
            path.file_name().filter(|id| *id != own.as_str())?;
            let executable = std::fs::read_link(path.join("exe")).ok()?;
            let directory = std::fs::read_link(path.join("cwd")).ok()?;
            let command_line = std::fs::read_to_string(path.join("cmdline")).ok()?;
            let all = format!("{} {} {command_line}", executable.display(), directory.display());
            all.contains(&scratch).then_some(all)
        });
        command_lines.collect()
    }
}

/// The slots of an experiment.
fn slots(store: &Store<'_>, experiment: ExperimentId) -> Outcome<BTreeSet<Slot>> {
    let mut slots = BTreeSet::new();
    for measured in store.measured_metrics(experiment)? {
        let rows = store.rows(&measured.benchmark, &[experiment])?.into_iter();
        slots.extend(rows.filter(|row| row.outcome.is_ok()).map(|row| row.slot));
    }
    Ok(slots)
}

/// How many executions are not stored that were said to be done: `measured 12 of 32 executions`, of
/// those that were left of a stage.
fn missing(said: &str, stored: &BTreeSet<Slot>) -> usize {
    let mut missing = 0;
    let stages = said.split("with fresh layouts");
    for (stage, said) in [Stage::First, Stage::Second].iter().zip(stages) {
        let last = said.lines().rfind(|line| line.starts_with("measured ")).unwrap_or_default();
        let mut numbers = last.split(' ').filter_map(|word| word.parse::<usize>().ok());
        let (Some(done), Some(left)) = (numbers.next(), numbers.next()) else { continue };
        let of_stage = stored.iter().filter(|slot| slot.stage == *stage).count();
        missing += ((ALL / 2).saturating_sub(left) + done).saturating_sub(of_stage);
    }
    missing
}
