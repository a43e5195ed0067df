//! The experiment's place in the store: begun, or found there unfinished, and ended.

use std::collections::HashSet;

use super::{Builds, Experiment, Side};
use crate::{
    failure::{Failure, Result},
    model::{Benchmark, ExperimentPlan, Turn, Version},
    report::quantity,
    store::{ExperimentId, Unfinished},
};

/// An experiment in the store, and what is done of it.
pub struct Stored {
    pub(super) id: ExperimentId,
    pub(super) done: HashSet<(Benchmark, Turn)>,
}

impl Experiment<'_> {
    /// Begins the experiment in the store, or finds it there unfinished. An unfinished one of the same
    /// revisions that cannot be continued is named, with the reasons.
    pub fn begin(&self, sides: &[Side], builds: &Builds) -> Result<Stored> {
        let toolchain = |index: usize| {
            let compilation = builds.versions[index].compilations.first();
            compilation.map(|compilation| compilation.record.rustc.clone()).unwrap_or_default()
        };
        let versions = sides.iter().enumerate();
        let plan =
            self.plan(versions.map(|(index, side)| (side.version.clone(), toolchain(index))));
        let stored = if let Some(Unfinished { id, done, .. }) = self.store.find_unfinished(&plan)? {
            let count = quantity::count(done.len(), "execution");
            self.console.line(&format!("going on where an earlier run stopped, after {count}"));
            Stored { id, done }
        } else {
            self.say_what_is_not_continued(&plan)?;
            Stored { id: self.store.begin(&plan)?, done: HashSet::new() }
        };
        self.keep_builds(&stored, builds)?;
        Ok(stored)
    }

    /// Stores that a version cannot be built, as an experiment of its own.
    pub fn keep_unbuildable(&self, version: &Version, failure: &Failure) -> Result<()> {
        let id = self.store.begin(&self.plan([(version.clone(), String::new())].into_iter()))?;
        self.store.record_unbuildable(id, 0, failure)?;
        self.store.finish(id)
    }

    /// Stores which builds there are.
    pub fn keep_builds(&self, stored: &Stored, builds: &Builds) -> Result<()> {
        let mut records = Vec::new();
        for (version, of_version) in builds.versions.iter().enumerate() {
            for target in &of_version.targets {
                records.extend(target.builds.iter().map(|build| {
                    let digest = build.record.digest;
                    (version, &target.target, build.seed, of_version.layout, digest)
                }));
            }
        }
        self.store.record_builds(stored.id, records)
    }

    /// Ends the experiment in the store.
    pub fn finish(&self, stored: &Stored) -> Result<()> {
        self.store.finish(stored.id)
    }

    fn say_what_is_not_continued(&self, plan: &ExperimentPlan) -> Result<()> {
        let revisions = |plan: &ExperimentPlan| -> Vec<String> {
            plan.versions.iter().map(|planned| planned.version.revision.clone()).collect()
        };
        let unfinished = self.store.unfinished()?;
        let same = unfinished.iter().find(|other| revisions(&other.plan) == revisions(plan));
        if let Some(other) = same {
            self.console.line(&format!(
                "an earlier run of {} stopped and is not continued, since it had another {}",
                revisions(plan).join(" and "),
                other.plan.differences(plan).join("; ")
            ));
        }
        Ok(())
    }
}
