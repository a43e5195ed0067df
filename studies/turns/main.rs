//! What it would give to let both versions take turns at readings of the clock.
//!
//! `cargo run --release --example turns [PAIRS] [MANIFEST]` executes each benchmark of a project (of the
//! fixture `truth`, unless told otherwise) in pairs of the *same* executable, 12 unless told otherwise, in
//! two ways by turns: one whole execution after the other, as `compare` does, and both at once on one CPU,
//! each running only while it has the turn. So every difference within a pair is noise. It prints the standard
//! deviation of the log ratio of a pair, in %: for whole executions by the minimum and by that estimator and
//! length of measurements whose median over the benchmarks is least, for turns by the trimmed mean of each
//! execution and by the interquartile mean of the log ratios of neighbours.
//!
//! The executables are not changed: a library is preloaded that stands in for `clock_gettime`.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use cargo_rbench::{
    cli::{Cli, Command},
    console::Console,
    experiment::{ExperimentSettings, Runner},
    harness::{Conditions, Executable},
    model::{Benchmark, ExecutionRequest, Interleave},
    process::{Interrupt, Kept},
    project::Project,
    stats::{Estimator, median},
};

use library::Library;
use pair::{Pair, Subject};

mod library;
mod pair;
mod spread;
#[path = "../support/mod.rs"]
mod support;

/// How long a turn lasts at least.
const QUANTUM: Duration = Duration::from_micros(300);

/// Measurements and the floor of one of them, in µs: as `compare` does, and the same time in shorter pieces.
const LONG: (usize, u64) = (10, 5_000);
/// See [`LONG`].
const SHORT: (usize, u64) = (50, 1_000);

fn main() -> ExitCode {
    support::program(|| run().map(|()| true))
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let pairs: usize = words.next().map_or(Ok(12), |text| text.parse())?;
    if let Some(manifest) = words.next() {
        return study(&PathBuf::from(manifest), pairs);
    }
    let fixture = support::Project::of_fixture("truth")?;
    study(&fixture.tree.path().join("Cargo.toml"), pairs)
}

fn study(manifest: &Path, pairs: usize) -> Result<(), Box<dyn Error>> {
    let project = Project::find(Some(manifest))?;
    let words = ["compare", "-l", "2", "--strategy", "relink"].map(str::to_owned);
    let Command::Compare(args) = Cli::of_words(&words)?.command else {
        return Err("the words are not those of a comparison".into());
    };
    let alone = Interleave::Executions;
    let settings = ExperimentSettings::resolve(&project.file, &args.experiment, alone)?;
    let (interrupt, console) = (Interrupt::on_signals(Kept::Nothing)?, Console::new(false));
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let versions = [runner.list(project.repository.resolve("HEAD")?)?];
    let builds = runner.link(&versions, runner.first_seeds(&versions[0].benchmarks()))?;
    let library = Library::compile()?;
    let conditions = |cpu| Conditions { cpu, ..Conditions::new(&interrupt) };
    let mut all = Vec::new();
    for listed in &versions[0].listing.targets {
        for benchmark in &listed.benchmarks {
            let target = builds.versions[0].target(&benchmark.bench_target());
            let build = target.and_then(|target| target.builds.first()).ok_or("no build")?;
            let executable =
                Executable { path: build.executable.clone(), ..listed.executable.clone() };
            let subject = Subject {
                harness: &*listed.harness,
                executables: [&executable; 2],
                name: &benchmark.name,
            };
            match measured(&subject, pairs, &library, &conditions) {
                Ok(measured) => all.push((shown(benchmark), measured)),
                Err(error) => println!("{}: {error}", shown(benchmark)),
            }
        }
    }
    print(&all);
    Ok(())
}

/// A way to measure one after the other: which length of measurements, and which estimator.
type Way = (usize, Estimator);

/// The way whose median standard deviation over all benchmarks is least.
fn best_way(all: &[(String, Measured)]) -> Way {
    let ways = [0, 1].into_iter().flat_map(|length| Estimator::ALL.map(|one| (length, one)));
    let median_of = |way: &Way| {
        median(&mut all.iter().map(|(_, measured)| measured.alone(*way)).collect::<Vec<_>>())
    };
    let best = ways.min_by(|one, other| median_of(one).total_cmp(&median_of(other)));
    best.unwrap_or((0, Estimator::Minimum))
}

fn print(all: &[(String, Measured)]) {
    let best = best_way(all);
    let (measurements, floor) = [LONG, SHORT][best.0];
    let best_name = format!("{} {measurements} x {floor} us", best.1);
    println!(
        "{:<30} {:>9} {:>25} {:>9} {:>9} {:>6} {:>7} {:>6}",
        "", "minimum", best_name, "turns", "pairwise", "gain", "passed", "time"
    );
    let mut gains = Vec::new();
    for (name, measured) in all {
        let minimum = measured.alone((0, Estimator::Minimum));
        let (alone, pairwise) = (measured.alone(best), spread::of_neighbours(&measured.turns));
        let each = spread::of_estimates(&measured.turns, Estimator::TrimmedMean);
        gains.push(alone / pairwise);
        println!(
            "{name:<30} {:>9.2} {:>25.2} {:>9.2} {:>9.2} {:>6.1} {:>7.0} {:>6.2}",
            1e2 * minimum,
            1e2 * alone,
            1e2 * each,
            1e2 * pairwise,
            alone / pairwise,
            measured.passed,
            measured.time,
        );
    }
    println!(
        "gain: median {:.1}, of {} benchmarks {} below 1",
        median(&mut gains),
        gains.len(),
        gains.iter().filter(|gain| **gain < 1.0).count()
    );
}

/// The pairs of one benchmark.
struct Measured {
    /// One after the other: in long measurements, and in short ones.
    alone: [Vec<Pair>; 2],
    /// In turns, in short measurements.
    turns: Vec<Pair>,
    /// How often the turn was passed in a pair, on average.
    passed: f64,
    /// How long a pair in turns took, in times of one after the other.
    time: f64,
}

fn measured<'c>(
    subject: &Subject<'_>,
    pairs: usize,
    library: &Library,
    conditions: &dyn Fn(Option<usize>) -> Conditions<'c>,
) -> Result<Measured, Box<dyn Error>> {
    let (free, pinned) = (conditions(None), conditions(Some(0)));
    let [long, short] = [LONG, SHORT].map(|(measurements, floor)| {
        let request = request(measurements, floor);
        subject.tuned(request, &free)
    });
    let (long, short) = (long?, short?);
    let mut measured =
        Measured { alone: [Vec::new(), Vec::new()], turns: Vec::new(), passed: 0.0, time: 0.0 };
    let (mut alone, mut in_turns) = (Duration::ZERO, Duration::ZERO);
    for number in 0..pairs {
        let seed = number as u64;
        let [long, short] =
            [&long, &short].map(|request| ExecutionRequest { seed, ..request.clone() });
        measured.alone[0].push(subject.one_after_the_other(&long, &free, number % 2)?);
        let begin = Instant::now();
        measured.alone[1].push(subject.one_after_the_other(&short, &free, number % 2)?);
        alone += begin.elapsed();
        let begin = Instant::now();
        let (pair, taken) = subject.in_turns(&short, &pinned, library, QUANTUM)?;
        in_turns += begin.elapsed();
        measured.passed += taken.passed.iter().sum::<u64>() as f64 / pairs as f64;
        measured.turns.push(pair);
    }
    measured.time = in_turns.as_secs_f64() / alone.as_secs_f64();
    Ok(measured)
}

/// What each execution is asked, but for the initial state.
fn request(measurements: usize, floor: u64) -> ExecutionRequest {
    ExecutionRequest {
        measurements,
        warm_up: Duration::from_millis(10),
        floor: Duration::from_micros(floor),
        iterations: None,
        seed: 0,
    }
}

impl Measured {
    /// The standard deviation one after the other.
    fn alone(&self, (length, estimator): Way) -> f64 {
        spread::of_estimates(&self.alone[length], estimator)
    }
}

fn shown(benchmark: &Benchmark) -> String {
    format!("{}: {}", benchmark.target, benchmark.name.id)
}
