//! Measures the size of a store, and the time of reading a history from it.
//!
//! Fills a store with C commits × B benchmarks × 10 builds × 2 executions × 10 measurements, each
//! commit a separate experiment; prints the size of the file per double measured and that of the
//! documents, and the time of storing one execution, of one benchmark's whole history, of the reads for comparing a pair of
//! versions, and of the command `history` in a repository with these commits.
//!
//! `cargo bench --bench store -- [C] [B] [clock|any] [DIR]`: `clock` makes measurements as
//! harnesses do, whole nanoseconds divided by iterations; `any` uses doubles with all their bits
//! random. The repository with its store is kept if DIR is given, which must be empty.
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::{
    hint::black_box,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

mod project;

use cargo_rbench::{
    error::{Context, Exit, Result},
    model::{
        BenchTarget, Benchmark, Execution, ExecutionRequest, ExperimentPlan, Layout, LayoutSeed,
        Machine, Metric, Name, PlannedBenchmark, PlannedVersion, Resources, SampleSizes, Schedule,
        Series, Slot, Stage, Version,
    },
    store::{ExperimentId, RecordedBuild, Store},
};
use project::Project;
use rbench_code::elf::Digest;
use rbench_stats::Random;

const BUILDS: u32 = 10;
const EXECUTIONS: u32 = 2;
const MEASUREMENTS: usize = 10;
const BENCHMARKS_PER_TARGET: usize = 10;

const DIMENSIONS: SampleSizes = SampleSizes {
    first_analysis: None,
    builds: BUILDS as usize,
    executions: EXECUTIONS as usize,
    measurements: MEASUREMENTS,
};

fn main() -> Result<()> {
    // Cargo itself adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |index: usize, default| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (commits, benchmarks) = (number(0, 100), number(1, 20));
    let clock = arguments.get(2).is_none_or(|kind| kind != "any");
    let directory = tempfile::tempdir().context(Exit::Internal, || "cannot make a directory")?;
    let root = arguments.get(3).map_or(directory.path().to_owned(), PathBuf::from);
    let project = Project::new(root, commits)?;
    let path = project.store();
    let store = Store::open(&path, &|| {})?;
    let benchmarks: Vec<Benchmark> = (0..benchmarks).map(benchmark).collect();

    let filling = time(|| fill(&store, &project.versions, &benchmarks, clock))?;
    let doubles = commits * benchmarks.len() * (BUILDS * EXECUTIONS) as usize * MEASUREMENTS;
    println!("{commits} commits × {} benchmarks: {doubles} doubles", benchmarks.len());
    println!("filled in                 {filling:>10.1?}");
    let one = time(|| record_some(&store, &project.versions[0], &benchmarks[0]))? / RECORDED;
    println!("storing one execution     {one:>10.1?}  until it is on the disk");
    drop(store);

    println!(
        "bytes per byte of doubles {:>10.2}  about 1 as clocks give them",
        size(&path)? / (8 * doubles) as f64
    );
    let store = Store::open(&path, &|| {})?;
    let all = store.experiments()?;
    let documents = all.iter().filter(|one| one.finished.is_some()).map(|one| store.document(one));
    let documents = documents.map(|document| Ok(document?.len())).sum::<Result<usize>>()?;
    println!(
        "bytes of all documents    {:>10.2}  of those of the store; at most 1.1",
        documents as f64 / size(&path)?
    );
    let ids: Vec<ExperimentId> = all.iter().map(|one| one.id).collect();
    let history = least(|| store.rows(&benchmarks[0], &ids))?;
    println!("history of one benchmark  {history:>10.1?}  about 100 ms for 10,000 commits");
    let experiments = least(|| store.experiments())?;
    println!("list of experiments       {experiments:>10.1?}");
    let newest = &ids[ids.len().saturating_sub(2)..];
    let two =
        least(|| benchmarks.iter().map(|one| store.rows(one, newest)).collect::<Result<Vec<_>>>())?;
    println!("all benchmarks' newest two{two:>10.1?}  at most 1 s for 100 benchmarks");
    let measured =
        least(|| ids.iter().map(|id| store.measured_metrics(*id)).collect::<Result<Vec<_>>>())?;
    println!("metrics of all experiments{measured:>10.1?}");
    drop(store);
    let one = ["--exact", benchmarks[0].name.id.as_str()];
    for (what, arguments) in
        [("20 versions ", &one[..]), ("all versions", &[&one[..], &["--last", "10000"]].concat())]
    {
        let took = least_of(|| project.history(arguments))?;
        println!(
            "`history`, {what}   {took:>10.1?}  {:.2} of 100 ms, of one benchmark",
            took.as_secs_f64() / 0.1
        );
    }
    Ok(())
}

fn fill(
    store: &Store<'_>,
    versions: &[Version],
    benchmarks: &[Benchmark],
    clock: bool,
) -> Result<()> {
    for (commit, version) in versions.iter().enumerate() {
        let experiment = store.begin(&plan(version, benchmarks))?;
        let mut random = Random::stream(1, commit as u64);
        let mut start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let seeds = LayoutSeed::list(1, BUILDS);
        let targets: Vec<BenchTarget> = (0..benchmarks.len().div_ceil(BENCHMARKS_PER_TARGET))
            .map(|target| BenchTarget { package: "p".to_owned(), target: format!("t{target}") })
            .collect();
        let builds = targets.iter().flat_map(|target| {
            seeds.iter().enumerate().map(move |(index, seed)| {
                let digest = Digest::compute(&[commit, index].map(usize::to_le_bytes).concat());
                let (target, seed, layout) = (target.clone(), *seed, Layout::SameOrder);
                RecordedBuild { version: 0, target, seed, layout, digest }
            })
        });
        store.record_builds(experiment, builds)?;
        let mut executions = Vec::new();
        for round in 0..EXECUTIONS {
            for seed in &seeds {
                for benchmark in benchmarks {
                    let slot = Slot { version: 0, stage: Stage::First, round, seed: *seed };
                    let execution = execution(&mut random, start, clock);
                    start += Duration::from_millis(
                        1 + whole(execution.resources.wall.as_secs_f64() * 1e3),
                    );
                    executions.push((benchmark, slot, execution));
                }
            }
        }
        let executions =
            executions.iter().map(|(one, slot, execution)| (*one, *slot, Ok(execution)));
        store.record_executions(experiment, executions)?;
        store.finish(experiment)?;
    }
    Ok(())
}

const RECORDED: u32 = 200;

fn record_some(store: &Store<'_>, version: &Version, benchmark: &Benchmark) -> Result<()> {
    let experiment = store.begin(&plan(version, &[]))?;
    let mut random = Random::stream(2, 0);
    for round in 0..RECORDED {
        let slot = Slot { version: 0, stage: Stage::First, round, seed: LayoutSeed::derive(1, 0) };
        let execution = execution(&mut random, SystemTime::UNIX_EPOCH, true);
        store.record_execution(experiment, benchmark, slot, Ok(&execution))?;
    }
    Ok(())
}

fn benchmark(index: usize) -> Benchmark {
    let target = format!("t{}", index / BENCHMARKS_PER_TARGET);
    let name = Name::plain(format!("group/function/{index}"));
    Benchmark { package: "p".to_owned(), target, name }
}

fn planned(benchmark: &Benchmark) -> PlannedBenchmark {
    PlannedBenchmark { benchmark: benchmark.clone(), sample_sizes: DIMENSIONS }
}

fn plan(version: &Version, benchmarks: &[Benchmark]) -> ExperimentPlan {
    let version = version.clone();
    ExperimentPlan {
        versions: vec![PlannedVersion { version, toolchain: "rustc 1.95.0 ".repeat(10) }],
        benchmarks: benchmarks.iter().map(planned).collect(),
        machine: Machine {
            cpu: "Example 9000".to_owned(),
            cores: 2,
            memory: 1 << 33,
            os: "linux".to_owned(),
            architecture: "x86_64".to_owned(),
            id: "0123".to_owned(),
            class: String::new(),
        }
        .into(),
        rbench: "0.1.0".to_owned(),
        settings: "{\"a\": 1}".repeat(100).into(),
        settings_key: "k".into(),
        sample_sizes: DIMENSIONS,
        seed: 1,
    }
}

/// An execution of about 10 ms, with resources as noisy as real ones.
fn execution(random: &mut Random, start: SystemTime, clock: bool) -> Execution {
    const ITERATIONS: u64 = 4_567;
    let mut noisy = |center: f64, noise: f64| center * (1.0 + noise * random.unit());
    let micros = |value: f64| Duration::from_micros(whole(value));
    let center = noisy(219.0, 0.05);
    let values = (0..MEASUREMENTS)
        .map(|_| match (noisy(center, 0.02), clock) {
            (value, true) => (value * ITERATIONS as f64).round() / ITERATIONS as f64,
            (value, false) => value,
        })
        .collect();
    let wall = noisy(112e3, 0.05);
    Execution {
        asked: ExecutionRequest {
            measurements: MEASUREMENTS,
            warm_up: Duration::from_millis(100),
            min_time: Duration::from_millis(1),
            iterations: Some(ITERATIONS),
            seed: noisy(0.5, 1.0).to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48,
        },
        series: vec![Series {
            metric: Metric::wall(),
            values,
            iterations: vec![ITERATIONS; MEASUREMENTS],
            resolution: 0.0,
        }],
        throughput: vec![],
        warm_up: Some(micros(noisy(100e3, 0.01))),
        resources: Resources {
            start,
            wall: micros(wall),
            user: micros(noisy(109e3, 0.05)),
            system: micros(noisy(1e3, 1.0)),
            peak_memory: Some(whole(noisy(1000.0, 0.1)) * 4096),
            voluntary_switches: whole(noisy(3.0, 0.5)),
            involuntary_switches: whole(noisy(9.0, 1.0)),
            at_end: None,
        },
        schedule: Schedule::NotRequested,
        alone: None,
        incidents: Vec::new(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the values are some orders of magnitude from the limits"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

fn size(path: &Path) -> Result<f64> {
    let metadata =
        path.metadata().context(Exit::Internal, || format!("cannot read {}", path.display()))?;
    Ok(metadata.len() as f64)
}

fn time<T>(work: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let start = Instant::now();
    let result = black_box(work()?);
    let took = start.elapsed();
    drop(result);
    Ok(took)
}

/// The least time of several runs, because the file is in memory after the first.
fn least<T>(mut work: impl FnMut() -> Result<T>) -> Result<Duration> {
    least_of(|| time(&mut work))
}

/// The least of several times.
fn least_of(mut took: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..5 {
        least = least.min(took()?);
    }
    Ok(least)
}
