//! Which version went first in each pair of executions.

use std::collections::HashMap;

use super::{
    Runner,
    schedule::{ScheduleShape, schedule},
};
use crate::model::{Benchmark, LayoutSeed};

/// The versions that went first, by benchmark (its place in the list), round and build.
pub type WentFirst = HashMap<(usize, usize, LayoutSeed), usize>;

impl Runner<'_> {
    /// The versions that go first in the first stage of a comparison of these benchmarks.
    pub fn went_first(&self, benchmarks: &[Benchmark]) -> WentFirst {
        let seeds = self.first_seeds(benchmarks);
        let executions = benchmarks.iter().map(|one| self.settings.efforts.of(one).executions);
        let shape = ScheduleShape {
            versions: 2,
            benchmarks: benchmarks.len(),
            builds: seeds.len(),
            executions: executions.max().unwrap_or_default() as usize,
        };
        let steps = schedule(shape, self.settings.builds.seed).into_iter();
        steps
            .filter_map(|step| {
                let place = (step.benchmark, step.round, *seeds.get(step.build)?);
                Some((place, *step.versions.first()?))
            })
            .collect()
    }
}
