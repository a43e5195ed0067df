//! The order of executions, which matters more than the choice of the test.
//!
//! In each round every build seed comes once, in random order. For each seed every benchmark comes
//! once. The versions of a benchmark run interleaved, or directly one after the other, from the
//! same initial state. The version that goes first is drawn in every other round, and reversed in
//! the next one: A B, then B A. Drift during an experiment therefore affects both versions equally:
//! simulated false alarms stay at the nominal rate under random walks, linear drifts and steps,
//! whereas running all of one version first raises them to 35-87 %.

use std::collections::{HashMap, VecDeque};

use rbench_stats::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleShape {
    pub versions: usize,
    pub benchmarks: usize,
    /// l: the number of builds of each version.
    pub builds: usize,
    /// m: the number of executions of each build.
    pub executions: usize,
}

/// One execution of each version, still to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The round, from 0.
    pub round: usize,
    /// The build: an index into the list of seeds.
    pub build: usize,
    /// The index of the benchmark.
    pub benchmark: usize,
    /// The versions in the order of their executions.
    pub versions: Vec<usize>,
    /// The seed of the initial state: the same for all versions. It has 16 bits, because each
    /// execution stores one: 65,536 states represent all well enough.
    pub initial_state: u64,
}

/// All executions of an experiment, in order. The same seed gives the same order for ever:
/// interrupted experiments are resumed by it.
pub fn schedule(shape: ScheduleShape, seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let ScheduleShape { versions, benchmarks, builds, executions } = shape;
    let mut steps = Vec::with_capacity(benchmarks * builds * executions);
    let mut orders: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for round in 0..executions {
        for build in shuffled(builds, &mut random) {
            for benchmark in shuffled(benchmarks, &mut random) {
                let initial_state = random.bits() >> 48;
                let drawn = shuffled(versions, &mut random);
                let versions = if let Some(before) = orders.remove(&(build, benchmark)) {
                    before.into_iter().rev().collect()
                } else {
                    orders.insert((build, benchmark), drawn.clone());
                    drawn
                };
                steps.push(Step { round, build, benchmark, versions, initial_state });
            }
        }
    }
    steps
}

/// The remaining steps of a schedule, with progress for the observer.
#[derive(Clone, Debug)]
pub struct Queue {
    steps: VecDeque<Step>,
    total: usize,
}

impl Queue {
    pub fn new(steps: Vec<Step>) -> Self {
        let steps: VecDeque<Step> = steps.into();
        Self { total: executions(&steps), steps }
    }

    pub fn take(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// Takes the next step, and those directly behind it as long as the next one `fits` those taken:
    /// at most `most` in all. Empty if no step is left.
    pub fn take_together(
        &mut self,
        most: usize,
        fits: impl Fn(&[Step], &Step) -> bool,
    ) -> Vec<Step> {
        let mut together: Vec<Step> = self.take().into_iter().collect();
        while together.len() < most && self.steps.front().is_some_and(|next| fits(&together, next))
        {
            together.extend(self.take());
        }
        together
    }

    /// Drops the remaining steps of a benchmark.
    pub fn skip(&mut self, benchmark: usize) {
        self.steps.retain(|step| step.benchmark != benchmark);
    }

    /// Restarts a benchmark: replaces its remaining steps by these, at the end of the queue.
    pub fn begin_anew(&mut self, benchmark: usize, steps: impl IntoIterator<Item = Step>) {
        self.skip(benchmark);
        self.steps.extend(steps);
        // An earlier run may have left fewer steps than that.
        self.total = self.total.max(executions(&self.steps));
    }

    /// The number of executions in all, taken or not.
    pub const fn total(&self) -> usize {
        self.total
    }

    /// The number of executions that were taken or skipped.
    pub fn done(&self) -> usize {
        self.total.saturating_sub(executions(&self.steps))
    }
}

fn executions(steps: &VecDeque<Step>) -> usize {
    steps.iter().map(|step| step.versions.len()).sum()
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
    fn schedule_has_every_execution_once() {
        let steps = schedule(SHAPE, 1);
        let of_step = |step: &Step| {
            let place = (step.round, step.build, step.benchmark);
            step.versions.iter().map(move |version| (place, *version)).collect::<Vec<_>>()
        };
        let all: Vec<_> = steps.iter().flat_map(of_step).collect();
        assert_eq!(all.len(), 2 * 3 * 5 * 4);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn schedule_reverses_order_in_the_next_round() {
        let steps = schedule(SHAPE, 2);
        let order = |round: usize, build: usize, benchmark: usize| {
            let place = (round, build, benchmark);
            let of_place = |s: &&Step| (s.round, s.build, s.benchmark) == place;
            steps.iter().find(of_place).unwrap().versions.clone()
        };
        for (build, benchmark) in (0..5).flat_map(|build| (0..3).map(move |other| (build, other))) {
            for round in [0, 2] {
                let mut after = order(round + 1, build, benchmark);
                after.reverse();
                assert_eq!(order(round, build, benchmark), after);
            }
        }
    }

    #[test]
    fn skip_drops_remaining_steps_of_a_benchmark() {
        let mut queue = Queue::new(schedule(SHAPE, 1));
        let mut taken = Vec::new();
        while let Some(step) = queue.take() {
            taken.push(step.benchmark);
            if step.benchmark == 1 {
                queue.skip(1);
            }
        }
        assert_eq!(taken.iter().filter(|benchmark| **benchmark == 1).count(), 1);
        assert_eq!(taken.len(), 2 * 5 * 4 + 1);
        assert_eq!(queue.done(), queue.total());
    }

    #[test]
    fn restarted_benchmark_comes_as_a_whole_at_the_end() {
        let steps = schedule(SHAPE, 1);
        let mut queue = Queue::new(steps.clone());
        let of_first = |step: &&Step| step.benchmark == steps[0].benchmark;
        queue.take();
        queue.begin_anew(steps[0].benchmark, steps.iter().filter(of_first).cloned());
        assert_eq!(queue.done(), 0);
        let left: Vec<Step> = std::iter::from_fn(|| queue.take()).collect();
        assert!(left[2 * 5 * 4..].iter().all(|step| step.benchmark == steps[0].benchmark));
        assert_eq!(left.len(), steps.len());
    }

    #[test]
    fn queue_is_done_once_all_is_skipped() {
        let mut queue = Queue::new(schedule(SHAPE, 1));
        for benchmark in 0..SHAPE.benchmarks {
            assert_ne!(queue.done(), queue.total());
            queue.skip(benchmark);
        }
        assert_eq!(queue.done(), queue.total());
    }

    #[test]
    fn schedule_finishes_a_round_before_the_next() {
        let rounds: Vec<usize> = schedule(SHAPE, 3).iter().map(|step| step.round).collect();
        assert!(rounds.is_sorted());
    }

    #[test]
    fn schedule_puts_each_version_first_half_the_time() {
        let shape = ScheduleShape { versions: 2, benchmarks: 1, builds: 1000, executions: 1 };
        let first = schedule(shape, 4).iter().filter(|step| step.versions == [0, 1]).count();
        assert!((430..570).contains(&first), "{first} of 1000");
    }

    #[test]
    fn schedule_of_a_seed_never_changes() {
        let shape = ScheduleShape { versions: 2, benchmarks: 1, builds: 3, executions: 1 };
        let steps = schedule(shape, 1);
        let order: Vec<_> = steps.iter().map(|s| (s.build, s.versions.as_slice())).collect();
        assert_eq!(order, [(1, &[0, 1][..]), (0, &[0, 1]), (2, &[1, 0])]);
    }
}
