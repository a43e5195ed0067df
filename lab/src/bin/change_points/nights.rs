//! A history that gets one version, and is looked at, every night: how often something without a change is suspected.

use cargo_rbench::stats::{
    Random,
    changes::{FEWEST, LARGEST_P, Noise},
    discoveries,
};

use super::{normal, replicate, series};

/// The newest versions that `history` judges by default, and with `--changes-only`.
const WINDOWS: [usize; 2] = [20, 200];

/// InterimAnalyses in a year.
const NIGHTS: usize = 250;

/// Benchmarks of one program.
const BENCHMARKS: usize = 100;

/// In how many looks in a row a suspicion must stand before somebody acts.
const NEEDED: [usize; 6] = [1, 2, 3, 5, 10, 20];

/// Rates of false discoveries.
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

/// One series that begins with the fewest versions which are judged.
fn one() {
    const COUNT: usize = 2_000;
    println!("\none series, looked at after each version: ever suspected without a change");
    println!("newest   noise      30 looks   100 looks   250 looks");
    for window in WINDOWS {
        for noise in [Noise::Known, Noise::Estimated] {
            let first = replicate(COUNT, 80, |random| {
                let values = normal(FEWEST + NIGHTS, random);
                let is_suspected =
                    |look: &usize| p(&values[..FEWEST + look], window, noise) <= LARGEST_P;
                Some((0..NIGHTS).find(is_suspected).unwrap_or(NIGHTS))
            });
            let [short, middle, long] = [30, 100, NIGHTS].map(|looks| {
                first.iter().filter(|look| **look < looks).count() as f64 / COUNT as f64
            });
            println!(
                "{window:>6}   {:<9}  {short:.3}      {middle:.3}       {long:.3}",
                format!("{noise:?}")
            );
        }
    }
}

/// Benchmarks that are judged together, and have as many versions as are judged from the start.
fn many() {
    println!(
        "\n{BENCHMARKS} benchmarks without a change, {NIGHTS} looks: nights with a suspicion, and suspicions that stood in so \
         many looks in a row: {NEEDED:?}"
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

/// The p values of a year: for each look, those of all benchmarks.
fn year(window: usize, noise: Noise, random: &mut Random) -> Vec<Vec<f64>> {
    let all: Vec<Vec<f64>> = (0..BENCHMARKS).map(|_| normal(window + NIGHTS, random)).collect();
    let look = |look: usize| {
        all.iter().map(|values| p(&values[..window + look], window, noise)).collect::<Vec<f64>>()
    };
    (1..=NIGHTS).map(look).collect()
}

/// Adds the nights on which anything is suspected, and the benchmarks that become suspects and stay so long enough.
fn count(year: &[Vec<f64>], rate: f64, nights: &mut usize, suspicions: &mut [usize; NEEDED.len()]) {
    let mut in_a_row = [0; BENCHMARKS];
    for p_values in year {
        let level = discoveries(p_values.iter().copied(), rate);
        for (looks, p) in in_a_row.iter_mut().zip(p_values) {
            *looks = if *p <= level { *looks + 1 } else { 0 };
            for (needed, count) in NEEDED.into_iter().zip(&mut *suspicions) {
                *count += usize::from(*looks == needed);
            }
        }
        *nights += usize::from(in_a_row.iter().any(|looks| *looks > 0));
    }
}
