//! Which version went first in each pair of executions.

use std::collections::HashMap;

use super::{ListedVersion, Runner};
use crate::model::{Benchmark, LayoutSeed, Stage};

/// The versions that went first, by benchmark (its place in the list), round and build.
pub type WentFirst = HashMap<(usize, usize, LayoutSeed), usize>;

impl Runner<'_> {
    /// The versions that go first in the first stage of the comparison of these benchmarks that is called so.
    pub fn went_first(
        &self,
        identity: &str,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
    ) -> WentFirst {
        let seeds = self.first_seeds(versions, benchmarks);
        let steps = self.steps(identity, Stage::First, versions, seeds.len(), benchmarks);
        steps
            .into_iter()
            .filter_map(|step| {
                let place = (step.benchmark, step.round, *seeds.get(step.build)?);
                Some((place, *step.versions.first()?))
            })
            .collect()
    }
}
