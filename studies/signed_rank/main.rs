//! Which test should judge the differences of pairs of builds: the paired t test or the signed-rank test?
//!
//! `cargo run --release --example signed_rank` prints how often both flag simulated differences. With paths of
//! stores, as of comparisons with and without `--measure-all`, it also prints how often both flag benchmarks that
//! did not change, and the same with a change added to them: half of the benchmarks, to choose, and the other half, to
//! judge.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::{env, error::Error, path::Path, process::ExitCode};

use cargo_rbench::stats::{
    Moments, Random,
    distribution::{t_quantile, t_survival},
};
use stored::Row;
use wilcoxon::{Null, efficiency, interval, two_sided_p};

mod stored;
#[path = "../support/mod.rs"]
mod support;
mod wilcoxon;

/// Two-sided rates: of the first stage, and of a second one.
const RATES: [f64; 3] = [0.05, 0.04, 0.02];

/// Replications of each simulation.
const REPLICATIONS: usize = 100_000;

fn main() -> ExitCode {
    support::end(study(&env::args().skip(1).collect::<Vec<_>>()))
}

fn study(stores: &[String]) -> Result<bool, Box<dyn Error>> {
    simulations();
    let mut rows = Vec::new();
    for store in stores {
        rows.extend(stored::rows(Path::new(store))?);
    }
    if !rows.is_empty() {
        let (choosing, judging): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(chooses);
        for (name, rows) in [("choose", choosing), ("judge", judging)] {
            println!("\n## Stored differences of unchanged benchmarks: the half to {name}");
            tails(&rows);
            for builds in [5, 6, 10, 15] {
                of_rows(&rows, builds);
            }
        }
    }
    Ok(true)
}

/// Whether a benchmark is of the half that chooses, whatever comparison it is in.
fn chooses(row: &Row) -> bool {
    let hash = row.benchmark.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32).is_multiple_of(2)
}

/// How often both tests reject.
#[derive(Default)]
struct Tally {
    count: usize,
    t: [usize; RATES.len()],
    signed_rank: [usize; RATES.len()],
}

impl Tally {
    fn add(&mut self, differences: &[f64], null: &Null) {
        let (t, signed_rank) = (t_test(differences), two_sided_p(differences, null));
        self.count += 1;
        for (index, rate) in RATES.into_iter().enumerate() {
            self.t[index] += usize::from(t <= rate);
            self.signed_rank[index] += usize::from(signed_rank <= rate);
        }
    }

    /// `t / signed-rank` at each rate, in percent.
    fn cells(&self) -> String {
        let percent = |rejected: usize| 100.0 * rejected as f64 / self.count.max(1) as f64;
        let both = self.t.iter().zip(&self.signed_rank);
        let cells = both.map(|(t, other)| format!("{:.1} / {:.1}", percent(*t), percent(*other)));
        cells.collect::<Vec<_>>().join(" | ")
    }
}

/// The two-sided p value of the paired t test.
fn t_test(differences: &[f64]) -> f64 {
    let moments = Moments::of(differences);
    let freedom = moments.count as f64 - 1.0;
    let error = (moments.squares / freedom / moments.count as f64).sqrt();
    if error > 0.0 { 2.0 * t_survival((moments.mean / error).abs(), freedom) } else { 1.0 }
}

/// Size and power for normal differences, and where one in ten is of a wider distribution; in standard deviations of
/// the whole.
fn simulations() {
    println!("## Simulated, % rejected: t / signed-rank, {REPLICATIONS} replications\n");
    println!("| differences | builds | change / sd | at 5 % | at 4 % | at 2 % |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (name, share, width) in
        [("normal", 0.0, 1.0), ("10 % at 3 sd", 0.1, 3.0), ("10 % at 5 sd", 0.1, 5.0)]
    {
        let name = format!("{name} (efficiency {:.2})", efficiency(share, width));
        for builds in [5, 6, 10, 20] {
            let null = Null::of(builds);
            for change in [0.0, 0.5, 0.75, 1.0, 1.5] {
                let mut random = Random::new(2006);
                let mut tally = Tally::default();
                let scale = f64::sqrt(1.0 - share + share * width * width);
                for _ in 0..REPLICATIONS {
                    let mut draw = || {
                        let wide = if random.chance(share) { width } else { 1.0 };
                        change + wide * random.normal() / scale
                    };
                    let differences: Vec<f64> = (0..builds).map(|_| draw()).collect();
                    tally.add(&differences, &null);
                }
                println!("| {name} | {builds} | {change} | {} |", tally.cells());
            }
        }
    }
}

/// How many of all differences are far from the center of their row.
fn tails(rows: &[Row]) {
    let (mut all, mut beyond) = (0_usize, [0_usize; 2]);
    for row in rows.iter().filter(|row| row.differences.len() >= 10) {
        let center = median(&row.differences);
        let distances: Vec<f64> = row.differences.iter().map(|d| (d - center).abs()).collect();
        let deviation = 1.4826 * median(&distances);
        for distance in distances.iter().filter(|_| deviation > 0.0) {
            all += 1;
            for (count, limit) in beyond.iter_mut().zip([3.0, 5.0]) {
                *count += usize::from(*distance > limit * deviation);
            }
        }
    }
    let share = |count: usize| 100.0 * count as f64 / all.max(1) as f64;
    println!(
        "\n{} rows; {:.1} % of {all} differences beyond 3 and {:.1} % beyond 5 robust standard deviations of their row",
        rows.len(),
        share(beyond[0]),
        share(beyond[1])
    );
}

/// Both tests on the first builds of each row, as they are and with a change added.
fn of_rows(rows: &[Row], builds: usize) {
    let null = Null::of(builds);
    let enough = || {
        rows.iter()
            .filter(|row| row.differences.len() >= builds)
            .map(|row| &row.differences[..builds])
    };
    println!(
        "\n{builds} builds, {} rows, % rejected: t / signed-rank (exactly {:.1} where 5 are due)\n",
        enough().count(),
        100.0 * null.size(RATES[0])
    );
    println!("| change | at 5 % | at 4 % | at 2 % |");
    println!("|--:|--:|--:|--:|");
    for change in [0.0, 0.001, 0.0025, 0.005, 0.01, 0.02] {
        let mut tally = Tally::default();
        for row in enough() {
            // In both directions: whatever the rows have in common then favours neither test.
            for change in [change, -change] {
                let moved: Vec<f64> = row.iter().map(|d| d + change).collect();
                tally.add(&moved, &null);
            }
        }
        println!("| {} % | {} |", 100.0 * change, tally.cells());
    }
    let mut ratios: Vec<f64> = enough()
        .filter_map(|row| {
            let [low, high] = interval(row, &null, RATES[0])?;
            let moments = Moments::of(row);
            let l = builds as f64;
            let error = (moments.squares / (l - 1.0) / l).sqrt();
            let t = t_quantile(1.0 - RATES[0] / 2.0, l - 1.0);
            (error > 0.0).then(|| (high - low) / (2.0 * t * error))
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    if let Some(middle) = ratios.get(ratios.len() / 2) {
        println!("\nwidth of the 95 % interval, Hodges-Lehmann / t, median: {middle:.2}");
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
