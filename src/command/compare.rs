//! `cargo rbench compare`: two versions measured interleaved, and a verdict on every benchmark.

use std::fs;

use super::stored;
use crate::{
    cli::{CompareArgs, ReportFormat},
    code::FunctionSet,
    console::Console,
    experiment::{self, Builds, Collected, Experiment, Side, with_experiment},
    failure::{Exit, OrFail, Result},
    machine::{
        state::{self, MachineState},
        this_machine,
    },
    model::{self, Benchmark},
    process::Interrupt,
    project::Project,
    report::{ComparisonReport, ComparisonRow, quantity},
    settings,
    stats::{Criteria, Judged, Judgement, Pairing, Verdict},
};

/// The two versions, in this order everywhere.
const BASE: usize = 0;
/// See [`BASE`].
const HEAD: usize = 1;

/// Measures, judges, reports.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    let console = Console::new(args.report.verbose);
    let interrupt = Interrupt::on_signals()?;
    let project = Project::find(args.experiment.target.manifest_path.as_deref())?;
    let report = if args.stored {
        Some(stored::report(&project, args, &console)?)
    } else {
        report(&project, args, &console, &interrupt)?
    };
    let Some(mut report) = report else { return Ok(Exit::Success) };
    report.typed_with(&args.typed);
    for path in &args.report.output {
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => ReportFormat::Json,
            Some("md") => ReportFormat::Markdown,
            _ => ReportFormat::Text,
        };
        fs::write(path, written(&report, format)?)
            .or_fail(Exit::Usage, || format!("cannot write the report {}", path.display()))?;
    }
    Console::result(&match args.report.format {
        ReportFormat::Text => report.terminal(Console::result_columns()),
        other => written(&report, other)?,
    })?;
    Ok(report.exit(&args.verdict))
}

/// The comparison as it was typed, in this project; none if only the plan is wanted.
pub fn report(
    project: &Project,
    args: &CompareArgs,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<ComparisonReport>> {
    // Before rbench itself keeps the machine busy.
    let idle = MachineState::now();
    with_experiment(project, &args.experiment, console, interrupt, |experiment, filter| {
        let criteria = settings::criteria(&experiment.project.file, &args.verdict.criteria)?;
        let resolve = |revision: &str| experiment.project.repository.resolve(revision);
        let versions = [resolve(&args.base)?, resolve(&args.head)?];
        let mut sides = Vec::with_capacity(versions.len());
        for version in versions {
            sides.push(experiment.side(version, filter)?);
        }
        let common = common_benchmarks(&sides);
        let confirm = criteria.confirm;
        console.line(&experiment.announcement(&sides, &common, confirm));
        if args.experiment.dry_run {
            return Ok(None);
        }
        let mut report = compare(experiment, &sides, &common, &criteria)?;
        if report.has_measurements() {
            report.warn_of(&idle.disturbances());
        }
        Ok(Some(report))
    })
}

/// The report as it is written to a file.
fn written(report: &ComparisonReport, format: ReportFormat) -> Result<String> {
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
    report.judged_by(criteria);
    report.measured_on(this_machine(), experiment.efforts.common().dimensions());
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
    for benchmark in &same {
        report.add(benchmark, ComparisonRow::judged(&Judgement::of(Verdict::Identical)));
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
    let pairing = Pairing::of_layouts(builds.versions.iter().map(|of_version| of_version.layout));

    count_functions(experiment, sides, measured, report);
    let stored = experiment.begin(sides, builds)?;
    let before = MachineState::now();
    let first = experiment.measure(&stored, model::Stage::First, sides, builds, measured)?;
    report.warn_of(&MachineState::now().disturbances_since(&before));
    let stages: Vec<Option<Judged>> =
        first.iter().map(|collected| judged(collected, pairing, criteria)).collect();
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
        let before = MachineState::now();
        let second = experiment.measure(&stored, model::Stage::Second, sides, &fresh, &names)?;
        report.warn_of(&MachineState::now().disturbances_since(&before));
        second
    };
    experiment.finish(&stored)?;
    let executions = first.iter().chain(&second).flat_map(|collected| &collected.resources);
    report.warn_of(state::preempted(executions).as_slice());

    let count = stages.iter().filter(|stage| stage.is_some()).count();
    for (index, benchmark) in measured.iter().enumerate() {
        let again = flagged.iter().position(|&i| i == index).and_then(|at| second.get(at));
        let again = again.and_then(|collected| judged(collected, pairing, criteria));
        let stages = [stages[index].as_ref(), again.as_ref()];
        report.add(benchmark, row(&first[index], stages, count, criteria));
    }
    Ok(())
}

fn row(
    collected: &Collected,
    [first, second]: [Option<&Judged>; 2],
    judged: usize,
    criteria: &Criteria,
) -> ComparisonRow {
    let reason = match (first, &collected.failure) {
        (Some(first), None) => {
            let judgement = Judgement::by_stages(first, second, judged, criteria);
            return ComparisonRow::of_stages(&judgement, first, criteria);
        }
        (_, Some(failure)) => failure.to_string(),
        (None, None) => "it gave no measurements".to_owned(),
    };
    ComparisonRow::judged(&Judgement::of(Verdict::Failed { reason }))
}

/// What one stage says about a benchmark; `None` if there are no measurements of one version.
fn judged(collected: &Collected, pairing: Pairing, criteria: &Criteria) -> Option<Judged> {
    let [base, head] = [BASE, HEAD].map(|version| collected.measurements(version).ok());
    Some(Judged::of([&base?, &head?], pairing, criteria))
}

/// Counts the functions that differ in the bench targets that are measured. That they cannot be counted
/// is no reason not to measure.
fn count_functions(
    experiment: &Experiment<'_>,
    sides: &[Side],
    measured: &[Benchmark],
    report: &mut ComparisonReport,
) {
    let functions = |version: usize| experiment.functions(&sides[version]);
    match functions(BASE).and_then(|base| Ok((base, functions(HEAD)?))) {
        Ok((base, head)) => {
            for (target, base) in &base {
                let is_measured = measured.iter().any(|one| experiment::target_of(one) == *target);
                let same = head.iter().find(|(other, _)| other == target);
                if let Some((_, head)) = same.filter(|_| is_measured) {
                    report.functions(target, &FunctionSet::diff(base, head));
                }
            }
        }
        Err(failure) => report.warn(format!("functions were not compared: {}", failure.what())),
    }
}
