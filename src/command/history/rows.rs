//! The versions of a benchmark's history, each with its value and with the verdict on it and the nearest measured version
//! before it.

use std::collections::HashSet;

use rbench_stats::Criteria;

use crate::{
    compare::Acceptances,
    error::Result,
    model::{Benchmark, Metric, Stage},
    report::history::{
        BenchmarkHistory, Estimate, HistoryRow, Measured, ReferenceVersion,
        Relation as MeasuredTogether, Series, SessionVariation, UnmeasuredBenchmark,
    },
    verdict::{
        BenchmarkResults, Relation, Results, TimelineEntry, Verdicts, VersionRef, obstacles,
    },
};

/// The number of newest results to read for a version that was not measured together with another one.
const NEWEST: usize = 4;

/// Computes the histories of benchmarks over some versions.
pub(super) struct Histories<'r> {
    pub results: &'r Results<'r>,
    pub decider: Verdicts<'r>,
    pub entries: &'r [TimelineEntry],
    pub acceptances: &'r Acceptances<'r>,
    /// True if results of different machines, settings and compilers may be compared.
    pub ignore_environment: bool,
    /// True if verdicts on consecutive versions are not needed.
    pub changes_only: bool,
}

impl Histories<'_> {
    /// For each entry, the nearest earlier entry in which the benchmark is unaffected: an experiment on both skipped
    /// it for that reason.
    pub fn same(&self, benchmark: &BenchmarkResults<'_>) -> Result<Vec<Option<usize>>> {
        let mut same = Vec::with_capacity(self.entries.len());
        for entry in self.entries {
            let mut places = Vec::new();
            for place in &entry.measured {
                let known = self.results.skip_reason(place.experiment, &benchmark.benchmark)?;
                places.extend(known.map(|_| *place));
            }
            let mut before = entry.follows.filter(|_| !places.is_empty());
            while let Some(index) = before {
                if benchmark.same_in([&self.entries[index].measured, &places])?.is_some() {
                    break;
                }
                before = self.entries[index].follows;
            }
            same.push(before);
        }
        Ok(same)
    }

    /// A benchmark that no version measured, with the reason that the newest comparison had.
    pub fn unmeasured(&self, benchmark: &Benchmark) -> Result<UnmeasuredBenchmark> {
        let places = self.entries.iter().rev().flat_map(|entry| entry.measured.iter().rev());
        let skipped = |place: &VersionRef| self.results.skip_reason(place.experiment, benchmark);
        let reason = places.map(skipped).find_map(Result::transpose).transpose()?;
        Ok(UnmeasuredBenchmark { benchmark: benchmark.clone(), reason })
    }

    /// All metrics of any version; wall time if the benchmark failed in all versions.
    pub fn metrics_of(
        &self,
        benchmark: &BenchmarkResults<'_>,
        measured: &[VersionRef],
    ) -> Vec<Metric> {
        let mut metrics: Vec<Metric> = Vec::new();
        for place in measured {
            for metric in self.decider.metrics(benchmark, &[*place]) {
                if !metrics.contains(&metric) {
                    metrics.push(metric);
                }
            }
        }
        if measured.is_empty() { vec![Metric::wall()] } else { metrics }
    }

    /// The newest experiments with results of an entry, or with a comparison of it with the entry that it follows.
    pub fn experiments_for(&self, entry: &TimelineEntry, executed: &HashSet<usize>) -> Vec<usize> {
        let says_something = |place: &&VersionRef| {
            executed.contains(&place.experiment) || self.results.build_failure(**place).is_some()
        };
        let newest_first = |entry: &TimelineEntry| {
            let places = entry.measured.iter().rev().filter(says_something);
            places.map(|place| place.experiment).collect()
        };
        let all: Vec<usize> = newest_first(entry);
        let mut wanted: Vec<usize> = all.iter().copied().take(NEWEST).collect();
        if let Some(base) = entry.follows.and_then(|index| self.entries.get(index)) {
            let of_base: Vec<usize> = newest_first(base);
            wanted.extend(of_base.iter().take(NEWEST));
            let of_base: HashSet<usize> = of_base.into_iter().collect();
            wanted.extend(all.into_iter().filter(|one| of_base.contains(one)).take(NEWEST));
        }
        wanted
    }
}

/// For each entry, the entry whose measurements are its value: itself, or an earlier one in which the benchmark is
/// unaffected.
pub(super) fn sources(
    benchmark: &BenchmarkResults<'_>,
    places: &[Vec<VersionRef>],
    same: &[Option<usize>],
) -> Vec<Option<usize>> {
    let mut sources: Vec<Option<usize>> = Vec::with_capacity(places.len());
    for (index, own) in places.iter().enumerate() {
        let carried = || {
            let source = (*sources.get(same[index]?)?)?;
            let place = places[source].last()?;
            benchmark.unmeasured(*place).is_none().then_some(source)
        };
        let source = if own.is_empty() { carried() } else { Some(index) };
        sources.push(source);
    }
    sources
}

pub(super) struct History<'h> {
    pub all: &'h Histories<'h>,
    pub benchmark: &'h BenchmarkResults<'h>,
    /// For each entry, the experiments that measured the benchmark, oldest first.
    pub places: &'h [Vec<VersionRef>],
    /// For each entry, the nearest earlier entry in which the benchmark is unaffected, if there is one.
    pub same: &'h [Option<usize>],
    /// For each entry, the entry whose measurements are its value.
    pub sources: &'h [Option<usize>],
    pub metric: Metric,
    pub newest: VersionRef,
    pub criteria: &'h Criteria,
}

impl History<'_> {
    /// The history without the changes in its series.
    pub fn report(self) -> Result<BenchmarkHistory> {
        let mut versions = Vec::new();
        let mut across = Vec::new();
        let shown = if self.all.changes_only { 0 } else { self.places.len() };
        for index in 0..shown {
            let Some((place, row)) = self.row(index)? else { continue };
            let relation = row.against.as_ref().map(|against| against.relation);
            if relation == Some(MeasuredTogether::AcrossExperiments) {
                across.push(place);
            }
            versions.push(row);
        }
        let sessions = self.sessions(&across)?;
        let benchmark = self.benchmark.benchmark.clone();
        let series = Series::Undecided { reason: String::new() };
        Ok(BenchmarkHistory { benchmark, metric: self.metric, sessions, series, versions })
    }

    /// The benchmark's variance between experiments, if all verdicts use the same one. A verdict across experiments
    /// uses the variance under its own conditions.
    fn sessions(&self, across: &[VersionRef]) -> Result<Option<SessionVariation>> {
        let experiments = &self.all.results.experiments;
        let newest = self.newest.experiment;
        let mode = |place: VersionRef| {
            let all = self.benchmark.interleaving(&[place], Stage::First);
            Some(all.ok()??.mode)
        };
        let of_newest = mode(self.newest);
        let is_like_newest = |place: &VersionRef| {
            let plan = &experiments[place.experiment].plan;
            let obstacles = plan.incompatibilities(&experiments[newest].plan);
            obstacles.is_empty() && mode(*place) == of_newest
        };
        if across.is_empty() || !across.iter().all(is_like_newest) {
            return Ok(None);
        }
        let Some(mode) = of_newest else { return Ok(None) };
        let variance =
            self.benchmark.session_variance(newest, &self.metric, mode, self.criteria)?;
        Ok(variance.map(SessionVariation::from))
    }

    /// The row of an entry and the place of its measurements. `None` if the benchmark was measured neither in this
    /// version nor in an earlier one in which it is unaffected.
    fn row(&self, index: usize) -> Result<Option<(VersionRef, HistoryRow)>> {
        let results = self.all.results;
        let Some(source) = self.sources[index] else { return Ok(None) };
        let entry = &self.all.entries[index];
        let base = self.base_of(index);
        let relation = self.relation(base, index)?;
        let against = match (&relation, base) {
            (Some(relation), Some(base)) => self.against(relation, [base, index])?,
            _ => None,
        };
        let Some(place) = self.place(source)? else { return Ok(None) };
        // An entry without own measurements may have been compared.
        let compared = relation.filter(|_| source != index);
        let compared = compared.map_or(place, |relation| relation.versions()[HEAD]);
        let stored = &results.experiments[compared.experiment];
        let decider = &self.all.decider;
        let (stage, summary) = decider.value(self.benchmark, place, &self.metric, self.criteria)?;
        if source != index && summary.is_none() {
            return Ok(None);
        }
        let interleaving = self.benchmark.interleaving(&[place], stage).ok().flatten();
        let row = HistoryRow {
            version: entry.version.clone(),
            in_repository: entry.in_repository,
            measured: stored.begun,
            machine: (*stored.plan.machine).clone(),
            toolchain: stored.plan.versions[compared.version].compiler().to_owned(),
            conditions: Measured::new(interleaving, summary.as_ref()),
            result: summary.as_ref().map(|one| Estimate::new(one, self.criteria.confidence)),
            unmeasured: self.benchmark.unmeasured(place),
            like_newest: obstacles(&results.experiments, [place, self.newest]).is_empty(),
            against,
        };
        Ok(Some((place, row)))
    }

    fn relation(&self, base: Option<usize>, index: usize) -> Result<Option<Relation>> {
        let Some(base) = base else { return Ok(None) };
        let entries = self.all.entries;
        self.benchmark.relation(
            [&entries[base].measured, &entries[index].measured],
            [&self.places[base], &self.places[index]],
        )
    }

    /// The place of an entry's measurements: those together with its base if there are any.
    fn place(&self, index: usize) -> Result<Option<VersionRef>> {
        let relation = self.relation(self.base_of(index), index)?;
        let with_base = relation.map(|relation| relation.versions()[HEAD]);
        let with_base = with_base.filter(|place| self.places[index].contains(place));
        Ok(with_base.or(self.places[index].last().copied()))
    }

    /// The nearest earlier entry in which the benchmark did not fail, or in which it is unaffected.
    fn base_of(&self, index: usize) -> Option<usize> {
        let entries = self.all.entries;
        if self.places[index].is_empty() {
            return self.same[index];
        }
        let same = self.same[index].filter(|same| self.sources[*same].is_some());
        let is_measured = |index: usize| {
            let place = self.places[index].last();
            place.is_some_and(|place| self.benchmark.unmeasured(*place).is_none())
        };
        std::iter::successors(entries[index].follows, |before| entries[*before].follows)
            .find(|before| is_measured(*before) || same == Some(*before))
    }

    fn against(
        &self,
        relation: &Relation,
        [base, head]: [usize; 2],
    ) -> Result<Option<ReferenceVersion>> {
        let compared = [base, head].map(|index| &self.all.entries[index].version);
        let mut rows = self.all.decider.rows(self.benchmark, relation, self.criteria)?;
        self.all.acceptances.apply(&mut rows, compared, |_| *self.criteria)?;
        let row = rows
            .into_iter()
            .find(|row| row.metric.is_none() || row.metric.as_ref() == Some(&self.metric));
        let version = self.all.entries[base].version.clone();
        let relation = match relation {
            Relation::SameExperiment(_) => MeasuredTogether::SameExperiment,
            Relation::AcrossExperiments(_) => MeasuredTogether::AcrossExperiments,
            Relation::Incomparable { .. } => MeasuredTogether::DifferentConditions,
        };
        Ok(row.map(|row| ReferenceVersion { version, relation, row }))
    }
}

/// The index of the head in a relation.
const HEAD: usize = 1;
