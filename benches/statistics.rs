//! Times the statistics, as ratios to the least work that any program must do with the same values.
//!
//! Components, three-level intervals and comparison of 1,000 benchmarks × 2 versions × 10 builds ×
//! 5 executions × 100 measurements already in memory, on all cores: by the mean against one plain
//! pass that sums the same values; by any other estimator against selecting its order statistic in
//! every execution with the standard library. Each time is the least of several interleaved
//! repetitions.
//!
//! Run it with `cargo bench --bench statistics`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use cargo_rbench::model::Metric;
use rayon::prelude::*;
use rbench_stats::{
    Comparison, Components, Estimator, Interval, InvalidMeasurement, Measurements, Pairing, Random,
    Summary,
};

const BENCHMARKS: u64 = 1_000;
const BUILDS: u64 = 10;
const EXECUTIONS: usize = 5;
const MEASUREMENTS: usize = 100;

const REPETITIONS: usize = 15;
const LIMIT: f64 = 3.0;

/// Base and head of one benchmark.
type Versions = [Measurements; 2];

/// The least work with the same values.
#[derive(Clone, Copy)]
enum Floor {
    /// One plain pass: `values.iter().sum()`, one addition after the other.
    Sum,
    /// The same pass in eight independent sums, which the compiler turns into vectors: about as
    /// fast as memory.
    SumInLanes,
    /// `select_nth_unstable` of this index in every execution.
    Select(usize),
}

/// The trimmed mean needs two order statistics; it is compared with selecting the first alone.
const ROWS: [(Estimator, Floor, &str); 6] = [
    (Estimator::Mean, Floor::Sum, "one plain sum"),
    (Estimator::Mean, Floor::SumInLanes, "one sum in 8 parallel"),
    (Estimator::TrimmedMean, Floor::Select(MEASUREMENTS / 5), "select 1/5"),
    (Estimator::Median, Floor::Select(MEASUREMENTS / 2), "select 1/2"),
    (Estimator::LowerQuartile, Floor::Select(MEASUREMENTS / 4), "select 1/4"),
    (Estimator::Minimum, Floor::Select(0), "select first"),
];

fn main() -> Result<(), InvalidMeasurement> {
    let benchmarks: Vec<Versions> = (0..BENCHMARKS).map(benchmark).collect::<Result<_, _>>()?;
    let values: usize = benchmarks.iter().flatten().map(|version| version.values().len()).sum();
    println!("{values} measurements, {} threads; ms", rayon::current_num_threads());
    println!("{:15} {:>8} {:>8}  ratio (at most {LIMIT})", "estimator", "judging", "floor");
    for (estimator, floor, floor_name) in ROWS {
        let mut least = [Duration::MAX; 2];
        for _ in 0..REPETITIONS {
            least[0] = least[0].min(time(|| compare_all(&benchmarks, estimator)));
            least[1] = least[1].min(time(|| pass(&benchmarks, floor)));
        }
        let [judging, floor] = least.map(|time| time.as_secs_f64() * 1e3);
        let ratio = judging / floor;
        let ok = if ratio <= LIMIT { "ok" } else { "too slow" };
        println!(
            "{:15} {judging:8.2} {floor:8.2}  {ratio:.2} {ok} ({floor_name})",
            estimator.name()
        );
    }
    Ok(())
}

/// Skewed measurements of about 1 µs, whose builds and executions differ too.
fn benchmark(index: u64) -> Result<Versions, InvalidMeasurement> {
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

/// The timed work: everything between measurements and verdict.
fn compare_all(benchmarks: &[Versions], estimator: Estimator) -> f64 {
    benchmarks.par_iter().map(|versions| compare(versions, estimator)).sum()
}

fn compare(versions: &Versions, estimator: Estimator) -> f64 {
    let [base, head] = versions.each_ref().map(|data| Summary::compute(data, estimator));
    for version in [&base, &head] {
        black_box(Components::estimate(version));
        black_box(Interval::three_level(version, 0.95).ok());
    }
    let comparison = Comparison::new(&base, &head, Pairing::BySeed, 0.05);
    comparison.map_or(f64::NAN, |comparison| comparison.p)
}

/// The reference for the timed work.
fn pass(benchmarks: &[Versions], floor: Floor) -> f64 {
    let versions = benchmarks.par_iter().flatten();
    match floor {
        Floor::Sum => versions.map(|version| version.values().iter().sum::<f64>()).sum(),
        Floor::SumInLanes => versions.map(|version| sum_in_lanes(version.values())).sum(),
        Floor::Select(index) => versions
            .map_init(Vec::new, |scratch, version| select_in_all(version, index, scratch))
            .sum(),
    }
}

fn sum_in_lanes(values: &[f64]) -> f64 {
    let mut parallel = [0.0; 8];
    for chunk in values.as_chunks::<8>().0 {
        for (lane, value) in parallel.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    parallel.iter().sum()
}

fn select_in_all(version: &Measurements, index: usize, scratch: &mut Vec<f64>) -> f64 {
    let executions = version.values().chunks_exact(MEASUREMENTS);
    executions
        .map(|values| {
            scratch.clear();
            scratch.extend_from_slice(values);
            *scratch.select_nth_unstable_by(index, f64::total_cmp).1
        })
        .sum()
}
