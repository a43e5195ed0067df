//! `cargo rbench compare`: two versions measured interleaved, and a verdict on every benchmark.

use std::time::SystemTime;

use super::{
    announcement,
    output::Output,
    selection::{Selection, benchmarks_only_in},
    stored, suspicious_builds,
};
use crate::{
    build::changed_dependencies,
    cli::{CompareArgs, FailOn},
    console::Console,
    experiment::{Builds, ExperimentSettings, ListedVersion, Runner},
    failure::{Exit, Result},
    judge::{Judge, JudgeOptions, JudgedRow, Relation, Results, VersionRef},
    machine::{
        state::{self, MachineState},
        this_machine,
    },
    model::{BenchTarget, Benchmark, Resources, Sameness, Stage},
    process::{Interrupt, Kept},
    project::Project,
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
    let mut report = report_of(&versions, args, verdicts);
    let chosen = Selection::new(runner, &versions, args.measure_all, &mut report.warnings)?;
    let (common, measured) = (&chosen.common, &chosen.measured);
    announcement::unaffected(console, common.len() - measured.len(), common.len());
    announcement::plan(console, &runner.outline(&versions, measured), verdicts.criteria.confirm);
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
    let linked = chosen.linked();
    let builds = runner.link(&versions, &linked, runner.first_seeds(&linked))?;
    report.warnings.extend(suspicious_builds::equal(&builds.records(), builds.seeds.len()));
    let unmeasured = chosen.unmeasured(&builds);
    let row = |(benchmark, sameness): &(Benchmark, Sameness)| {
        JudgedRow::of_benchmark(benchmark, Verdict::from(*sameness))
    };
    let mut rows: Vec<JudgedRow> = unmeasured.iter().map(row).collect();
    if !measured.is_empty() {
        // What another program does is not in the functions of a bench target.
        let runs_itself = |target: &BenchTarget| !project.file.runs_other_programs(target);
        report.functions = chosen.functions_that_are_told(runs_itself);
        suspicious_builds::warn_of_addresses(&builds, measured, &mut report.warnings)?;
        report.add_disturbances(idle.disturbances());
        report.machine = Some(this_machine());
        report.dimensions = Some(runner.outline(&versions, measured).dimensions);
        let experiment =
            Experiment { runner, versions: &versions, measured, unmeasured: &unmeasured, verdicts };
        rows.extend(experiment.measure(&builds, console, &mut report)?);
    }
    for row in &mut rows {
        row.reach = chosen.reach_of(&row.benchmark).cloned();
    }
    rows.sort_by_key(|row| common.iter().position(|benchmark| *benchmark == row.benchmark));
    report.rows = rows;
    Ok(Some(report))
}

/// What is measured, and what is not.
struct Experiment<'e> {
    runner: &'e Runner<'e>,
    versions: &'e [ListedVersion],
    measured: &'e [Benchmark],
    unmeasured: &'e [(Benchmark, Sameness)],
    verdicts: &'e VerdictSettings,
}

impl Experiment<'_> {
    /// Both stages: all that is measured, then what was flagged.
    fn measure(
        &self,
        builds: &Builds,
        console: &Console,
        report: &mut ComparisonReport,
    ) -> Result<Vec<JudgedRow>> {
        let Self { runner, versions, measured, verdicts, .. } = *self;
        let mut begun = runner.begin(versions, measured, builds)?;
        announcement::resumed(console, &begun);
        for (benchmark, sameness) in self.unmeasured {
            runner.store.record_unmeasured(begun.id, benchmark, *sameness)?;
        }
        let before = MachineState::now();
        runner.measure(&begun, Stage::First, versions, builds, measured)?;
        report.add_disturbances(MachineState::now().disturbances_since(&before));

        let first = judged(runner, begun.id, measured, verdicts)?;
        let flagged = needing_confirmation(&first, measured, verdicts);
        if !flagged.is_empty() {
            let seeds = runner.fresh_seeds(&begun.identity, &builds.seeds, &flagged);
            announcement::confirmation(console, flagged.len(), &seeds);
            let fresh = runner.link(versions, &flagged, seeds)?;
            suspicious_builds::warn_of_addresses(&fresh, &flagged, &mut report.warnings)?;
            runner.record_builds(&mut begun, Stage::Second, &fresh)?;
            let before = MachineState::now();
            runner.measure(&begun, Stage::Second, versions, &fresh, &flagged)?;
            report.add_disturbances(MachineState::now().disturbances_since(&before));
        }
        runner.finish(&begun)?;
        report.add_disturbances(preempted(runner, begun.id, measured)?);
        judged(runner, begun.id, measured, verdicts)
    }
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
    report.added = benchmarks_only_in(head, base);
    report.removed = benchmarks_only_in(base, head);
    report.dependencies = changed_dependencies(&base.locked, &head.locked);
    for version in versions {
        report.failed_targets.extend(version.listing.failures.iter().cloned());
    }
    report
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

/// Measures these benchmarks of two versions, whatever they reach, in both stages; what it says of them, and in
/// `report` what makes that less sure. The experiment is the newest one of the runner's store.
pub fn of_all(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    measured: &[Benchmark],
    verdicts: &VerdictSettings,
    console: &Console,
    report: &mut ComparisonReport,
) -> Result<Vec<JudgedRow>> {
    let builds = runner.link(versions, measured, runner.first_seeds(measured))?;
    report.warnings.extend(suspicious_builds::equal(&builds.records(), builds.seeds.len()));
    suspicious_builds::warn_of_addresses(&builds, measured, &mut report.warnings)?;
    let experiment = Experiment { runner, versions, measured, unmeasured: &[], verdicts };
    experiment.measure(&builds, console, report)
}
