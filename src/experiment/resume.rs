//! An experiment's place in the store: begun, or found there unfinished, and finished.

use std::collections::HashSet;

use super::{Builds, ListedVersion, Runner};
use crate::{
    failure::{Failure, Result},
    model::{Benchmark, ExperimentPlan, Turn, Version},
    store::{ExperimentId, RecordedBuild, Unfinished},
};

/// An experiment in the store, and what was done of it before.
pub struct Begun {
    /// Its id in the store.
    pub id: ExperimentId,
    /// What it is called in every store that has it.
    pub identity: String,
    /// The executions that gave measurements in an earlier run.
    pub(super) done: HashSet<(Benchmark, Turn)>,
    /// Where the newest experiment on the same files was interrupted and cannot be continued by this one:
    /// what differs, for people.
    pub not_resumed: Vec<String>,
}

impl Begun {
    /// How many executions an earlier run left.
    pub fn resumed(&self) -> usize {
        self.done.len()
    }
}

impl Runner<'_> {
    /// Begins an experiment on these benchmarks in the store, or finds it there unfinished.
    pub fn begin(
        &self,
        versions: &[ListedVersion],
        benchmarks: &[Benchmark],
        builds: &Builds,
    ) -> Result<Begun> {
        let with_compiler = |version: &ListedVersion| {
            (version.version.clone(), version.compilation.record.rustc.clone())
        };
        let plan = self.plan(versions.iter().map(with_compiler), benchmarks);
        let begun = if let Some(unfinished) = self.store.find_unfinished(&plan)? {
            let Unfinished { id, done, .. } = unfinished;
            Begun { id, identity: self.store.identity(id)?, done, not_resumed: Vec::new() }
        } else {
            let not_resumed = self.what_forbids_to_resume(&plan)?;
            let id = self.store.begin(&plan)?;
            Begun { id, identity: self.store.identity(id)?, done: HashSet::new(), not_resumed }
        };
        self.record_builds(&begun, builds)?;
        Ok(begun)
    }

    /// Records that a version cannot be built, as an experiment of its own.
    pub fn record_unbuildable(&self, version: &Version, failure: &Failure) -> Result<()> {
        let plan = self.plan([(version.clone(), String::new())].into_iter(), &[]);
        let id = self.store.begin(&plan)?;
        self.store.record_unbuildable(id, 0, failure)?;
        self.store.finish(id)
    }

    /// Records which builds there are.
    pub fn record_builds(&self, begun: &Begun, builds: &Builds) -> Result<()> {
        let mut records = Vec::new();
        for (version, of_version) in builds.versions.iter().enumerate() {
            for target in &of_version.targets {
                records.extend(target.builds.iter().map(|build| {
                    let (target, layout) = (target.target.clone(), of_version.layout);
                    let (seed, digest) = (build.seed, build.record.digest);
                    RecordedBuild { version, target, seed, layout, digest }
                }));
            }
        }
        self.store.record_builds(begun.id, records)
    }

    /// Finishes the experiment in the store.
    pub fn finish(&self, begun: &Begun) -> Result<()> {
        self.store.finish(begun.id)
    }

    /// What differs from the newest experiment on the same files, if that was interrupted.
    fn what_forbids_to_resume(&self, plan: &ExperimentPlan) -> Result<Vec<String>> {
        let trees = |plan: &ExperimentPlan| -> Vec<String> {
            plan.versions.iter().map(|planned| planned.version.tree.clone()).collect()
        };
        let experiments = self.store.experiments()?;
        let newest = experiments.iter().rfind(|other| trees(&other.plan) == trees(plan));
        let interrupted = newest.filter(|newest| newest.finished.is_none());
        Ok(interrupted.map_or_else(Vec::new, |other| other.plan.differences(plan)))
    }
}
