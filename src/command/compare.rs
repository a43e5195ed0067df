//! `cargo rbench compare`: two versions measured interleaved, and a verdict on every benchmark.

use std::fs;

use super::experiment::{self, Builds, Collected, Experiment, Side, with_experiment};
use crate::{
    build::VersionBuilds,
    cli::{CompareArgs, ReportFormat},
    console::Console,
    failure::{Exit, Failure, OrFail, Result},
    measure::process::Interrupt,
    model::{self, Benchmark, Layout},
    report::{ComparisonReport, ComparisonRow, quantity},
    settings,
    stats::{Criteria, Pairing, Stage, Summary, Verdict},
};

/// The two versions, in this order everywhere.
const BASE: usize = 0;
/// See [`BASE`].
const HEAD: usize = 1;

/// Above this load per core, rbench says that the machine is busy.
const BUSY: f64 = 0.5;

/// Measures, judges, reports.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    let console = Console::new(args.report.verbose);
    let interrupt = Interrupt::on_signals()?;
    let Some(report) = report(args, &console, &interrupt)? else { return Ok(Exit::Success) };
    for path in &args.report.output {
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => ReportFormat::Json,
            Some("md") => ReportFormat::Markdown,
            _ => ReportFormat::Text,
        };
        fs::write(path, rendered(&report, format)?)
            .or_fail(Exit::Usage, || format!("cannot write the report {}", path.display()))?;
    }
    Console::result(&rendered(&report, args.report.format)?)?;
    Ok(report.exit(&args.verdict))
}

/// The comparison as it was typed; none if only the plan is wanted.
pub fn report(
    args: &CompareArgs,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<ComparisonReport>> {
    with_experiment(&args.experiment, console, interrupt, |experiment, filter| {
        let criteria = settings::criteria(&experiment.project.file, &args.verdict)?;
        let resolve = |revision: &str| experiment.project.repository.resolve(revision);
        let versions = [resolve(&args.base)?, resolve(&args.head)?];
        let mut sides = Vec::with_capacity(versions.len());
        for version in versions {
            sides.push(experiment.side(version, filter)?);
        }
        let common = common_benchmarks(&sides);
        let confirm = criteria.confirm;
        console.line(&experiment.announcement(&common, sides.len(), confirm));
        if args.experiment.dry_run {
            return Ok(None);
        }
        compare(experiment, &sides, &common, &criteria).map(Some)
    })
}

fn rendered(report: &ComparisonReport, format: ReportFormat) -> Result<String> {
    Ok(match format {
        ReportFormat::Text => report.text(),
        ReportFormat::Markdown => report.markdown(),
        ReportFormat::Json => {
            report.json().or_fail(Exit::Internal, || "cannot write the report")? + "\n"
        }
    })
}

/// Benchmarks that both versions have, in the head's order.
fn common_benchmarks(sides: &[Side]) -> Vec<Benchmark> {
    let base = sides[BASE].benchmarks();
    sides[HEAD].benchmarks().into_iter().filter(|benchmark| base.contains(benchmark)).collect()
}

fn compare(
    experiment: &Experiment<'_>,
    sides: &[Side],
    common: &[Benchmark],
    criteria: &Criteria,
) -> Result<ComparisonReport> {
    let mut report = ComparisonReport::new(&sides[BASE].version, &sides[HEAD].version);
    for (version, other) in [(BASE, HEAD), (HEAD, BASE)] {
        let others = sides[other].benchmarks();
        let only = sides[version].benchmarks().into_iter().filter(|one| !others.contains(one));
        report.only_in(&sides[version].version, only.collect());
        for (target, failure) in &sides[version].listing.failures {
            report.target_failed(target, failure);
        }
    }
    if common.is_empty() {
        return Ok(report);
    }
    let builds = experiment.build(sides, experiment.seeds(common, 0))?;
    report.warn_about_builds(&builds.versions, builds.seeds.len());
    let (same, measured): (Vec<Benchmark>, Vec<Benchmark>) = common
        .iter()
        .cloned()
        .partition(|benchmark| builds.are_identical(&experiment::target_of(benchmark)));
    if let Some(load) =
        experiment::load_per_core().filter(|load| *load > BUSY && !measured.is_empty())
    {
        report.warn(format!("the machine is busy: a load of {load:.1} per core"));
    }
    for benchmark in &same {
        report.add(benchmark, ComparisonRow::of(&Verdict::Identical));
    }
    if !measured.is_empty() {
        measure_and_judge(experiment, sides, &builds, &measured, criteria, &mut report)?;
    }
    Ok(report)
}

/// Both stages of the benchmarks whose code differs: all of them, then what was flagged.
fn measure_and_judge(
    experiment: &Experiment<'_>,
    sides: &[Side],
    builds: &Builds,
    measured: &[Benchmark],
    criteria: &Criteria,
    report: &mut ComparisonReport,
) -> Result<()> {
    let pairing = pairing(&builds.versions);

    let stored = experiment.begin(sides, builds)?;
    let first = experiment.measure(&stored, model::Stage::First, sides, builds, measured)?;
    let stages: Vec<Option<Judged>> =
        first.iter().map(|collected| Judged::of(collected, pairing, criteria)).collect();
    let flagged: Vec<usize> = stages
        .iter()
        .enumerate()
        .filter(|(_, judged)| judged.as_ref().is_some_and(|j| j.needs_confirmation(criteria)))
        .map(|(index, _)| index)
        .collect();
    let second = if flagged.is_empty() {
        Vec::new()
    } else {
        let names: Vec<Benchmark> = flagged.iter().map(|&index| measured[index].clone()).collect();
        experiment.console.line(&format!(
            "measuring {} again on fresh builds",
            quantity::count(names.len(), "flagged benchmark")
        ));
        let fresh = experiment.build(sides, experiment.seeds(&names, builds.seeds.len()))?;
        experiment.keep_builds(&stored, &fresh)?;
        experiment.measure(&stored, model::Stage::Second, sides, &fresh, &names)?
    };
    experiment.finish(&stored)?;

    let judged = stages.iter().filter(|stage| stage.is_some()).count();
    for (index, benchmark) in measured.iter().enumerate() {
        let again = flagged.iter().position(|&i| i == index).and_then(|at| second.get(at));
        let again = again.and_then(|collected| Judged::of(collected, pairing, criteria));
        let row = row(&first[index], stages[index].as_ref(), again.as_ref(), judged, criteria);
        report.add(benchmark, row);
    }
    Ok(())
}

fn row(
    first: &Collected,
    stage: Option<&Judged>,
    again: Option<&Judged>,
    judged: usize,
    criteria: &Criteria,
) -> ComparisonRow {
    let failed = |failure: &Failure| Verdict::Failed { reason: failure.to_string() };
    match (stage, &first.failure) {
        (_, Some(failure)) => ComparisonRow::of(&failed(failure)),
        (None, None) => {
            ComparisonRow::of(&Verdict::Failed { reason: "it gave no measurements".to_owned() })
        }
        (Some(judged_first), None) => match &judged_first.stage {
            Err(verdict) => ComparisonRow::of(verdict),
            Ok(stage) => {
                let second = again.and_then(|judged| judged.stage.as_ref().ok());
                let verdict = Verdict::of(stage, second, judged, criteria);
                let shown = second.map_or(judged_first, |_| again.unwrap_or(judged_first));
                ComparisonRow::measured(&verdict, second.unwrap_or(stage), &shown.summaries)
            }
        },
    }
}

/// What the measurements of one stage say about a benchmark.
struct Judged {
    summaries: [Summary; 2],
    stage: std::result::Result<Stage, Verdict>,
}

impl Judged {
    /// `None` if there are no measurements of one version.
    fn of(collected: &Collected, pairing: Pairing, criteria: &Criteria) -> Option<Self> {
        let summary = |version| {
            let measurements = collected.measurements(version).ok()?;
            Some(Summary::of(&measurements, criteria.estimator))
        };
        let summaries = [summary(BASE)?, summary(HEAD)?];
        let stage = Stage::new(&summaries[BASE], &summaries[HEAD], pairing, criteria)
            .map_err(|refusal| Verdict::refused(&refusal));
        Some(Self { summaries, stage })
    }

    fn needs_confirmation(&self, criteria: &Criteria) -> bool {
        self.stage.as_ref().is_ok_and(|stage| stage.needs_confirmation(criteria))
    }
}

/// Equal seeds are blocks where the layout was made from names, and where there is no layout at all:
/// then they still ran next to each other.
fn pairing(builds: &[VersionBuilds]) -> Pairing {
    let matched = |builds: &VersionBuilds| !matches!(builds.layout, Layout::Shuffle | Layout::Pad);
    if builds.iter().all(matched) { Pairing::BySeed } else { Pairing::Unpaired }
}
