//! `cargo rbench compare`: two versions measured interleaved, and a verdict on every benchmark.

use std::time::SystemTime;

use super::{announcement, output::Output, stored, suspicious_builds};
use crate::{
    cli::{CompareArgs, FailOn},
    code::{FunctionDiff, FunctionSet},
    console::Console,
    experiment::{Builds, ExperimentSettings, ListedVersion, Runner},
    failure::{Exit, Result},
    judge::{Judge, JudgeOptions, JudgedRow, Relation, Results, VersionRef, are_identical},
    machine::{
        state::{self, MachineState},
        this_machine,
    },
    model::{BenchTarget, Benchmark, Resources, Stage},
    process::{Interrupt, Kept},
    project::Project,
    reach::Reach,
    report::{
        CommandLine as _,
        compare::{ComparisonReport, Warning},
    },
    settings::VerdictSettings,
    stats::Verdict,
    store::ExperimentId,
};

/// The two versions, in this order everywhere.
const BASE: usize = 0;
/// See [`BASE`].
const HEAD: usize = 1;

/// Measures or reads, judges, reports.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    let (console, start) = (Console::new(args.report.verbose), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let kept = if args.stored { Kept::Nothing } else { Kept::Compilations };
    let interrupt = Interrupt::on_signals(kept)?;
    let project = Project::find(args.experiment.target.manifest_path.as_deref())?;
    project.check_tables(&args.versions.names()?, &console)?;
    let report = if args.stored {
        Some(stored::report(&project, args, &console)?)
    } else {
        measured(&project, args, &console, &interrupt)?
    };
    let Some(report) = report else { return Ok(Exit::Success) };
    output.write(&report)?;
    if !args.stored {
        announcement::finished(&console, start);
    }
    Ok(report.exit(args.verdict.advisory, args.verdict.fail_on == FailOn::Inconclusive))
}

/// The comparison as it was typed, in this project, by measuring; none if only the plan is wanted.
pub fn measured(
    project: &Project,
    args: &CompareArgs,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<ComparisonReport>> {
    let start = SystemTime::now();
    let interleave = project.file.interleave(args.interleave);
    let settings = ExperimentSettings::resolve(&project.file, &args.experiment, interleave)?;
    let verdicts = VerdictSettings::resolve(&project.file, &args.verdict.criteria)?;
    let runner = Runner::open(project, settings, interrupt, console)?;
    let report = compare(project, &runner, args, &verdicts, console);
    runner.prune(start);
    report.map_err(|failure| runner.with_what_is_kept(failure))
}

/// From two revisions to the report on them.
fn compare(
    project: &Project,
    runner: &Runner<'_>,
    args: &CompareArgs,
    verdicts: &VerdictSettings,
    console: &Console,
) -> Result<Option<ComparisonReport>> {
    // Before rbench itself keeps the machine busy.
    let idle = MachineState::now();
    let resolve = |revision: &str| project.repository.resolve(revision);
    let uncommitted = |words: &[&str]| args.given.suggest("compare", words, &[]);
    let [base, head] = args.versions.resolve(resolve, uncommitted)?;
    let versions = [runner.list(base)?, runner.list(head)?];
    let common = common_benchmarks(&versions);
    let mut report = report_of(&versions, args, verdicts);
    let functions = functions_that_differ(runner, &versions, &mut report.warnings);
    let reach = runner.reach(&versions, &functions, &common)?;
    let is_measured = |(_, reach): &(&Benchmark, &Reach)| args.measure_all || !reach.is_nothing();
    let measured: Vec<Benchmark> = common
        .iter()
        .zip(&reach)
        .filter(is_measured)
        .map(|(benchmark, _)| benchmark.clone())
        .collect();
    announcement::unaffected(console, common.len() - measured.len(), common.len());
    announcement::plan(console, &runner.outline(&versions, &measured), verdicts.criteria.confirm);
    if args.experiment.dry_run {
        if common.is_empty() {
            console.line("warning: there is no benchmark in both versions");
        }
        return Ok(None);
    }

    report.warnings.extend(changing_ids(runner, &versions[HEAD], &report.added)?);
    if common.is_empty() {
        return Ok(Some(report));
    }
    let builds = runner.link(&versions, runner.first_seeds(&common))?;
    report.warnings.extend(suspicious_builds::equal(&builds.records(), builds.seeds.len()));
    let verdict = |benchmark: &Benchmark| {
        let programs = |version| builds.programs(version, &benchmark.bench_target());
        if are_identical(&programs(BASE), &programs(HEAD)) {
            Verdict::Identical
        } else {
            Verdict::Unaffected
        }
    };
    let mut rows: Vec<JudgedRow> = common
        .iter()
        .filter(|benchmark| !measured.contains(benchmark))
        .map(|benchmark| JudgedRow::of_benchmark(benchmark, verdict(benchmark)))
        .collect();
    if !measured.is_empty() {
        // What another program does is not in the functions of a bench target.
        let is_told = |(target, _): &(BenchTarget, FunctionDiff)| {
            measured.iter().any(|benchmark| benchmark.bench_target() == *target)
                && !project.file.runs_other_programs(target)
        };
        report.functions = functions.into_iter().filter(is_told).collect();
        suspicious_builds::warn_of_addresses(&builds, &measured, &mut report.warnings)?;
        report.add_disturbances(idle.disturbances());
        report.machine = Some(this_machine());
        report.dimensions = Some(runner.outline(&versions, &measured).dimensions);
        rows.extend(measure(
            runner,
            &versions,
            &builds,
            &measured,
            verdicts,
            console,
            &mut report,
        )?);
    }
    let place = |benchmark: &Benchmark| common.iter().position(|other| other == benchmark);
    for row in &mut rows {
        row.reach = place(&row.benchmark).map(|index| reach[index].clone());
    }
    rows.sort_by_key(|row| place(&row.benchmark));
    report.rows = rows;
    Ok(Some(report))
}

/// Both stages of the benchmarks whose machine code differs: all of them, then what was flagged.
fn measure(
    runner: &Runner<'_>,
    versions: &[ListedVersion],
    builds: &Builds,
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
    console: &Console,
    report: &mut ComparisonReport,
) -> Result<Vec<JudgedRow>> {
    let mut begun = runner.begin(versions, benchmarks, builds)?;
    announcement::resumed(console, &begun);
    let before = MachineState::now();
    runner.measure(&begun, Stage::First, versions, builds, benchmarks)?;
    report.add_disturbances(MachineState::now().disturbances_since(&before));

    let first = judged(runner, begun.id, benchmarks, verdicts)?;
    let flagged = needing_confirmation(&first, benchmarks, verdicts);
    if !flagged.is_empty() {
        let seeds = runner.fresh_seeds(&begun.identity, &builds.seeds, &flagged);
        announcement::confirmation(console, flagged.len(), &seeds);
        let fresh = runner.link(versions, seeds)?;
        suspicious_builds::warn_of_addresses(&fresh, &flagged, &mut report.warnings)?;
        runner.record_builds(&mut begun, Stage::Second, &fresh)?;
        let before = MachineState::now();
        runner.measure(&begun, Stage::Second, versions, &fresh, &flagged)?;
        report.add_disturbances(MachineState::now().disturbances_since(&before));
    }
    runner.finish(&begun)?;
    report.add_disturbances(preempted(runner, begun.id, benchmarks)?);
    judged(runner, begun.id, benchmarks, verdicts)
}

/// What one experiment says of these benchmarks by now.
fn judged(
    runner: &Runner<'_>,
    id: ExperimentId,
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
) -> Result<Vec<JudgedRow>> {
    let results = Results::of_experiment(&runner.store, id)?;
    let options = JudgeOptions { metrics: verdicts.metrics.clone(), allow_different: false };
    let judge = Judge::new(&results, options);
    let place = |version| VersionRef { experiment: 0, version };
    let relation = Relation::SameExperiment([place(BASE), place(HEAD)]);
    let mut rows = Vec::new();
    for benchmark in benchmarks {
        let of_benchmark = results.of_benchmark(benchmark, [0])?;
        rows.extend(judge.rows(&of_benchmark, &relation, &verdicts.of(benchmark))?);
    }
    Ok(rows)
}

/// The benchmarks that must be measured again on fresh builds before a change of them counts.
fn needing_confirmation(
    rows: &[JudgedRow],
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
) -> Vec<Benchmark> {
    let is_flagged = |benchmark: &&Benchmark| {
        let criteria = verdicts.of(benchmark);
        let mut own = rows.iter().filter(|row| row.benchmark == **benchmark);
        own.any(|row| {
            row.stages.first().is_some_and(|s| s.assessment.needs_confirmation(&criteria))
        })
    };
    benchmarks.iter().filter(is_flagged).cloned().collect()
}

/// Whether others took the CPU from many executions.
fn preempted(
    runner: &Runner<'_>,
    id: ExperimentId,
    benchmarks: &[Benchmark],
) -> Result<Option<crate::machine::disturbance::Disturbance>> {
    let mut resources: Vec<Resources> = Vec::new();
    for benchmark in benchmarks {
        let rows = runner.store.rows(benchmark, &[id])?.into_iter();
        resources.extend(rows.filter_map(|row| Some(row.outcome.ok()?.resources)));
    }
    Ok(state::preempted(&resources))
}

/// The report on two versions before anything is measured.
fn report_of(
    versions: &[ListedVersion; 2],
    args: &CompareArgs,
    verdicts: &VerdictSettings,
) -> ComparisonReport {
    let [base, head] = versions;
    let mut report = ComparisonReport::new(
        base.version.clone(),
        head.version.clone(),
        verdicts.criteria,
        args.command_line(),
    );
    let only_in = |one: &ListedVersion, other: &ListedVersion| -> Vec<Benchmark> {
        let others = other.benchmarks();
        one.benchmarks().into_iter().filter(|benchmark| !others.contains(benchmark)).collect()
    };
    report.added = only_in(head, base);
    report.removed = only_in(base, head);
    for version in versions {
        report.failed_targets.extend(version.listing.failures.iter().cloned());
    }
    report
}

/// Benchmarks that both versions have, in the head's order.
fn common_benchmarks([base, head]: &[ListedVersion; 2]) -> Vec<Benchmark> {
    let base = base.benchmarks();
    head.benchmarks().into_iter().filter(|benchmark| base.contains(benchmark)).collect()
}

/// A warning where benchmarks that only the head has are called anew each time that they are listed.
fn changing_ids(
    runner: &Runner<'_>,
    head: &ListedVersion,
    added: &[Benchmark],
) -> Result<Option<Warning>> {
    let changing = runner.with_changing_ids(head, added)?;
    let ids: Vec<String> = changing.into_iter().map(|benchmark| benchmark.name.id).collect();
    Ok((!ids.is_empty()).then_some(Warning::ChangingIds { ids }))
}

/// How the functions of each bench target of both versions differ. That they cannot be compared is no reason
/// not to measure.
fn functions_that_differ(
    runner: &Runner<'_>,
    [base, head]: &[ListedVersion; 2],
    warnings: &mut Vec<Warning>,
) -> Vec<(BenchTarget, FunctionDiff)> {
    let sets = runner.functions(base).and_then(|base| Ok((base, runner.functions(head)?)));
    let (base, head) = match sets {
        Ok(sets) => sets,
        Err(failure) => {
            let reason = failure.what().to_owned();
            warnings.push(Warning::FunctionsUnknown { reason });
            return Vec::new();
        }
    };
    let of_both = base.iter().filter_map(|(target, base)| {
        let (_, head) = head.iter().find(|(other, _)| other == target)?;
        Some((target.clone(), FunctionSet::diff(base, head)))
    });
    of_both.collect()
}
