//! What turns have to give, and what they gave.

use cargo_rbench::stats::median;

use crate::pairs::{Pairs, Way};

/// One requirement.
pub struct Bar {
    what: &'static str,
    required: &'static str,
    measured: String,
    is_reached: bool,
}

impl Bar {
    /// Prints a line, and whether it is reached.
    pub fn line(&self) -> String {
        let Self { what, required, measured, is_reached } = self;
        let reached = if *is_reached { "reached" } else { "MISSED" };
        format!("{what:<76} {required:>22} {measured:>26} {reached}")
    }

    /// Whether the requirement is met.
    pub const fn is_reached(&self) -> bool {
        self.is_reached
    }
}

/// The requirements on pairs of executions.
pub fn of_pairs(pairs: &[Pairs], best: Way) -> Vec<Bar> {
    let mut gains: Vec<f64> = pairs.iter().map(|pairs| gain(pairs, best)).collect();
    let below = gains.iter().filter(|gain| **gain < 1.0).count();
    let (median, count) = (median(&mut gains), gains.len());
    vec![
        Bar {
            what: "sd of a pair's log ratio, best one after the other / turns: median",
            required: "at least 4",
            measured: format!("{median:.1}"),
            is_reached: median >= 4.0,
        },
        Bar {
            what: "the same: benchmarks below 1",
            required: "none",
            measured: format!("{below} of {count}"),
            is_reached: below == 0,
        },
    ]
}

/// How much smaller the standard deviation is in turns, by neighbours, as comparisons take it.
pub fn gain(pairs: &Pairs, best: Way) -> f64 {
    pairs.alone(best) / pairs.of_neighbours()
}
