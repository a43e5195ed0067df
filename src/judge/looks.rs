//! The looks at a benchmark: which builds each of them sees, as far as they are measured.

use std::collections::HashSet;

use super::{benchmark::BenchmarkResults, relation::VersionRef};
use crate::model::{LayoutSeed, Looks, Slot, Stage};

/// Some builds of a stage.
#[derive(Clone, Copy, Debug)]
pub struct SomeBuilds<'s> {
    /// The stage.
    pub stage: Stage,
    /// The seeds of the builds; those of all if absent.
    pub seeds: Option<&'s [LayoutSeed]>,
}

impl SomeBuilds<'_> {
    /// Whether a slot is one of these builds'.
    pub(super) fn have(&self, slot: &Slot) -> bool {
        slot.stage == self.stage && self.seeds.is_none_or(|seeds| seeds.contains(&slot.seed))
    }
}

impl From<Stage> for SomeBuilds<'_> {
    fn from(stage: Stage) -> Self {
        Self { stage, seeds: None }
    }
}

/// The looks at a benchmark of two versions in the first stage of their experiment.
pub(super) struct TakenLooks {
    /// After how many builds it was to be judged.
    pub(super) planned: Looks,
    /// The seeds of all builds, in the order in which they are measured.
    seeds: Vec<LayoutSeed>,
    /// How many of these each look has that was taken.
    taken: Vec<usize>,
}

impl TakenLooks {
    /// How many looks there were.
    pub(super) fn count(&self) -> usize {
        self.taken.len().max(1)
    }

    /// The builds of a look. The only one has all that there are; so has one that was not completed.
    pub(super) fn builds(&self, look: usize) -> SomeBuilds<'_> {
        let seeds = self.taken.get(look).map(|count| &self.seeds[..*count]);
        SomeBuilds { stage: Stage::First, seeds }
    }
}

impl BenchmarkResults<'_> {
    /// The looks at two versions of an experiment. A look is taken when each of its builds was executed in both
    /// versions.
    pub(super) fn looks(&self, versions: [VersionRef; 2]) -> TakenLooks {
        let plan = &self.results.experiments[versions[0].experiment].plan;
        let own = plan.benchmarks.iter().find(|planned| planned.benchmark == self.benchmark);
        let planned = own.map_or(plan.dimensions, |own| own.dimensions).looks();
        if planned.is_fixed() {
            return TakenLooks { planned, seeds: Vec::new(), taken: Vec::new() };
        }
        let seeds = LayoutSeed::list(plan.first_stage_seed(), planned.most);
        let executed = versions.map(|place| -> HashSet<LayoutSeed> {
            self.executions(place, Stage::First).map(|(row, _)| row.slot.seed).collect()
        });
        let is_executed = |seed: &LayoutSeed| executed.iter().all(|seeds| seeds.contains(seed));
        let complete = seeds.iter().take_while(|seed| is_executed(seed)).count();
        let taken = planned.builds().map(|builds| builds as usize);
        let taken = taken.take_while(|builds| *builds <= complete).collect();
        TakenLooks { planned, seeds, taken }
    }
}
