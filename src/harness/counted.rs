//! What harnesses measure where a library stands in for the clock that counts: see
//! [`counting`].

use std::time::Duration;

use super::Conditions;
use crate::{
    error::Result,
    model::{ExecutionRequest, HarnessKind, Metric, Series},
    process::counting::{self, Counting, STEP},
};

/// What a measurement executes at least, so that the few instructions between a reading of the clock and what is measured
/// are less than a thousandth.
const ENOUGH: f64 = 100_000.0;

/// The most iterations of a measurement.
const MOST: u64 = 100_000;

/// What is requested to count a benchmark, with so many iterations where the harness can be told.
///
/// criterion takes ten samples of 1, 2, … 10 iterations: the clock goes on by one to three steps while it warms up, and
/// for up to 3.6 steps it counts linearly. All others measure three times.
pub fn counting_request(kind: HarnessKind, iterations: Option<u64>, seed: u64) -> ExecutionRequest {
    let (measurements, floor) = match kind {
        HarnessKind::Criterion => (10, Duration::from_nanos(10 * STEP.unsigned_abs())),
        _ => (3, Duration::ZERO),
    };
    ExecutionRequest {
        measurements,
        warm_up: Duration::from_nanos(1),
        min_time: floor,
        iterations,
        seed,
    }
}

/// How many iterations a measurement needs, if it needs others than these by which one was counted; 0 if it could not be
/// counted because it is so short.
pub fn iterations_needed(kind: HarnessKind, iterations: u64, each: f64) -> Option<u64> {
    if !matches!(kind, HarnessKind::Native | HarnessKind::Divan) {
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
    // A benchmark that is near a limit keeps what it had.
    let is_much = needed.saturating_mul(100) < iterations;
    (needed > iterations || is_much).then_some(needed)
}

/// The counts of measurements that a harness reports as time.
pub(super) fn counts_per_series(times: &Series) -> Vec<Count> {
    let all = times.values.iter().zip(&times.iterations);
    all.map(|(value, iterations)| Count::new(value * *iterations as f64, *iterations)).collect()
}

/// The counts of as many measurements as the clock was read twice for in the end, each of so many iterations. The first
/// one is left out: nothing was warmed up before it.
pub(super) fn counts_from_last_pairs(
    readings: &[i64],
    measurements: usize,
    iterations: u64,
) -> Vec<Count> {
    let first = readings.len().saturating_sub(2 * measurements);
    let pairs = readings[first..].as_chunks::<2>().0;
    let count = |[start, end]: &[i64; 2]| Count::new((end - start) as f64, iterations);
    pairs.iter().skip(1).map(count).collect()
}

/// The counts of libtest's measurements. It reads the clock around one iteration, around 50 measurements of one iteration
/// each, around 50 of five each, and at other moments; and it prints the median of those of five, per iteration. So the
/// measurements begin where most of those of five are about as large as that; none if none is.
pub(super) fn counts_from_libtest(readings: &[i64], median: f64) -> Vec<Count> {
    const EACH: usize = 100;
    let pairs = |from: usize, iterations: u64| -> Vec<Count> {
        let readings = readings.get(from..from + EACH).unwrap_or_default();
        let pairs = readings.as_chunks::<2>().0.iter();
        pairs.map(|[start, end]| Count::new((end - start) as f64, iterations)).collect()
    };
    let printed = Count::new(median * 5.0, 5).executed;
    let fitting = |from: &usize| {
        let of_five = pairs(from + EACH, 5).into_iter();
        of_five.filter(|count| (count.executed - printed).abs() <= printed / 2.0).count()
    };
    let places = 0..(readings.len() + 1).saturating_sub(2 * EACH);
    let best = places.max_by_key(fitting).filter(|best| fitting(best) > 0);
    best.map_or_else(Vec::new, |first| [pairs(first, 1), pairs(first + EACH, 5)].concat())
}

/// What one measurement executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Count {
    iterations: f64,
    executed: f64,
}

impl Count {
    /// A measurement that took so long by the clock that counts.
    fn new(time: f64, iterations: u64) -> Self {
        Self { iterations: iterations as f64, executed: time.round().rem_euclid(STEP as f64) }
    }
}

/// What one iteration executes, as the one measurement of an execution.
pub(super) fn series(counts: &[Count]) -> Series {
    let iterations: f64 = counts.iter().map(|count| count.iterations).sum();
    Series {
        metric: Metric::instructions(),
        values: vec![slope(counts).unwrap_or_else(|| ratio(counts))],
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a sum of u64"
        )]
        iterations: vec![(iterations as u64).max(1)],
        resolution: 0.0,
    }
}

/// What the clock of a process shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock<'c> {
    /// The time.
    Real,
    /// Instructions, beside steps.
    Instructions(&'c Counting),
    /// Allocations or their bytes, beside other steps: see [`allocations`](super::allocations).
    Allocations,
}

impl<'c> Clock<'c> {
    /// That of a process under these conditions.
    pub(super) fn new(conditions: &Conditions<'c>) -> Self {
        match (conditions.counting, conditions.allocations) {
            (Some(counting), _) => Self::Instructions(counting),
            (None, Some(_)) => Self::Allocations,
            (None, None) => Self::Real,
        }
    }

    /// Whether it shows the time.
    pub(super) fn is_real(self) -> bool {
        matches!(self, Self::Real)
    }

    /// The measurements of a benchmark as instructions, if they are.
    pub(super) fn counted(self, times: Series) -> Series {
        match self {
            Self::Real | Self::Allocations => times,
            Self::Instructions(counting) => kept(counting, &counts_per_series(&times)),
        }
    }
}

/// The same of a harness whose readings tell more than what it prints.
pub(super) fn counted_by(
    counting: &Counting,
    of: impl FnOnce(&[i64]) -> Vec<Count>,
) -> Result<Series> {
    Ok(kept(counting, &of(&counting.readings()?)))
}

/// The same, kept for whoever tells by function what was executed.
fn kept(counting: &Counting, counts: &[Count]) -> Series {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole numbers")]
    let count = |count: &Count| counting::Count {
        iterations: count.iterations as u64,
        executed: count.executed as u64,
    };
    counting.keep(counts.iter().map(count).collect());
    series(counts)
}

/// By how much measurements of more iterations are larger, for each iteration: without what each measurement executes
/// beside them. None if all have the same number.
fn slope(counts: &[Count]) -> Option<f64> {
    let number = counts.len() as f64;
    let mean = |of: fn(&Count) -> f64| counts.iter().map(of).sum::<f64>() / number;
    let (x, y) = (mean(|count| count.iterations), mean(|count| count.executed));
    let squares: f64 = counts.iter().map(|count| (count.iterations - x).powi(2)).sum();
    let products = counts.iter().map(|count| (count.iterations - x) * (count.executed - y));
    let slope = products.sum::<f64>() / squares;
    // The sums of large numbers are rounded: what is counted has no more than a few digits behind the point.
    (squares > 0.0 && slope > 0.0).then(|| (slope * 1e4).round() / 1e4)
}

fn ratio(counts: &[Count]) -> f64 {
    let (iterations, executed) = counts.iter().fold((0.0, 0.0), |(iterations, executed), count| {
        (iterations + count.iterations, executed + count.executed)
    });
    if iterations > 0.0 { executed / iterations } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_every_measurement_executes_beside_its_iterations_is_not_counted() {
        let totals: Vec<_> = (1..=10).map(|n| (STEP + 17_973 * n + 62, n.unsigned_abs())).collect();
        let series = series(&counts_per_series(&times(&totals)));
        assert_eq!((series.values, series.iterations), (vec![17_973.0], vec![55]));
    }

    #[test]
    fn a_measurement_of_many_batches_reads_the_clock_for_each() {
        let totals = [(100 * STEP + 1234, 100), (100 * STEP + 1236, 100)];
        assert_eq!(series(&counts_per_series(&times(&totals))).values, [12.35]);
    }

    #[test]
    fn the_first_of_pairs_of_readings_warms_up() {
        let mut readings = vec![7, 8];
        for number in 1..=4 {
            readings.extend([number * 3 * STEP, number * 3 * STEP + STEP + 100 * number]);
        }
        assert_eq!(series(&counts_from_last_pairs(&readings, 4, 10)).values, [30.0]);
    }

    #[test]
    fn libtest_measures_one_and_five_iterations_behind_some_other_readings() {
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
    fn iterations_are_as_many_as_make_a_measurement_long_enough() {
        let needed = |iterations, each| iterations_needed(HarnessKind::Native, iterations, each);
        assert_eq!(needed(1, 100_000.0), None);
        assert_eq!(needed(1, 99_999.0), Some(10));
        assert_eq!(needed(1, 86.0), Some(10_000));
        assert_eq!(needed(10_000, 12.0), None, "the most are 100,000, and near is near enough");
        assert_eq!(needed(1, 0.0), Some(1000));
        assert_eq!(needed(10_000, 1e6), Some(1), "it has become much slower");
        assert_eq!(needed(10, 1e6), None);
        assert_eq!(iterations_needed(HarnessKind::Criterion, 1, 1.0), None);
    }
}
