//! How many iterations one measurement needs: Algorithm 1 of Chen & Revels 2016, and a floor.

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
/// Algorithm 1: time i = 1..j iterations; t̂ is the minimum of `T_i / i`; then ν(t̂) iterations make
/// the clock's error negligible. The trial of all i stops early when it has taken `budget`: the
/// last i are the most precise for short routines, which never get there, and the first are precise
/// enough for long ones. Then the number is raised until a measurement lasts `floor`.
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
    raise_to(floor, u64::from(oracle(least)), timed)
}

/// ν(t), equation (11) of the paper, with `a = 0.009 / τ_prec` and `b = 0.5`: about j iterations for a
/// routine of no time at all, falling to 1 as `t` (nanoseconds) passes the accuracy of the clock.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 1..=1000")]
fn oracle(t: f64) -> u32 {
    const A: f64 = 0.009 / PRECISION;
    const B: f64 = 0.5;
    let logistic = 1.0 + f64::from(MOST - 1) / (1.0 + (A * (t - B * ACCURACY)).exp());
    logistic.floor() as u32
}

/// Raises `iterations` until they take `floor`, by what they were seen to take.
fn raise_to(floor: Duration, mut iterations: u64, timed: &mut dyn FnMut(u64) -> Duration) -> u64 {
    /// A routine that takes no time at all ends here rather than never.
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

/// `iterations` times `factor` and a little more, but not beyond ten times at a time: a short trial
/// tells little about a long one.
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

    /// A routine of `picoseconds`, on a clock that reads `delay` nanoseconds late.
    fn routine(picoseconds: u64, delay: u64) -> impl FnMut(u64) -> Duration {
        move |iterations| Duration::from_nanos(picoseconds * iterations / 1000 + delay)
    }

    #[test]
    fn the_oracle_falls_from_j_to_one() {
        assert_eq!(oracle(0.0), 989);
        assert_eq!(oracle(500.0), 500);
        assert_eq!(oracle(1000.0), 11);
        assert_eq!(oracle(1e6), 1);
        assert_eq!(oracle(1e12), 1);
        let mut last = oracle(0.0);
        for t in 1..3000 {
            assert!(oracle(f64::from(t)) <= last);
            last = oracle(f64::from(t));
        }
    }

    #[test]
    fn without_a_floor_algorithm_1_alone_decides() {
        let budget = Duration::from_secs(60);
        assert_eq!(tune(Duration::ZERO, budget, &mut routine(500_000, 0)), 500);
        assert_eq!(tune(Duration::ZERO, budget, &mut routine(2_000_000, 40)), 1);
    }

    #[test]
    fn every_tuned_measurement_reaches_the_floor_and_not_much_more() {
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
    fn a_long_routine_runs_once_per_measurement() {
        let mut timed = routine(5_000_000_000, 0);
        assert_eq!(tune(Duration::from_millis(1), Duration::ZERO, &mut timed), 1);
    }

    #[test]
    fn a_routine_that_takes_no_time_at_all_still_ends() {
        let mut timed = |_| Duration::ZERO;
        assert!(tune(Duration::from_millis(1), Duration::ZERO, &mut timed) >= 1 << 40);
    }
}
