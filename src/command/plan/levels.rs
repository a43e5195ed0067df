//! Finds stored results of a benchmark that separate the variances of builds, executions and measurements.

use std::cmp::Reverse;

use crate::{
    error::Result,
    machine::this_machine,
    model::{Benchmark, Execution, Metric, Stage, Version},
    report::{
        plan::{Expected, LevelsFound, PlanBasis},
        show::ImpactFactors,
    },
    stats::{Assessment, Components, Criteria, Measurements, Pairing, Power, Summary},
    verdict::{BenchmarkResults, DecidedRow, Relation, Results, Verdicts, VersionRef},
};

/// The number of pairs of builds that is enough to estimate their variance.
const ENOUGH: usize = 5;

/// The newest results of a benchmark with at least two builds, of which at least one was executed twice. Its metric is
/// the first one of its harness.
pub struct StoredLevels<'r> {
    /// All results of the benchmark on this machine, from experiments with the version.
    pub results: BenchmarkResults<'r>,
    all: &'r Results<'r>,
    /// The place of the version's measurements.
    places: Vec<VersionRef>,
    place: VersionRef,
    metric: Metric,
    data: Measurements,
    summary: Summary,
    seed: u64,
}

impl<'r> StoredLevels<'r> {
    /// Loads these results; `None` if none separate the levels.
    pub fn load(
        all: &'r Results<'r>,
        version: &Version,
        benchmark: &Benchmark,
        criteria: &Criteria,
    ) -> Result<Option<Self>> {
        let places = places_here(all, version);
        let results = all.benchmark(benchmark, places.iter().map(|place| place.experiment))?;
        for place in places.iter().copied().rev() {
            let is_usable = results.unmeasured(place).is_none()
                && results.interleaving(&[place], Stage::First).is_ok();
            let Some(metric) = results.metrics(&[place]).into_iter().next() else { continue };
            let estimator = results.estimator(place, Stage::First, criteria);
            let data = results.measurements(place, Stage::First, &metric, estimator)?;
            let Some(data) = data.filter(|_| is_usable) else { continue };
            let summary = Summary::compute(&data, estimator);
            let known = Components::estimate(&summary).t;
            if known.build.is_some() && known.version.is_some() {
                let seed = criteria.seed;
                return Ok(Some(Self { results, all, places, place, metric, data, summary, seed }));
            }
        }
        Ok(None)
    }

    /// The executions for estimating the levels.
    pub fn executions(&self) -> impl Iterator<Item = &Execution> {
        self.results.executions(self.place, Stage::First).map(|(_, execution)| execution)
    }

    /// The expected power of a comparison, from the differences of a stored comparison, preferably of this version.
    /// Without one, it assumes that pairing gains nothing. `None` if there is no variance.
    pub fn expected_power(
        &self,
        judge: &Verdicts<'_>,
        criteria: &Criteria,
    ) -> Result<Option<Expected>> {
        if let Some(power) = self.compared(judge, criteria)? {
            return Ok(Some(Expected { power, basis: PlanBasis::Compared }));
        }
        // The version compared with itself, with the sum of both variances, like unpaired versions.
        let summaries = [self.summary.clone(), self.summary.clone()];
        let [base, head] = &summaries;
        let assessment = Assessment::new(base, head, Pairing::Unpaired, criteria);
        let power = assessment.ok().and_then(|one| expected_power(&one, &summaries, criteria));
        Ok(power.map(|power| Expected { power, basis: PlanBasis::OneVersion }))
    }

    /// The power from the newest comparison on this machine with enough pairs of builds to estimate their variance,
    /// preferably of this version. If none has enough, from the newest comparison.
    fn compared(&self, judge: &Verdicts<'_>, criteria: &Criteria) -> Result<Option<Power>> {
        let benchmark = &self.results.benchmark;
        let here = this_machine();
        let with_benchmark = self.all.experiments_with(benchmark)?;
        let is_of_version =
            |experiment: usize| self.places.iter().any(|place| place.experiment == experiment);
        let is_comparison = |experiment: &usize| {
            let plan = &self.all.experiments[*experiment].plan;
            plan.versions.len() > 1 && *plan.machine == here
        };
        let mut comparisons: Vec<usize> =
            with_benchmark.iter().copied().filter(is_comparison).collect();
        comparisons.sort_by_key(|experiment| Reverse((is_of_version(*experiment), *experiment)));
        let mut newest = None;
        for experiment in comparisons {
            let results = self.all.benchmark(benchmark, [experiment])?;
            let versions = [0, 1].map(|version| VersionRef { experiment, version });
            let rows = judge.rows(&results, &Relation::SameExperiment(versions), criteria)?;
            let of_metric = rows.iter().find(|row| row.metric.as_ref() == Some(&self.metric));
            let Some(stage) = of_metric.and_then(DecidedRow::decisive) else { continue };
            let Some(power) = expected_power(&stage.assessment, &stage.summaries, criteria) else {
                continue;
            };
            if power.builds() >= ENOUGH {
                return Ok(Some(power));
            }
            newest = newest.or(Some(power));
        }
        Ok(newest)
    }

    /// Converts it for the report.
    pub fn into_levels(self) -> LevelsFound {
        let stored = &self.all.experiments[self.place.experiment];
        let interleaving = self.results.interleaving(&[self.place], Stage::First).ok().flatten();
        LevelsFound {
            benchmark: self.results.benchmark.clone(),
            experiment: stored.identity.clone(),
            started: stored.begun,
            interleaving,
            impact: ImpactFactors::estimate(&self.data, self.summary.estimator(), self.seed),
            summary: self.summary,
            data: self.data,
        }
    }
}

/// The reason why the levels of a benchmark cannot be separated although the pilot included it.
pub fn why_not(results: &Results<'_>, version: &Version, benchmark: &Benchmark) -> Result<String> {
    let places = places_here(results, version);
    let found = results.benchmark(benchmark, places.iter().map(|place| place.experiment))?;
    let reason = places.iter().rev().find_map(|place| found.unmeasured(*place));
    Ok(reason.map_or_else(
        || "it has fewer than two builds that are different programs".to_owned(),
        |reason| reason.to_string(),
    ))
}

/// The places of a version's measurements on this machine, oldest first.
fn places_here(results: &Results<'_>, version: &Version) -> Vec<VersionRef> {
    let here = this_machine();
    let mut places = results.places_of(version);
    places.retain(|place| *results.experiments[place.experiment].plan.machine == here);
    places
}

/// The power of a comparison of one benchmark, from assessed builds.
fn expected_power(
    assessment: &Assessment,
    summaries: &[Summary; 2],
    criteria: &Criteria,
) -> Option<Power> {
    let power = Power::estimate(assessment, 1, criteria)?;
    Some(power.with_executions_of(assessment, summaries))
}
