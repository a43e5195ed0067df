//! What the store knows of versions: read once, for as many benchmarks as one likes.

mod benchmark;
mod counted;
mod row;

use std::{cell::RefCell, collections::HashMap, path::Path, rc::Rc, time::SystemTime};

pub use benchmark::{BenchmarkPast, Judging};
pub use row::{Advice, JudgedRow, JudgedStage, Repetition};

use crate::{
    failure::{Exit, Failure, Result},
    model::{BenchTarget, Benchmark, ExperimentPlan, Part, Version},
    store::{Experiment, ExperimentId, FailedExecution, RecordedBuild, Results, Store},
};
use counted::Linked;

/// The variance between sessions is estimated from so many of the newest repeats: more would cost time
/// and tell of a machine as it was long ago.
const REPEATS: usize = 30;

/// The finished experiments of a store.
pub struct Past<'s> {
    store: &'s Store<'s>,
    /// What each experiment is, the oldest first.
    pub plans: Vec<ExperimentPlan>,
    told: Vec<Told>,
    /// How many experiments are not finished, and left out.
    pub unfinished: usize,
    builds: RefCell<HashMap<usize, Rc<[RecordedBuild]>>>,
    failures: RefCell<HashMap<usize, Rc<[FailedExecution]>>>,
    /// For each experiment that was asked for, the repeats that are like it.
    repeats: RefCell<HashMap<usize, Rc<[Vec<Part>]>>>,
    /// For an experiment and some of its versions, how many benchmarks were measured in all of them.
    judged: RefCell<HashMap<(usize, Vec<usize>), usize>>,
}

struct Told {
    id: ExperimentId,
    begun: SystemTime,
    unbuildable: Vec<Option<String>>,
}

impl<'s> Past<'s> {
    /// Reads what experiments there are. An empty store is a failure that says how to fill it.
    pub fn read(store: &'s Store<'s>, path: &Path) -> Result<Self> {
        let experiments = store.experiments()?;
        let (finished, rest): (Vec<Experiment>, Vec<_>) =
            experiments.into_iter().partition(|experiment| experiment.finished.is_some());
        if finished.is_empty() {
            return Err(nothing_stored(path, rest.len()));
        }
        let tell = |Experiment { id, plan, unbuildable, begun, .. }| {
            (plan, Told { id, begun, unbuildable })
        };
        let (plans, told) = finished.into_iter().map(tell).unzip();
        Ok(Self {
            store,
            plans,
            told,
            unfinished: rest.len(),
            builds: RefCell::default(),
            failures: RefCell::default(),
            repeats: RefCell::default(),
            judged: RefCell::default(),
        })
    }

    /// When an experiment began.
    pub fn begun(&self, part: Part) -> SystemTime {
        self.told[part.experiment].begun
    }

    /// Why a version could not be built in an experiment.
    pub fn unbuildable(&self, part: Part) -> Option<&str> {
        self.told[part.experiment].unbuildable.get(part.version)?.as_deref()
    }

    /// The version as the experiment has it.
    pub fn version(&self, part: Part) -> &Version {
        &self.plans[part.experiment].versions[part.version].version
    }

    /// Where the files of a version were measured, oldest first.
    pub fn parts_of(&self, wanted: &Version) -> Vec<Part> {
        let mut parts = Vec::new();
        for (experiment, plan) in self.plans.iter().enumerate() {
            let versions = plan.versions.iter().enumerate();
            let same = versions.filter(|(_, planned)| planned.version.tree == wanted.tree);
            parts.extend(same.map(|(version, _)| Part { experiment, version }));
        }
        parts
    }

    /// What these experiments say about a benchmark; `None` if none of them measured it.
    pub fn of_benchmark(
        &self,
        benchmark: &Benchmark,
        experiments: impl IntoIterator<Item = usize>,
    ) -> Result<Option<BenchmarkPast<'_>>> {
        let mut wanted: Vec<usize> = experiments.into_iter().collect();
        wanted.sort_unstable_by(|one, other| other.cmp(one));
        wanted.dedup();
        let ids: Vec<ExperimentId> = wanted.iter().map(|index| self.told[*index].id).collect();
        let results = self.store.results(benchmark, &ids)?;
        Ok(results
            .map(|Results { metric, values }| BenchmarkPast::new(self, benchmark, metric, values)))
    }

    /// Why a benchmark failed there, if it did: as the user was told it.
    pub fn failure(&self, benchmark: &Benchmark, part: Part) -> Result<Option<String>> {
        if let Some(reason) = self.unbuildable(part) {
            return Ok(Some(reason.to_owned()));
        }
        let known = self.failures.borrow().get(&part.experiment).cloned();
        let failures = match known {
            Some(failures) => failures,
            None => self.store.failures(self.told[part.experiment].id)?.into(),
        };
        self.failures.borrow_mut().insert(part.experiment, failures.clone());
        let mut of_part = failures
            .iter()
            .filter(|failed| failed.turn.version == part.version && failed.benchmark == *benchmark);
        Ok(of_part.next().map(|failed| failed.reason.clone()))
    }

    /// Seed, layout and digest of the builds of a bench target.
    fn builds(&self, part: Part, target: &BenchTarget) -> Result<Vec<Linked>> {
        let known = self.builds.borrow().get(&part.experiment).cloned();
        let builds = match known {
            Some(builds) => builds,
            None => self.store.builds(self.told[part.experiment].id)?.into(),
        };
        self.builds.borrow_mut().insert(part.experiment, builds.clone());
        let of_part =
            builds.iter().filter(|build| build.version == part.version && build.target == *target);
        Ok(of_part.map(|build| (u64::from(build.seed.get()), build.layout, build.digest)).collect())
    }

    /// How many benchmarks an experiment measured in all of these versions: how many were judged.
    fn judged_in(&self, experiment: usize, versions: &[usize]) -> Result<usize> {
        let key = (experiment, versions.to_vec());
        let known = self.judged.borrow().get(&key).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let count = self.store.measured_in_all(self.told[experiment].id, versions)?;
        self.judged.borrow_mut().insert(key, count);
        Ok(count)
    }

    /// The newest versions that were measured more than once under the conditions of an experiment.
    fn repeats(&self, like: usize) -> Rc<[Vec<Part>]> {
        if let Some(known) = self.repeats.borrow().get(&like) {
            return known.clone();
        }
        let mut groups: HashMap<(&str, &str), Vec<Part>> = HashMap::new();
        for (experiment, plan) in self.plans.iter().enumerate() {
            if !plan.obstacles(&self.plans[like]).is_empty() {
                continue;
            }
            for (version, planned) in plan.versions.iter().enumerate() {
                let key = (&*planned.version.tree, &*planned.toolchain);
                let group = groups.entry(key).or_default();
                if group.last().is_none_or(|last| last.experiment != experiment) {
                    group.push(Part { experiment, version });
                }
            }
        }
        let mut repeats: Vec<Vec<Part>> =
            groups.into_values().filter(|group| group.len() > 1).collect();
        repeats.sort_by_key(|group| std::cmp::Reverse(group.last().copied()));
        repeats.truncate(REPEATS);
        for group in &mut repeats {
            let old = group.len().saturating_sub(REPEATS);
            group.drain(..old);
        }
        let repeats: Rc<[Vec<Part>]> = repeats.into();
        self.repeats.borrow_mut().insert(like, repeats.clone());
        repeats
    }
}

/// The failure of finding results in a store with so many unfinished experiments and no other.
pub fn nothing_stored(path: &Path, unfinished: usize) -> Failure {
    let what = format!("nothing is stored yet in {}", path.display());
    let failure = Failure::new(Exit::Usage, what);
    match unfinished {
        0 => failure.hint("measure two versions with: cargo rbench compare HEAD~1 HEAD"),
        count => failure
            .because(format!("{count} experiments were begun, and none was finished"))
            .hint("the command that was interrupted goes on where it stopped"),
    }
}
