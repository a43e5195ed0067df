//! The tables of docs/research/noise.md, "The estimator of a pair": how precise each would have been, from stored
//! measurements.
//!
//! `cargo run --release -p lab --bin estimators FILE…` reads files that `cargo rbench push FILE` wrote. The versions of a file
//! must not differ in what a benchmark executes: then all pairs of builds of a benchmark have the same change, and the
//! standard deviation over pairs of an estimate of it is the estimate's error.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{
    collections::BTreeMap,
    error::Error,
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;
use rbench_stats::{Estimator, Moments, Scratch, median, paired_ratio::log_ratio};
use serde::Deserialize;

/// The fewest pairs of builds of a benchmark.
const FEWEST: usize = 5;

#[derive(Parser)]
struct Options {
    /// Files that `cargo rbench push` wrote
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// A line of a file; others have no execution.
#[derive(Deserialize)]
struct Line {
    execution: Option<Execution>,
}

#[derive(Deserialize)]
struct Execution {
    benchmark: Benchmark,
    slot: Slot,
    metrics: Vec<Metric>,
}

#[derive(Clone, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Benchmark {
    target: String,
    id: String,
}

#[derive(Deserialize)]
struct Slot {
    version: usize,
    stage: String,
    seed: u64,
    round: u64,
}

#[derive(Deserialize)]
struct Metric {
    iterations: Vec<f64>,
    /// The times of whole measurements, where these are known: the first one in ns, and the difference of each from the one
    /// before.
    totals: Vec<f64>,
    /// Otherwise the times of an iteration in ns.
    measurements: Vec<f64>,
}

impl Metric {
    /// The times of an iteration.
    fn values(&self) -> Vec<f64> {
        if self.totals.is_empty() {
            return self.measurements.clone();
        }
        let mut total = 0.0;
        let iterations = self.iterations.iter().copied().cycle();
        let times = self.totals.iter().zip(iterations).map(|(difference, iterations)| {
            total += difference;
            total / iterations
        });
        times.collect()
    }
}

/// The measurements of base and head in one pair of executions.
type Pair = [Vec<f64>; 2];

/// An estimate of the change of a pair, as a logarithm.
type Estimate = fn(&Pair) -> f64;

const ESTIMATES: [(&str, Estimate); 10] = [
    ("fastest fifth of neighbours", |pair| fastest(pair, 5)),
    ("minimum", |pair| of_each(pair, Estimator::Minimum)),
    ("lower quartile", |pair| of_each(pair, Estimator::LowerQuartile)),
    ("mean", |pair| of_each(pair, Estimator::Mean)),
    ("trimmed mean of neighbours, 10 %", |pair| trimmed(ratios(pair), 10)),
    ("25 %", |pair| trimmed(ratios(pair), 25)),
    ("40 %", |pair| trimmed(ratios(pair), 40)),
    ("median of neighbours", |[base, head]| log_ratio(head, base)),
    ("Hodges-Lehmann of neighbours", |pair| hodges_lehmann(&ratios(pair))),
    ("median, each with both neighbours", |pair| median(&mut both_neighbours(pair))),
];

/// The place of the estimate that the others are compared with.
const REFERENCE: usize = 7;

/// The log ratios of neighbours.
fn ratios([base, head]: &Pair) -> Vec<f64> {
    base.iter().zip(head).map(|(base, head)| (head / base).ln()).collect()
}

/// Each measurement of the head, with those of the base before and after it.
fn both_neighbours([base, head]: &Pair) -> Vec<f64> {
    let around = base.windows(2).zip(head);
    around.map(|(base, head)| head.ln() - f64::midpoint(base[0].ln(), base[1].ln())).collect()
}

fn of_each([base, head]: &Pair, estimator: Estimator) -> f64 {
    let mut scratch = Scratch::default();
    (estimator.estimate(head, &mut scratch) / estimator.estimate(base, &mut scratch)).ln()
}

/// The mean of the neighbours that are fastest in both, one of this number of them.
fn fastest(pair: &Pair, of_each: usize) -> f64 {
    let [base, head] = pair;
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let (least_base, least_head) = (least(base), least(head));
    let mut ordered: Vec<(f64, f64)> = base
        .iter()
        .zip(head)
        .map(|(base, head)| ((base / least_base).max(head / least_head), (head / base).ln()))
        .collect();
    ordered.sort_by(|one, other| one.0.total_cmp(&other.0));
    let chosen = &ordered[..(ordered.len() / of_each).max(3).min(ordered.len())];
    chosen.iter().map(|(_, ratio)| ratio).sum::<f64>() / chosen.len() as f64
}

/// The mean without this percentage at each end.
fn trimmed(mut values: Vec<f64>, percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let cut = percent * values.len() / 100;
    let kept = &values[cut..values.len() - cut];
    kept.iter().sum::<f64>() / kept.len() as f64
}

fn hodges_lehmann(values: &[f64]) -> f64 {
    let with_later = |(place, one): (usize, &f64)| -> Vec<f64> {
        values[place..].iter().map(|other| f64::midpoint(*one, *other)).collect()
    };
    median(&mut values.iter().enumerate().flat_map(with_later).collect::<Vec<f64>>())
}

fn main() -> ExitCode {
    lab::end(run(&Options::parse()))
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let names = ESTIMATES.map(|(name, _)| name).join(" | ");
    println!("| file | benchmarks | {names} |");
    println!("|---|--:|{}", "--:|".repeat(ESTIMATES.len()));
    for path in &options.files {
        let mut relative = vec![Vec::new(); ESTIMATES.len()];
        let benchmarks = read(path)?;
        for pairs in benchmarks.values() {
            let errors = ESTIMATES.map(|(_, estimate)| {
                let estimates: Vec<f64> = pairs.iter().map(estimate).collect();
                Moments::compute(&estimates).standard_deviation().unwrap_or(f64::NAN)
            });
            for (all, error) in relative.iter_mut().zip(errors) {
                all.push((error / errors[REFERENCE]).ln());
            }
        }
        let means = relative.iter().map(|all| {
            let finite: Vec<f64> = all.iter().copied().filter(|one| one.is_finite()).collect();
            format!("{:.2}", (finite.iter().sum::<f64>() / finite.len() as f64).exp())
        });
        let name = path.file_stem().unwrap_or_default().display();
        println!("| {name} | {} | {} |", benchmarks.len(), means.collect::<Vec<_>>().join(" | "));
    }
    Ok(true)
}

/// The pairs of builds of each benchmark that has enough of them.
fn read(path: &Path) -> Result<BTreeMap<Benchmark, Vec<Pair>>, Box<dyn Error>> {
    let mut pairs: BTreeMap<_, Pair> = BTreeMap::new();
    for line in BufReader::new(File::open(path)?).lines() {
        let Line { execution: Some(execution) } = serde_json::from_str(&line?)? else { continue };
        let Execution { benchmark, slot, metrics } = execution;
        let place = (benchmark, slot.stage, slot.seed, slot.round);
        if let Some(metric) = metrics.first() {
            let of_version = pairs.entry(place).or_default().get_mut(slot.version);
            *of_version.ok_or("a version that is neither base nor head")? = metric.values();
        }
    }
    let mut benchmarks: BTreeMap<Benchmark, Vec<Pair>> = BTreeMap::new();
    for ((benchmark, ..), pair) in pairs {
        if pair[0].len() == pair[1].len() && pair[0].len() > 1 {
            benchmarks.entry(benchmark).or_default().push(pair);
        }
    }
    benchmarks.retain(|_, pairs| pairs.len() >= FEWEST);
    Ok(benchmarks)
}
