//! Determines the iterations of a measurement: Algorithm 1 of Chen & Revels 2016, and a least duration.

use std::time::{Duration, Instant};

/// `τ_acc`: an upper bound on the error of the clock, in nanoseconds. An overestimate only raises the
/// iterations.
const ACCURACY: f64 = 1000.0;

/// `τ_prec`: the resolution of the clock, in nanoseconds.
const PRECISION: f64 = 1.0;

/// j: with more repetitions than this, the error of the clock is below its resolution.
const MOST: u32 = 1000;

/// Chooses the iterations of a measurement of `timed`.
///
/// Algorithm 1: time i = 1..j iterations; t̂ is the minimum of `T_i / i`; then ν(t̂) iterations make the clock's error
/// negligible. The trial over all i stops early when it has taken `budget`: short routines, for which the last i are
/// the most precise, finish before that, and for long ones the first i are precise enough. Then the number is raised
/// until a measurement lasts `floor`.
pub(crate) fn tune(
    floor: Duration,
    budget: Duration,
    timed: &mut dyn FnMut(u64) -> Duration,
) -> u64 {
    let start = Instant::now();
    let mut least = f64::INFINITY;
    for i in 1..=MOST {
        let time = timed(u64::from(i));
        least = least.min(nanoseconds(time) / f64::from(i));
        if start.elapsed() >= budget {
            break;
        }
    }
    raise_to(floor, u64::from(iterations_for_clock(least)), timed)
}

/// ν(t), equation (11) of the paper, with `a = 0.009 / τ_prec` and `b = 0.5`: about j iterations for a routine that
/// takes no time, decreasing to 1 as `t` (nanoseconds) exceeds the accuracy of the clock.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 1..=1000")]
fn iterations_for_clock(t: f64) -> u32 {
    const A: f64 = 0.009 / PRECISION;
    const B: f64 = 0.5;
    let logistic = 1.0 + f64::from(MOST - 1) / (1.0 + (A * (t - B * ACCURACY)).exp());
    logistic.floor() as u32
}

/// Raises `iterations` until a measurement lasts `floor`, based on trial measurements.
fn raise_to(floor: Duration, mut iterations: u64, timed: &mut dyn FnMut(u64) -> Duration) -> u64 {
    /// Ends the search for a routine that takes no time.
    const LIMIT: u64 = 1 << 40;
    while iterations < LIMIT {
        // The shorter of two: a disturbance must not make a measurement look long enough.
        let time = timed(iterations).min(timed(iterations));
        if time >= floor {
            break;
        }
        iterations = raised(iterations, nanoseconds(floor) / nanoseconds(time).max(PRECISION));
    }
    iterations
}

/// `iterations` times `factor` and a little more, but at most ten times as many at once: a short trial predicts a long
/// one badly.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^40 · 10")]
fn raised(iterations: u64, factor: f64) -> u64 {
    let wanted = (iterations as f64 * (1.05 * factor).min(10.0)).ceil() as u64;
    wanted.max(iterations + 1)
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A routine of `picoseconds`, with a clock that reads `delay` nanoseconds late.
    fn routine(picoseconds: u64, delay: u64) -> impl FnMut(u64) -> Duration {
        move |iterations| Duration::from_nanos(picoseconds * iterations / 1000 + delay)
    }

    #[test]
    fn iterations_for_clock_decreases_from_j_to_one() {
        assert_eq!(iterations_for_clock(0.0), 989);
        assert_eq!(iterations_for_clock(500.0), 500);
        assert_eq!(iterations_for_clock(1000.0), 11);
        assert_eq!(iterations_for_clock(1e6), 1);
        assert_eq!(iterations_for_clock(1e12), 1);
        let mut last = iterations_for_clock(0.0);
        for t in 1..3000 {
            assert!(iterations_for_clock(f64::from(t)) <= last);
            last = iterations_for_clock(f64::from(t));
        }
    }

    #[test]
    fn algorithm_1_alone_decides_without_a_floor() {
        let budget = Duration::from_secs(60);
        assert_eq!(tune(Duration::ZERO, budget, &mut routine(500_000, 0)), 500);
        assert_eq!(tune(Duration::ZERO, budget, &mut routine(2_000_000, 40)), 1);
    }

    #[test]
    fn tuned_measurement_lasts_slightly_longer_than_the_floor() {
        let floor = Duration::from_millis(1);
        for picoseconds in [1, 200, 1_000, 50_000, 999_000, 10_000_000] {
            let mut timed = routine(picoseconds, 25);
            let iterations = tune(floor, Duration::from_secs(60), &mut timed);
            let time = timed(iterations);
            assert!(time >= floor, "{picoseconds} ps: {time:?}");
            assert!(time <= floor.mul_f64(1.2), "{picoseconds} ps: {time:?}");
        }
    }

    #[test]
    fn long_routine_runs_once_per_measurement() {
        let mut timed = routine(5_000_000_000, 0);
        assert_eq!(tune(Duration::from_millis(1), Duration::ZERO, &mut timed), 1);
    }

    #[test]
    fn tuning_ends_for_a_routine_that_takes_no_time() {
        let mut timed = |_| Duration::ZERO;
        assert!(tune(Duration::from_millis(1), Duration::ZERO, &mut timed) >= 1 << 40);
    }
}
