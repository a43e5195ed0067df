//! Begins an experiment in the store or resumes an unfinished one, and finishes it.

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
        let plan = self.plan([(version.clone(), self.compiler(version))].into_iter(), &[]);
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

    /// See [`what_differs`].
    fn what_forbids_to_resume(&self, plan: &ExperimentPlan) -> Result<Vec<String>> {
        let experiments = self.store.experiments()?;
        let earlier = experiments.iter().map(|stored| (&stored.plan, stored.finished.is_some()));
        Ok(what_differs(earlier, plan))
    }
}

/// What differs from the newest experiment on the same files, if that was interrupted here: of all `earlier`
/// ones, oldest first, with whether each was finished. One that was imported is no concern of this machine.
fn what_differs<'p>(
    earlier: impl DoubleEndedIterator<Item = (&'p ExperimentPlan, bool)>,
    plan: &ExperimentPlan,
) -> Vec<String> {
    let trees = |plan: &ExperimentPlan| -> Vec<String> {
        plan.versions.iter().map(|planned| planned.version.tree.clone()).collect()
    };
    let is_like =
        |other: &ExperimentPlan| other.machine.id == plan.machine.id && trees(other) == trees(plan);
    let mut newest_first = earlier.rev();
    match newest_first.find(|(other, _)| is_like(other)) {
        Some((interrupted, false)) => interrupted.differences(plan),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dimensions, PlannedVersion, testing};

    fn plan(tree: &str, seed: u64, machine: &str) -> ExperimentPlan {
        let version = Version {
            revision: "HEAD".to_owned(),
            commit: None,
            tree: tree.to_owned(),
            dirty: false,
            summary: String::new(),
            time: None,
        };
        ExperimentPlan {
            versions: vec![PlannedVersion { version, toolchain: "rustc 1".to_owned() }],
            benchmarks: Vec::new(),
            machine: testing::machine(machine),
            rbench: "0.1.0".to_owned(),
            settings: "{}".to_owned(),
            settings_key: "k".to_owned(),
            dimensions: Dimensions { builds: 10, executions: 2, measurements: 10 },
            seed,
        }
    }

    #[test]
    fn only_the_newest_run_on_the_same_files_of_this_machine_is_told_not_to_be_resumed() {
        let new = plan("a", 2, "here");
        let differs = |earlier: &[(ExperimentPlan, bool)]| {
            what_differs(earlier.iter().map(|(plan, finished)| (plan, *finished)), &new)
        };
        let interrupted = || (plan("a", 1, "here"), false);
        assert_eq!(differs(&[interrupted()]), ["seed: 1, not 2"]);
        assert_eq!(differs(&[interrupted(), (plan("b", 1, "here"), true)]), ["seed: 1, not 2"]);
        assert_eq!(differs(&[interrupted(), (plan("a", 1, "here"), true)]), [""; 0]);
        assert_eq!(differs(&[(plan("b", 1, "here"), false)]), [""; 0]);
        assert_eq!(differs(&[(plan("a", 1, "elsewhere"), false)]), [""; 0]);
    }
}
