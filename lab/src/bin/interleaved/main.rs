//! The table of docs/research/interleaving.md, "Precision of a pair": the gain of interleaving both versions.
//!
//! `cargo run --release -p lab --bin interleaved` prints a table and the requirements, and exits
//! with an error if one is missed.
//!
//! The table is about pairs of executions of two copies of the *same* executable, so every
//! difference is noise: sequential and interleaved ones, side by side in the same wall time. It has
//! the standard deviation of the log ratio of a pair, in %. For sequential executions it uses the
//! minimum, and the estimator and length of measurements with the least median over the benchmarks.
//! For interleaved ones it uses the trimmed mean of each execution and, as comparisons do, the
//! interquartile mean of the log ratios of the fastest paired measurements (measurement i of both).
//!
//! The gain in whole comparisons is measured by the study `truth`.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{error::Error, path::PathBuf, process::ExitCode};

use clap::Parser;
use rbench_stats::{Estimator, median};

use bars::Bar;
use pairs::{LENGTHS, Pairs, Way};

mod bars;
mod pair;
mod pairs;
mod spread;

/// The options of the study.
#[derive(Debug, Parser)]
struct Options {
    /// Pairs of executions of each benchmark, in each mode.
    #[arg(long, default_value_t = 20)]
    pairs: usize,
    /// Pairs of the benchmarks of another project.
    #[arg(long)]
    manifest_path: Option<PathBuf>,
}

fn main() -> ExitCode {
    lab::program(|| run(&Options::parse()))
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let pairs = if let Some(manifest) = &options.manifest_path {
        pairs::measure(manifest, &[], options.pairs)?
    } else {
        let fixture = lab::Project::of_fixture("truth")?;
        let manifest = fixture.tree.path().join("Cargo.toml");
        pairs::measure(&manifest, &features(), options.pairs)?
    };
    let best = best_way(&pairs);
    print_pairs(&pairs, best);
    let bars = bars::of_pairs(&pairs, best);
    println!();
    for bar in &bars {
        println!("{}", bar.line());
    }
    Ok(bars.iter().all(Bar::is_reached))
}

/// libtest needs a nightly compiler, or one that passes for one.
fn features() -> Vec<&'static str> {
    if std::env::var_os("RUSTC_BOOTSTRAP").is_some() { vec!["libtest"] } else { Vec::new() }
}

/// The sequential way with the least median standard deviation over all benchmarks.
fn best_way(all: &[Pairs]) -> Way {
    let lengths = 0..LENGTHS.len();
    let ways = lengths.flat_map(|length| Estimator::ALL.map(|one| (length, one)));
    let median_of = |way: &Way| median(&mut all.iter().map(|p| p.alone(*way)).collect::<Vec<_>>());
    let best = ways.min_by(|one, other| median_of(one).total_cmp(&median_of(other)));
    best.unwrap_or((0, Estimator::Minimum))
}

fn print_pairs(all: &[Pairs], best: Way) {
    let (measurements, floor) = LENGTHS[best.0];
    let best_name = format!("{} {measurements} x {floor} us", best.1);
    println!(
        "{:<28} {:>9} {:>25} {:>7} {:>9} {:>6} {:>7} {:>6} {:>8}",
        "", "minimum", best_name, "interleaved", "pairwise", "gain", "passed", "time", "value"
    );
    for pairs in all {
        println!(
            "{:<28} {:>9.2} {:>25.2} {:>7.2} {:>9.2} {:>6.1} {:>7.0} {:>6.2} {:>+7.1}%",
            pairs.name,
            1e2 * pairs.alone((0, Estimator::Minimum)),
            1e2 * pairs.alone(best),
            1e2 * pairs.in_turns(Estimator::TrimmedMean),
            1e2 * pairs.of_adjacent(),
            bars::gain(pairs, best),
            pairs.passed,
            pairs.time,
            1e2 * pairs.against_alone(),
        );
    }
    println!("interleaved, the median of the standard deviations by each estimator:");
    for estimator in Estimator::ALL {
        let of_each = all.iter().map(|pairs| pairs.in_turns(estimator)).collect::<Vec<_>>();
        println!("  {:<15} {:.2}", estimator.to_string(), 1e2 * median(&mut { of_each }));
    }
    let adjacent = all.iter().map(Pairs::of_adjacent).collect::<Vec<_>>();
    println!("  {:<15} {:.2}\n", "pairwise", 1e2 * median(&mut { adjacent }));
}
