//! The interim analyses of a benchmark: the builds that each of them includes, and what the first
//! stage requires next. Pure apart from reading stored rows.

use std::collections::HashMap;

use rbench_stats::{AlphaSpending, Analysis, Criteria, outlook::Outlook};

use super::{
    benchmark::{BenchmarkResults, BuildSelection},
    relation::VersionRef,
};
use crate::model::{InterimAnalyses, LayoutSeed, Stage};

/// The interim analyses of two versions that the first stage of their experiment has completed.
pub(super) struct DoneAnalyses {
    pub(super) planned: InterimAnalyses,
    /// The layout seeds of all builds, in the order in which they are measured.
    seeds: Vec<LayoutSeed>,
    /// The number of builds in each completed analysis.
    build_counts: Vec<usize>,
    /// The planned number of executions of each build.
    rounds: u32,
}

impl DoneAnalyses {
    /// The number of completed analyses.
    pub(super) fn count(&self) -> usize {
        self.build_counts.len().max(1)
    }

    /// The builds of an analysis. A plan with a single analysis includes whatever was measured, and
    /// so does a first analysis that was never completed.
    pub(super) fn builds(&self, index: usize) -> BuildSelection<'_> {
        let seeds = self.build_counts.get(index).map(|count| &self.seeds[..*count]);
        // Only after the first analysis do builds get more executions, those of the first analysis too. What it said must not
        // depend on them: that would be another analysis at its error rates.
        let rounds = (index == 0 && !self.planned.is_fixed()).then_some(self.rounds);
        BuildSelection { stage: Stage::First, seeds, rounds }
    }
}

impl BenchmarkResults<'_> {
    /// The completed analyses of two versions of an experiment. An analysis is complete once each
    /// of its builds was executed in both versions; a later one, as often as the first build.
    pub(super) fn interim_analyses(&self, versions: [VersionRef; 2]) -> DoneAnalyses {
        let plan = &self.results.experiments[versions[0].experiment].plan;
        let own = plan.benchmarks.iter().find(|planned| planned.benchmark == self.benchmark);
        let sizes = own.map_or(plan.sample_sizes, |own| own.sample_sizes);
        let planned = sizes.interim_analyses();
        let rounds = u32::try_from(sizes.executions).unwrap_or(u32::MAX);
        if planned.is_fixed() {
            return DoneAnalyses { planned, seeds: Vec::new(), build_counts: Vec::new(), rounds };
        }
        let seeds = LayoutSeed::list(plan.first_stage_seed(), planned.most);
        let executed = versions.map(|place| {
            let mut counts: HashMap<LayoutSeed, usize> = HashMap::new();
            for (row, _) in self.executions(place, Stage::First) {
                *counts.entry(row.slot.seed).or_default() += 1;
            }
            counts
        });
        let times = |seed: &LayoutSeed| {
            executed.iter().map(|counts| counts.get(seed).copied().unwrap_or_default()).min()
        };
        let complete = |times_each: Option<usize>| {
            seeds.iter().take_while(|seed| times(seed) >= times_each).count()
        };
        // An interrupted analysis may lack some of the executions that the first build has.
        let most = seeds.first().and_then(&times).map(|times| times.max(1));
        let [begun, whole] = [Some(1), most].map(complete);
        let build_counts = planned.builds().map(|builds| builds as usize).enumerate();
        let build_counts = build_counts
            .take_while(|(index, builds)| *builds <= if *index == 0 { begun } else { whole });
        let build_counts = build_counts.map(|(_, builds)| builds).collect();
        DoneAnalyses { planned, seeds, build_counts, rounds }
    }
}

/// The next step of the first stage for a benchmark in one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Progress {
    /// None: the benchmark is decided, or no analysis is left.
    #[default]
    Ended,
    /// Later analyses, which may decide the benchmark.
    Open(Outlook),
    /// A second stage, on fresh builds.
    Flagged { builds: usize },
}

impl Progress {
    /// Combines the steps of two metrics of one benchmark into all that either needs. The second
    /// stage waits for the last interim analysis of every metric.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ended, one) | (one, Self::Ended) => one,
            (Self::Open(outlook), _) | (_, Self::Open(outlook)) => Self::Open(outlook),
            (Self::Flagged { builds: one }, Self::Flagged { builds: other }) => {
                Self::Flagged { builds: one.max(other) }
            }
        }
    }

    /// The step after the last analysis of the first stage, whatever was measured later, if
    /// `decided` benchmarks share the error rate.
    pub(super) fn after(
        analyses: &DoneAnalyses,
        last: &Analysis,
        decided: usize,
        criteria: &Criteria,
    ) -> Self {
        let all = analyses.planned.count();
        let is_last = analyses.count() == all;
        if last.ends_first_stage(is_last, criteria) {
            let nominated_by = last.nominated_by(criteria).filter(|_| criteria.confirm);
            return nominated_by.map_or(Self::Ended, |decider| {
                let builds = if analyses.planned.is_fixed() {
                    analyses.planned.most as usize
                } else {
                    last.assessment(decider).confirmation_builds(decided, criteria)
                };
                Self::Flagged { builds }
            });
        }
        if is_last {
            return Self::Ended;
        }
        let left = analyses.planned.builds().enumerate().skip(analyses.count());
        let left = left.map(|(index, builds)| {
            (builds as usize, AlphaSpending::at_analysis(criteria, index, all))
        });
        Self::Open(Outlook::new(last, left, criteria))
    }
}
