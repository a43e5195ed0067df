//! `cargo rbench plan`: recommends numbers of builds, executions and measurements, from stored results and a pilot.

use std::{
    cmp::Reverse,
    collections::HashMap,
    time::{Duration, SystemTime},
};

use super::{output::Output, project_of, run::measure};
use crate::{
    cli::PlanArgs,
    config::{CriteriaOptions, Purpose, VerdictSettings},
    console::{Console, announcement},
    error::{Exit, Result},
    machine::this_machine,
    measure::{Builds, ExperimentSettings, Runner},
    model::{
        BenchTarget, Benchmark, Execution, Machine, Metric, Mode, Stage, Strategy, Threads, Version,
    },
    process::{Interrupt, SavedHandler},
    report::{
        plan::{
            Costs, Expected, LevelsFound, PlanBasis, PlanReport, PlannedBenchmark, UnknownBenchmark,
        },
        show::ImpactFactors,
    },
    stats::{Assessment, Components, Criteria, Pairing, Power, Summary},
    verdict::{DecidedRow, DecisionOptions, Relation, Results, Verdicts, VersionRef},
};

/// The number of pairs of builds that is enough to estimate their variance.
const ENOUGH: usize = 5;

pub fn run(args: &PlanArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    let project = project_of(&args.target)?;
    project.check_tables(&[&args.revision], &console)?;
    let settings = ExperimentSettings::resolve(&project, &args.pilot(), Purpose::OneVersion);
    let verdicts = VerdictSettings::resolve(&project.file, &CriteriaOptions::default())?;
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let compared = project.file.mode(None);
    let done = project.repository.resolve(&args.revision).and_then(|version| {
        let wanted = (args.half_width, compared);
        let report = report(&runner, version, &verdicts, wanted, &console)?;
        output.write(&report)?;
        Ok(if report.has_failures() { Exit::Benchmark } else { Exit::Success })
    });
    let exit = runner.end(start, done)?;
    announcement::finished(&console, start);
    Ok(exit)
}

/// Makes the plan of a version, for comparisons in this mode and, if wanted, intervals of this half-width.
fn report(
    runner: &Runner<'_>,
    version: Version,
    verdicts: &VerdictSettings,
    wanted: (Option<f64>, Mode),
    console: &Console,
) -> Result<PlanReport> {
    let versions = [runner.list(version)?];
    let [listed] = &versions;
    let benchmarks = listed.benchmarks();
    let mut stored = Stored::read(runner, &listed.version)?;
    let (mut levels, mut unknown) = (Vec::with_capacity(benchmarks.len()), Vec::new());
    for benchmark in &benchmarks {
        let found = stored.levels(benchmark, &verdicts.criteria(benchmark))?;
        if found.is_none() {
            unknown.push(benchmark.clone());
        }
        levels.push(found);
    }
    if !unknown.is_empty() {
        announcement::plan(console, &runner.outline(&versions, &unknown), false);
        let builds = runner.link(&versions, &unknown, runner.first_seeds(&versions, &unknown))?;
        measure(runner, &versions, &builds, &unknown, console)?;
        stored = Stored::read(runner, &listed.version)?;
    }
    // Builds of earlier runs are in the cache, with the durations of their links.
    let builds = runner.link(&versions, &benchmarks, runner.first_seeds(&versions, &benchmarks))?;
    let links = links(&builds, &benchmarks);
    let decider = Verdicts::new(&stored.results, DecisionOptions::default());
    let (mut planned, mut failures) = (Vec::with_capacity(benchmarks.len()), Vec::new());
    for (benchmark, known) in benchmarks.into_iter().zip(levels) {
        let criteria = verdicts.criteria(&benchmark);
        let found = match known {
            Some(known) => Some(known),
            None => stored.levels(&benchmark, &criteria)?,
        };
        let Some((found, costs)) = found else {
            let reason = stored.why_unknown(&benchmark)?;
            failures.push(UnknownBenchmark { benchmark, reason });
            continue;
        };
        let (link, sharing) =
            links.get(&benchmark.bench_target()).copied().unwrap_or((Duration::ZERO, 1));
        let expected = stored.expected(&found, &decider, &criteria)?;
        let costs = Costs { link, sharing, ..costs };
        planned.push(PlannedBenchmark::new(found, costs, expected.as_ref(), criteria));
    }
    let failed_targets = listed.listing.failures.clone();
    let (version, criteria) = (listed.version.clone(), verdicts.criteria);
    Ok(PlanReport::new(version, criteria, wanted, planned, failures, failed_targets))
}

/// The stored results, with the places of one version's measurements on this machine, oldest first.
struct Stored<'s> {
    results: Results<'s>,
    places: Vec<VersionRef>,
    here: Machine,
}

impl<'s> Stored<'s> {
    fn read(runner: &'s Runner<'_>, version: &Version) -> Result<Self> {
        let results = Results::finished(&runner.store)?;
        let here = this_machine();
        let mut places = results.places_of(version);
        places.retain(|place| *results.experiments[place.experiment].plan.machine == here);
        Ok(Self { results, places, here })
    }

    /// The newest results of a benchmark with at least two builds, of which at least one was executed twice, in the
    /// first metric of its harness; with the costs of executions. `None` if none separate the levels.
    fn levels(
        &self,
        benchmark: &Benchmark,
        criteria: &Criteria,
    ) -> Result<Option<(LevelsFound, Costs)>> {
        let experiments = self.places.iter().map(|place| place.experiment);
        let results = self.results.benchmark(benchmark, experiments)?;
        for place in self.places.iter().copied().rev() {
            let Ok(interleaving) = results.interleaving(&[place], Stage::First) else { continue };
            let Some(metric) = results.metrics(&[place]).into_iter().next() else { continue };
            if results.unmeasured(place).is_some() {
                continue;
            }
            let estimator = results.estimator(place, Stage::First, criteria);
            let data = results.measurements(place, Stage::First, &metric, estimator)?;
            let Some(data) = data else { continue };
            let summary = Summary::compute(&data, estimator);
            let components = Components::estimate(&summary).t;
            if components.build.is_none() || components.version.is_none() {
                continue;
            }
            let stored = &self.results.experiments[place.experiment];
            let costs = costs(results.executions(place, Stage::First).map(|(_, one)| one));
            let found = LevelsFound {
                benchmark: benchmark.clone(),
                experiment: stored.identity.clone(),
                started: stored.begun,
                interleaving,
                impact: ImpactFactors::estimate(&data, estimator, criteria.seed),
                data,
                summary,
            };
            return Ok(Some((found, costs)));
        }
        Ok(None)
    }

    /// The reason why the levels of a benchmark cannot be separated although the pilot included it.
    fn why_unknown(&self, benchmark: &Benchmark) -> Result<String> {
        let experiments = self.places.iter().map(|place| place.experiment);
        let results = self.results.benchmark(benchmark, experiments)?;
        let reason = self.places.iter().rev().find_map(|place| results.unmeasured(*place));
        let few = || "it has fewer than two builds that are different programs".to_owned();
        Ok(reason.map_or_else(few, |reason| reason.to_string()))
    }

    /// The expected power of a comparison, from the differences of a stored comparison, preferably of this version.
    /// Without one, it assumes that pairing gains nothing. `None` if there is no variance.
    fn expected(
        &self,
        found: &LevelsFound,
        decider: &Verdicts<'_>,
        criteria: &Criteria,
    ) -> Result<Option<Expected>> {
        let (benchmark, metric) = (&found.benchmark, found.summary.metric());
        if let Some(power) = self.compared(benchmark, metric, decider, criteria)? {
            return Ok(Some(Expected { power, basis: PlanBasis::Compared }));
        }
        // The version compared with itself, with the sum of both variances, like unpaired versions.
        let summaries = [found.summary.clone(), found.summary.clone()];
        let [base, head] = &summaries;
        let assessment = Assessment::new(base, head, Pairing::Unpaired, criteria);
        let power = assessment.ok().and_then(|one| expected_power(&one, &summaries, criteria));
        Ok(power.map(|power| Expected { power, basis: PlanBasis::OneVersion }))
    }

    /// The power from the newest comparison on this machine with enough pairs of builds to estimate their variance,
    /// preferably of this version. If none has enough, from the newest comparison.
    fn compared(
        &self,
        benchmark: &Benchmark,
        metric: &Metric,
        decider: &Verdicts<'_>,
        criteria: &Criteria,
    ) -> Result<Option<Power>> {
        let is_comparison = |experiment: &usize| {
            let plan = &self.results.experiments[*experiment].plan;
            plan.versions.len() > 1 && *plan.machine == self.here
        };
        let with_benchmark = self.results.experiments_with(benchmark)?;
        let mut comparisons: Vec<usize> =
            with_benchmark.iter().copied().filter(is_comparison).collect();
        comparisons.sort_by_key(|experiment| {
            let is_of_version = self.places.iter().any(|place| place.experiment == *experiment);
            Reverse((is_of_version, *experiment))
        });
        let mut newest = None;
        for experiment in comparisons {
            let results = self.results.benchmark(benchmark, [experiment])?;
            let versions = [0, 1].map(|version| VersionRef { experiment, version });
            let rows = decider.rows(&results, &Relation::SameExperiment(versions), criteria)?;
            let of_metric = rows.iter().find(|row| row.metric.as_ref() == Some(metric));
            let power = of_metric
                .and_then(DecidedRow::decisive)
                .and_then(|stage| expected_power(&stage.assessment, &stage.summaries, criteria));
            if power.is_some_and(|power| power.builds() >= ENOUGH) {
                return Ok(power);
            }
            newest = newest.or(power);
        }
        Ok(newest)
    }
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

/// For each bench target of one version, the mean time of a build, linked now or in an earlier run, and the number of
/// benchmarks that share it.
fn links(builds: &Builds, benchmarks: &[Benchmark]) -> HashMap<BenchTarget, (Duration, u32)> {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let mean = |times: &[Duration]| times.iter().sum::<Duration>() / number(times.len());
    let mut links = HashMap::new();
    for version in &builds.versions {
        let compiled = match version.strategy {
            // One compilation builds all bench targets.
            Strategy::Rebuild => {
                let took = version.compilations.iter().map(|one| one.record.took());
                mean(&took.collect::<Vec<_>>()) / number(version.targets.len())
            }
            Strategy::Auto | Strategy::Relink => Duration::ZERO,
        };
        for target in &version.targets {
            let took = target.builds.iter().map(|build| build.record.took());
            let is_of = |benchmark: &&Benchmark| benchmark.bench_target() == target.target;
            let sharing = number(benchmarks.iter().filter(is_of).count());
            let link = compiled + mean(&took.collect::<Vec<_>>());
            links.insert(target.target.clone(), (link, sharing));
        }
    }
    links
}

/// The median costs of starting these executions and of their measurements. Those of builds are not set.
fn costs<'e>(executions: impl Iterator<Item = &'e Execution>) -> Costs {
    let (starts, measurements): (Vec<_>, Vec<_>) = executions.map(start_and_measurement).unzip();
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    Costs { start: median(starts), measurement: median(measurements), ..Costs::default() }
}

/// The duration of an execution without its measurements, and of one measurement.
fn start_and_measurement(execution: &Execution) -> (Duration, Duration) {
    let whole = match execution.schedule.interleaved() {
        // Interleaved, the process also waited for the other version.
        Some((Threads::Together, _)) => execution.resources.cpu(),
        // The CPU time of the others may be that of several threads.
        _ => execution.own_wall(),
    };
    let measured = match execution.measured_time() {
        // The harness does not report its iterations.
        Duration::ZERO => whole.saturating_sub(execution.warm_up.unwrap_or_default()),
        measured => measured.min(whole),
    };
    let number = execution.measurements().max(1) as f64;
    (whole.saturating_sub(measured), measured.div_f64(number))
}
