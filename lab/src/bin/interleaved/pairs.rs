//! Pairs of executions of the same program, sequential and interleaved side by side.

use std::{
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

use cargo_rbench::{
    cli::{Cli, Command},
    config::{Purpose, StoppingRule},
    console::Console,
    harness::{Conditions, Executable},
    measure::{ExperimentSettings, Runner},
    model::{Benchmark, ExecutionRequest, Mode},
    process::{Interrupt, SavedHandler},
    project::Project,
};
use rbench_stats::Estimator;

use crate::{
    pair::{Pair, Subject},
    spread,
};

/// The number of measurements and the minimum time of one of them, in µs. Both have the default
/// duration of an interleaved execution: in the long measurements of `compare --mode sequential`,
/// and in the shorter ones of interleaving.
pub const LENGTHS: [(usize, u64); 2] = [(16, 5_000), (80, 1_000)];

/// A way to measure sequentially: the index of the measurements' length, and the estimator.
pub type Way = (usize, Estimator);

/// The pairs of one benchmark.
pub struct Pairs {
    /// The benchmark.
    pub name: String,
    /// Sequential pairs, in each of the lengths.
    alone: [Vec<Pair>; 2],
    /// Interleaved pairs, in short measurements.
    interleaved: Vec<Pair>,
    /// The mean number of switches between the versions in a pair.
    pub passed: f64,
    /// The duration of an interleaved pair divided by that of a sequential one.
    pub time: f64,
}

impl Pairs {
    /// The standard deviation of the log ratio of a sequential pair.
    pub fn alone(&self, (length, estimator): Way) -> f64 {
        spread::of_estimates(&self.alone[length], estimator)
    }

    /// The standard deviation of the log ratio of an interleaved pair, from the estimates of both
    /// executions.
    pub fn in_turns(&self, estimator: Estimator) -> f64 {
        spread::of_estimates(&self.interleaved, estimator)
    }

    /// The same, from the ratios of paired measurements.
    pub fn of_adjacent(&self) -> f64 {
        spread::of_adjacent(&self.interleaved)
    }

    /// The log ratio of the benchmark's interleaved time to its sequential time.
    pub fn against_alone(&self) -> f64 {
        let typical = |pairs: &[Pair]| {
            let estimator = Estimator::Median;
            let medians = pairs.iter().flatten().map(|values| spread::estimate(values, estimator));
            spread::estimate(&medians.collect::<Vec<_>>(), estimator)
        };
        (typical(&self.interleaved) / typical(&self.alone[1])).ln()
    }
}

/// Measures `count` pairs of each benchmark of a project.
pub fn measure(
    manifest: &Path,
    features: &[&str],
    count: usize,
) -> Result<Vec<Pairs>, Box<dyn Error>> {
    let project = Project::find(Some(manifest), &["build.strategy=relink".to_owned()])?;
    let mut words = vec!["compare", "-l", "2", "--config", "build.strategy=relink"];
    words.extend(features.iter().flat_map(|feature| ["--features", feature]));
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let Some(Command::Compare(args)) = Cli::parse_words(&words)?.command else {
        return Err("the words are not those of a comparison".into());
    };
    let purpose = Purpose::Comparison { mode: Mode::Sequential, stopping: StoppingRule::default() };
    let settings = ExperimentSettings::resolve(&project, &args.experiment, purpose);
    let (interrupt, console) = (Interrupt::on_signals(SavedHandler::Nothing)?, Console::attach());
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let versions = [runner.list(project.repository.resolve("HEAD")?)?];
    let benchmarks = versions[0].benchmarks();
    let builds = runner.link(&versions, &benchmarks, runner.first_seeds(&versions, &benchmarks))?;
    let library = runner.interleaving_library(&versions[0])?;
    let mut all = Vec::new();
    for listed in &versions[0].listing.targets {
        for benchmark in &listed.benchmarks {
            let target = builds.versions[0].target(&benchmark.bench_target());
            let build = target.and_then(|target| target.builds.first()).ok_or("no build")?;
            let executable =
                Executable { path: build.executable.clone(), ..listed.executable.clone() };
            let subject = Subject {
                harness: &*listed.harness,
                executable: &executable,
                home: builds.versions[0].home_of(0),
                name: &benchmark.name,
            };
            all.push(pairs_of(&subject, shown(benchmark), count, &library, &interrupt)?);
        }
    }
    Ok(all)
}

fn pairs_of(
    subject: &Subject<'_>,
    name: String,
    count: usize,
    library: &Path,
    interrupt: &Interrupt,
) -> Result<Pairs, Box<dyn Error>> {
    let free = Conditions::new(interrupt);
    let tuned = |(measurements, floor)| subject.tuned(request(measurements, floor), &free);
    let [long, short] = LENGTHS.map(tuned);
    let (long, short) = (long?, short?);
    let (alone, interleaved) = ([Vec::new(), Vec::new()], Vec::new());
    let mut pairs = Pairs { name, alone, interleaved, passed: 0.0, time: 0.0 };
    let (mut time_alone, mut time_in_turns) = (Duration::ZERO, Duration::ZERO);
    let directory = tempfile::tempdir()?;
    for number in 0..count {
        let both = subject.copies(directory.path())?;
        let with_seed = |request: &ExecutionRequest| ExecutionRequest {
            seed: number as u64,
            ..request.clone()
        };
        let (long, short) = (with_seed(&long), with_seed(&short));
        pairs.alone[0].push(subject.one_after_the_other(&both, &long, &free)?);
        let begin = Instant::now();
        pairs.alone[1].push(subject.one_after_the_other(&both, &short, &free)?);
        time_alone += begin.elapsed();
        let begin = Instant::now();
        let pinned = Conditions { cpu: Some(number % 2), ..free };
        let (pair, taken) = subject.in_turns(&both, &short, &pinned, library)?;
        time_in_turns += begin.elapsed();
        let passed = taken.iter().map(|taken| taken.passed).sum::<u64>();
        pairs.passed += passed as f64 / count as f64;
        pairs.interleaved.push(pair);
    }
    pairs.time = time_in_turns.as_secs_f64() / time_alone.as_secs_f64();
    Ok(pairs)
}

/// The request of each execution, except for the initial state.
fn request(measurements: usize, floor: u64) -> ExecutionRequest {
    ExecutionRequest {
        measurements,
        warm_up: Duration::from_millis(10),
        min_time: Duration::from_micros(floor),
        iterations: None,
        seed: 0,
    }
}

fn shown(benchmark: &Benchmark) -> String {
    format!("{}: {}", benchmark.target, benchmark.name.id)
}
