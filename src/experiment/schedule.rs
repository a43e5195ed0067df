//! The order of executions, which matters more than the choice of the test.
//!
//! In each round every build seed comes once, in random order. For each seed every benchmark comes
//! once. The versions of a benchmark run directly one after the other, in random order, from the
//! same initial state. Drift during an experiment therefore affects both versions equally: simulated
//! false alarms stay at the nominal rate under random walks, linear drifts and steps, whereas running
//! all of one version first raises them to 35-87 %.

use std::collections::VecDeque;

use crate::stats::Random;

/// How much is to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleShape {
    /// How many versions are measured.
    pub versions: usize,
    /// How many benchmarks.
    pub benchmarks: usize,
    /// l: how many builds each version has.
    pub builds: usize,
    /// m: how many executions each build gets.
    pub executions: usize,
}

/// One execution to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// The round, from 0.
    pub round: usize,
    /// Which build: an index into the list of seeds.
    pub build: usize,
    /// Which benchmark.
    pub benchmark: usize,
    /// Which version.
    pub version: usize,
    /// The seed of the initial state: the same for all versions of this round, build and benchmark.
    /// Of 16 bits, as each execution keeps one: 65,536 states stand for all well enough.
    pub initial_state: u64,
}

/// All executions of an experiment, in order. The same seed gives the same order for ever.
pub fn schedule(shape: ScheduleShape, seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let ScheduleShape { versions, benchmarks, builds, executions } = shape;
    let mut steps = Vec::with_capacity(versions * benchmarks * builds * executions);
    for round in 0..executions {
        for build in shuffled(builds, &mut random) {
            for benchmark in shuffled(benchmarks, &mut random) {
                let initial_state = random.bits() >> 48;
                steps.extend(shuffled(versions, &mut random).into_iter().map(|version| Step {
                    round,
                    build,
                    benchmark,
                    version,
                    initial_state,
                }));
            }
        }
    }
    steps
}

/// The steps that are left of a schedule.
#[derive(Clone, Debug)]
pub struct Queue {
    steps: VecDeque<Step>,
    len: usize,
}

impl Queue {
    /// All of these steps.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { len: steps.len(), steps: steps.into() }
    }

    /// Takes the next step.
    pub fn take(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// Skips what is left of a benchmark.
    pub fn skip(&mut self, benchmark: usize) {
        self.steps.retain(|step| step.benchmark != benchmark);
    }

    /// How many steps there were in the beginning.
    pub const fn total(&self) -> usize {
        self.len
    }

    /// How many steps have been taken or skipped.
    pub fn done(&self) -> usize {
        self.len - self.steps.len()
    }
}

fn shuffled(count: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    random.shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const SHAPE: ScheduleShape =
        ScheduleShape { versions: 2, benchmarks: 3, builds: 5, executions: 4 };

    #[test]
    fn every_execution_comes_exactly_once() {
        let steps = schedule(SHAPE, 1);
        let different: HashSet<_> =
            steps.iter().map(|s| (s.round, s.build, s.benchmark, s.version)).collect();
        assert_eq!(steps.len(), 2 * 3 * 5 * 4);
        assert_eq!(different.len(), steps.len());
    }

    #[test]
    fn the_versions_of_a_benchmark_and_a_seed_run_next_to_each_other_from_one_initial_state() {
        for pair in schedule(SHAPE, 2).chunks(2) {
            let [one, other] = pair else { panic!("two versions") };
            let without_version = |step: &Step| Step { version: 0, ..*step };
            assert_eq!(without_version(one), without_version(other));
            assert_ne!(one.version, other.version);
        }
    }

    #[test]
    fn what_is_left_of_a_benchmark_that_is_skipped_does_not_come() {
        let mut queue = Queue::new(schedule(SHAPE, 1));
        let mut taken = Vec::new();
        while let Some(step) = queue.take() {
            taken.push(step.benchmark);
            if step.benchmark == 1 {
                queue.skip(1);
            }
        }
        assert_eq!(taken.iter().filter(|benchmark| **benchmark == 1).count(), 1);
        assert_eq!(taken.len(), 2 * 2 * 5 * 4 + 1);
        assert_eq!(queue.done(), queue.total());
    }

    #[test]
    fn all_is_done_as_soon_as_what_is_left_is_skipped() {
        let mut queue = Queue::new(schedule(SHAPE, 1));
        for benchmark in 0..SHAPE.benchmarks {
            assert_ne!(queue.done(), queue.total());
            queue.skip(benchmark);
        }
        assert_eq!(queue.done(), queue.total());
    }

    #[test]
    fn a_round_is_over_before_the_next_begins() {
        let rounds: Vec<usize> = schedule(SHAPE, 3).iter().map(|step| step.round).collect();
        assert!(rounds.is_sorted());
    }

    #[test]
    fn each_version_goes_first_about_half_of_the_time() {
        let shape = ScheduleShape { versions: 2, benchmarks: 1, builds: 1000, executions: 1 };
        let first = schedule(shape, 4).chunks(2).filter(|pair| pair[0].version == 0).count();
        assert!((430..570).contains(&first), "{first} of 1000");
    }

    #[test]
    fn a_seed_means_the_same_order_for_ever() {
        let shape = ScheduleShape { versions: 2, benchmarks: 1, builds: 3, executions: 1 };
        let order: Vec<_> = schedule(shape, 1).iter().map(|s| (s.build, s.version)).collect();
        assert_eq!(order, [(1, 0), (1, 1), (0, 0), (0, 1), (2, 1), (2, 0)]);
    }
}
