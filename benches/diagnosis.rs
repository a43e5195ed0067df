//! Times a diagnosis of 10 builds × 10 executions × 20,000 measurements on one core, and its
//! memory, as ratios to their limits.
//!
//! Run it with `cargo bench --bench diagnosis`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::{error::Error, fs, hint::black_box, time::Instant};

use cargo_rbench::model::Metric;
use rbench_stats::{
    Measurements, Random,
    diagnosis::{Options, diagnose},
};

const BUILDS: u64 = 10;
const EXECUTIONS: usize = 10;
const MEASUREMENTS: usize = 20_000;

const SECONDS: f64 = 5.0;
const MEBIBYTES: f64 = 500.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut random = Random::new(2011);
    let mut execution = || {
        let center = 1000.0 * (1.0 + 0.002 * random.normal());
        (0..MEASUREMENTS).map(|_| center * (1.0 + 0.01 * random.normal())).collect::<Vec<f64>>()
    };
    let mut build = |seed| (seed, (0..EXECUTIONS).map(|_| execution()).collect::<Vec<_>>());
    let data = Measurements::new(Metric::wall(), (0..BUILDS).map(&mut build))?;
    let start = Instant::now();
    let diagnosis = black_box(diagnose(black_box(&data), &Options::default())?);
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} warnings, {seconds:.2} s: {:.2} of {SECONDS} s",
        diagnosis.warnings.len(),
        seconds / SECONDS
    );
    let mebibytes = peak()?;
    println!("{mebibytes:.0} MiB at most: {:.2} of {MEBIBYTES} MiB", mebibytes / MEBIBYTES);
    Ok(())
}

/// The peak memory of this process.
fn peak() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: f64 = line.ok_or("no peak")?.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes / 1024.0)
}
