//! A limit to the time of measuring, and what to spend it on.

use std::time::Duration;

use crate::{
    failure::Result,
    model::{Benchmark, Turns},
    store::{ExperimentId, Row, Store},
};

/// The time that the executions of an experiment may take together. It is counted from what is stored, so that a
/// run that is resumed spends what is left.
pub struct Budget<'s> {
    store: &'s Store<'s>,
    experiment: ExperimentId,
    limit: Duration,
}

impl<'s> Budget<'s> {
    /// A budget for all executions of an experiment.
    pub fn new(store: &'s Store<'s>, experiment: ExperimentId, limit: Duration) -> Self {
        Self { store, experiment, limit }
    }

    /// The index of the candidate that is decided most likely per second, of those that there is time for: each
    /// is a benchmark, how many builds of it are measured next, and how likely these decide it.
    pub fn best<'b>(
        &self,
        candidates: impl Iterator<Item = (&'b Benchmark, u32, f64)>,
    ) -> Result<Option<usize>> {
        let left = self.limit.saturating_sub(self.spent()?);
        let mut best: Option<(usize, f64)> = None;
        for (index, (benchmark, builds, chance)) in candidates.enumerate() {
            let time = self.time_of_build(benchmark)?.saturating_mul(builds);
            let rate = chance / time.as_secs_f64().max(f64::MIN_POSITIVE);
            if time <= left && best.is_none_or(|(_, known)| rate > known) {
                best = Some((index, rate));
            }
        }
        Ok(best.map(|(index, _)| index))
    }

    /// The time of all executions so far.
    fn spent(&self) -> Result<Duration> {
        let mut spent = Duration::ZERO;
        for benchmark in self.store.benchmarks()? {
            spent += time_of(&self.store.rows(&benchmark, &[self.experiment])?);
        }
        Ok(spent)
    }

    /// How long one build of each version of a benchmark takes, by those that were measured.
    fn time_of_build(&self, benchmark: &Benchmark) -> Result<Duration> {
        let rows = self.store.rows(benchmark, &[self.experiment])?;
        let mut builds: Vec<_> = rows.iter().map(|row| (row.slot.stage, row.slot.seed)).collect();
        builds.sort_unstable();
        builds.dedup();
        Ok(time_of(&rows) / u32::try_from(builds.len()).unwrap_or(u32::MAX).max(1))
    }
}

/// How long executions took: two that took turns were executed at once.
fn time_of(rows: &[Row]) -> Duration {
    let time = |row: &Row| {
        let execution = row.outcome.as_ref().ok()?;
        let wall = execution.resources.wall;
        Some(if matches!(execution.turns, Turns::Taken(_)) { wall / 2 } else { wall })
    };
    rows.iter().filter_map(time).sum()
}
