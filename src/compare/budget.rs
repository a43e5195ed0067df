//! A limit for the time of measuring, and the choice of the benchmark to spend it on.

use std::{collections::HashMap, time::Duration};

use crate::{
    error::Result,
    model::{Benchmark, Metric, Threads},
    store::{ExperimentId, Store, StoredExecution},
};

/// The time that the executions of an experiment may take together. It is computed from the stored
/// executions, so that a resumed run spends only the rest.
pub struct Budget<'s> {
    store: &'s Store<'s>,
    experiment: ExperimentId,
    limit: Duration,
    /// The number of interleaved benchmarks that are executed at once.
    parallel: u32,
    spent: HashMap<Benchmark, TimeSpent>,
}

/// The measurements of a benchmark so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TimeSpent {
    /// The time of its executions.
    time: Duration,
    /// The number of executed builds of each version.
    builds: u32,
}

impl<'s> Budget<'s> {
    /// A budget for all executions of an experiment.
    pub fn new(
        store: &'s Store<'s>,
        experiment: ExperimentId,
        limit: Duration,
        parallel: u32,
    ) -> Self {
        Self { store, experiment, limit, parallel: parallel.max(1), spent: HashMap::new() }
    }

    /// Updates the spent time by the stored executions of these benchmarks, which were just
    /// measured.
    pub fn count(&mut self, benchmarks: &[Benchmark]) -> Result<()> {
        for benchmark in benchmarks {
            let rows = self.store.rows(benchmark, &[self.experiment])?;
            self.spent.insert(benchmark.clone(), TimeSpent::from_rows(&rows, self.parallel));
        }
        Ok(())
    }

    /// The index of the candidate with the highest probability of a decision per second, among
    /// those that the remaining time suffices for. A candidate is a benchmark, the number of builds
    /// to measure next, and the probability that these decide it.
    pub fn best<'b>(
        &self,
        candidates: impl Iterator<Item = (&'b Benchmark, u32, f64)>,
    ) -> Option<usize> {
        let spent: Duration = self.spent.values().map(|one| one.time).sum();
        let left = self.limit.saturating_sub(spent);
        let mut best: Option<(usize, f64)> = None;
        for (index, (benchmark, builds, chance)) in candidates.enumerate() {
            let known = self.spent.get(benchmark).copied().unwrap_or_default();
            let time = known.per_build().saturating_mul(builds);
            let rate = chance / time.as_secs_f64().max(f64::MIN_POSITIVE);
            if time <= left && best.is_none_or(|(_, so_far)| rate > so_far) {
                best = Some((index, rate));
            }
        }
        best.map(|(index, _)| index)
    }
}

impl TimeSpent {
    /// Sums up all executions of a benchmark. Interleaved ones on one CPU ran with others at once, in
    /// `parallel` pairs, except for programs, which have no wall time then.
    fn from_rows(rows: &[StoredExecution], parallel: u32) -> Self {
        let time = |row: &StoredExecution| {
            let execution = row.outcome.as_ref().ok()?;
            let is_program = execution.series_of(&Metric::wall()).is_none();
            let at_once = match execution.schedule.interleaved() {
                Some((Threads::Together, _)) if !is_program => parallel,
                // No other pair ran beside it.
                _ => 1,
            };
            Some(execution.own_wall() / at_once)
        };
        let mut builds: Vec<_> = rows.iter().map(|row| (row.slot.stage, row.slot.seed)).collect();
        builds.sort_unstable();
        builds.dedup();
        let builds = u32::try_from(builds.len()).unwrap_or(u32::MAX);
        Self { time: rows.iter().filter_map(time).sum(), builds }
    }

    /// The time of one build of each version.
    fn per_build(self) -> Duration {
        self.time / self.builds.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{LayoutSeed, Schedule, Series, Slot, Stage, testing},
        verdict::testing::benchmark,
    };

    /// A budget of this many seconds. Benchmarks took these times, in seconds, for ten builds.
    fn budget<'s>(store: &'s Store<'s>, seconds: u64, spent: &[(&str, u64)]) -> Budget<'s> {
        let plan = crate::verdict::testing::plan(&["base", "head"], "key");
        let limit = Duration::from_secs(seconds);
        let mut budget = Budget::new(store, store.begin(&plan).unwrap(), limit, 1);
        for (id, time) in spent {
            let spent = TimeSpent { time: Duration::from_secs(*time), builds: 10 };
            budget.spent.insert(benchmark(id), spent);
        }
        budget
    }

    #[test]
    fn best_has_the_highest_chance_per_second() {
        let store = Store::in_memory().unwrap();
        let budget = budget(&store, 100, &[("slow", 20), ("fast", 2), ("unlikely", 2)]);
        let [slow, fast, unlikely] = ["slow", "fast", "unlikely"].map(benchmark);
        let best = |chances: [f64; 3]| {
            let all = [&slow, &fast, &unlikely].into_iter().zip(chances);
            budget.best(all.map(|(benchmark, chance)| (benchmark, 10, chance)))
        };
        assert_eq!(best([0.9, 0.9, 0.1]), Some(1));
        assert_eq!(best([0.9, 0.05, 0.01]), Some(0));
    }

    #[test]
    fn best_excludes_candidates_beyond_the_limit() {
        let store = Store::in_memory().unwrap();
        let budget = budget(&store, 25, &[("slow", 20), ("fast", 2)]);
        let [slow, fast] = ["slow", "fast"].map(benchmark);
        assert_eq!(budget.best([(&slow, 10, 0.9)].into_iter()), None);
        assert_eq!(budget.best([(&slow, 10, 0.9), (&fast, 10, 0.1)].into_iter()), Some(1));
        assert_eq!(budget.best([(&fast, 20, 0.9)].into_iter()), None);
        assert_eq!(budget.best(std::iter::empty()), None);
    }

    #[test]
    fn only_loops_on_one_cpu_run_beside_others() {
        let store = Store::in_memory().unwrap();
        let plan = crate::verdict::testing::plan(&["base", "head"], "key");
        let experiment = store.begin(&plan).unwrap();
        let slot =
            Slot { version: 0, stage: Stage::First, round: 0, seed: LayoutSeed::list(1, 1)[0] };
        let spent = |metric, schedule| {
            let series = Series { metric, values: vec![1.0], iterations: vec![1], resolution: 0.0 };
            let mut execution = testing::execution(testing::request(), vec![series]);
            execution.schedule = schedule;
            execution.resources.wall = Duration::from_secs(8);
            let row = StoredExecution { experiment, slot, outcome: Ok(execution) };
            TimeSpent::from_rows(&[row], 2).time.as_secs()
        };
        assert_eq!(spent(Metric::wall(), Schedule::NotRequested), 8);
        assert_eq!(spent(Metric::wall(), Schedule::Interleaved(80)), 2);
        assert_eq!(spent(Metric::wall(), Schedule::InterleavedThreads(9)), 4);
        assert_eq!(spent(Metric::cpu(), Schedule::Interleaved(9)), 4);
    }
}
