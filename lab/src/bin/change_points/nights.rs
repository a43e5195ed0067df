//! Simulates a history that gets one version and one interim analysis every night: how often it
//! suspects a change although there is none.

use rbench_stats::{
    Random,
    changes::{FEWEST, LARGEST_P, Noise},
    discoveries,
};

use super::{normal, replicate, series};

/// The newest versions that `history` analyses by default, and with `--changes-only`.
const WINDOWS: [usize; 2] = [20, 200];

/// Interim analyses in a year.
const NIGHTS: usize = 250;

const BENCHMARKS: usize = 100;

/// The number of successive analyses in which a suspicion must stand before somebody acts.
const NEEDED: [usize; 6] = [1, 2, 3, 5, 10, 20];

const RATES: [f64; 4] = [0.05, 0.01, 0.001, 0.0001];

pub fn nights() {
    one();
    many();
}

/// The p value of the newest versions, at most as many as the window has.
fn p(values: &[f64], window: usize, noise: Noise) -> f64 {
    let newest = &values[values.len().saturating_sub(window)..];
    series(newest, noise).map_or(1.0, |series| series.p())
}

/// One series that begins with the fewest versions that are analysed.
fn one() {
    const COUNT: usize = 2_000;
    println!("\none series, looked at after each version: ever suspected without a change");
    println!("newest   noise      30 nights  100 nights  250 nights");
    for window in WINDOWS {
        for noise in [Noise::Known, Noise::Estimated] {
            let first = replicate(COUNT, 80, |random| {
                let values = normal(FEWEST + NIGHTS, random);
                let is_suspected =
                    |analysis: &usize| p(&values[..FEWEST + analysis], window, noise) <= LARGEST_P;
                Some((0..NIGHTS).find(is_suspected).unwrap_or(NIGHTS))
            });
            let [short, middle, long] = [30, 100, NIGHTS].map(|analyses| {
                first.iter().filter(|analysis| **analysis < analyses).count() as f64 / COUNT as f64
            });
            println!(
                "{window:>6}   {:<9}  {short:.3}      {middle:.3}       {long:.3}",
                format!("{noise:?}")
            );
        }
    }
}

/// Benchmarks that are analysed together, each with the full window of versions from the start.
fn many() {
    println!(
        "\n{BENCHMARKS} benchmarks without a change, {NIGHTS} nights: nights with a suspicion, and suspicions that stood in this number of \
         nights in a row: {NEEDED:?}"
    );
    println!("newest   noise      rate     nights   suspicions a year");
    for (window, years) in WINDOWS.into_iter().zip([400, 100]) {
        for noise in [Noise::Known, Noise::Estimated] {
            let p_values = replicate(years, 81, |random| Some(year(window, noise, random)));
            for rate in RATES {
                let mut nights = 0;
                let mut suspicions = [0; NEEDED.len()];
                for year in &p_values {
                    count(year, rate, &mut nights, &mut suspicions);
                }
                let of_year = |count: usize| count as f64 / p_values.len() as f64;
                let suspicions = suspicions.map(|count| format!("{:>7.2}", of_year(count)));
                println!(
                    "{window:>6}   {:<9}  {rate:<6}  {:>7.2}   {}",
                    format!("{noise:?}"),
                    of_year(nights),
                    suspicions.join(" ")
                );
            }
        }
    }
}

/// The p values of a year: for each analysis, those of all benchmarks.
fn year(window: usize, noise: Noise, random: &mut Random) -> Vec<Vec<f64>> {
    let all: Vec<Vec<f64>> = (0..BENCHMARKS).map(|_| normal(window + NIGHTS, random)).collect();
    let analysis = |analysis: usize| {
        all.iter()
            .map(|values| p(&values[..window + analysis], window, noise))
            .collect::<Vec<f64>>()
    };
    (1..=NIGHTS).map(analysis).collect()
}

/// Adds the nights with any suspicion, and the benchmarks that stay suspect long enough.
fn count(year: &[Vec<f64>], rate: f64, nights: &mut usize, suspicions: &mut [usize; NEEDED.len()]) {
    let mut in_a_row = [0; BENCHMARKS];
    for p_values in year {
        let level = discoveries(p_values.iter().copied(), rate);
        for (analyses, p) in in_a_row.iter_mut().zip(p_values) {
            *analyses = if *p <= level { *analyses + 1 } else { 0 };
            for (needed, count) in NEEDED.into_iter().zip(&mut *suspicions) {
                *count += usize::from(*analyses == needed);
            }
        }
        *nights += usize::from(in_a_row.iter().any(|analyses| *analyses > 0));
    }
}
