//! Runs one benchmark: times its routine, and creates inputs outside of the timed part.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use crate::measure::{Measured, Settings, measure};

/// The amount of data that one iteration processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// Bytes per iteration.
    Bytes(u64),
    /// Elements (lines, records, requests, …) per iteration.
    Elements(u64),
}

/// The action for a benchmark.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Do nothing.
    Ignore,
    /// Record its id.
    List,
    /// Run one iteration, to check that it works.
    Smoke,
    /// Measure it.
    Measure(Settings),
}

/// The outcome of one benchmark.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It exists; no more was requested.
    Listed,
    /// One iteration succeeded.
    Passed,
    /// It was measured.
    Measured(Measured),
    /// It cannot run here, for this reason.
    Skipped(String),
    /// It panicked, or violated the rules.
    Failed(String),
}

/// Times the routine of a benchmark.
///
/// A benchmark calls one of [`iter`](Self::iter), [`iter_with_inputs`](Self::iter_with_inputs) and
/// [`iter_with_inputs_mut`](Self::iter_with_inputs_mut), once; the call warms up, measures, and returns when everything
/// is done. A benchmark that calls none of them, nor [`skip`](Self::skip), fails.
pub struct Bencher {
    settings: Option<Settings>,
    outcome: Option<Outcome>,
    pub(crate) throughput: Option<Throughput>,
}

/// Most inputs that exist at a time.
const MOST_INPUTS: u64 = 1024;

/// Number of batches of a measurement: at most this many, plus one.
const BATCHES: u64 = 64;

impl Bencher {
    pub(crate) fn new(task: &Task, throughput: Option<Throughput>) -> Self {
        let settings = match task {
            Task::Measure(settings) => Some(settings.clone()),
            Task::Ignore | Task::List | Task::Smoke => None,
        };
        Self { settings, outcome: None, throughput }
    }

    pub(crate) fn take_outcome(&mut self) -> Outcome {
        self.outcome.take().unwrap_or_else(|| {
            Outcome::Failed("it never called `iter`, so nothing was measured".to_owned())
        })
    }

    /// Sets the amount of data that one iteration processes.
    pub fn throughput(&mut self, throughput: Throughput) -> &mut Self {
        self.throughput = Some(throughput);
        self
    }

    /// Reports this benchmark as skipped, for example because a file is missing.
    pub fn skip(&mut self, reason: impl Into<String>) {
        self.outcome = Some(Outcome::Skipped(reason.into()));
    }

    /// Times `routine` repeatedly, including the drop of its return value.
    ///
    /// The return value counts as used, so that the compiler does not optimise its computation away. The compiler may
    /// still know the values that the routine *reads*: pass constants through [`black_box`].
    #[expect(clippy::iter_not_returning_iterator, reason = "what every bench harness calls it")]
    pub fn iter<O>(&mut self, mut routine: impl FnMut() -> O) {
        self.run(&mut |iterations| {
            let start = Instant::now();
            for _ in 0..iterations {
                black_box(routine());
            }
            start.elapsed()
        });
    }

    /// Times `routine` with a fresh input for each call. Creating inputs and dropping results is not timed.
    ///
    /// The clock is read before and after each batch of inputs. A batch has a 64th of a measurement's iterations, at
    /// least 1 and at most 1024: so the cost of reading the clock is small for short routines, and long routines, whose
    /// inputs tend to be large, have few inputs in memory.
    pub fn iter_with_inputs<I, O>(
        &mut self,
        mut make: impl FnMut() -> I,
        mut routine: impl FnMut(I) -> O,
    ) {
        self.run(&mut |iterations| {
            in_batches(iterations, &mut make, |inputs, outputs| {
                let start = Instant::now();
                outputs.extend(inputs.drain(..).map(|input| routine(black_box(input))));
                start.elapsed()
            })
        });
    }

    /// Times `routine` with a fresh input for each call, which it changes in place. Creating and dropping inputs, and
    /// dropping results, is not timed. Batches are as in [`iter_with_inputs`](Self::iter_with_inputs).
    pub fn iter_with_inputs_mut<I, O>(
        &mut self,
        mut make: impl FnMut() -> I,
        mut routine: impl FnMut(&mut I) -> O,
    ) {
        self.run(&mut |iterations| {
            in_batches(iterations, &mut make, |inputs, outputs| {
                let start = Instant::now();
                outputs.extend(inputs.iter_mut().map(|input| routine(black_box(input))));
                start.elapsed()
            })
        });
    }

    /// Runs `timed(iterations) -> time` according to the task.
    fn run(&mut self, timed: &mut dyn FnMut(u64) -> Duration) {
        self.outcome = Some(match (&self.outcome, &self.settings) {
            (Some(_), _) => Outcome::Failed("it called `iter` or `skip` more than once".to_owned()),
            (None, None) => {
                timed(1);
                Outcome::Passed
            }
            (None, Some(settings)) => Outcome::Measured(measure(settings, timed)),
        });
    }
}

/// Sums the times of `timed` over batches of fresh inputs.
fn in_batches<I, O>(
    iterations: u64,
    make: &mut impl FnMut() -> I,
    mut timed: impl FnMut(&mut Vec<I>, &mut Vec<O>) -> Duration,
) -> Duration {
    let batch = batch_size(iterations);
    let mut inputs = Vec::new();
    let mut outputs = Vec::new();
    let mut time = Duration::ZERO;
    let mut left = iterations;
    while left > 0 {
        let size = usize::try_from(left.min(batch)).unwrap_or(1);
        inputs.extend(std::iter::repeat_with(&mut *make).take(size));
        outputs.reserve(size);
        time += timed(&mut inputs, &mut outputs);
        black_box(&outputs);
        inputs.clear();
        outputs.clear();
        left -= size as u64;
    }
    time
}

/// A function of the iterations alone: with the same number of iterations, the clock is read equally often, so that two
/// versions of a program have the same overhead.
fn batch_size(iterations: u64) -> u64 {
    iterations.div_ceil(BATCHES).clamp(1, MOST_INPUTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_iteration_has_its_own_input() {
        for iterations in [1, 2, 63, 64, 65, 1000, 100_000] {
            let (mut made, mut used, mut largest) = (0_u64, 0_u64, 0);
            in_batches(iterations, &mut || made += 1, |inputs: &mut Vec<()>, _: &mut Vec<()>| {
                used += inputs.len() as u64;
                largest = largest.max(inputs.len());
                Duration::ZERO
            });
            assert_eq!((made, used), (iterations, iterations));
            assert!(largest as u64 <= MOST_INPUTS);
        }
    }

    #[test]
    fn batch_size_grows_with_iterations_up_to_a_limit() {
        assert_eq!(batch_size(1), 1);
        assert_eq!(batch_size(64), 1);
        assert_eq!(batch_size(6_400), 100);
        assert_eq!(batch_size(u64::MAX), MOST_INPUTS);
    }

    #[test]
    fn inputs_are_unchanged_before_the_routine() {
        let mut bencher = Bencher::new(&Task::Smoke, None);
        bencher.iter_with_inputs_mut(
            || vec![2, 1],
            |numbers| {
                assert_eq!(*numbers, [2, 1]);
                numbers.sort_unstable();
            },
        );
        assert!(matches!(bencher.take_outcome(), Outcome::Passed));
    }
}
