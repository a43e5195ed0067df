//! The requirements on interleaving, with the measured values.

use rbench_stats::median;

use crate::pairs::{Pairs, Way};

/// One requirement.
pub struct Bar {
    what: &'static str,
    required: &'static str,
    measured: String,
    is_reached: bool,
}

impl Bar {
    /// The line of the report, which shows if the requirement is met.
    pub fn line(&self) -> String {
        let Self { what, required, measured, is_reached } = self;
        let status = if *is_reached { "reached" } else { "MISSED" };
        format!("{what:<76} {required:>22} {measured:>26} {status}")
    }

    /// True if the requirement is met.
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
            what: "sd of a pair's log ratio, best sequential / interleaved: median",
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

/// The ratio of the standard deviations, sequential to interleaved. The latter is that of
/// `paired_ratio`, as in comparisons.
pub fn gain(pairs: &Pairs, best: Way) -> f64 {
    pairs.alone(best) / pairs.of_adjacent()
}
