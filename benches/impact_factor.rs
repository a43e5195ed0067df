//! Times the impact factor of 150 data sets of 2,000 values, with 10,000 repetitions, on one core.

use std::{hint::black_box, time::Instant};

use rbench_stats::{
    Random,
    impact::{Bootstrap, impact_factor},
};

const RUNS: usize = 5;

#[expect(clippy::print_stdout, reason = "a benchmark reports to the terminal")]
fn main() {
    let mut random = Random::new(2005);
    let sets: Vec<Vec<f64>> = (0..150)
        .map(|_| {
            let shift = 1000.0 + 3.0 * random.normal();
            (0..2000).map(|_| shift + random.normal()).collect()
        })
        .collect();
    let views: Vec<&[f64]> = sets.iter().map(Vec::as_slice).collect();
    let bootstrap = Bootstrap::default();
    let mut milliseconds = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        let factor = black_box(impact_factor(black_box(&views), &bootstrap, &mut random));
        milliseconds = milliseconds.min(start.elapsed().as_secs_f64() * 1e3);
        println!("impact factor {factor:.3?} in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    println!(
        "fastest of {RUNS}: {milliseconds:.1} ms; ratio to 150 ms: {:.2}",
        milliseconds / 150.0
    );
}
