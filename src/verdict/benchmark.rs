//! Turns the stored rows of one benchmark into the measurements that statistics take. Only reads
//! the store; `verdicts.rs` decides.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    time::{Duration, SystemTime},
};

use rbench_stats::{
    Criteria, Estimator, Measurements, Repeat, SessionVariance, Summary, paired_ratio,
};

use super::{
    interleaving::{self, Interleaving, Mixed},
    relation::VersionRef,
    results::Results,
};
use crate::{
    error::Result,
    model::{
        BenchTarget, Benchmark, Execution, InterleavingUnavailable, Layout, LayoutSeed, Metric,
        Mode, Schedule, Slot, Stage, Throughput, Unmeasured,
    },
    store::{ExperimentId, RecordedBuild, StoredExecution},
};

/// A selection of the builds of one stage: all of them, or those of one interim analysis.
#[derive(Clone, Copy, Debug)]
pub struct BuildSelection<'s> {
    pub stage: Stage,
    /// The layout seeds of the selected builds; `None` selects every build of the stage.
    pub seeds: Option<&'s [LayoutSeed]>,
    /// The number of executions of each build, the first ones; `None` selects all of them.
    pub rounds: Option<u32>,
}

impl BuildSelection<'_> {
    /// True if an execution in this slot is one of the selected ones.
    pub(super) fn have(&self, slot: &Slot) -> bool {
        slot.stage == self.stage
            && self.seeds.is_none_or(|seeds| seeds.contains(&slot.seed))
            && self.rounds.is_none_or(|rounds| slot.round < rounds)
    }
}

impl From<Stage> for BuildSelection<'_> {
    fn from(stage: Stage) -> Self {
        Self { stage, seeds: None, rounds: None }
    }
}

/// The stored executions of one benchmark in a set of experiments, by experiment and version.
pub struct BenchmarkResults<'r> {
    pub(super) results: &'r Results<'r>,
    pub benchmark: Benchmark,
    rows: BTreeMap<VersionRef, Vec<StoredExecution>>,
    variances: RefCell<HashMap<(usize, Metric, Mode), Option<SessionVariance>>>,
}

impl Results<'_> {
    /// Loads the benchmark's rows of these experiments, given by their indices in
    /// [`Self::experiments`].
    pub fn benchmark(
        &self,
        benchmark: &Benchmark,
        experiments: impl IntoIterator<Item = usize>,
    ) -> Result<BenchmarkResults<'_>> {
        let mut indices: Vec<usize> = experiments.into_iter().collect();
        indices.sort_unstable();
        indices.dedup();
        let ids: Vec<ExperimentId> =
            indices.iter().map(|index| self.experiments[*index].id).collect();
        let index_of: HashMap<ExperimentId, usize> = ids.iter().copied().zip(indices).collect();
        let mut rows: BTreeMap<VersionRef, Vec<StoredExecution>> = BTreeMap::new();
        for row in self.store.rows(benchmark, &ids)? {
            let Some(experiment) = index_of.get(&row.experiment) else { continue };
            let place = VersionRef { experiment: *experiment, version: row.slot.version };
            rows.entry(place).or_default().push(row);
        }
        let (benchmark, variances) = (benchmark.clone(), RefCell::default());
        Ok(BenchmarkResults { results: self, benchmark, rows, variances })
    }
}

impl BenchmarkResults<'_> {
    pub fn target(&self) -> BenchTarget {
        self.benchmark.bench_target()
    }

    /// All rows of a version in an experiment, in the order of slots.
    pub fn rows(&self, measured: VersionRef) -> &[StoredExecution] {
        self.rows.get(&measured).map(Vec::as_slice).unwrap_or_default()
    }

    /// The average time of one execution of each of these versions, together.
    pub(super) fn pair_time(&self, versions: [VersionRef; 2]) -> Option<Duration> {
        let of_version = |measured| {
            let executions = self.rows(measured).iter().filter_map(|row| row.outcome.as_ref().ok());
            let times: Vec<Duration> = executions.map(Execution::own_wall).collect();
            times.iter().sum::<Duration>().checked_div(u32::try_from(times.len()).ok()?)
        };
        let [base, head] = versions.map(of_version);
        Some(base? + head?)
    }

    /// The reason for a missing result: the benchmark failed or skipped itself, or its version
    /// could not be built.
    pub fn unmeasured(&self, measured: VersionRef) -> Option<Unmeasured> {
        if let Some(failure) = self.results.build_failure(measured) {
            return Some(Unmeasured::Failed(failure.to_owned()));
        }
        self.rows(measured).iter().find_map(|row| row.outcome.as_ref().err().cloned())
    }

    /// Keeps the places with measurements. If there are none, keeps those where the benchmark
    /// failed, so that the failure is reported.
    pub fn find_in(&self, places: &[VersionRef]) -> Vec<VersionRef> {
        let (failed, others): (Vec<VersionRef>, Vec<_>) =
            places.iter().partition(|place| self.unmeasured(**place).is_some());
        let measured: Vec<VersionRef> =
            others.into_iter().filter(|place| !self.rows(*place).is_empty()).collect();
        if measured.is_empty() { failed } else { measured }
    }

    pub fn executions(
        &self,
        measured: VersionRef,
        stage: Stage,
    ) -> impl Iterator<Item = (&StoredExecution, &Execution)> {
        self.executions_of(measured, stage.into())
    }

    fn executions_of<'s>(
        &'s self,
        measured: VersionRef,
        builds: BuildSelection<'s>,
    ) -> impl Iterator<Item = (&'s StoredExecution, &'s Execution)> {
        let chosen = self.rows(measured).iter().filter(move |row| builds.have(&row.slot));
        chosen.filter_map(|row| Some((row, row.outcome.as_ref().ok()?)))
    }

    /// The metrics that every execution has at all of these places, in the order of the harness. A
    /// metric that only some executions have would describe a selection of them.
    pub fn metrics(&self, places: &[VersionRef]) -> Vec<Metric> {
        let executions = || {
            let rows = places.iter().flat_map(|place| self.rows(*place));
            rows.filter_map(|row| row.outcome.as_ref().ok())
        };
        let first = executions().next();
        let metrics = first.into_iter().flat_map(|execution| &execution.series);
        metrics
            .map(|series| &series.metric)
            .filter(|metric| executions().all(|execution| execution.series_of(metric).is_some()))
            .cloned()
            .collect()
    }

    /// True if it is a whole program that waits, or waits longer in one version, as its executions at these places have
    /// shown.
    pub(super) fn waits(&self, places: &[VersionRef]) -> bool {
        use InterleavingUnavailable::{Waits, WaitsDiffer};
        let waits = [Waits, WaitsDiffer].map(Schedule::Unavailable);
        let rows = places.iter().flat_map(|place| self.rows(*place));
        rows.filter_map(|row| row.outcome.as_ref().ok()).any(|one| waits.contains(&one.schedule))
    }

    fn versions_in(&self, experiment: usize) -> impl Iterator<Item = VersionRef> {
        let place = |version| VersionRef { experiment, version };
        self.rows.range(place(0)..=place(usize::MAX)).map(|(place, _)| *place)
    }

    /// The two versions of a finished experiment for which the benchmark has a second stage, if
    /// there are exactly two.
    pub(super) fn confirmed_in(&self, experiment: usize) -> Option<[VersionRef; 2]> {
        self.results.experiments[experiment].finished?;
        let has_second = |place: &VersionRef| {
            self.unmeasured(*place).is_none()
                && self.executions(*place, Stage::Second).next().is_some()
        };
        let confirmed: Vec<VersionRef> = self.versions_in(experiment).filter(has_second).collect();
        confirmed.try_into().ok()
    }

    /// The amount of work of one iteration in base and head, if both declare it in the same unit
    /// and the amounts differ: their times are then not of the same work.
    pub(super) fn different_work(&self, versions: [VersionRef; 2]) -> Option<[Throughput; 2]> {
        let declared = |place| {
            let executed = self.rows(place).iter().find_map(|row| row.outcome.as_ref().ok());
            executed.map(|execution| execution.throughput.as_slice()).unwrap_or_default()
        };
        let [base, head] = versions.map(declared);
        let mut pairs = base.iter().zip(head).map(|(base, head)| [*base, *head]);
        pairs.find(|pair| {
            let [(base, of_base), (head, of_head)] = pair.map(Throughput::amount);
            of_base == of_head && base != head
        })
    }

    /// The factor that moves the estimate of an execution half of the way to the paired ratio of
    /// both versions, so that base and head together show that ratio; 1 if the execution ran alone.
    /// See [`paired_ratio`].
    fn factor(
        &self,
        measured: VersionRef,
        row: &StoredExecution,
        own: &[f64],
        metric: &Metric,
    ) -> f64 {
        let beside = || {
            let mut versions = self.versions_in(measured.experiment);
            let partner = versions.find(|place| place.version != measured.version)?;
            let of_partner = self.rows(partner).iter();
            let slot = |version| Slot { version, ..row.slot };
            let beside = of_partner.clone().find(|other| other.slot == slot(other.slot.version))?;
            Some(&beside.outcome.as_ref().ok()?.series_of(metric)?.values)
        };
        beside().map_or(1.0, |partner| paired_ratio::towards_ratio(own, partner))
    }

    /// The measurements of some builds in one metric. Builds that are the same program count as
    /// one. Includes the data that `estimator` needs to compare them with the other version; `None`
    /// without measurements.
    pub fn measurements<'s>(
        &'s self,
        measured: VersionRef,
        builds: impl Into<BuildSelection<'s>>,
        metric: &Metric,
        estimator: Estimator,
    ) -> Result<Option<Measurements>> {
        let programs = self.results.programs(measured.experiment, &self.target())?;
        let mut by_seed: BTreeMap<u64, Vec<&[f64]>> = BTreeMap::new();
        let mut factors: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut starts: BTreeMap<u64, f64> = BTreeMap::new();
        let mut resolution: f64 = 0.0;
        for (row, execution) in self.executions_of(measured, builds.into()) {
            let Some(series) = execution.series_of(metric) else { continue };
            let values = series.values.as_slice();
            let seed = u64::from(programs.representative(row.slot.seed).get());
            by_seed.entry(seed).or_default().push(values);
            if estimator == Estimator::Pairwise {
                let factor = self.factor(measured, row, values, metric);
                factors.entry(seed).or_default().push(factor);
            }
            let start = execution.resources.start.duration_since(SystemTime::UNIX_EPOCH);
            let start = start.unwrap_or_default().as_secs_f64();
            starts.entry(seed).and_modify(|first| *first = first.min(start)).or_insert(start);
            resolution = resolution.max(series.resolution);
        }
        let measurements = Measurements::new(metric.clone(), by_seed).ok();
        Ok(measurements
            .map(|all| all.with_resolution(resolution).with_starts(starts).with_factors(factors)))
    }

    /// The interleaving that all executions of one stage at these places share; `None` without
    /// executions.
    ///
    /// Fails with [`Mixed`] if some ran interleaved and others alone.
    pub fn interleaving(
        &self,
        places: &[VersionRef],
        stage: Stage,
    ) -> Result<Option<Interleaving>, Mixed> {
        let executions = places.iter().flat_map(|place| self.executions(*place, stage));
        Interleaving::summarize(executions.map(|(_, execution)| execution))
    }

    /// The estimator that reduces each execution of one stage to a single value.
    pub fn estimator(&self, place: VersionRef, stage: Stage, criteria: &Criteria) -> Estimator {
        let executions = self.executions(place, stage).map(|(_, execution)| execution);
        interleaving::estimator(criteria, executions)
    }

    /// The summary of some builds in one metric; `None` without measurements.
    pub fn summary<'s>(
        &'s self,
        measured: VersionRef,
        builds: impl Into<BuildSelection<'s>>,
        metric: &Metric,
        criteria: &Criteria,
    ) -> Result<Option<Summary>> {
        let builds = builds.into();
        let estimator = self.estimator(measured, builds.stage, criteria);
        let measurements = self.measurements(measured, builds, metric, estimator)?;
        Ok(measurements.map(|measurements| Summary::compute(&measurements, estimator)))
    }

    pub fn linked(&self, place: VersionRef) -> Result<Vec<RecordedBuild>> {
        self.results.linked(place, &self.target())
    }

    /// The layouts of the target's builds at both places.
    pub(super) fn layouts(&self, [base, head]: [VersionRef; 2]) -> Result<Vec<Layout>> {
        let builds = [self.linked(base)?, self.linked(head)?].concat();
        Ok(builds.into_iter().map(|build| build.layout).collect())
    }

    /// The variance of a metric between experiments under the conditions of experiment `like`, from
    /// versions measured more than once in this mode; `None` if no version was measured twice.
    pub fn session_variance(
        &self,
        like: usize,
        metric: &Metric,
        mode: Mode,
        criteria: &Criteria,
    ) -> Result<Option<SessionVariance>> {
        let like = self.results.first_like(like);
        let key = (like, metric.clone(), mode);
        if let Some(known) = self.variances.borrow().get(&key) {
            return Ok(*known);
        }
        let repeats = self.results.repeats(like, &self.benchmark)?;
        let experiments = repeats.iter().flatten().map(|place| place.experiment);
        let again = self.results.benchmark(&self.benchmark, experiments)?;
        let mut groups = Vec::with_capacity(repeats.len());
        for group in &repeats {
            let mut summaries = Vec::with_capacity(group.len());
            let alike = |place: &&VersionRef| {
                let of_place = again.interleaving(&[**place], Stage::First);
                of_place.is_ok_and(|all| all.is_some_and(|all| all.mode == mode))
            };
            for place in group.iter().filter(alike) {
                if let Some(summary) = again.summary(*place, Stage::First, metric, criteria)? {
                    summaries.push((*place, summary));
                }
            }
            let places: Vec<VersionRef> = summaries.iter().map(|(place, _)| *place).collect();
            groups.push((summaries, self.are_same_programs_by_seed(&places)?));
        }
        let repeats: Vec<Repeat<'_>> = groups
            .iter()
            .map(|(summaries, same_programs)| Repeat {
                sessions: summaries.iter().map(|(place, one)| (place.experiment, one)).collect(),
                same_programs: *same_programs,
            })
            .collect();
        let variance = SessionVariance::estimate(&repeats);
        self.variances.borrow_mut().insert(key, variance);
        Ok(variance)
    }

    /// True if builds of equal seeds are the same program at all of these places.
    fn are_same_programs_by_seed(&self, places: &[VersionRef]) -> Result<bool> {
        let mut programs = BTreeMap::new();
        for place in places {
            for build in self.linked(*place)? {
                if *programs.entry(build.seed).or_insert(build.digest) != build.digest {
                    return Ok(false);
                }
            }
        }
        Ok(!programs.is_empty())
    }
}
