//! `cargo rbench show`: everything that is stored of one version.

use std::collections::BTreeMap;

use super::stored::not_stored;
use crate::{
    cli::{Format, ShowArgs},
    console::Console,
    failure::{Exit, OrFail, Result},
    harness::Filter,
    judge::nothing_stored,
    model::{Benchmark, BuildValues, Stage, Version},
    project::Project,
    report::{RawMeasurements, StoredBenchmark, StoredBuild, StoredVersionReport},
    settings,
    source::Repository,
    stats::{Criteria, Measurements, Summary},
    store::{Experiment, RecordedBuild, RecordedExecution, Store},
};

/// An experiment, and the index of the version in it.
type Place = (Experiment, usize);

/// Reads and reports.
pub fn run(args: &ShowArgs) -> Result<Exit> {
    let console = Console::new(false);
    let project = Project::find(args.target.manifest_path.as_deref())?;
    let criteria = settings::criteria(&project.file, &args.criteria)?;
    let filter = Filter::new(&args.patterns, args.exact, &args.target.package, &args.target.bench)?;
    project.with_stored(&console, |store| {
        let experiments = store.experiments()?;
        if experiments.is_empty() {
            return Err(nothing_stored(&project.store(), 0));
        }
        let version = find(&args.revision, &project.repository, &experiments)?;
        let places = places(&version, experiments);
        if places.is_empty() {
            return Err(not_stored(&version));
        }
        let stored = Stored { store, places: &places, criteria: &criteria };
        let benchmarks = stored.benchmarks(&filter)?;
        if args.raw {
            return stored.print_raw(&benchmarks);
        }
        print(&stored.report(&version, &benchmarks, !args.patterns.is_empty())?, args.format)
    })?;
    Ok(Exit::Success)
}

/// Prints what is stored of a version that was just measured.
pub fn after_measuring(
    store: &Store<'_>,
    version: &Version,
    filter: &Filter,
    criteria: &Criteria,
    format: Format,
) -> Result<()> {
    let places = places(version, store.experiments()?);
    let stored = Stored { store, places: &places, criteria };
    print(&stored.report(version, &stored.benchmarks(filter)?, false)?, format)
}

fn print(report: &StoredVersionReport, format: Format) -> Result<()> {
    Console::result(&match format {
        Format::Text => report.text(Console::result_columns()),
        Format::Json => report.json().or_fail(Exit::Internal, || "cannot write the report")? + "\n",
    })
}

/// The version that a revision names: in the repository, or, if it is gone from there, in the store.
fn find(revision: &str, repository: &Repository, experiments: &[Experiment]) -> Result<Version> {
    /// As git demands of a hash that is cut off.
    const DIGITS: usize = 4;
    repository.resolve(revision).or_else(|failure| {
        let versions = experiments.iter().flat_map(|experiment| &experiment.plan.versions);
        let named = |version: &&Version| {
            let commit = version.commit.as_deref().unwrap_or_default();
            revision.len() >= DIGITS && !version.dirty && commit.starts_with(revision)
        };
        versions.map(|planned| &planned.version).find(named).cloned().ok_or(failure)
    })
}

fn places(version: &Version, experiments: Vec<Experiment>) -> Vec<Place> {
    let place = |experiment: Experiment| {
        let mut versions = experiment.plan.versions.iter();
        let index = versions.position(|planned| planned.version.tree == version.tree)?;
        Some((experiment, index))
    };
    experiments.into_iter().filter_map(place).collect()
}

/// What is stored of the version.
struct Stored<'s> {
    store: &'s Store<'s>,
    places: &'s [Place],
    criteria: &'s Criteria,
}

impl Stored<'_> {
    /// The benchmarks that were measured or failed; none, if the version could not be built.
    fn benchmarks(&self, filter: &Filter) -> Result<Vec<Benchmark>> {
        let mut benchmarks: Vec<Benchmark> = Vec::new();
        for (experiment, _) in self.places {
            for benchmark in self.store.benchmarks_of(experiment.id)? {
                if !benchmarks.contains(&benchmark) {
                    benchmarks.push(benchmark);
                }
            }
        }
        if benchmarks.is_empty() { Ok(benchmarks) } else { filter.choose(benchmarks) }
    }

    fn report(
        &self,
        version: &Version,
        benchmarks: &[Benchmark],
        detailed: bool,
    ) -> Result<StoredVersionReport> {
        let mut report = StoredVersionReport::new(version, detailed);
        for (experiment, index) in self.places {
            report.experiment(experiment, *index);
        }
        for benchmark in benchmarks {
            if let Some(benchmark) = self.benchmark(benchmark, detailed)? {
                report.benchmark(benchmark);
            }
        }
        Ok(report)
    }

    /// The newest experiment's results of a benchmark: of a finished one where there is one.
    fn benchmark(&self, benchmark: &Benchmark, detailed: bool) -> Result<Option<StoredBenchmark>> {
        let finished = |wanted: bool| {
            let newest = self.places.iter().enumerate().rev();
            newest.filter(move |(_, (experiment, _))| experiment.finished.is_some() == wanted)
        };
        for (number, (experiment, version)) in finished(true).chain(finished(false)) {
            let recorded = self.executions(experiment, *version, benchmark)?;
            let failures = self.failures(experiment, *version, benchmark)?;
            if recorded.is_empty() && failures.is_empty() {
                continue;
            }
            let builds = self.builds(experiment, *version, benchmark)?;
            let mut stored = StoredBenchmark::new(benchmark, number, failures);
            if let Some(data) = measurements(&recorded, Stage::First) {
                let summary = Summary::of(&data, self.criteria.estimator);
                stored.measured(&summary, &recorded, self.criteria);
                if detailed {
                    stored.impact(&data, self.criteria);
                    let rows = StoredBuild::all(&recorded, &builds, self.criteria);
                    stored.builds(rows);
                }
            }
            return Ok(Some(stored));
        }
        Ok(None)
    }

    fn executions(
        &self,
        experiment: &Experiment,
        version: usize,
        benchmark: &Benchmark,
    ) -> Result<Vec<RecordedExecution>> {
        let mut recorded = self.store.executions(experiment.id, benchmark)?;
        recorded.retain(|recorded| recorded.turn.version == version);
        Ok(recorded)
    }

    fn failures(
        &self,
        experiment: &Experiment,
        version: usize,
        benchmark: &Benchmark,
    ) -> Result<Vec<String>> {
        let failures = self.store.failures(experiment.id)?.into_iter();
        let own = failures.filter(|f| f.turn.version == version && f.benchmark == *benchmark);
        let mut reasons: Vec<String> = own.map(|failed| failed.reason).collect();
        reasons.dedup();
        Ok(reasons)
    }

    fn builds(
        &self,
        experiment: &Experiment,
        version: usize,
        benchmark: &Benchmark,
    ) -> Result<Vec<RecordedBuild>> {
        let mut builds = self.store.builds(experiment.id)?;
        builds.retain(|build| {
            let place = (&build.target.package, &build.target.target);
            build.version == version && place == (&benchmark.package, &benchmark.target)
        });
        Ok(builds)
    }

    /// Every measurement of every experiment.
    fn print_raw(&self, benchmarks: &[Benchmark]) -> Result<()> {
        Console::stream(|out| {
            let mut raw = RawMeasurements::begin(out)?;
            for benchmark in benchmarks {
                for (experiment, version) in self.places {
                    let recorded = self.executions(experiment, *version, benchmark)?;
                    raw.write(&experiment.identity, benchmark, &recorded)?;
                }
            }
            raw.end()
        })
    }
}

/// The measurements of one stage, in the metric that the harness is for.
fn measurements(recorded: &[RecordedExecution], stage: Stage) -> Option<Measurements> {
    let metric = &recorded.first()?.execution.series.first()?.metric;
    let mut builds: BTreeMap<u64, Vec<Vec<f64>>> = BTreeMap::new();
    for RecordedExecution { turn, execution } in recorded {
        let series = execution.series.iter().find(|series| series.metric == *metric);
        if let Some(series) = series.filter(|_| turn.stage == stage) {
            let seed = u64::from(turn.seed.get());
            builds.entry(seed).or_default().push(series.values.clone());
        }
    }
    let builds: BuildValues = builds.into_iter().collect();
    Measurements::new(metric.clone(), builds).ok()
}
