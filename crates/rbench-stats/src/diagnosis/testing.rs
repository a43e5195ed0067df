//! Simulated benchmarks of known truth, for the tests.

use super::{Position, execution::Execution};
use crate::{Measurements, Metric, Random};

/// Variances in the squared unit, about a mean of 1,000.
#[derive(Clone, Copy, Default)]
pub struct Truth {
    pub version: f64,
    pub build: f64,
    pub execution: f64,
    /// The relative addition to a measurement beyond its execution's value, given its index and the number of
    /// measurements.
    pub more: Option<fn(usize, usize, &mut Random) -> f64>,
}

/// Simulates an experiment of `l` builds of `m` executions of `n` measurements.
pub fn simulated(truth: Truth, [l, m, n]: [usize; 3], random: &mut Random) -> Measurements {
    let mut builds = vec![];
    for seed in 0..l {
        let build = 1000.0 + truth.version.sqrt() * random.normal();
        let mut executions = vec![];
        for _ in 0..m {
            let execution = build + truth.build.sqrt() * random.normal();
            let mut measurement = |index| {
                let more = truth.more.map_or(0.0, |more| more(index, n, random));
                execution * (1.0 + more) + truth.execution.sqrt() * random.normal()
            };
            executions.push((0..n).map(&mut measurement).collect::<Vec<f64>>());
        }
        builds.push((seed as u64, executions));
    }
    Measurements::new(Metric::wall(), builds).unwrap()
}

/// The executions of one build with these measurements.
pub fn executions_of(values: &[Vec<f64>]) -> Vec<Execution<'_>> {
    (0..)
        .zip(values)
        .map(|(round, values)| Execution {
            position: Position { seed: 0, round },
            build: 0,
            values,
        })
        .collect()
}

/// A process of variance 1 whose neighbours have this correlation.
pub fn autoregressive(correlation: f64, random: &mut Random) -> impl Iterator<Item = f64> {
    let mut at = random.normal();
    std::iter::repeat_with(move || {
        at = correlation * at + (1.0 - correlation * correlation).sqrt() * random.normal();
        at
    })
}
