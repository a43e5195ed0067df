//! Derives the samples of an execution, which libtest does not print, from the clock readings of its process.
//!
//! libtest reads the clock around one iteration, and derives from it how many take a millisecond, `n`. Then it measures in
//! rounds: 50 samples of `n` iterations and 50 of `5 n`, and one reading before and after these. It doubles `n` after each
//! round, until the samples agree or three seconds have passed, and prints the median of the last 50.

use std::time::Duration;

use crate::{
    harness::series_of_readings,
    model::{ExecutionRequest, Series},
};

/// The most measurements of an execution: each contains at least one sample of the first round.
pub(super) const MEASUREMENTS: u32 = 50;
/// The number of samples of each kind in a round.
const COUNT: usize = MEASUREMENTS as usize;
/// The iterations of a sample of the second kind, in relation to the first kind.
pub(super) const LONGER: u64 = 5;
const ROUND: usize = 2 * 2 * COUNT + 2;
/// Readings before the first sample: the first iteration and the beginning of the first round.
const BEFORE: usize = 3;

/// The time in which all measurements are taken. Both versions are interleaved up to then: libtest ends with a round, which
/// is later by another time in each.
pub(super) fn measured_time(request: &ExecutionRequest) -> Duration {
    // Between the samples of short iterations, libtest computes.
    request.warm_up + request.min_time.saturating_mul(MEASUREMENTS + MEASUREMENTS / 10)
}

/// The measurements of a process with these clock readings, whose first iteration seemed `speed` times as long, and which
/// printed this median; none if the readings do not lead to the median, or in several ways. Samples count after the
/// warm-up. Where they are shorter than the requested time, several are a measurement, which has this time on average.
pub(super) fn measurements(
    readings: &[i64],
    speed: u32,
    median: f64,
    request: &ExecutionRequest,
) -> Option<Series> {
    let ends = (0..=readings.len()).rev().take(10);
    let candidates = ends.filter_map(|end| Rounds::of(&readings[..end], speed));
    let mut fitting = candidates.filter(|rounds| rounds.lead_to(median));
    let only = fitting.next().filter(|_| fitting.next().is_none())?;
    let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    let begin = only.samples().next()?.start.saturating_add(nanos(request.warm_up));
    let mut measured = Vec::new();
    let (mut time, mut count, mut all) = (0, 0, 0);
    let mut wanted = nanos(request.min_time);
    for Sample { start, length, iterations: own } in only.samples() {
        if start < begin {
            continue;
        }
        (time, count, all) = (time + length, count + own, all + length);
        if all >= wanted {
            measured.push((time, count));
            (time, count, wanted) = (0, 0, wanted + nanos(request.min_time));
        }
        if measured.len() == COUNT {
            break;
        }
    }
    (!measured.is_empty()).then(|| series_of_readings(&measured))
}

struct Rounds<'r> {
    /// From the beginning of the first one to the last sample of the last one.
    readings: &'r [i64],
    /// The iterations of its first samples.
    first: u64,
}

/// One sample. Times are in ns.
struct Sample {
    start: i64,
    length: i64,
    iterations: u64,
}

impl<'r> Rounds<'r> {
    /// The readings as rounds, whose iterations follow from the first iteration before them, which seemed `speed` times as
    /// long.
    fn of(readings: &'r [i64], speed: u32) -> Option<Self> {
        /// The time in ns that libtest chooses the iterations of the first samples for.
        const WANTED: i64 = 1_000_000;
        /// The most readings before the first iteration. Another number would take a sample of a round for it.
        const EARLIER: usize = 7;
        // Without the end of the last round.
        let others = (readings.len() + 1).checked_sub(BEFORE - 1)?;
        let start = others % ROUND;
        if others < ROUND || start > EARLIER {
            return None;
        }
        let single = (readings[start + 1] - readings[start]).checked_mul(i64::from(speed))?;
        let first = u64::try_from((WANTED / single.max(1)).max(1)).ok()?;
        Some(Self { readings: &readings[start + BEFORE - 1..], first })
    }

    fn samples(&self) -> impl Iterator<Item = Sample> {
        self.readings.chunks(ROUND).zip(0..).flat_map(move |(round, doubled)| {
            let pairs = round[1..].chunks_exact(2).take(2 * COUNT).zip(0..);
            pairs.map(move |(pair, index)| Sample {
                start: pair[0],
                length: pair[1] - pair[0],
                iterations: (self.first << doubled) * if index < COUNT { 1 } else { LONGER },
            })
        })
    }

    /// True if the last samples have this median per iteration, and those before them are as much shorter. The longest may
    /// have seemed so, since the clock jumped ahead. Toolchains before 2024 round down to whole nanoseconds, which hides
    /// small differences.
    fn lead_to(&self, median: f64) -> bool {
        const SMALL: f64 = 100.0;
        let last = self.readings.len() - (ROUND - 1);
        let kinds = self.readings[last + 1..].chunks_exact(2 * COUNT).map(|kind| {
            let mut lengths: Vec<i64> =
                kind.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect();
            lengths.sort_unstable();
            lengths
        });
        let [short, long] = &kinds.collect::<Vec<_>>()[..] else { return false };
        let doubled = u32::try_from(last / ROUND).unwrap_or(u32::MAX);
        let Some(iterations) = self.first.checked_shl(doubled).and_then(|n| n.checked_mul(LONGER))
        else {
            return false;
        };
        let middle = COUNT / 2;
        // Short ones contain the reading of the clock itself, and on a busy machine the processor may get slower meanwhile.
        let ratio = long[middle] as f64 / short[middle].max(1) as f64;
        // The two in the middle, with and without one before them or one of them at the end.
        let middles = [[middle - 1, middle], [middle, middle + 1], [middle - 1, middle + 1]];
        (1.0..4.0 * LONGER as f64).contains(&ratio)
            && middles.into_iter().any(|both| {
                let sum: i64 = both.iter().map(|index| long[*index]).sum();
                let shown = sum as f64 / 2.0 / iterations as f64;
                let is_rounded = shown >= SMALL && (shown.trunc() - median).abs() < f64::EPSILON;
                (shown - median).abs() <= shown * 1e-9 || is_rounded
            })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::testing;

    /// The readings of a process whose first iteration and samples have these durations in ns. It reads the clock at other
    /// times too.
    fn readings(single: i64, rounds: &[Vec<i64>]) -> Vec<i64> {
        let mut now = 100;
        let mut readings = vec![now];
        let mut read_after = |time: i64| {
            now += time;
            readings.push(now);
        };
        read_after(45);
        read_after(single);
        for round in rounds {
            read_after(45);
            for duration in round {
                read_after(45);
                read_after(*duration);
            }
            read_after(9_000);
        }
        read_after(20_000);
        readings
    }

    /// What libtest prints of samples with these durations.
    fn median(durations: &[i64], iterations: u64) -> f64 {
        let shown = |duration: &i64| *duration as f64 / iterations as f64;
        let mut times: Vec<f64> = durations.iter().map(shown).collect();
        times.sort_by(f64::total_cmp);
        times[COUNT / 2 - 1] + (times[COUNT / 2] - times[COUNT / 2 - 1]) * 0.5
    }

    /// The durations in ns of a round: of iterations that take `each`, and of reading the clock, which takes `noise`.
    fn round(n: i64, each: i64, noise: &[i64]) -> Vec<i64> {
        let lengths = (0..2 * COUNT).map(|sample| if sample < COUNT { n } else { 5 * n });
        lengths.zip(noise.iter().cycle()).map(|(n, noise)| n * each + noise).collect()
    }

    fn request(warm_up: u64, min_time: u64) -> ExecutionRequest {
        let [warm_up, min_time] = [warm_up, min_time].map(Duration::from_nanos);
        ExecutionRequest { warm_up, min_time, ..testing::request() }
    }

    proptest! {
        #[test]
        fn measurements_are_samples_that_lead_to_the_printed_median(
            each in 1_i64..3_000_000, overhead in 30_i64..60, speed in 1_u32..20, rounds in 1_u32..4,
            noise in prop::collection::vec(30_i64..60, 40..60), is_rounded: bool,
        ) {
            let n = (1_000_000 / ((each + overhead) * i64::from(speed))).max(1);
            let all: Vec<Vec<i64>> = (0..rounds).map(|times| round(n << times, each, &noise)).collect();
            let last = &all[all.len() - 1][COUNT..];
            let exact = median(last, 5 * (n << (rounds - 1)).unsigned_abs());
            let printed = if is_rounded { exact.trunc() } else { exact };
            let found = measurements(&readings(each + overhead, &all), speed, printed, &request(0, 1));
            // Another alignment may lead to the same number by chance, but never to other values.
            if let Some(found) = found {
                prop_assert_eq!(found.values.len(), COUNT);
                prop_assert_eq!(&found.iterations, &vec![n.unsigned_abs(); COUNT]);
                for (value, duration) in found.values.iter().zip(&all[0]) {
                    prop_assert!((value - *duration as f64 / n as f64).abs() < 1e-6);
                }
            } else {
                prop_assert!(each < 1_000 || (is_rounded && exact < 100.0), "{each}");
            }
        }
    }

    /// Two rounds of samples of .2 and 1 ms, and of twice as long ones.
    fn two_rounds() -> (Vec<i64>, f64) {
        let noise: Vec<i64> = (0..100).map(|sample| 37 * (sample % 11)).collect();
        let rounds = [round(40, 5_000, &noise), round(80, 5_000, &noise)];
        (readings(5_000, &rounds), median(&rounds[1][COUNT..], 400))
    }

    #[test]
    fn samples_together_take_the_requested_time_after_the_warm_up() {
        let (readings, printed) = two_rounds();
        let found = measurements(&readings, 5, printed, &request(5_000_000, 1_000_000)).unwrap();
        assert_eq!(found.values.len(), COUNT);
        // The shortest samples take a fifth of the time, and the longest twice the time.
        assert_eq!((found.iterations[0], found.iterations[40]), (200, 200), "{found:?}");
        assert_eq!(found.values.len(), 50, "{found:?}");
        assert!(found.values.iter().all(|value| (value - 5_003.0).abs() < 10.0), "{found:?}");
        let few = measurements(&readings, 5, printed, &request(100_000_000, 20_000_000)).unwrap();
        assert_eq!(few.values.len(), 4, "{few:?}");
    }

    #[test]
    fn second_samples_may_be_slower_than_the_first() {
        let mut slower = round(40, 5_000, &[45]);
        slower[COUNT..].iter_mut().for_each(|length| *length *= 3);
        let printed = median(&slower[COUNT..], 200);
        let found = measurements(&readings(5_000, &[slower]), 5, printed, &request(0, 1));
        assert_eq!(found.map(|found| found.values.len()), Some(COUNT));
    }

    #[test]
    fn measurements_are_none_for_other_readings() {
        let (right, printed) = two_rounds();
        let found = |readings: &[i64], speed, printed| {
            measurements(readings, speed, printed, &request(0, 1_000_000))
        };
        assert!(found(&right, 5, printed).is_some());
        assert_eq!(found(&right, 5, printed * 1.01), None, "another median");
        assert_eq!(found(&right, 1, printed), None, "another speed");
        assert_eq!(found(&right[300..], 5, printed), None, "too few");
        assert_eq!(found(&[], 5, printed), None);
        let mut within = right.clone();
        within.insert(350, within[350] - 1);
        assert_eq!(found(&within, 5, printed), None, "the benchmark reads the clock itself");
    }

    #[test]
    fn sample_in_which_the_clock_jumped_seemed_longest() {
        let noise: Vec<i64> = (0..100).map(|sample| 100 * sample).collect();
        let rounds = [round(40, 5_000, &noise)];
        let readings = readings(5_000, &rounds);
        for jumped in 0..COUNT {
            let mut shown = rounds[0][COUNT..].to_vec();
            shown[jumped] += 3_000_000_000;
            let found = measurements(&readings, 5, median(&shown, 200), &request(0, 1));
            assert!(found.is_some(), "{jumped}");
        }
    }
}
