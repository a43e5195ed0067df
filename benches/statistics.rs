//! How long judging takes, as ratios to the least that any program must do with the same values.
//!
//! Components, three-level intervals and comparison of 1,000 benchmarks × 2 versions × 10 builds × 5
//! executions × 100 measurements already in memory, on all cores: by the mean against one plain pass
//! that sums the same values; by any other estimator against selecting its order statistic in every
//! execution with the standard library. Each time is the least of several interleaved repetitions.
//!
//! Run it with `cargo bench --bench statistics`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use cargo_rbench::{
    model::Metric,
    stats::{
        Comparison, Components, Estimator, Interval, Measurements, Misfit, Pairing, Random, Summary,
    },
};
use rayon::prelude::*;

const BENCHMARKS: u64 = 1_000;
const BUILDS: u64 = 10;
const EXECUTIONS: usize = 5;
const MEASUREMENTS: usize = 100;

const REPETITIONS: usize = 15;
const LIMIT: f64 = 3.0;

/// Base and head of one benchmark.
type Versions = [Measurements; 2];

fn main() -> Result<(), Misfit> {
    let benchmarks: Vec<Versions> = (0..BENCHMARKS).map(benchmark).collect::<Result<_, _>>()?;
    let values = BENCHMARKS as usize * 2 * BUILDS as usize * EXECUTIONS * MEASUREMENTS;
    println!("{values} measurements, {} threads, ms", rayon::current_num_threads());
    println!("{:15} {:>8} {:>8}  ratio (at most {LIMIT})", "estimator", "judging", "floor");
    for estimator in Estimator::ALL {
        let (mut judging, mut floor) = (Duration::MAX, Duration::MAX);
        for _ in 0..REPETITIONS {
            judging = judging.min(time(|| judge_all(&benchmarks, estimator)));
            floor = floor.min(time(|| floor_of(&benchmarks, estimator)));
        }
        let ratio = judging.as_secs_f64() / floor.as_secs_f64();
        let ok = if ratio <= LIMIT { "ok" } else { "too slow" };
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!("{:15} {:8.2} {:8.2}  {ratio:.2} {ok}", estimator.name(), ms(judging), ms(floor));
    }
    Ok(())
}

/// Skewed measurements of about 1 µs, whose builds and executions differ too.
fn benchmark(index: u64) -> Result<Versions, Misfit> {
    let mut random = Random::stream(10_000_000, index);
    let mut version = || {
        let builds: Vec<_> = (0..BUILDS).map(|seed| (seed, build(&mut random))).collect();
        Measurements::new(Metric::wall(), builds)
    };
    Ok([version()?, version()?])
}

fn build(random: &mut Random) -> Vec<Vec<f64>> {
    let center = 1000.0 * (1.0 + 0.02 * random.unit());
    let mut execution = || {
        let center = center * (1.0 + 0.01 * random.unit());
        (0..MEASUREMENTS).map(|_| center * (1.0 - 0.01 * (1.0 - random.unit()).ln())).collect()
    };
    (0..EXECUTIONS).map(|_| execution()).collect()
}

fn time(work: impl FnOnce() -> f64) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

/// What is measured: everything between measurements and verdict.
fn judge_all(benchmarks: &[Versions], estimator: Estimator) -> f64 {
    benchmarks.par_iter().map(|versions| judge(versions, estimator)).sum()
}

fn judge(versions: &Versions, estimator: Estimator) -> f64 {
    let [base, head] = versions.each_ref().map(|data| Summary::of(data, estimator));
    for version in [&base, &head] {
        black_box(Components::of(version));
        black_box(Interval::three_level(version, 0.95).ok());
    }
    let comparison = Comparison::new(&base, &head, Pairing::BySeed, 0.05);
    comparison.map_or(f64::NAN, |comparison| comparison.p)
}

/// What it is measured against.
fn floor_of(benchmarks: &[Versions], estimator: Estimator) -> f64 {
    let versions = benchmarks.par_iter().flat_map(|versions| versions.par_iter());
    match rank(estimator) {
        None => versions.map(|version| version.values().iter().sum::<f64>()).sum(),
        Some(rank) => versions
            .map_init(Vec::new, |scratch, version| select_in_all(version, rank, scratch))
            .sum(),
    }
}

/// The index of the order statistic that an estimator needs; of the first one for the trimmed mean,
/// which needs two.
fn rank(estimator: Estimator) -> Option<usize> {
    match estimator {
        Estimator::Mean => None,
        Estimator::TrimmedMean => Some(MEASUREMENTS / 5),
        Estimator::Median => Some(MEASUREMENTS / 2),
        Estimator::LowerQuartile => Some(MEASUREMENTS / 4),
        Estimator::Minimum => Some(0),
    }
}

fn select_in_all(version: &Measurements, rank: usize, scratch: &mut Vec<f64>) -> f64 {
    let executions = version.values().chunks_exact(MEASUREMENTS);
    executions
        .map(|values| {
            scratch.clear();
            scratch.extend_from_slice(values);
            *scratch.select_nth_unstable_by(rank, f64::total_cmp).1
        })
        .sum()
}
