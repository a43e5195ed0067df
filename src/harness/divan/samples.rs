//! Derives the samples of an interleaved execution, which Divan does not print, from the clock readings of its process.

use super::table::{Row, ShownTime};
use crate::{model::Series, process::counting::allocations::STEP};

/// Number of clock readings for each sample: Divan reads the clock at its bounds, and CodSpeed's fork, from version 4,
/// once more before and after them.
const READINGS: [usize; 2] = [2, 4];

/// The readings at the bounds of the last `count` samples, for which the clock was read `each` times; none if there are
/// too few. Nothing reads the clock after the last sample.
pub(super) fn bounds<T: Copy>(readings: &[T], count: usize, each: usize) -> Option<Vec<[T; 2]>> {
    let first = readings.len().checked_sub(each * count).filter(|_| count > 0)?;
    let start = each / 2 - 1;
    Some(readings[first..].chunks_exact(each).map(|one| [one[start], one[start + 1]]).collect())
}

/// The number of readings for each of the last `count` samples of a process whose clock counts, with this step for each
/// reading. A fork reads it twice at each bound, and hardly anything happens in between.
pub(super) fn readings_per_sample(
    readings: &[i64],
    count: usize,
    is_fork: bool,
    step: i64,
) -> usize {
    /// More than the instructions between two readings at a bound.
    const FEW: i64 = 1000;
    let [plain, more] = READINGS;
    let first = readings.len().checked_sub(more * count).filter(|_| is_fork);
    let is_twice = |one: &[i64; 4]| {
        [one[1] - one[0], one[3] - one[2]].iter().all(|apart| (step..step + FEW).contains(apart))
    };
    let all_twice =
        first.is_some_and(|first| readings[first..].as_chunks::<4>().0.iter().all(is_twice));
    if all_twice { more } else { plain }
}

/// The measurements of the `count` samples that `row` summarises, in the order in which they were taken; none if the
/// readings do not belong to them.
///
/// Divan with one thread subtracts the measured cost of its loop per iteration, a constant of the process, and shows the
/// fastest, the slowest, the median and the mean sample. The readings are accepted only if they reproduce all four. The
/// constant is the smallest one with which they do.
pub(super) fn samples(readings: &[i64], count: usize, row: &Row) -> Option<Series> {
    READINGS.iter().find_map(|each| samples_between(&bounds(readings, count, *each)?, row))
}

fn samples_between(pairs: &[[i64; 2]], row: &Row) -> Option<Series> {
    let count = pairs.len();
    let iterations = row.iterations as f64;
    let mut times: Vec<f64> =
        pairs.iter().map(|[start, end]| (end - start) as f64 / iterations).collect();
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let shown = [
        (sorted[0], row.fastest),
        (sorted[count - 1], row.slowest),
        (sorted[(count - 1) / 2].midpoint(sorted[count / 2]), row.median),
        (sorted.iter().sum::<f64>() / count as f64, row.mean),
    ];
    let ranges = shown.map(|(time, shown)| subtracted(time, shown));
    let least = ranges.iter().map(|range| range[0]).fold(f64::NEG_INFINITY, f64::max);
    let most = ranges.iter().map(|range| range[1]).fold(f64::INFINITY, f64::min);
    if least > most || most < 0.0 {
        return None;
    }
    let cost = least.max(0.0);
    for time in &mut times {
        *time -= cost;
    }
    Some(row.series_of(times, (most - cost).max(iterations.recip())))
}

/// The measurements of `count` samples by the clock that counts allocations, from its readings, without the first
/// sample, which is the warm-up. None if there are too few readings, or if several threads or the benchmark itself read
/// the clock: a sample that shows more than one step of the clock contains other readings.
pub(super) fn counted(readings: &[i64], count: usize, row: &Row, is_fork: bool) -> Option<Series> {
    let each = readings_per_sample(readings, count, is_fork, STEP.cast_signed());
    let pairs = bounds(readings, count, each)?;
    let longest = row.slowest.value * row.iterations as f64;
    if longest > 1.5 * STEP as f64 {
        return None;
    }
    let iterations = row.iterations as f64;
    let values =
        pairs.iter().skip(1).map(|[start, end]| (end - start) as f64 / iterations).collect();
    (row.samples == count as u64).then(|| row.series_of(values, 0.0))
}

/// The least and the greatest cost per iteration, in ns, that can have been subtracted from `time` to show `shown`.
/// Divan truncates times after the last digit shown, and counts whole picoseconds.
fn subtracted(time: f64, shown: ShownTime) -> [f64; 2] {
    const PICOSECOND: f64 = 1e-3;
    [time - shown.value - shown.step - PICOSECOND, time - shown.value + PICOSECOND]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{harness::divan::table::row, process::Output};

    /// Divan's row for samples of `iterations` iterations with these durations in ns, minus `cost` ns per iteration.
    fn shown(durations: &[i64], iterations: i64, cost: f64) -> Row {
        let mut times: Vec<f64> =
            durations.iter().map(|one| *one as f64 / iterations as f64 - cost).collect();
        times.sort_by(f64::total_cmp);
        let count = times.len();
        let [fastest, slowest] = [times[0], times[count - 1]];
        let median = times[(count - 1) / 2].midpoint(times[count / 2]);
        let mean = times.iter().sum::<f64>() / count as f64;
        // In microseconds, truncated after three decimal places.
        let cell = |time: f64| format!("{:.3} µs", (time + 1e-7).floor() / 1e3);
        let cells = [fastest, slowest, median, mean].map(cell).join(" │ ");
        let all = count * usize::try_from(iterations).unwrap();
        let text = format!("╰─ a  {cells} │ {count} │ {all}\n");
        row(&Output { head: text.into_bytes(), ..Output::default() }, "b").unwrap()
    }

    /// The clock readings of a process whose samples have these durations, after two other readings.
    fn readings(durations: &[i64]) -> Vec<i64> {
        let mut readings = vec![100, 230];
        for duration in durations {
            let start = readings[readings.len() - 1] + 45;
            readings.extend([start, start + duration]);
        }
        readings
    }

    proptest! {
        #[test]
        fn samples_match_the_summary_of_divan(
            durations in prop::collection::vec(4_900_000_i64..5_100_000, 1..20), cost in 0.0..2.0_f64,
        ) {
            let iterations = 1000;
            let row = shown(&durations, iterations, cost);
            let series = samples(&readings(&durations), durations.len(), &row).unwrap();
            prop_assert_eq!(series.values.len(), durations.len());
            prop_assert!(series.resolution <= 1.01, "{}", series.resolution);
            for (value, duration) in series.values.iter().zip(&durations) {
                let expected = *duration as f64 / iterations as f64 - cost;
                prop_assert!((value - expected).abs() <= series.resolution + 0.01);
            }
        }
    }

    const DURATIONS: [i64; 4] = [5_000_000, 5_200_000, 5_050_000, 5_900_000];

    #[test]
    fn samples_are_none_for_other_readings() {
        let row = shown(&DURATIONS, 1000, 0.3);
        let right = readings(&DURATIONS);
        assert!(samples(&right, 4, &row).is_some());
        let mut later = right.clone();
        later.push(later[later.len() - 1] + 60);
        assert_eq!(samples(&later, 4, &row), None, "one reading more");
        assert_eq!(samples(&right[3..], 4, &row), None, "too few");
        assert_eq!(samples(&[], 0, &row), None);
        let mut other = right;
        *other.last_mut().unwrap() += 100_000;
        assert_eq!(samples(&other, 4, &row), None, "another duration");
    }

    #[test]
    fn counted_samples_exclude_the_first_as_warm_up() {
        let step = STEP.cast_signed();
        let readings = readings(&[step + 90, step + 20, step + 30]);
        let row = shown(&[step + 90, step + 20, step + 30], 10, 0.0);
        let step = STEP as f64 / 10.0;
        let series = counted(&readings, 3, &row, false).unwrap();
        assert_eq!((series.values, series.iterations), (vec![step + 2.0, step + 3.0], vec![10; 2]));
        assert_eq!(counted(&readings[3..], 3, &row, false), None, "too few");
        let longer = [STEP.cast_signed(), 2 * STEP.cast_signed()];
        let row = shown(&longer, 1, 0.0);
        assert_eq!(
            counted(&readings, 2, &row, false),
            None,
            "the benchmark reads the clock itself"
        );
    }

    /// The readings of a fork that reads the clock twice at each bound, 50 ns apart.
    fn readings_of_a_fork(durations: &[i64]) -> Vec<i64> {
        let plain = readings(durations);
        let bounds = plain[2..].as_chunks::<2>().0.iter();
        let twice = bounds.flat_map(|[start, end]| [start - 50, *start, *end, end + 50]);
        plain[..2].iter().copied().chain(twice).collect()
    }

    #[test]
    fn samples_of_a_fork_are_between_its_inner_readings() {
        let row = shown(&DURATIONS, 1000, 0.3);
        let series = samples(&readings_of_a_fork(&DURATIONS), 4, &row).unwrap();
        assert_eq!(series.values.len(), 4);
        assert!((series.values[0] - 4999.7).abs() < 1.0, "{:?}", series.values);
    }

    #[test]
    fn counted_samples_of_a_fork_are_between_its_inner_readings() {
        let step = 1000;
        let sample = |number: i64| {
            let start = 10 * number * step;
            [start, start + step + 30, start + 2 * step + 90_030, start + 3 * step + 90_060]
        };
        let readings: Vec<i64> = (1..4).flat_map(sample).collect();
        let step = 1000;
        assert_eq!(readings_per_sample(&readings, 3, false, step), 2);
        assert_eq!(readings_per_sample(&readings, 3, true, step), 4);
        let counts = bounds(&readings, 3, 4).unwrap();
        assert!(counts.iter().all(|[start, end]| end - start == step + 90_000));
        let plain: Vec<i64> = (1..7).flat_map(|number| [number, number + 90_000]).collect();
        assert_eq!(readings_per_sample(&plain, 3, true, step), 2);
    }

    #[test]
    fn samples_keep_their_order() {
        let series = samples(&readings(&DURATIONS), 4, &shown(&DURATIONS, 1000, 0.0)).unwrap();
        assert_eq!(series.values, [5000.0, 5200.0, 5050.0, 5900.0]);
        assert_eq!(series.iterations, [1000; 4]);
    }
}
