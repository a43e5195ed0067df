//! Derives the samples of an execution, which libtest does not print, from the clock readings of its process.
//!
//! libtest reads the clock around one iteration, and derives from it how many take a millisecond, `n`. Then it measures in
//! rounds: 50 samples of `n` iterations and 50 of `5 n`, and one reading before and after these. It doubles `n` after each
//! round, until the samples agree or three seconds have passed, and prints the median of the last 50.

use std::iter::successors;

use crate::model::{Metric, Series};

/// The number of samples of each kind in a round.
pub(super) const SAMPLES: u32 = 50;
const COUNT: usize = SAMPLES as usize;
/// The iterations of a sample of the second kind, in relation to the first kind.
pub(super) const LONGER: u64 = 5;
/// Clock readings of a round.
const ROUND: usize = 2 * 2 * COUNT + 2;
/// Readings before the first sample: the first iteration and the beginning of the first round.
const BEFORE: usize = 3;

/// The last 50 samples of a process with these clock readings, whose clock ran `speed` times as fast and which printed this
/// median; none if the readings do not lead to the median. Others read the clock after the samples too.
pub(super) fn samples(readings: &[i64], speed: u32, median: f64) -> Option<Series> {
    let ends = (0..=readings.len()).rev();
    ends.take(10).find_map(|end| {
        let first = end.checked_sub(2 * COUNT)?;
        let durations: Vec<i64> = readings[first..end]
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[start, end]| end - start)
            .collect();
        let iterations = iterations(&readings[..first], speed)
            .find(|iterations| has_median(&durations, *iterations, speed, median))?;
        let each = iterations as f64;
        Some(Series {
            metric: Metric::wall(),
            values: durations.iter().map(|duration| *duration as f64 / each).collect(),
            iterations: vec![iterations; COUNT],
            resolution: each.recip(),
        })
    })
}

/// The possible iterations of the last samples, by the readings before them: for each number of rounds.
fn iterations(before: &[i64], speed: u32) -> impl Iterator<Item = u64> {
    /// libtest wants its samples to last so many ns.
    const WANTED: i64 = 1_000_000;
    let first_round = before.len().checked_sub(BEFORE + 2 * COUNT);
    let starts = successors(first_round, |start| start.checked_sub(ROUND));
    let rounds = (0..).zip(starts);
    rounds.filter_map(move |(doubled, start)| {
        let single = (before[start + 1] - before[start]).checked_mul(i64::from(speed))?;
        let first = u64::try_from((WANTED / single.max(1)).max(1)).ok()?;
        first.checked_shl(doubled)?.checked_mul(LONGER)
    })
}

/// True if samples with these durations have this median per iteration by a clock that ran `speed` times as fast. One of them
/// may have seemed longest, since the clock jumped ahead. Toolchains before 2024 round down to whole nanoseconds.
fn has_median(durations: &[i64], iterations: u64, speed: u32, median: f64) -> bool {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    // The two in the middle, with and without one before them or one of them at the end.
    let middles =
        [[COUNT / 2 - 1, COUNT / 2], [COUNT / 2, COUNT / 2 + 1], [COUNT / 2 - 1, COUNT / 2 + 1]];
    middles.into_iter().any(|middle| {
        let both: i64 = middle.iter().map(|index| sorted[*index]).sum();
        let shown = both as f64 / 2.0 * f64::from(speed) / iterations as f64;
        let is_rounded = shown >= 1.0 && (shown.trunc() - median).abs() < f64::EPSILON;
        (shown - median).abs() <= shown * 1e-9 || is_rounded
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            read_after(60);
        }
        read_after(9_000);
        readings
    }

    /// What libtest prints of samples with these durations by a clock that runs `speed` times as fast.
    fn median(durations: &[i64], iterations: u64, speed: u32) -> f64 {
        let shown = |duration: &i64| (duration * i64::from(speed)) as f64 / iterations as f64;
        let mut times: Vec<f64> = durations.iter().map(shown).collect();
        times.sort_by(f64::total_cmp);
        times[COUNT / 2 - 1] + (times[COUNT / 2] - times[COUNT / 2 - 1]) * 0.5
    }

    /// The durations of a round of `n` iterations, each of which takes about so many ns.
    fn round(n: i64, each: i64, noise: &[i64]) -> Vec<i64> {
        let lengths = (0..2 * COUNT).map(|sample| if sample < COUNT { n } else { 5 * n });
        lengths.zip(noise.iter().cycle()).map(|(n, noise)| n * each + noise).collect()
    }

    proptest! {
        #[test]
        fn samples_lead_to_the_printed_median(
            each in 1_i64..3_000_000, cold in 1_i64..4, speed in 1_u32..20, doubled in 0_u32..3,
            noise in prop::collection::vec(0_i64..5_000, 40..60), is_rounded: bool,
        ) {
            let single = each * cold;
            let n = (1_000_000 / (single * i64::from(speed))).max(1);
            let rounds: Vec<Vec<i64>> = (0..=doubled).map(|times| round(n << times, each, &noise)).collect();
            let last = &rounds[rounds.len() - 1][COUNT..];
            let iterations = 5 * (n << doubled).unsigned_abs();
            let printed = median(last, iterations, speed);
            let printed = if is_rounded { printed.trunc() } else { printed };
            let found = samples(&readings(single, &rounds), speed, printed).unwrap();
            prop_assert_eq!(&found.iterations, &vec![iterations; COUNT]);
            for (value, duration) in found.values.iter().zip(last) {
                prop_assert!((value - *duration as f64 / iterations as f64).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn samples_are_none_for_other_readings() {
        let noise: Vec<i64> = (0..100).map(|sample| 37 * (sample % 11)).collect();
        let round = round(40, 5_000, &noise);
        let printed = median(&round[COUNT..], 200, 5);
        let right = readings(5_000, &[round]);
        assert!(samples(&right, 5, printed).is_some());
        assert_eq!(samples(&right, 5, printed * 1.01), None, "another median");
        assert_eq!(samples(&right, 1, printed), None, "another speed");
        assert_eq!(samples(&right[90..], 5, printed), None, "too few");
        assert_eq!(samples(&[], 5, printed), None);
        let mut within = right.clone();
        within.insert(150, within[150] - 1);
        assert_eq!(samples(&within, 5, printed), None, "the benchmark reads the clock itself");
    }

    #[test]
    fn sample_in_which_the_clock_jumped_seemed_longest() {
        let durations: Vec<i64> = (0..50).map(|sample| 1_000_000 + 100 * sample).collect();
        for jumped in 0..COUNT {
            let mut shown = durations.clone();
            shown[jumped] += 3_000_000_000;
            assert!(has_median(&durations, 200, 1, median(&shown, 200, 1)), "{jumped}");
        }
        assert!(has_median(&durations, 200, 1, median(&durations, 200, 1)));
        assert!(!has_median(&durations, 200, 1, 5_000.0));
    }
}
