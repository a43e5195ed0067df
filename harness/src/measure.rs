//! One execution of one benchmark: warms up for a time, determines the iterations, and takes
//! exactly n measurements.

use std::time::{Duration, Instant};

use crate::tuning;

/// The settings of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Number of measurements.
    pub(crate) measurements: usize,
    /// Least time before the first measurement.
    pub(crate) warm_up: Duration,
    /// Least duration of a measurement, when iterations are tuned.
    pub(crate) floor: Duration,
    /// Iterations of every measurement; tuned if absent.
    pub(crate) iterations: Option<u64>,
}

/// The results of an execution.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Iterations of every measurement.
    pub(crate) iterations: u64,
    /// True if they were tuned here, false if they were given.
    pub(crate) tuned: bool,
    /// Wall time spent before tuning and measuring.
    pub(crate) warm_up: Duration,
    /// Iterations run in the warm-up.
    pub(crate) warm_up_iterations: u64,
    /// Time of each measurement, for all its iterations together, in the order taken.
    pub(crate) times: Vec<Duration>,
}

/// Approximate interval between clock readings in the warm-up, so that it ends in time.
const WARM_UP_STEP: Duration = Duration::from_micros(250);

/// Executes `settings` with `timed`, which runs a number of iterations and returns their time.
pub(crate) fn measure(settings: &Settings, timed: &mut dyn FnMut(u64) -> Duration) -> Measured {
    // Reserved in advance: nothing is allocated between two measurements.
    let mut times = Vec::with_capacity(settings.measurements);
    let (warm_up, warm_up_iterations) = warm_up(settings.warm_up, timed);
    let iterations = settings
        .iterations
        .unwrap_or_else(|| tuning::tune(settings.floor, tuning_budget(settings), timed));
    for _ in 0..settings.measurements {
        times.push(timed(iterations));
    }
    Measured {
        iterations,
        tuned: settings.iterations.is_none(),
        warm_up,
        warm_up_iterations,
        times,
    }
}

/// Tuning may take as long as the warm-up, or as a few measurements if there is none.
fn tuning_budget(settings: &Settings) -> Duration {
    settings.warm_up.max(10 * settings.floor)
}

/// Runs for `least`; returns the time and the iterations spent.
fn warm_up(least: Duration, timed: &mut dyn FnMut(u64) -> Duration) -> (Duration, u64) {
    let start = Instant::now();
    let (mut spent, mut iterations, mut step) = (Duration::ZERO, 0_u64, 1_u64);
    while spent < least {
        timed(step);
        iterations = iterations.saturating_add(step);
        let now = start.elapsed();
        // The whole step counts, not only its timed part: creating inputs may take far longer.
        if now.saturating_sub(spent) < WARM_UP_STEP {
            // The limit is for a routine that was optimised away completely.
            step = (2 * step).min(1 << 40);
        }
        spent = now;
    }
    (spent, iterations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(iterations: Option<u64>) -> Settings {
        Settings {
            measurements: 7,
            warm_up: Duration::from_micros(300),
            floor: Duration::from_micros(5),
            iterations,
        }
    }

    #[test]
    fn given_iterations_are_used_for_exactly_n_measurements() {
        let mut calls = Vec::new();
        let measured = measure(&settings(Some(5)), &mut |iterations| {
            calls.push(iterations);
            Duration::from_nanos(10 * iterations)
        });
        assert_eq!(measured.times, [Duration::from_nanos(50); 7]);
        assert!(!measured.tuned);
        assert!(measured.warm_up >= Duration::from_micros(300));
        let before = &calls[..calls.len() - 7];
        assert_eq!(measured.warm_up_iterations, before.iter().sum::<u64>());
        assert_eq!(&calls[calls.len() - 7..], [5; 7]);
    }

    #[test]
    fn without_warm_up_the_first_call_is_a_measurement() {
        let mut calls = 0;
        let none = Settings { warm_up: Duration::ZERO, ..settings(Some(1)) };
        measure(&none, &mut |_| {
            calls += 1;
            Duration::from_nanos(1)
        });
        assert_eq!(calls, 7);
    }

    #[test]
    fn tuned_measurements_last_as_long_as_requested() {
        let measured =
            measure(&settings(None), &mut |iterations| Duration::from_nanos(2 * iterations));
        assert!(measured.tuned);
        assert!(measured.times.iter().all(|time| *time >= Duration::from_micros(5)));
        assert_eq!(measured.times.len(), 7);
    }
}
