//! The stored results of some experiments, read once for many benchmarks.

use std::{cell::RefCell, collections::HashMap, path::Path, rc::Rc};

use super::{programs::Programs, relation::VersionRef};
use crate::{
    failure::{Exit, Failure, Result},
    model::{BenchTarget, Version},
    store::{ExperimentId, MeasuredBenchmark, RecordedBuild, Store, StoredExperiment},
};

/// The variance between experiments is estimated from so many of the newest repeats: more would cost time
/// and describe the machine as it was long ago.
const REPEATS: usize = 30;

/// Experiments of a store and what is needed to judge their results.
pub struct Results<'s> {
    pub(super) store: &'s Store<'s>,
    /// The experiments, oldest first.
    pub experiments: Vec<StoredExperiment>,
    /// How many experiments were left out because they are not finished.
    pub unfinished: usize,
    builds: RefCell<HashMap<usize, Rc<[RecordedBuild]>>>,
    /// For each experiment that was asked for, the versions that were measured more than once under its
    /// conditions.
    repeats: RefCell<HashMap<usize, Rc<[Vec<VersionRef>]>>>,
}

impl<'s> Results<'s> {
    /// The results of these experiments, which are sorted from the oldest to the newest.
    pub fn new(store: &'s Store<'s>, experiments: Vec<StoredExperiment>) -> Self {
        Self {
            store,
            experiments,
            unfinished: 0,
            builds: RefCell::default(),
            repeats: RefCell::default(),
        }
    }

    /// The results of all finished experiments; a failure that says how to measure if there is none.
    pub fn finished(store: &'s Store<'s>) -> Result<Self> {
        let (finished, rest): (Vec<StoredExperiment>, Vec<_>) =
            store.experiments()?.into_iter().partition(|stored| stored.finished.is_some());
        if finished.is_empty() {
            return Err(nothing_stored(store.path(), rest.len()));
        }
        Ok(Self { unfinished: rest.len(), ..Self::new(store, finished) })
    }

    /// The results of one experiment, finished or not.
    pub fn of_experiment(store: &'s Store<'s>, id: ExperimentId) -> Result<Self> {
        let mut experiments = store.experiments()?;
        experiments.retain(|stored| stored.id == id);
        Ok(Self::new(store, experiments))
    }

    /// The version as its experiment has it.
    pub fn version(&self, measured: VersionRef) -> &Version {
        &self.experiments[measured.experiment].plan.versions[measured.version].version
    }

    /// Why a version could not be built in its experiment, if it could not.
    pub fn build_failure(&self, measured: VersionRef) -> Option<&str> {
        let failures = &self.experiments[measured.experiment].unbuildable;
        failures.get(measured.version)?.as_deref()
    }

    /// Where the files of a version were measured, oldest first.
    pub fn places_of(&self, wanted: &Version) -> Vec<VersionRef> {
        let mut found = Vec::new();
        for (experiment, stored) in self.experiments.iter().enumerate() {
            let versions = stored.plan.versions.iter().enumerate();
            let same = versions.filter(|(_, planned)| planned.version.tree == wanted.tree);
            found.extend(same.map(|(version, _)| VersionRef { experiment, version }));
        }
        found
    }

    /// The builds of a bench target of a version.
    pub fn linked(&self, measured: VersionRef, target: &BenchTarget) -> Result<Vec<RecordedBuild>> {
        let builds = self.builds(measured.experiment)?;
        let own =
            |build: &&RecordedBuild| build.version == measured.version && build.target == *target;
        Ok(builds.iter().filter(own).cloned().collect())
    }

    /// Which builds of a bench target count in an experiment.
    pub(super) fn programs(&self, experiment: usize, target: &BenchTarget) -> Result<Programs> {
        Ok(Programs::of(&self.builds(experiment)?, target))
    }

    /// The builds of an experiment.
    fn builds(&self, experiment: usize) -> Result<Rc<[RecordedBuild]>> {
        if let Some(known) = self.builds.borrow().get(&experiment) {
            return Ok(known.clone());
        }
        let builds: Rc<[RecordedBuild]> =
            self.store.builds(self.experiments[experiment].id)?.into();
        self.builds.borrow_mut().insert(experiment, builds.clone());
        Ok(builds)
    }

    /// Which metrics of which benchmarks an experiment measured.
    pub(super) fn measured(&self, experiment: usize) -> Result<Vec<MeasuredBenchmark>> {
        self.store.measured_metrics(self.experiments[experiment].id)
    }

    /// The newest versions that were measured more than once under the conditions of an experiment.
    pub(super) fn repeats(&self, like: usize) -> Rc<[Vec<VersionRef>]> {
        if let Some(known) = self.repeats.borrow().get(&like) {
            return known.clone();
        }
        let mut groups: HashMap<(&str, &str), Vec<VersionRef>> = HashMap::new();
        for (experiment, stored) in self.experiments.iter().enumerate() {
            if !stored.plan.obstacles(&self.experiments[like].plan).is_empty() {
                continue;
            }
            for (version, planned) in stored.plan.versions.iter().enumerate() {
                let key = (&*planned.version.tree, &*planned.toolchain);
                let group = groups.entry(key).or_default();
                if group.last().is_none_or(|last| last.experiment != experiment) {
                    group.push(VersionRef { experiment, version });
                }
            }
        }
        let mut repeats: Vec<Vec<VersionRef>> =
            groups.into_values().filter(|group| group.len() > 1).collect();
        repeats.sort_by_key(|group| std::cmp::Reverse(group.last().copied()));
        repeats.truncate(REPEATS);
        for group in &mut repeats {
            group.drain(..group.len().saturating_sub(REPEATS));
        }
        let repeats: Rc<[Vec<VersionRef>]> = repeats.into();
        self.repeats.borrow_mut().insert(like, repeats.clone());
        repeats
    }
}

/// The failure of finding no results in a store with so many unfinished experiments.
pub fn nothing_stored(path: &Path, unfinished: usize) -> Failure {
    let failure =
        Failure::new(Exit::Usage, format!("no results are stored yet in {}", path.display()));
    match unfinished {
        0 => failure.hint("measure two versions with: cargo rbench compare HEAD~1 HEAD"),
        count => failure
            .because(format!("{count} experiments were started, but none has finished"))
            .hint("rerun the interrupted command to resume"),
    }
}
