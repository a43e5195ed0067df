//! How many iterations one measurement takes: Algorithm 1 of Chen & Revels 2016.
//!
//! Tuned once per benchmark and machine; both versions of a comparison then use the same number,
//! because the estimators of different numbers of iterations are not comparable.

/// What is known about the clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// By how much a reading may be wrong. An overestimate only raises the iterations.
    pub accuracy: f64,
    /// The smallest difference that a reading can show.
    pub precision: f64,
}

impl Default for Clock {
    /// 1000 ns and 1 ns, as in figure 5 of the paper.
    fn default() -> Self {
        Self { accuracy: 1000.0, precision: 1.0 }
    }
}

impl Clock {
    /// `j = accuracy / precision`, at least 1: with more iterations than this the clock's error per
    /// iteration is smaller than it can show.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 1..=u32::MAX; NaN becomes 0 and then 1"
    )]
    pub fn most_iterations(&self) -> u64 {
        let ratio = (self.accuracy / self.precision).min(f64::from(u32::MAX));
        (ratio.round() as u64).max(1)
    }
}

/// The logistic oracle, equation (11): a smooth step from `j` iterations for benchmarks that last
/// about as long as the clock's precision to 1 for those that outlast its accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oracle {
    /// The step's steepness `a · precision`: .005 to .02.
    pub steepness: f64,
    /// The step's middle, as a share of the accuracy: .4 to .6.
    pub middle: f64,
}

impl Default for Oracle {
    /// .009 and .5, as in figure 5 of the paper.
    fn default() -> Self {
        Self { steepness: 0.009, middle: 0.5 }
    }
}

impl Oracle {
    /// `ν(t) = ⌊1 + (j−1) / (1 + exp(a (t − b·accuracy)))⌋` for `time` ns per iteration.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value lies in 1..=j, and j fits"
    )]
    pub fn iterations(&self, clock: &Clock, time: f64) -> u64 {
        let most = clock.most_iterations();
        let slope = self.steepness / clock.precision;
        let exponent = slope * (time - self.middle * clock.accuracy);
        let raw = 1.0 + (most - 1) as f64 / (1.0 + exponent.exp());
        (raw as u64).clamp(1, most)
    }
}

/// What tuning found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuned {
    /// Iterations that each measurement shall take.
    pub iterations: u64,
    /// The smallest time per iteration seen, in nanoseconds: the `t̂` given to the oracle.
    pub time: f64,
}

/// Algorithm 1: times 1, 2, …, `j` iterations, takes the smallest time per iteration as the estimate,
/// and asks the oracle.
///
/// `measure` returns the total time, in nanoseconds, of as many iterations as it is given. The paper's
/// loop costs j(j+1)/2 iterations, 500,500 with its clock, which no benchmark of a millisecond can
/// afford; so the loop also ends once the measured time adds up to `budget` nanoseconds. It always
/// takes the first measurement, and what it then misses can only be a smaller minimum, for which the
/// oracle would have asked for more iterations. `f64::INFINITY` is the paper's loop.
pub fn tune(
    clock: &Clock,
    oracle: &Oracle,
    budget: f64,
    mut measure: impl FnMut(u64) -> f64,
) -> Tuned {
    let (mut smallest, mut spent) = (f64::INFINITY, 0.0);
    for iterations in 1..=clock.most_iterations() {
        let total = measure(iterations);
        smallest = smallest.min(total / iterations as f64);
        spent += total;
        if spent >= budget {
            break;
        }
    }
    Tuned { iterations: oracle.iterations(clock, smallest), time: smallest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_gives_values_computed_by_hand() {
        let (clock, oracle) = (Clock::default(), Oracle::default());
        assert_eq!(clock.most_iterations(), 1000);
        // t = 500: 1 + 999/2. t = 1: 1 + 999/(1 + exp(-4.491)). t = 1000: 1 + 999/(1 + exp(4.5)).
        assert_eq!(oracle.iterations(&clock, 500.0), 500);
        assert_eq!(oracle.iterations(&clock, 1.0), 988);
        assert_eq!(oracle.iterations(&clock, 1000.0), 11);
        assert_eq!(oracle.iterations(&clock, 2000.0), 1);
        assert_eq!(oracle.iterations(&clock, f64::INFINITY), 1);
    }

    #[test]
    fn the_oracle_never_asks_a_longer_benchmark_for_more_iterations() {
        let (clock, oracle) = (Clock::default(), Oracle::default());
        let asked: Vec<u64> =
            (0..3000).map(|time| oracle.iterations(&clock, f64::from(time))).collect();
        assert!(asked.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn tuning_takes_the_minimum_over_one_to_j_iterations() {
        let mut asked = vec![];
        let clock = Clock { accuracy: 100.0, precision: 10.0 };
        let tuned = tune(&clock, &Oracle::default(), f64::INFINITY, |iterations| {
            asked.push(iterations);
            // 30 ns per iteration and a disturbance everywhere but at 7 iterations
            iterations as f64 * 30.0 + if iterations == 7 { 0.0 } else { 50.0 }
        });
        assert_eq!(asked, (1..=10).collect::<Vec<_>>());
        assert_eq!(tuned.time, 30.0);
        // 1 + 9 / (1 + exp(.0009 (30 − 50))) = 1 + 9 · .5045
        assert_eq!(tuned.iterations, 5);
    }

    #[test]
    fn a_long_benchmark_is_measured_once_and_gets_one_iteration() {
        let mut calls = 0;
        let tuned = tune(&Clock::default(), &Oracle::default(), 1e6, |_| {
            calls += 1;
            1e9
        });
        assert_eq!((tuned.iterations, calls), (1, 1));
    }

    #[test]
    fn a_clock_without_sense_still_gives_one_iteration_or_more() {
        for (accuracy, precision) in [(0.0, 0.0), (1.0, 0.0), (f64::NAN, 1.0), (1.0, 1000.0)] {
            let clock = Clock { accuracy, precision };
            assert!(clock.most_iterations() >= 1);
            assert!(Oracle::default().iterations(&clock, 5.0) >= 1);
        }
    }
}
