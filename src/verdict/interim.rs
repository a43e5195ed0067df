//! The looks at a benchmark: which builds each of them sees, as far as they are measured, and what follows from the
//! first stage while it is measured.

use std::collections::HashSet;

use super::{
    benchmark::{BenchmarkResults, BuildSelection},
    relation::VersionRef,
};
use crate::{
    model::{InterimAnalyses, LayoutSeed, Stage},
    stats::{AlphaSpending, Analysis, Criteria},
};

/// The looks at a benchmark of two versions in the first stage of their experiment.
pub(super) struct DoneAnalyses {
    /// After how many builds it was to be judged.
    pub(super) planned: InterimAnalyses,
    /// The seeds of all builds, in the order in which they are measured.
    seeds: Vec<LayoutSeed>,
    /// How many of these each look has that was taken.
    taken: Vec<usize>,
}

impl DoneAnalyses {
    /// How many looks there were.
    pub(super) fn count(&self) -> usize {
        self.taken.len().max(1)
    }

    /// The builds of a look. The only one has all that there are; so has one that was not completed.
    pub(super) fn builds(&self, look: usize) -> BuildSelection<'_> {
        let seeds = self.taken.get(look).map(|count| &self.seeds[..*count]);
        BuildSelection { stage: Stage::First, seeds }
    }
}

impl BenchmarkResults<'_> {
    /// The looks at two versions of an experiment. A look is taken when each of its builds was executed in both
    /// versions.
    pub(super) fn interim_analyses(&self, versions: [VersionRef; 2]) -> DoneAnalyses {
        let plan = &self.results.experiments[versions[0].experiment].plan;
        let own = plan.benchmarks.iter().find(|planned| planned.benchmark == self.benchmark);
        let planned = own.map_or(plan.sample_sizes, |own| own.sample_sizes).interim_analyses();
        if planned.is_fixed() {
            return DoneAnalyses { planned, seeds: Vec::new(), taken: Vec::new() };
        }
        let seeds = LayoutSeed::list(plan.first_stage_seed(), planned.most);
        let executed = versions.map(|place| -> HashSet<LayoutSeed> {
            self.executions(place, Stage::First).map(|(row, _)| row.slot.seed).collect()
        });
        let is_executed = |seed: &LayoutSeed| executed.iter().all(|seeds| seeds.contains(seed));
        let complete = seeds.iter().take_while(|seed| is_executed(seed)).count();
        let taken = planned.builds().map(|builds| builds as usize);
        let taken = taken.take_while(|builds| *builds <= complete).collect();
        DoneAnalyses { planned, seeds, taken }
    }
}

/// What follows from the first stage for a benchmark in one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Progress {
    /// Nothing: it is decided, or no look is left.
    #[default]
    Ended,
    /// Another look.
    Open {
        /// The probability that one of the looks that are left decides it: of the one that most likely does.
        chance: f64,
    },
    /// A second stage, on fresh builds.
    Flagged {
        /// On so many.
        builds: usize,
    },
}

impl Progress {
    /// What is to be done with a benchmark of which this is said in one metric and that in another: all that
    /// either needs, a look before a second stage.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ended, one) | (one, Self::Ended) => one,
            (Self::Open { chance: one }, Self::Open { chance: other }) => {
                Self::Open { chance: one.max(other) }
            }
            (Self::Open { chance }, _) | (_, Self::Open { chance }) => Self::Open { chance },
            (Self::Flagged { builds: one }, Self::Flagged { builds: other }) => {
                Self::Flagged { builds: one.max(other) }
            }
        }
    }

    /// What follows from the last look of the first stage, whatever was measured after it, at one of `judged`
    /// benchmarks.
    pub(super) fn after(
        looks: &DoneAnalyses,
        last: &Analysis,
        judged: usize,
        criteria: &Criteria,
    ) -> Self {
        let all = looks.planned.count();
        let is_last = looks.count() == all;
        if last.ends_first_stage(is_last, criteria) {
            let nominated_by = last.nominated_by(criteria).filter(|_| criteria.confirm);
            return nominated_by.map_or(Self::Ended, |decider| {
                let builds = if looks.planned.is_fixed() {
                    looks.planned.most as usize
                } else {
                    last.assessment(decider).confirmation_builds(judged, criteria)
                };
                Self::Flagged { builds }
            });
        }
        let left = looks.planned.builds().enumerate().skip(looks.count());
        let chances = left.map(|(look, builds)| {
            let rates = AlphaSpending::at_analysis(criteria, look, all);
            last.chance_to_be_decided(builds as usize, rates, criteria)
        });
        chances.reduce(f64::max).map_or(Self::Ended, |chance| Self::Open { chance })
    }
}
