//! The stored results of one version: `cargo rbench history REV`, and the report of `run`.

use std::{collections::BTreeMap, rc::Rc};

use rbench_stats::{
    Criteria, Scratch,
    diagnosis::{Options, hints},
    slow,
};

use crate::{
    cli::{GivenOptions, HistoryArgs},
    compare::archive,
    config::VerdictSettings,
    console::Console,
    error::{Error, Exit, Result},
    git::Repository,
    harness::Filter,
    model::{Benchmark, Execution, LayoutSeed, Metric, Stage, Unmeasured, Version},
    report::version::{ShownBenchmark, ShownBuild, ShownExperiment, VersionReport},
    shell::CommandLine,
    store::{Store, StoredExecution, StoredExperiment},
    verdict::{BenchmarkResults, DecisionOptions, Results, Verdicts, VersionRef},
};

/// Reports every build and execution of the stored benchmarks that the arguments select.
pub(super) fn report(
    args: &HistoryArgs,
    version: &Version,
    store: &Store<'_>,
    experiments: &[StoredExperiment],
    verdicts: &VerdictSettings,
    console: &Console,
) -> Result<VersionReport> {
    let filter = Filter::new(&args.filter.patterns(), args.filter.exact, (&args.target).into());
    let command_line = Rc::new(args.given.clone());
    let (mut reports, mut failure) = (Vec::new(), None);
    for verdicts in verdicts.kinds() {
        let experiments = with_kind(experiments.to_vec(), &verdicts);
        let stored = StoredVersion::new(store, version, experiments, command_line.clone());
        let report = stored.require_places(&args.given).and_then(|()| {
            let benchmarks = stored.benchmarks(&filter)?;
            stored.results.check_metrics(&verdicts.metrics, &benchmarks)?;
            stored.report(&benchmarks, true, &verdicts)
        });
        match report {
            Ok(report) => reports.push(report),
            Err(one) => failure = failure.or(Some(one)),
        }
    }
    let report = reports.into_iter().reduce(VersionReport::with);
    match (report, failure) {
        (Some(report), None) => Ok(report),
        (Some(report), Some(failure)) => {
            console.line(&format!("warning: {failure}"));
            Ok(report)
        }
        (None, failure) => {
            Err(failure.unwrap_or_else(|| archive::not_stored(version, &args.given)))
        }
    }
}

/// The experiments that measured these kinds of metrics. Only `diagnose` reports a diagnosis.
fn with_kind(
    mut experiments: Vec<StoredExperiment>,
    verdicts: &VerdictSettings,
) -> Vec<StoredExperiment> {
    let metric = verdicts.metrics.first();
    experiments.retain(|stored| !stored.plan.is_diagnosis() && stored.plan.is_for(metric));
    experiments
}

/// Reports these benchmarks, one line for each, for a command that has just measured them. Missing metrics are then a
/// warning, not an error.
pub fn measured_version(
    store: &Store<'_>,
    version: &Version,
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
    given: &Rc<GivenOptions>,
    console: &Console,
) -> Result<VersionReport> {
    let experiments = store.experiments()?;
    let mut reports = Vec::new();
    for verdicts in verdicts.kinds() {
        let experiments = with_kind(experiments.clone(), &verdicts);
        let stored = StoredVersion::new(store, version, experiments, given.clone());
        if let Err(failure) = stored.results.check_metrics(&verdicts.metrics, benchmarks) {
            console.line(&format!("warning: {failure}"));
        }
        reports.push(stored.report(benchmarks, false, &verdicts)?);
    }
    let none = || Error::new(Exit::Internal, "there is no metric to show");
    reports.into_iter().reduce(VersionReport::with).ok_or_else(none)
}

/// Resolves a revision in the repository, or in the store if the commit is gone from the repository.
pub(super) fn find(
    revision: &str,
    repository: &Repository,
    experiments: &[StoredExperiment],
) -> Result<Version> {
    /// The minimum length of an abbreviated hash in git.
    const DIGITS: usize = 4;
    repository.resolve(revision).or_else(|failure| {
        let versions = experiments.iter().flat_map(|experiment| &experiment.plan.versions);
        let named = |version: &&Version| {
            let commit = version.commit.as_deref().unwrap_or_default();
            revision.len() >= DIGITS && !version.dirty && commit.starts_with(revision)
        };
        let found = versions.map(|planned| &planned.version).find(named);
        // The stored revision name may refer to another commit by now, so the hash is the name.
        let renamed =
            |version: &Version| Version { revision: revision.to_owned(), ..version.clone() };
        found.map(renamed).ok_or(failure)
    })
}

struct StoredVersion<'s> {
    store: &'s Store<'s>,
    version: Version,
    results: Results<'s>,
    places: Vec<VersionRef>,
    command_line: Rc<dyn CommandLine>,
}

impl<'s> StoredVersion<'s> {
    fn new(
        store: &'s Store<'s>,
        version: &Version,
        mut experiments: Vec<StoredExperiment>,
        command_line: Rc<dyn CommandLine>,
    ) -> Self {
        let is_of = |stored: &StoredExperiment| {
            stored.plan.versions.iter().any(|planned| planned.version.key() == version.key())
        };
        experiments.retain(is_of);
        let results = Results::new(store, experiments);
        let places = results.places_of(version);
        Self { store, version: version.clone(), results, places, command_line }
    }

    fn require_places(&self, given: &GivenOptions) -> Result<()> {
        if self.places.is_empty() {
            return Err(archive::not_stored(&self.version, given));
        }
        Ok(())
    }

    /// The measured or failed benchmarks in the order of definition, then the skipped ones that are unaffected. None if
    /// the version could not be built.
    fn benchmarks(&self, filter: &Filter) -> Result<Vec<Benchmark>> {
        let mut benchmarks: Vec<Benchmark> = Vec::new();
        for stored in &self.results.experiments {
            let planned = stored.plan.benchmarks.iter().map(|planned| planned.benchmark.clone());
            let mut of_experiment: Vec<Benchmark> = planned.collect();
            let unmeasured = self.store.unmeasured(stored.id)?;
            of_experiment.extend(unmeasured.into_iter().map(|(benchmark, _)| benchmark));
            of_experiment.retain(|benchmark| !benchmarks.contains(benchmark));
            benchmarks.extend(of_experiment);
        }
        if benchmarks.is_empty() { Ok(benchmarks) } else { filter.choose(benchmarks) }
    }

    fn report(
        &self,
        benchmarks: &[Benchmark],
        detailed: bool,
        verdicts: &VerdictSettings,
    ) -> Result<VersionReport> {
        let mut report = VersionReport {
            version: self.version.clone(),
            criteria: verdicts.criteria,
            experiments: self.places.iter().map(|place| self.experiment(*place)).collect(),
            benchmarks: Vec::new(),
            detailed,
            command_line: self.command_line.clone(),
        };
        // Shared by all benchmarks, so that it counts the verdicts of an experiment once.
        let decider = Verdicts::new(&self.results, DecisionOptions::default());
        for benchmark in benchmarks {
            let rows = self.benchmark(benchmark, detailed, verdicts, &decider)?;
            report.benchmarks.extend(rows);
        }
        Ok(report)
    }

    fn experiment(&self, place: VersionRef) -> ShownExperiment {
        let stored = &self.results.experiments[place.experiment];
        let plan = &stored.plan;
        let others = plan.versions.iter().enumerate().filter(|(other, _)| *other != place.version);
        ShownExperiment {
            identity: stored.identity.clone(),
            started: stored.begun,
            finished: stored.finished,
            rbench: plan.rbench.clone(),
            machine: (*plan.machine).clone(),
            toolchain: plan.versions[place.version].toolchain.clone(),
            settings: serde_json::from_str(&plan.settings).unwrap_or_default(),
            sample_sizes: plan.sample_sizes,
            seed: plan.seed,
            others: others.map(|(_, planned)| planned.version.clone()).collect(),
            failure: stored.unbuildable[place.version].clone(),
        }
    }

    /// The newest results of a benchmark, from a finished experiment if there is one: one row for each metric, or one
    /// row for its failures.
    fn benchmark(
        &self,
        benchmark: &Benchmark,
        detailed: bool,
        verdicts: &VerdictSettings,
        decider: &Verdicts<'_>,
    ) -> Result<Vec<ShownBenchmark>> {
        let experiments = 0..self.results.experiments.len();
        let of_benchmark = self.results.benchmark(benchmark, experiments)?;
        let Some((index, place)) = self.newest(&of_benchmark) else {
            return Ok(self.unmeasured(benchmark)?.into_iter().collect());
        };
        let criteria = verdicts.criteria(benchmark);
        let newest = NewestExperiment { results: &of_benchmark, decider, place, index };
        let all = of_benchmark.metrics(&[place]);
        let metrics: Vec<&Metric> = all.iter().filter(|metric| verdicts.includes(metric)).collect();
        // A failure is reported even if its metrics are not selected.
        if all.is_empty() || metrics.is_empty() && of_benchmark.unmeasured(place).is_some() {
            return Ok(vec![newest.row(None, detailed, &criteria)?]);
        }
        metrics.into_iter().map(|metric| newest.row(Some(metric), detailed, &criteria)).collect()
    }

    /// The row of a benchmark that was never measured in this version because it is unaffected, from the newest
    /// experiment that skipped it.
    fn unmeasured(&self, benchmark: &Benchmark) -> Result<Option<ShownBenchmark>> {
        for (index, place) in self.places.iter().enumerate().rev() {
            let reason = self.results.skip_reason(place.experiment, benchmark)?;
            if reason.is_some() {
                let mut shown = ShownBenchmark::new(benchmark, index, Stage::First);
                shown.unmeasured = reason;
                return Ok(Some(shown));
            }
        }
        Ok(None)
    }

    fn newest(&self, benchmark: &BenchmarkResults<'_>) -> Option<(usize, VersionRef)> {
        let places = || self.places.iter().copied().enumerate().rev();
        let has_rows = |(_, place): &(usize, VersionRef)| !benchmark.rows(*place).is_empty();
        let is_finished = |(_, place): &(usize, VersionRef)| {
            self.results.experiments[place.experiment].finished.is_some()
        };
        let finished = places().filter(has_rows).find(is_finished);
        finished.or_else(|| places().find(has_rows))
    }
}

struct NewestExperiment<'r> {
    results: &'r BenchmarkResults<'r>,
    decider: &'r Verdicts<'r>,
    place: VersionRef,
    /// The index of the experiment in the report.
    index: usize,
}

impl NewestExperiment<'_> {
    fn row(
        &self,
        metric: Option<&Metric>,
        detailed: bool,
        criteria: &Criteria,
    ) -> Result<ShownBenchmark> {
        let Self { results, place, index, .. } = *self;
        let (stage, summary) = match metric {
            Some(metric) => self.decider.value(results, place, metric, criteria)?,
            None => (Stage::First, None),
        };
        let mut shown = ShownBenchmark::new(&results.benchmark, index, stage);
        if let Some(summary) = summary {
            let interleaving = results.interleaving(&[place], stage).ok().flatten();
            shown = shown.with_value(summary, interleaving, criteria);
        }
        for row in results.rows(place) {
            match &row.outcome {
                Err(Unmeasured::Failed(reason)) => shown.failures.push(reason.clone()),
                Err(Unmeasured::Skipped(reason)) => shown.skipped = Some(reason.clone()),
                Ok(execution) => {
                    shown.throughput.clone_from(&execution.throughput);
                    shown.peak_memory = shown.peak_memory.max(execution.resources.peak_memory);
                }
            }
        }
        shown.failures.dedup();
        let Some(metric) = metric else { return Ok(shown) };
        let estimator = results.estimator(place, stage, criteria);
        if let Some(data) = results.measurements(place, stage, metric, estimator)?
            && let Some(summary) = &shown.summary
        {
            let builds: Vec<f64> = summary.builds().iter().map(|build| build.value).collect();
            let options = Options { min_effect: criteria.min_effect, ..Options::default() };
            shown.hints = hints(&data, &builds, &options);
        }
        if detailed {
            for stage in [Stage::First, Stage::Second] {
                shown.builds.extend(self.builds(stage, metric, criteria)?);
            }
        }
        Ok(shown)
    }

    /// The builds of one stage in the order of their seeds, with layout and digest as linked; slow ones are marked.
    fn builds(
        &self,
        stage: Stage,
        metric: &Metric,
        criteria: &Criteria,
    ) -> Result<Vec<ShownBuild>> {
        let mut by_seed: BTreeMap<LayoutSeed, Vec<(&StoredExecution, &Execution)>> =
            BTreeMap::new();
        for (row, execution) in self.results.executions(self.place, stage) {
            by_seed.entry(row.slot.seed).or_default().push((row, execution));
        }
        let linked = self.results.linked(self.place)?;
        let estimator = self.results.estimator(self.place, stage, criteria);
        let mut scratch = Scratch::default();
        let mut builds = Vec::with_capacity(by_seed.len());
        for (seed, executions) in by_seed {
            let of_metric =
                executions.iter().filter_map(|(_, execution)| execution.series_of(metric));
            let values: Vec<f64> =
                of_metric.map(|series| estimator.estimate(&series.values, &mut scratch)).collect();
            let build = linked.iter().find(|build| build.seed == seed);
            let resources = || executions.iter().map(|(_, execution)| &execution.resources);
            builds.push(ShownBuild {
                seed,
                stage,
                layout: build.map(|build| build.layout),
                digest: build.map(|build| build.digest),
                value: values.iter().sum::<f64>() / values.len() as f64,
                executions: values,
                slow: false,
                peak_memory: resources().filter_map(|of_one| of_one.peak_memory).max(),
                cpu_time: resources().map(|of_one| of_one.user + of_one.system).sum(),
            });
        }
        let values: Vec<f64> = builds.iter().map(|build| build.value).collect();
        for (build, slow) in builds.iter_mut().zip(slow(&values, criteria.min_effect)) {
            build.slow = slow;
        }
        Ok(builds)
    }
}
