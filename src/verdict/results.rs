//! The stored results of some experiments, read once for many benchmarks. Decides which of their
//! builds count: equal programs are one build, however often they were linked.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use rbench_code::elf::Digest;

use super::relation::VersionRef;
use crate::{
    error::{Error, Exit, Result},
    model::{BenchTarget, Benchmark, Layout, LayoutSeed, Metric, SkipReason, Version},
    store::{ExperimentId, MeasuredBenchmark, RecordedBuild, Store, StoredExperiment},
};

/// The number of newest repeats from which the variance between experiments is estimated. More
/// would cost time and describe the machine as it was long ago.
const REPEATS: usize = 30;

/// Experiments of a store, and lazily loaded data to decide their results.
pub struct Results<'s> {
    pub(super) store: &'s Store<'s>,
    /// The experiments, oldest first.
    pub experiments: Vec<StoredExperiment>,
    /// The number of experiments left out because they are not finished.
    pub unfinished: usize,
    builds: RefCell<HashMap<usize, Rc<[RecordedBuild]>>>,
    /// By experiment: the versions that were measured more than once under its conditions. Loaded
    /// on request.
    repeats: RefCell<HashMap<usize, Rc<[Vec<VersionRef>]>>>,
    /// By experiment: the oldest one under its conditions. Computed on request.
    first_like: RefCell<HashMap<usize, usize>>,
    /// By benchmark: the experiments that executed it. Loaded on request.
    executed: RefCell<HashMap<Benchmark, Rc<HashSet<usize>>>>,
    /// By experiment: the benchmarks that it skipped, and the reasons. Loaded on request.
    skip_reasons: RefCell<HashMap<usize, HashMap<Benchmark, SkipReason>>>,
}

impl<'s> Results<'s> {
    /// The results of these experiments, which must be sorted from the oldest to the newest.
    pub fn new(store: &'s Store<'s>, experiments: Vec<StoredExperiment>) -> Self {
        Self {
            store,
            experiments,
            unfinished: 0,
            builds: RefCell::default(),
            repeats: RefCell::default(),
            first_like: RefCell::default(),
            executed: RefCell::default(),
            skip_reasons: RefCell::default(),
        }
    }

    pub const fn store(&self) -> &'s Store<'s> {
        self.store
    }

    /// The results of all finished experiments that measured time, or that counted if `counts` is set. Excludes
    /// diagnoses, whose measurements differ in kind.
    pub fn finished_of(store: &'s Store<'s>, counts: bool) -> Result<Self> {
        Ok(Self::from_experiments(store, store.experiments()?, counts))
    }

    /// Like [`Self::finished_of`], for experiments on these benchmarks.
    pub fn finished_on(
        store: &'s Store<'s>,
        counts: bool,
        benchmarks: &[Benchmark],
    ) -> Result<Self> {
        Ok(Self::from_experiments(store, store.experiments_on(benchmarks)?, counts))
    }

    fn from_experiments(
        store: &'s Store<'s>,
        mut experiments: Vec<StoredExperiment>,
        counts: bool,
    ) -> Self {
        experiments
            .retain(|stored| !stored.plan.is_diagnosis() && stored.plan.is_counting() == counts);
        let all = experiments.len();
        experiments.retain(|stored| stored.finished.is_some());
        Self { unfinished: all - experiments.len(), ..Self::new(store, experiments) }
    }

    /// Keeps the experiments that measured this metric.
    #[must_use]
    pub fn only_for(self, metric: Option<&Metric>) -> Self {
        let all = self.experiments.into_iter();
        let experiments = all.filter(|stored| stored.plan.is_for(metric)).collect();
        Self { unfinished: self.unfinished, ..Self::new(self.store, experiments) }
    }

    /// The results of one experiment, finished or not.
    pub fn load(store: &'s Store<'s>, id: ExperimentId) -> Result<Self> {
        Ok(Self::new(store, store.experiment(id)?.into_iter().collect()))
    }

    /// True if the experiment counted events instead of measuring time.
    pub fn is_counting(&self, experiment: usize) -> bool {
        self.experiments[experiment].plan.is_counting()
    }

    /// The version as its experiment recorded it.
    pub fn version(&self, measured: VersionRef) -> &Version {
        &self.experiments[measured.experiment].plan.versions[measured.version].version
    }

    /// The reason why a version could not be built in its experiment.
    pub fn build_failure(&self, measured: VersionRef) -> Option<&str> {
        let failures = &self.experiments[measured.experiment].unbuildable;
        failures.get(measured.version)?.as_deref()
    }

    /// The places where a version was measured, oldest first: whichever commit had its files.
    pub fn places_of(&self, wanted: &Version) -> Vec<VersionRef> {
        let mut found = Vec::new();
        for (experiment, stored) in self.experiments.iter().enumerate() {
            let versions = stored.plan.versions.iter().enumerate();
            let same = versions.filter(|(_, planned)| planned.version.key() == wanted.key());
            found.extend(same.map(|(version, _)| VersionRef { experiment, version }));
        }
        found
    }

    pub fn linked(&self, measured: VersionRef, target: &BenchTarget) -> Result<Vec<RecordedBuild>> {
        let builds = self.builds(measured.experiment)?;
        let own =
            |build: &&RecordedBuild| build.version == measured.version && build.target == *target;
        Ok(builds.iter().filter(own).cloned().collect())
    }

    pub(super) fn programs(&self, experiment: usize, target: &BenchTarget) -> Result<Programs> {
        Ok(Programs::new(&self.builds(experiment)?, target))
    }

    fn builds(&self, experiment: usize) -> Result<Rc<[RecordedBuild]>> {
        if let Some(known) = self.builds.borrow().get(&experiment) {
            return Ok(known.clone());
        }
        let builds: Rc<[RecordedBuild]> =
            self.store.builds(self.experiments[experiment].id)?.into();
        self.builds.borrow_mut().insert(experiment, builds.clone());
        Ok(builds)
    }

    pub(super) fn measured(&self, experiment: usize) -> Result<Vec<MeasuredBenchmark>> {
        self.store.measured_metrics(self.experiments[experiment].id)
    }

    /// Fails, naming the metrics there are, if these benchmarks have results but none in the wanted
    /// metrics. No wanted metrics means all.
    pub fn check_metrics(&self, wanted: &[Metric], benchmarks: &[Benchmark]) -> Result<()> {
        if wanted.is_empty() {
            // Return early: the check would read every experiment.
            return Ok(());
        }
        let mut there_are: Vec<Metric> = Vec::new();
        for experiment in 0..self.experiments.len() {
            let mut measured = self.measured(experiment)?;
            measured.retain(|measured| benchmarks.contains(&measured.benchmark));
            let versions = measured.into_iter().flat_map(|measured| measured.versions);
            there_are.extend(versions.flat_map(|version| version.metrics));
        }
        let is_there = wanted.iter().any(|metric| there_are.contains(metric));
        if there_are.is_empty() || is_there {
            return Ok(());
        }
        there_are.sort();
        there_are.dedup();
        let what = format!("these benchmarks have no results in {}", Metric::names(wanted));
        let hint = format!("they have: {}", Metric::names(&there_are));
        Err(Error::new(Exit::Usage, what).hint(hint))
    }

    pub fn experiments_with(&self, benchmark: &Benchmark) -> Result<Rc<HashSet<usize>>> {
        if let Some(known) = self.executed.borrow().get(benchmark) {
            return Ok(known.clone());
        }
        let ids = self.store.experiments_with(benchmark)?;
        let all = self.experiments.iter().enumerate();
        let executed = all.filter(|(_, stored)| ids.contains(&stored.id)).map(|(index, _)| index);
        let executed: Rc<HashSet<usize>> = Rc::new(executed.collect());
        self.executed.borrow_mut().insert(benchmark.clone(), executed.clone());
        Ok(executed)
    }

    /// The reason why an experiment skipped a benchmark that behaves the same in all versions.
    pub fn skip_reason(
        &self,
        experiment: usize,
        benchmark: &Benchmark,
    ) -> Result<Option<SkipReason>> {
        if let Some(known) = self.skip_reasons.borrow().get(&experiment) {
            return Ok(known.get(benchmark).copied());
        }
        let unmeasured = self.store.unmeasured(self.experiments[experiment].id)?;
        let unmeasured: HashMap<Benchmark, SkipReason> = unmeasured.into_iter().collect();
        let reason = unmeasured.get(benchmark).copied();
        self.skip_reasons.borrow_mut().insert(experiment, unmeasured);
        Ok(reason)
    }

    /// The newest versions of which a benchmark was measured more than once under the conditions of
    /// an experiment.
    pub(super) fn repeats(
        &self,
        like: usize,
        benchmark: &Benchmark,
    ) -> Result<Vec<Vec<VersionRef>>> {
        let executed = self.experiments_with(benchmark)?;
        let is_of = |place: &&VersionRef| executed.contains(&place.experiment);
        let mut repeats: Vec<Vec<VersionRef>> = Vec::new();
        for group in self.repeated(like).iter() {
            let of_benchmark: Vec<VersionRef> = group.iter().filter(is_of).copied().collect();
            let newest = of_benchmark.len().saturating_sub(REPEATS);
            if of_benchmark.len() > 1 {
                repeats.push(of_benchmark[newest..].to_vec());
            }
        }
        repeats.sort_by_key(|group| std::cmp::Reverse(group.last().copied()));
        repeats.truncate(REPEATS);
        Ok(repeats)
    }

    /// The oldest experiment under the conditions of this one. It represents all of them, so that
    /// their common data is computed once.
    pub(super) fn first_like(&self, experiment: usize) -> usize {
        *self.first_like.borrow_mut().entry(experiment).or_insert_with(|| {
            let plan = &self.experiments[experiment].plan;
            let is_like = |other: &StoredExperiment| other.plan.incompatibilities(plan).is_empty();
            self.experiments.iter().position(is_like).unwrap_or(experiment)
        })
    }

    /// The places of each version that was measured more than once under the conditions of an
    /// experiment.
    fn repeated(&self, like: usize) -> Rc<[Vec<VersionRef>]> {
        if let Some(known) = self.repeats.borrow().get(&like) {
            return known.clone();
        }
        let mut groups: HashMap<_, Vec<VersionRef>> = HashMap::new();
        for (experiment, stored) in self.experiments.iter().enumerate() {
            if !stored.plan.incompatibilities(&self.experiments[like].plan).is_empty() {
                continue;
            }
            for (version, planned) in stored.plan.versions.iter().enumerate() {
                let key = (planned.version.key(), &*planned.toolchain);
                let group = groups.entry(key).or_default();
                if group.last().is_none_or(|last| last.experiment != experiment) {
                    group.push(VersionRef { experiment, version });
                }
            }
        }
        let repeated: Rc<[Vec<VersionRef>]> =
            groups.into_values().filter(|group| group.len() > 1).collect();
        self.repeats.borrow_mut().insert(like, repeated.clone());
        repeated
    }
}

/// Maps each build to the build that represents its program, by layout seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    representatives: BTreeMap<LayoutSeed, LayoutSeed>,
}

impl Programs {
    /// The programs of one bench target, from all builds of an experiment.
    ///
    /// Two seeds that gave the same program in every version are one build, represented by the
    /// first of them. If equal builds were requested ([`Layout::Default`]), each counts.
    pub fn new(builds: &[RecordedBuild], target: &BenchTarget) -> Self {
        let mut programs: BTreeMap<LayoutSeed, BTreeMap<usize, Digest>> = BTreeMap::new();
        for build in builds.iter().filter(|build| build.target == *target) {
            if build.layout == Layout::Default {
                return Self::default();
            }
            programs.entry(build.seed).or_default().insert(build.version, build.digest);
        }
        let versions: BTreeSet<usize> =
            programs.values().flat_map(BTreeMap::keys).copied().collect();
        let mut first: BTreeMap<&BTreeMap<usize, Digest>, LayoutSeed> = BTreeMap::new();
        let mut representatives = BTreeMap::new();
        for (seed, of_versions) in &programs {
            // A seed that a version lacks counts as a different program.
            let is_complete = of_versions.len() == versions.len();
            let known = is_complete.then(|| *first.entry(of_versions).or_insert(*seed));
            representatives.insert(*seed, known.unwrap_or(*seed));
        }
        Self { representatives }
    }

    /// The seed of the build that represents this build's program.
    pub fn representative(&self, seed: LayoutSeed) -> LayoutSeed {
        self.representatives.get(&seed).copied().unwrap_or(seed)
    }
}

/// The number of builds of a bench target that count, of those that were linked.
pub fn count_builds(builds: &[RecordedBuild], target: &BenchTarget) -> usize {
    let programs = Programs::new(builds, target);
    let own = builds.iter().filter(|build| build.target == *target);
    own.map(|build| programs.representative(build.seed)).collect::<BTreeSet<_>>().len()
}

/// True if two versions are the same programs in all builds of the one that has fewer: perhaps only
/// one of them was measured again on fresh builds.
pub fn are_identical(base: &[(LayoutSeed, Digest)], head: &[(LayoutSeed, Digest)]) -> bool {
    let (fewer, more) = if base.len() < head.len() { (base, head) } else { (head, base) };
    !fewer.is_empty() && fewer.iter().all(|build| more.contains(build))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Stage,
        verdict::testing::{Filling, benchmark},
    };

    #[test]
    fn check_metrics_names_the_available_metrics() {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base"], &["one", "two"]);
        filling.measure("one", 0, Stage::First, &[("wall", 100.0), ("user", 90.0)]);
        let results = filling.results();
        let check = |metrics: &[&str], id: &str| {
            let metrics: Vec<Metric> = metrics.iter().map(|name| name.parse().unwrap()).collect();
            results.check_metrics(&metrics, &[benchmark(id)])
        };
        let error = check(&["cycles", "bytes"], "one").unwrap_err().to_string();
        assert!(error.contains("no results in cycles, bytes"), "{error}");
        assert!(error.contains("they have: user, wall"), "{error}");
        for (metrics, id) in [(&["cycles", "wall"][..], "one"), (&[], "one"), (&["cycles"], "two")]
        {
            assert!(check(metrics, id).is_ok());
        }
    }

    fn seed(number: u32) -> LayoutSeed {
        LayoutSeed::new(number).unwrap()
    }

    fn target() -> BenchTarget {
        BenchTarget { package: "p".to_owned(), target: "t".to_owned() }
    }

    fn builds(version: usize, layout: Layout, programs: &[(u32, &str)]) -> Vec<RecordedBuild> {
        let build = |(number, program): &(u32, &str)| RecordedBuild {
            version,
            target: target(),
            seed: seed(*number),
            layout,
            digest: Digest::compute(program.as_bytes()),
        };
        programs.iter().map(build).collect()
    }

    #[test]
    fn programs_equal_in_all_versions_are_one_build() {
        let mut all = builds(0, Layout::SameOrder, &[(1, "a"), (2, "a"), (3, "b")]);
        all.extend(builds(1, Layout::SameOrder, &[(1, "x"), (2, "x"), (3, "x")]));
        let programs = Programs::new(&all, &target());
        let representatives = [1, 2, 3, 4].map(|number| programs.representative(seed(number)));
        assert_eq!(representatives, [1, 1, 3, 4].map(seed));
        assert_eq!(count_builds(&all, &target()), 2);
    }

    #[test]
    fn programs_of_default_or_incomplete_builds_count_each() {
        let equal = builds(0, Layout::Default, &[(1, "a"), (2, "a")]);
        assert_eq!(Programs::new(&equal, &target()).representative(seed(2)), seed(2));
        assert_eq!(count_builds(&equal, &target()), 2);
        let mut lacking = builds(0, Layout::SameOrder, &[(1, "a"), (2, "a")]);
        lacking.extend(builds(1, Layout::SameOrder, &[(1, "x")]));
        assert_eq!(Programs::new(&lacking, &target()).representative(seed(2)), seed(2));
    }

    #[test]
    fn are_identical_compares_the_common_builds() {
        let programs = |list: &[(u32, &str)]| -> Vec<(LayoutSeed, Digest)> {
            list.iter()
                .map(|(n, program)| (seed(*n), Digest::compute(program.as_bytes())))
                .collect()
        };
        let [base, fresh] =
            [programs(&[(1, "a"), (2, "b")]), programs(&[(1, "a"), (2, "b"), (3, "c")])];
        assert!(are_identical(&base, &fresh) && are_identical(&fresh, &base));
        assert!(!are_identical(&base, &programs(&[(1, "a"), (2, "x")])));
        assert!(!are_identical(&base, &[]) && !are_identical(&[], &[]));
    }
}
