//! Converts the times that harnesses report into counts, for processes in which a library replaces the clock: see
//! [`Counting`].

use std::time::Duration;

use super::{Conditions, Harness};
use crate::{
    error::Result,
    model::{ExecutionRequest, Metric, Series},
    process::counting::{Count, Counting, STEP},
};

/// Least number of instructions in a measurement. The few instructions between a clock reading and the measured code
/// are then less than a thousandth of it.
const ENOUGH: f64 = 100_000.0;

/// Most iterations of a measurement.
const MOST: u64 = 100_000;

/// The request for an execution that counts instructions, with this number of iterations where the harness takes one.
pub fn counting_request(
    harness: &dyn Harness,
    iterations: Option<u64>,
    seed: u64,
) -> ExecutionRequest {
    let (measurements, min_time) = harness.facts().counting_instructions;
    ExecutionRequest { measurements, warm_up: Duration::from_nanos(1), min_time, iterations, seed }
}

/// The number of iterations with which to count again, if the count with `iterations` was not suitable. `each` is the
/// count per iteration; 0 if the benchmark was too short to be counted.
pub fn iterations_needed(harness: &dyn Harness, iterations: u64, each: f64) -> Option<u64> {
    if !harness.facts().takes_iterations {
        return None;
    }
    let mut needed = 1;
    if each > 0.0 {
        while needed < MOST && needed as f64 * each < ENOUGH {
            needed *= 10;
        }
    } else {
        needed = iterations.saturating_mul(1000).clamp(1, MOST);
    }
    // A benchmark near a limit keeps its number.
    let is_much = needed.saturating_mul(100) < iterations;
    (needed > iterations || is_much).then_some(needed)
}

/// The counts of measurements that a harness reports as time.
pub(super) fn counts_per_series(times: &Series) -> Vec<Count> {
    let all = times.values.iter().zip(&times.iterations);
    all.map(|(value, iterations)| count(value * *iterations as f64, *iterations)).collect()
}

/// The counts of measurements of `iterations` iterations, each from its first and its last clock reading. The first
/// measurement is dropped: nothing was warmed up before it.
pub(super) fn counts_from_pairs(pairs: &[[i64; 2]], iterations: u64) -> Vec<Count> {
    let count = |[start, end]: &[i64; 2]| count((end - start) as f64, iterations);
    pairs.iter().skip(1).map(count).collect()
}

/// The counts of libtest's measurements. It reads the clock around one iteration, around 50 measurements of one
/// iteration each, around 50 of five each, and at other moments; and it prints the median of those of five, per
/// iteration. So the measurements begin where most measurements of five iterations are close to this median. Empty if
/// none is.
pub(super) fn counts_from_libtest(readings: &[i64], median: f64) -> Vec<Count> {
    const EACH: usize = 100;
    let pairs = |from: usize, iterations: u64| -> Vec<Count> {
        let readings = readings.get(from..from + EACH).unwrap_or_default();
        let pairs = readings.as_chunks::<2>().0.iter();
        pairs.map(|[start, end]| count((end - start) as f64, iterations)).collect()
    };
    let printed = count(median * 5.0, 5).executed;
    let fitting = |from: &usize| {
        let by_five = pairs(from + EACH, 5).into_iter();
        by_five.filter(|count| count.executed.abs_diff(printed) <= printed / 2).count()
    };
    let places = 0..(readings.len() + 1).saturating_sub(2 * EACH);
    let best = places.max_by_key(fitting).filter(|best| fitting(best) > 0);
    best.map_or_else(Vec::new, |first| [pairs(first, 1), pairs(first + EACH, 5)].concat())
}

/// Converts a duration by the counting clock.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below a step")]
fn count(time: f64, iterations: u64) -> Count {
    Count { iterations, executed: time.round().rem_euclid(STEP as f64) as u64 }
}

/// The instructions of one iteration, as the only measurement of an execution.
pub(super) fn series(counts: &[Count]) -> Series {
    let iterations: u64 = counts.iter().map(|count| count.iterations).sum();
    Series {
        metric: Metric::instructions(),
        values: vec![slope(counts).unwrap_or_else(|| ratio(counts))],
        iterations: vec![iterations.max(1)],
        resolution: 0.0,
    }
}

/// The quantity that the clock of a process shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock<'c> {
    Real,
    Instructions(&'c Counting),
    /// Allocations or their bytes, plus different steps: see [`allocations`](super::allocations).
    Allocations,
}

impl<'c> Clock<'c> {
    pub(super) fn new(conditions: &Conditions<'c>) -> Self {
        match (conditions.counting, conditions.allocations) {
            (Some(counting), _) => Self::Instructions(counting),
            (None, Some(_)) => Self::Allocations,
            (None, None) => Self::Real,
        }
    }

    pub(super) fn is_real(self) -> bool {
        matches!(self, Self::Real)
    }

    /// Converts reported times to instructions if the clock shows them.
    pub(super) fn counted(self, times: Series) -> Series {
        match self {
            Self::Real | Self::Allocations => times,
            Self::Instructions(counting) => kept(counting, &counts_per_series(&times)),
        }
    }
}

/// The same for a harness whose clock readings are more exact than its output.
pub(super) fn counted_by(
    counting: &Counting,
    of: impl FnOnce(&[i64]) -> Vec<Count>,
) -> Result<Series> {
    Ok(kept(counting, &of(&counting.readings()?)))
}

/// The same, and keeps the counts for the attribution to functions.
fn kept(counting: &Counting, counts: &[Count]) -> Series {
    counting.keep(counts.to_vec());
    series(counts)
}

/// The slope of the counts over the iterations (least squares), which excludes the constant overhead of each
/// measurement. None if all measurements have the same number of iterations.
fn slope(counts: &[Count]) -> Option<f64> {
    let number = counts.len() as f64;
    let points = || counts.iter().map(|count| (count.iterations as f64, count.executed as f64));
    let x = points().map(|(iterations, _)| iterations).sum::<f64>() / number;
    let y = points().map(|(_, executed)| executed).sum::<f64>() / number;
    let squares: f64 = points().map(|(iterations, _)| (iterations - x).powi(2)).sum();
    let products = points().map(|(iterations, executed)| (iterations - x) * (executed - y));
    let slope = products.sum::<f64>() / squares;
    // Sums of large numbers are rounded: a real slope has only a few digits after the decimal point.
    (squares > 0.0 && slope > 0.0).then(|| (slope * 1e4).round() / 1e4)
}

fn ratio(counts: &[Count]) -> f64 {
    let iterations: u64 = counts.iter().map(|count| count.iterations).sum();
    let executed: u64 = counts.iter().map(|count| count.executed).sum();
    if iterations > 0 { executed as f64 / iterations as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Libtest, Native};

    fn times(totals: &[(i64, u64)]) -> Series {
        Series {
            metric: Metric::wall(),
            values: totals
                .iter()
                .map(|(time, iterations)| *time as f64 / *iterations as f64)
                .collect(),
            iterations: totals.iter().map(|(_, iterations)| *iterations).collect(),
            resolution: 1.0,
        }
    }

    #[test]
    fn constant_overhead_of_measurements_is_excluded() {
        let totals: Vec<_> = (1..=10).map(|n| (STEP + 17_973 * n + 62, n.unsigned_abs())).collect();
        let series = series(&counts_per_series(&times(&totals)));
        assert_eq!((series.values, series.iterations), (vec![17_973.0], vec![55]));
    }

    #[test]
    fn batched_measurement_has_a_step_for_each_batch() {
        let totals = [(100 * STEP + 1234, 100), (100 * STEP + 1236, 100)];
        assert_eq!(series(&counts_per_series(&times(&totals))).values, [12.35]);
    }

    #[test]
    fn first_pair_of_readings_is_warm_up() {
        let pairs = [1, 2, 3, 4].map(|number| [number, number + STEP + 100 * number]);
        assert_eq!(series(&counts_from_pairs(&pairs, 10)).values, [30.0]);
    }

    #[test]
    fn libtest_measurements_are_found_among_other_readings() {
        let mut readings = vec![1, 2, STEP + 86_100, STEP + 86_101];
        for iterations in [1, 5] {
            for _ in 0..50 {
                let begin = i64::try_from(readings.len()).unwrap() * 2 * STEP;
                readings.extend([begin, begin + STEP + 86_000 * iterations + 128]);
            }
        }
        readings.push(1000 * STEP);
        let median = (STEP as f64 + 430_128.0) / 5.0;
        assert_eq!(series(&counts_from_libtest(&readings, median)).values, [86_000.0]);
        assert_eq!(series(&counts_from_libtest(&[1, 2], median)).values, [0.0]);
    }

    #[test]
    fn iterations_needed_make_a_measurement_long_enough() {
        let needed = |iterations, each| iterations_needed(&Native, iterations, each);
        assert_eq!(needed(1, 100_000.0), None);
        assert_eq!(needed(1, 99_999.0), Some(10));
        assert_eq!(needed(1, 86.0), Some(10_000));
        assert_eq!(needed(10_000, 12.0), None, "the most are 100,000, and near is near enough");
        assert_eq!(needed(1, 0.0), Some(1000));
        assert_eq!(needed(10_000, 1e6), Some(1), "it has become much slower");
        assert_eq!(needed(10, 1e6), None);
        assert_eq!(iterations_needed(&Libtest, 1, 1.0), None);
    }
}
