//! What the store knows of versions, read once and judged pair by pair: by stages where two versions were
//! measured together, with the variance between sessions where they were not.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
    rc::Rc,
    time::SystemTime,
};

use crate::{
    code::Digest,
    failure::{Exit, Failure, Result},
    model::{
        BenchTarget, Benchmark, BuildValues, ExperimentPlan, Layout, Metric, Moment, Part,
        Relation, Stage, Version,
    },
    stats::{
        Criteria, Judged, Judgement, Measurements, Pairing, Repeat, SessionVariance, Summary,
        Verdict, judged::counted_as,
    },
    store::{Experiment, ExperimentId, FailedExecution, RecordedBuild, Results, Store},
};

/// The variance between sessions is estimated from so many of the newest repeats: more would cost time
/// and tell of a machine as it was long ago.
const REPEATS: usize = 30;

/// How many of a version's newest results are looked at, unless it was measured together with another.
const NEWEST: usize = 4;

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
}

struct Told {
    id: ExperimentId,
    begun: SystemTime,
    unbuildable: Vec<Option<String>>,
}

/// What the chosen experiments say about one benchmark.
pub struct BenchmarkPast<'p> {
    past: &'p Past<'p>,
    /// The benchmark.
    pub benchmark: Benchmark,
    /// What was measured.
    pub metric: Metric,
    values: BTreeMap<(ExperimentId, usize, Stage), BuildValues>,
    variance: RefCell<HashMap<usize, Option<SessionVariance>>>,
}

/// How stored results are judged.
#[derive(Clone, Copy)]
pub struct Judging<'c> {
    /// The criteria.
    pub criteria: &'c Criteria,
    /// Whether results of other machines and settings may be compared.
    pub allow_different: bool,
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

    /// The experiments that tell of a moment, and of how it changed since the one that it follows.
    pub fn experiments_for(&self, moment: &Moment, base: Option<&Moment>) -> Vec<usize> {
        let newest = |moment: &Moment| {
            moment.parts.iter().rev().take(NEWEST).map(|part| part.experiment).collect::<Vec<_>>()
        };
        let mut wanted = newest(moment);
        if let Some(base) = base {
            let of_base: HashSet<usize> = base.parts.iter().map(|part| part.experiment).collect();
            let together = moment.parts.iter().rev().map(|part| part.experiment);
            wanted.extend(together.filter(|experiment| of_base.contains(experiment)).take(NEWEST));
            wanted.extend(newest(base));
        }
        wanted
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
        Ok(results.map(|Results { metric, values }| BenchmarkPast {
            past: self,
            benchmark: benchmark.clone(),
            metric,
            values,
            variance: RefCell::default(),
        }))
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
    fn builds(&self, part: Part, target: &BenchTarget) -> Result<Vec<(u64, Layout, Digest)>> {
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

impl BenchmarkPast<'_> {
    /// Those of the parts where this benchmark was measured, or failed.
    pub fn among(&self, all: &[Part]) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        for part in all {
            let measured = self.values.contains_key(&self.key(*part, Stage::First));
            if measured || self.past.failure(&self.benchmark, *part)?.is_some() {
                parts.push(*part);
            }
        }
        Ok(parts)
    }

    /// The value of a version in an experiment, each program counted as one build.
    pub fn summary(&self, part: Part, criteria: &Criteria) -> Result<Option<Summary>> {
        let Some(values) = self.values.get(&self.key(part, Stage::First)) else { return Ok(None) };
        let builds = self.past.builds(part, &self.target())?;
        let [values] = counted([values.clone()], [&builds]);
        Ok(self.measurements(values).map(|data| Summary::of(&data, criteria.estimator)))
    }

    /// The judgement on how the head differs from the base.
    pub fn judge(&self, relation: &Relation, judging: &Judging<'_>) -> Result<Judgement> {
        let [base, head] = relation.parts();
        for part in [base, head] {
            if let Some(reason) = self.past.failure(&self.benchmark, part)? {
                return Ok(Judgement::of(Verdict::Failed { reason }));
            }
        }
        if self.past.version(base).tree == self.past.version(head).tree
            || self.same_programs([base, head])?
        {
            return Ok(Judgement::of(Verdict::Identical));
        }
        match relation {
            Relation::Together(parts) => self.judge_together(*parts, judging.criteria),
            Relation::Unlike { reasons, .. } if !judging.allow_different => {
                let reason = format!("measured differently ({})", reasons.join("; "));
                Ok(Judgement::of(Verdict::NotComparable { reason }))
            }
            Relation::Apart(parts) | Relation::Unlike { parts, .. } => {
                self.judge_apart(*parts, judging.criteria)
            }
        }
    }

    /// By both stages, as when they were measured.
    fn judge_together(&self, parts: [Part; 2], criteria: &Criteria) -> Result<Judgement> {
        let builds = self.builds(parts)?;
        let layouts = builds.iter().flatten().map(|(_, layout, _)| *layout);
        let pairing = Pairing::of_layouts(layouts);
        let stage = |stage| {
            let values = parts.map(|part| self.values.get(&self.key(part, stage)).cloned());
            let [Some(base), Some(head)] = values else { return None };
            let [base, head] = counted([base, head], builds.each_ref().map(Vec::as_slice));
            let data = [self.measurements(base)?, self.measurements(head)?];
            Some(Judged::of(data.each_ref(), pairing, criteria))
        };
        let Some(first) = stage(Stage::First) else { return Ok(no_measurements()) };
        let second = if first.needs_confirmation(criteria) { stage(Stage::Second) } else { None };
        let judged = match second {
            Some(_) => self.judged_in(parts[0].experiment, &parts.map(|part| part.version))?,
            None => 1,
        };
        Ok(Judgement::by_stages(&first, second.as_ref(), judged, criteria))
    }

    /// With the variance between sessions, or not at all.
    fn judge_apart(&self, parts: [Part; 2], criteria: &Criteria) -> Result<Judgement> {
        let [base, head] = parts;
        let Some(sessions) = self.session_variance(head.experiment, criteria)? else {
            let reason = "measured in two experiments, and no commit was measured twice that would \
                          tell how much the machine varies between them";
            return Ok(Judgement::of(Verdict::NotComparable { reason: reason.to_owned() }));
        };
        let builds = self.builds(parts)?;
        let matched = |layout: &Layout| matches!(layout, Layout::Matched | Layout::Pin);
        let mut layouts = builds.iter().flatten().map(|(_, layout, _)| layout);
        let pairing = if builds.iter().all(|builds| !builds.is_empty()) && layouts.all(matched) {
            Pairing::BySeed
        } else {
            Pairing::Unpaired
        };
        let values = parts.map(|part| self.values.get(&self.key(part, Stage::First)).cloned());
        let [Some(one), Some(other)] = values else { return Ok(no_measurements()) };
        let values = counted([one, other], builds.each_ref().map(Vec::as_slice));
        let [Some(one), Some(other)] = values.map(|values| self.measurements(values)) else {
            return Ok(no_measurements());
        };
        let summaries = [one, other].map(|data| Summary::of(&data, criteria.estimator));
        let judged = self
            .judged_in(base.experiment, &[base.version])?
            .min(self.judged_in(head.experiment, &[head.version])?);
        let stored = Judged::across(summaries, pairing, &sessions, criteria);
        Ok(Judgement::by_sessions(stored, judged, criteria))
    }

    /// How much the benchmark varies between sessions like that of an experiment.
    pub fn session_variance(
        &self,
        like: usize,
        criteria: &Criteria,
    ) -> Result<Option<SessionVariance>> {
        let known = self.variance.borrow().get(&like).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let repeats = self.past.repeats(like);
        let wanted = repeats.iter().flatten().map(|part| part.experiment);
        let again = self.past.of_benchmark(&self.benchmark, wanted)?;
        let mut summaries = Vec::with_capacity(repeats.len());
        for group in repeats.iter() {
            let mut of_group = Vec::with_capacity(group.len());
            for part in group {
                let Some(again) = again.as_ref().filter(|again| again.metric == self.metric) else {
                    continue;
                };
                if let Some(summary) = again.summary(*part, criteria)? {
                    of_group.push((*part, summary));
                }
            }
            let parts: Vec<Part> = of_group.iter().map(|(part, _)| *part).collect();
            summaries.push((of_group, self.same_programs_by_seed(&parts)?));
        }
        let repeats: Vec<Repeat<'_>> = summaries
            .iter()
            .map(|(group, same_programs)| Repeat {
                sessions: group.iter().map(|(part, one)| (part.experiment, one)).collect(),
                same_programs: *same_programs,
            })
            .collect();
        let variance = SessionVariance::of(&repeats);
        self.variance.borrow_mut().insert(like, variance);
        Ok(variance)
    }

    fn judged_in(&self, experiment: usize, versions: &[usize]) -> Result<usize> {
        self.past.store.measured_in_all(self.past.told[experiment].id, versions)
    }

    fn key(&self, part: Part, stage: Stage) -> (ExperimentId, usize, Stage) {
        (self.past.told[part.experiment].id, part.version, stage)
    }

    fn target(&self) -> BenchTarget {
        let Benchmark { package, target, .. } = &self.benchmark;
        BenchTarget { package: package.clone(), target: target.clone() }
    }

    fn builds(&self, parts: [Part; 2]) -> Result<[Vec<(u64, Layout, Digest)>; 2]> {
        let target = self.target();
        let [base, head] = parts.map(|part| self.past.builds(part, &target));
        Ok([base?, head?])
    }

    fn measurements(&self, values: BuildValues) -> Option<Measurements> {
        Measurements::new(self.metric.clone(), values).ok()
    }

    /// Whether both versions are the same programs in all their builds.
    fn same_programs(&self, parts: [Part; 2]) -> Result<bool> {
        let [base, head] = self.builds(parts)?;
        Ok(!base.is_empty() && base == head)
    }

    /// Whether builds of equal seeds are the same programs.
    fn same_programs_by_seed(&self, parts: &[Part]) -> Result<bool> {
        let mut programs = HashMap::new();
        for part in parts {
            for (seed, _, digest) in self.past.builds(*part, &self.target())? {
                if *programs.entry(seed).or_insert(digest) != digest {
                    return Ok(false);
                }
            }
        }
        Ok(!programs.is_empty())
    }
}

/// The builds with equal programs put together: what is the same in all versions is one build, however
/// often it was linked. Where builds are alike as asked for, each counts.
fn counted<const N: usize>(
    mut values: [BuildValues; N],
    builds: [&[(u64, Layout, Digest)]; N],
) -> [BuildValues; N] {
    let natural = builds.iter().copied().flatten().any(|(_, layout, _)| *layout == Layout::Natural);
    if natural || builds.iter().any(|builds| builds.is_empty()) {
        return values;
    }
    let digest = |builds: &[(u64, Layout, Digest)], seed: u64| {
        builds.iter().find(|(other, ..)| *other == seed).map(|(.., digest)| *digest)
    };
    let seeds: Vec<u64> = builds[0].iter().map(|(seed, ..)| *seed).collect();
    // A seed that a version lacks is a program of its own.
    let programs: Vec<_> = seeds
        .iter()
        .map(|seed| {
            let digests = builds.map(|builds| digest(builds, *seed));
            (digests, digests.iter().any(Option::is_none).then_some(*seed))
        })
        .collect();
    let counts_for: HashMap<u64, u64> = seeds
        .iter()
        .copied()
        .zip(counted_as(&programs).into_iter().map(|index| seeds[index]))
        .collect();
    for values in &mut values {
        let mut merged: BTreeMap<u64, Vec<Vec<f64>>> = BTreeMap::new();
        for (seed, executions) in std::mem::take(values) {
            let seed = counts_for.get(&seed).copied().unwrap_or(seed);
            merged.entry(seed).or_default().extend(executions);
        }
        *values = merged.into_iter().collect();
    }
    values
}

fn no_measurements() -> Judgement {
    Judgement::of(Verdict::Failed { reason: "it gave no measurements".to_owned() })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn values(seeds: &[u64]) -> BuildValues {
        seeds.iter().map(|seed| (*seed, vec![vec![*seed as f64]])).collect()
    }

    fn builds(programs: &[(u64, &str)], layout: Layout) -> Vec<(u64, Layout, Digest)> {
        let build = |(seed, program): &(u64, &str)| (*seed, layout, Digest::of(program.as_bytes()));
        programs.iter().map(build).collect()
    }

    #[test]
    fn equal_programs_of_both_versions_are_one_build() {
        let base = builds(&[(1, "a"), (2, "a"), (3, "b")], Layout::Matched);
        let head = builds(&[(1, "x"), (2, "x"), (3, "x")], Layout::Matched);
        let [of_base, of_head] = counted([values(&[1, 2, 3]), values(&[1, 2, 3])], [&base, &head]);
        assert_eq!(of_base, [(1, vec![vec![1.0], vec![2.0]]), (3, vec![vec![3.0]])]);
        assert_eq!(of_head, of_base);
    }

    #[test]
    fn natural_and_unknown_builds_count_each() {
        let natural = builds(&[(1, "a"), (2, "a")], Layout::Natural);
        assert_eq!(counted([values(&[1, 2])], [&natural]), [values(&[1, 2])]);
        assert_eq!(counted([values(&[1, 2])], [&[]]), [values(&[1, 2])]);
    }
}
