//! The length of the time slices in which a benchmark is interleaved.
//!
//! Both versions use the caches of one CPU. At the beginning of a slice, a benchmark finds the data of the other version
//! there. Where its own data are large, it then takes several times as long as alone, and a change of its code is a small part of
//! that. So its time is compared with its time alone, and slices become longer until both agree
//! (docs/research/interleaving.md).

use std::time::Duration;

use super::schedule::Step;
use crate::{
    impact::Needs,
    model::{Execution, ExecutionRequest, SLOWER_THAN_ALONE, Threads},
    process::interleaving::SLICE,
};

/// The lengths of slices, in the order in which they are tried. With longer ones, the disturbances of both versions are
/// less alike.
const SLICES: [Duration; 3] = [SLICE, Duration::from_millis(5), Duration::from_millis(25)];

/// How much slower a benchmark with other threads may be interleaved than alone: these must get a CPU again in each slice.
/// Where other programs wanted one, they took up to half as long again, in both versions, and changes were shown as large
/// as they were.
const SLOWER_WITH_THREADS: f64 = 2.0;
/// The same with placed threads. Some pools are faster alone, where the kernel happens to run all their threads on one CPU.
/// Beside a program that used one CPU, some benchmarks took 3 to 6 times as long as alone.
const SLOWER_WITH_PLACED_THREADS: f64 = 1.5;

/// Processes below this peak memory in bytes hardly fill a cache that cores share. They need some for their program and
/// its libraries.
pub(super) const LARGE: u64 = 16 << 20;

/// How much slower a benchmark may be interleaved than alone, as a factor.
pub(super) fn most_slower(threads: Threads) -> f64 {
    match threads {
        Threads::Together => SLOWER_THAN_ALONE,
        Threads::Placed => SLOWER_WITH_PLACED_THREADS,
        Threads::Free => SLOWER_WITH_THREADS,
    }
}

/// The faster version of a pair with its median time; `None` without enough measurements.
pub(super) fn faster(step: &Step, executions: &[Execution; 2]) -> Option<(f64, usize)> {
    /// The median of fewer measurements may be slow by chance.
    const ENOUGH: usize = 20;
    if executions.iter().any(|one| one.measurements() < ENOUGH) {
        return None;
    }
    let medians = step.versions.iter().zip(executions);
    let medians = medians.filter_map(|(version, one)| Some((one.median_iteration()?, *version)));
    medians.min_by(|a, b| a.0.total_cmp(&b.0))
}

/// True if a pair may be slower than `alone` because each slice begins with cold caches: if it is much slower, if its process
/// is large, or if it is the first such pair, or faster than the pair `before` in shorter slices.
pub(super) fn may_be_caches(
    interleaved: f64,
    alone: Alone,
    before: Option<f64>,
    memory: Option<u64>,
) -> bool {
    /// Short loops differ by less between processes. Some data of 8 MiB were 2.2 times slower in slices of 5 ms as well.
    const MUCH: f64 = 1.25;
    memory >= Some(LARGE)
        || !alone.is_agreed(interleaved, MUCH)
        || before.is_none_or(|before| interleaved < before * 0.95)
}

/// The time of a benchmark that is executed alone, in ns per iteration: of the faster version.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Alone {
    /// In the traced executions.
    pub(super) traced: Option<f64>,
    /// In an execution for this purpose.
    pub(super) executed: Option<f64>,
}

impl Alone {
    /// The time in traces. Those are made beside each other, and cores share the last cache: they are no measure for
    /// processes that could fill it.
    pub(super) fn of_traces(needs: &Needs) -> Self {
        let is_small = needs.memory.is_some_and(|memory| memory < LARGE);
        Self { traced: needs.median_iteration.filter(|_| is_small), executed: None }
    }

    /// True if a benchmark is not `slower` by more than this factor interleaved than in the slowest execution alone.
    pub(super) fn is_agreed(self, interleaved: f64, slower: f64) -> bool {
        self.slowest().is_some_and(|alone| interleaved <= alone * slower)
    }

    /// The time in the slowest execution alone.
    pub(super) fn slowest(self) -> Option<f64> {
        [self.traced, self.executed].into_iter().flatten().reduce(f64::max)
    }
}

/// The next longer slices that suit an execution with this request, if there are any.
pub(super) fn longer_slice(slice: Duration, request: &ExecutionRequest) -> Option<Duration> {
    /// With fewer slices, the disturbances of both versions would not be alike.
    const FEWEST: u32 = 3;
    let suits = |longer: &Duration| {
        *longer > slice && longer.saturating_mul(FEWEST) <= request.measuring_time()
    };
    SLICES.into_iter().find(suits)
}

/// The length of the slices of an earlier interleaved execution, by how often it handed over.
pub(super) fn slice_of(execution: &Execution) -> Option<Duration> {
    let (threads, passed) = execution.schedule.interleaved()?;
    let measurements = u64::try_from(execution.measurements()).unwrap_or(u64::MAX);
    // With the shortest slices, it hands over after each measurement. Longer slices that end with each measurement have the
    // same effect.
    if threads == Threads::Together && passed.saturating_mul(4) >= measurements.saturating_mul(3) {
        return Some(SLICE);
    }
    let mean = execution.measured_time() / u32::try_from(passed).unwrap_or(u32::MAX).max(1);
    let [_, longer, longest] = SLICES;
    // The last measurement of a slice makes it longer, up to twice as long.
    Some(if mean <= 2 * longer { longer } else { longest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Metric, Schedule, Series,
        testing::{execution, request},
    };

    #[test]
    fn small_process_that_longer_slices_do_not_help_has_no_cold_caches() {
        let small = Some(LARGE - 1);
        let alone = Alone { traced: Some(100.0), executed: None };
        let may_be =
            |interleaved, before, memory| may_be_caches(interleaved, alone, before, memory);
        assert!(may_be(120.0, None, small), "longer slices were not tried");
        assert!(may_be(120.0, Some(200.0), small));
        assert!(!may_be(119.0, Some(120.0), small));
        assert!(!may_be(119.0, Some(120.0), None), "below what can be known");
        assert!(may_be(119.0, Some(120.0), Some(LARGE)));
        assert!(may_be(218.0, Some(220.0), small));
    }

    #[test]
    fn interleaved_benchmark_may_be_a_tenth_slower_than_alone() {
        let alone = |traced, executed| Alone { traced, executed };
        assert!(!alone(None, None).is_agreed(1.0, SLOWER_THAN_ALONE), "nothing is known");
        assert!(alone(Some(100.0), None).is_agreed(110.0, SLOWER_THAN_ALONE));
        assert!(!alone(Some(100.0), None).is_agreed(111.0, SLOWER_THAN_ALONE));
        assert!(alone(Some(100.0), Some(102.0)).is_agreed(112.0, SLOWER_THAN_ALONE));
        assert!(alone(Some(102.0), Some(100.0)).is_agreed(112.0, SLOWER_THAN_ALONE));
        assert!(alone(Some(100.0), None).is_agreed(5.0, SLOWER_THAN_ALONE));
        assert!(alone(Some(100.0), None).is_agreed(150.0, SLOWER_WITH_THREADS));
    }

    #[test]
    fn traces_of_large_processes_do_not_tell_their_time_alone() {
        let traced = |memory| {
            let needs = Needs { median_iteration: Some(5.0), memory, ..Needs::default() };
            Alone::of_traces(&needs).traced
        };
        assert_eq!(traced(Some(9 << 20)), Some(5.0));
        assert_eq!(traced(Some(90 << 20)), None);
        assert_eq!(traced(None), None);
    }

    #[test]
    fn slices_of_earlier_executions_are_known_by_how_often_they_ended() {
        // Eighty measurements of a length in ms.
        let of = |passed, length: f64| {
            let series = Series {
                metric: Metric::wall(),
                values: vec![length * 1e6; 80],
                iterations: vec![1; 80],
                resolution: 0.0,
            };
            let schedule = Schedule::Interleaved(passed);
            slice_of(&Execution { schedule, ..execution(request(), vec![series]) })
        };
        assert_eq!(of(84, 1.0), Some(SLICE));
        assert_eq!(of(82, 30.0), Some(SLICE));
        assert_eq!(of(18, 1.0), Some(SLICES[1]), "80 ms in slices of 5");
        assert_eq!(of(43, 3.0), Some(SLICES[1]), "each ends after two measurements");
        assert_eq!(of(4, 1.0), Some(SLICES[2]), "80 ms and a warm-up in slices of 25");
        assert_eq!(of(22, 6.0), Some(SLICES[2]));
        let alone = execution(request(), Vec::new());
        assert_eq!(slice_of(&alone), None);
        let schedule = Schedule::InterleavedThreads(84);
        assert_eq!(slice_of(&Execution { schedule, ..alone }), Some(SLICES[1]));
    }
}
