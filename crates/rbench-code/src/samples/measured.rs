//! Finds measurements among the readings of a clock.

use std::ops::RangeInclusive;

/// The largest error of a measurement that is computed from a value for each iteration, in ns.
const ROUNDING: f64 = 1.0;

/// The most readings between two measurements: further away, another measurement may be as long by chance.
const MOST_BETWEEN: usize = 8;

/// The most readings behind the last measurement if it consists of several stretches. To add up those at each of thousands
/// of readings would take minutes: Divan reads the clock 21,000 times to find out what a reading costs.
const MOST_BEFORE: usize = 256;

/// Stretches of a measurement, each as the indices of its first and its last reading.
type Stretches = Vec<RangeInclusive<usize>>;

/// For each measurement, given by its length in ns, the stretches between readings that it consists of: one, or several
/// with something that is not measured in between. Empty for one that is not found. `readings` are in ns; the first ones
/// may be missing.
pub fn stretches_of_time(readings: &[i64], measured: &[f64]) -> Vec<Stretches> {
    // The last readings are known, and hardly anything follows the last measurement.
    let readings: Vec<i64> = readings.iter().rev().map(|reading| -reading).collect();
    let found = |cost: f64| {
        let measured: Vec<f64> = measured.iter().rev().map(|length| length + cost).collect();
        in_order(&readings, &measured)
    };
    let mut best = found(0.0);
    // Divan subtracts the same time from each, for its own loop.
    let last = measured.last().copied().unwrap_or_default();
    let costs =
        readings.windows(2).take(MOST_BETWEEN).map(|pair| (pair[1] - pair[0]) as f64 - last);
    for cost in costs.filter(|cost| (ROUNDING..last).contains(cost)) {
        let count = |all: &[Stretches]| all.iter().filter(|one| !one.is_empty()).count();
        if 2 * count(&best) >= measured.len() {
            break;
        }
        let other = found(cost);
        if count(&other) > count(&best) {
            best = other;
        }
    }
    let index = |reversed: &usize| readings.len() - 1 - reversed;
    let forwards = |stretches: Stretches| {
        let all = stretches.iter().rev();
        all.map(|one| index(one.end())..=index(one.start())).collect()
    };
    best.into_iter().rev().map(forwards).collect()
}

/// The same without a cost, in the order of the readings.
fn in_order(readings: &[i64], measured: &[f64]) -> Vec<Stretches> {
    let begin = (0..readings.len()).find(|start| {
        let first = measured.first().and_then(|length| {
            let is_near = *start < MOST_BEFORE;
            let split = || is_near.then(|| split(readings, *start, *length)).flatten();
            whole(readings, *start, *length).or_else(split)
        });
        let end = first.as_ref().and_then(|first| first.last());
        // One alone could be a part of something else that is as long.
        end.is_some_and(|end| {
            measured.get(1).is_none_or(|second| near(readings, *end.end(), 0, *second).is_some())
        })
    });
    let (mut next, mut missed) = (begin.unwrap_or(0), 0);
    let found = measured.iter().map(|length| {
        let stretches = near(readings, next, missed, *length).unwrap_or_default();
        missed += 1;
        if let Some(last) = stretches.last() {
            // Of consecutive measurements, one reading can end the first and begin the second.
            (next, missed) = (*last.end(), 0);
        }
        stretches
    });
    found.collect()
}

/// The first such stretches from this reading on, behind as many `missed` measurements.
fn near(readings: &[i64], next: usize, missed: usize, length: f64) -> Option<Stretches> {
    let starts = || (next..readings.len()).take((missed + 1) * MOST_BETWEEN);
    // Many short stretches are as long as anything by chance.
    let found = starts().find_map(|start| whole(readings, start, length));
    let mut near = starts().take(MOST_BETWEEN);
    found.or_else(|| near.find_map(|start| split(readings, start, length)))
}

fn is_all(time: f64, length: f64) -> bool {
    (time - length).abs() <= ROUNDING + 1e-9 * length
}

/// The stretch from this reading on that takes so long.
fn whole(readings: &[i64], start: usize, length: f64) -> Option<Stretches> {
    let time = |reading: &i64| (reading - readings[start]) as f64;
    // The benchmark itself may read the clock, too.
    let inner = readings[start + 1..]
        .partition_point(|reading| time(reading) < length && !is_all(time(reading), length));
    let end = start + 1 + inner;
    let is_end = readings.get(end).is_some_and(|reading| is_all(time(reading), length));
    is_end.then(|| vec![start..=end])
}

/// The stretches from this reading on that take so long together.
fn split(readings: &[i64], start: usize, length: f64) -> Option<Stretches> {
    let (mut sum, mut stretches) = (0.0, Vec::new());
    for from in (start..readings.len().saturating_sub(1)).step_by(2) {
        sum += (readings[from + 1] - readings[from]) as f64;
        stretches.push(from..=from + 1);
        if is_all(sum, length) {
            return Some(stretches);
        }
        if sum > length {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_found_behind_a_warm_up() {
        let readings = [0, 900, 1_000, 1_300, 1_307, 1_607, 1_614, 2_014];
        let found = stretches_of_time(&readings, &[300.0, 300.4, 399.6]);
        assert_eq!(found, [vec![2..=3], vec![4..=5], vec![6..=7]]);
    }

    #[test]
    fn measurement_that_is_not_found_does_not_hide_the_next() {
        let found = stretches_of_time(&[0, 100, 200, 500, 600, 800], &[300.0, 250.0, 200.0]);
        assert_eq!(found, [vec![2..=3], vec![], vec![4..=5]]);
    }

    #[test]
    fn measurement_may_contain_other_readings_or_pauses() {
        assert_eq!(stretches_of_time(&[0, 10, 30, 95], &[95.0]), [vec![0..=3]]);
        let found = stretches_of_time(&[0, 100, 170, 300, 333, 433], &[330.0]);
        assert_eq!(found, [vec![0..=1, 2..=3, 4..=5]]);
    }

    #[test]
    fn measurement_is_not_many_short_stretches_that_are_as_long_by_chance() {
        // Four readings for each measurement: short pauses before and after it.
        let (mut now, mut readings, mut measured) = (0, Vec::new(), Vec::new());
        for length in (0..60).map(|index| 2_000 + 100 * index) {
            for step in [length, 100, 100, 100] {
                readings.push(now);
                now += step;
            }
            measured.push(length as f64);
        }
        let found = stretches_of_time(&readings, &measured);
        let expected: Vec<_> = (0..60).map(|index| vec![4 * index..=4 * index + 1]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn measurements_are_found_without_a_constant_cost_and_without_the_first_readings() {
        // Each measurement has a hundred readings of its own.
        let (mut now, mut readings, mut measured) = (0, Vec::new(), Vec::new());
        for length in (0..20).map(|index| 20_000 + 137 * index) {
            readings.extend((0..=100).map(|inner| now + inner * length / 100));
            now += length + 45;
            measured.push(length as f64);
        }
        let expected: Vec<_> = (0..20).map(|index| vec![101 * index..=101 * index + 100]).collect();
        assert_eq!(stretches_of_time(&readings, &measured), expected);
        let found = stretches_of_time(&readings[1_000..], &measured);
        let is_found = found.iter().map(|one| !one.is_empty());
        assert!(is_found.eq((0..20).map(|index| index >= 10)), "{found:?}");
        // Divan's samples.
        let pairs: Vec<i64> = readings.chunks(101).flat_map(|one| [one[0], one[100]]).collect();
        let shown: Vec<f64> = measured.iter().map(|length| length - 17.3).collect();
        let expected: Vec<_> = (0..20).map(|index| vec![2 * index..=2 * index + 1]).collect();
        assert_eq!(stretches_of_time(&pairs, &shown), expected);
    }

    #[test]
    fn laps_share_readings() {
        let found = stretches_of_time(&[0, 100, 250, 450], &[100.0, 150.0, 200.0]);
        assert_eq!(found, [vec![0..=1], vec![1..=2], vec![2..=3]]);
    }
}
