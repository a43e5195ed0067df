//! `cargo rbench compare`: two versions measured interleaved, and a verdict on every benchmark.

use std::time::SystemTime;

use super::{output::Output, project_of, stored};
use crate::{
    build::changed_dependencies,
    cli::{CompareArgs, ExperimentArgs, FailOn, TargetArgs, VerdictArgs},
    compare::{
        Acceptances, Counts, Event, Observer as _, Outcome, Selection, Stages, Warning,
        benchmarks_only_in, counts, explanations, release, suspicious_builds,
    },
    console::{Console, announcement},
    experiment::{Begun, ExperimentSettings, ListedVersion, Runner},
    failure::{Exit, Result},
    judge::{ExitPolicy, JudgedRow},
    machine::{state::MachineState, this_machine},
    model::{BenchTarget, Benchmark, Sameness},
    process::{Interrupt, Kept},
    project::Project,
    report::compare::ComparisonReport,
    settings::{Gate, Patience, Purpose, VerdictSettings, deciding},
    shell::CommandLine as _,
    stats::Verdict,
};

/// The index of the head among the two versions.
const HEAD: usize = 1;

/// Measures or reads, judges, reports.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let kept = if args.stored { Kept::Nothing } else { Kept::Compilations };
    let interrupt = Interrupt::on_signals(kept)?;
    let project = project_of(&args.experiment.target)?;
    project.check_tables(&args.versions.names()?, &console)?;
    let has_page = args.report.has_page();
    let Some(outcome) = compared(&project, args, has_page, &console, &interrupt)? else {
        return Ok(Exit::Success);
    };
    let policy = policy(&project, &args.verdict);
    let exit = outcome.exit(&policy);
    output.write(&report(outcome, policy, args))?;
    if !args.stored {
        announcement::finished(&console, start);
    }
    Ok(exit)
}

/// The comparison as it was typed, in this project, of what is stored or by measuring; none if only the plan is wanted.
/// With `has_page`, it becomes a web page as well.
pub fn compared(
    project: &Project,
    args: &CompareArgs,
    has_page: bool,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>> {
    if args.stored {
        stored::compared(project, args, console).map(Some)
    } else {
        measured(project, args, has_page, console, interrupt)
    }
}

/// The report on an outcome, as it was asked for.
pub fn report(outcome: Outcome, policy: ExitPolicy, args: &CompareArgs) -> ComparisonReport {
    ComparisonReport::new(outcome, policy, args.command_line()).explaining_all(args.explain)
}

/// The comparison as it was typed, in this project, by measuring; none if only the plan is wanted.
pub fn measured(
    project: &Project,
    args: &CompareArgs,
    has_page: bool,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>> {
    let start = SystemTime::now();
    let (interleave, patience) = (project.file.interleave(args.interleave), patience(args));
    let purpose = Purpose::Comparison { interleave, patience };
    let settings = ExperimentSettings::resolve(&project.file, &args.experiment, purpose);
    let verdicts = VerdictSettings::resolve(&project.file, &args.verdict.criteria)?;
    let acceptances = Acceptances::read(project)?;
    let runner = Runner::open(project, settings, interrupt, console)?;
    let comparison = Comparison {
        project,
        runner: &runner,
        args,
        has_page,
        verdicts,
        acceptances,
        comparisons: 1,
        // Before rbench itself keeps the machine busy.
        idle: MachineState::now(),
        console,
    };
    let outcome = comparison.run();
    runner.prune(start);
    outcome.map_err(|failure| runner.with_what_is_kept(failure))
}

/// Which verdicts make the command fail.
pub fn policy(project: &Project, args: &VerdictArgs) -> ExitPolicy {
    ExitPolicy {
        advisory: args.advisory,
        inconclusive: args.fail_on == FailOn::Inconclusive,
        metrics: deciding(&project.file, args.fail_on),
    }
}

/// How long a benchmark is measured that is not decided.
const fn patience(args: &CompareArgs) -> Patience {
    match (args.until_decided, args.budget) {
        (true, _) => Patience::UntilDecided,
        (false, Some(_)) => Patience::Budget,
        (false, None) => Patience::Usual,
    }
}

/// How many parts share the rate of false regressions: all that is measured elsewhere belongs to one comparison.
pub fn parts(args: &CompareArgs) -> usize {
    args.experiment.partition.map_or(1, |partition| partition.of as usize)
}

/// What measures and judges pairs of versions.
struct Comparison<'e> {
    project: &'e Project,
    runner: &'e Runner<'e>,
    args: &'e CompareArgs,
    /// Whether what is only told on a web page is found out.
    has_page: bool,
    verdicts: VerdictSettings,
    acceptances: Acceptances<'e>,
    /// How many pairs of versions are compared.
    comparisons: usize,
    /// The machine before anything was done.
    idle: MachineState,
    console: &'e Console,
}

impl Comparison<'_> {
    /// From two revisions to what is said of them, and of the release and the head.
    fn run(mut self) -> Result<Option<Outcome>> {
        let repository = &self.project.repository;
        let resolve = |revision: &str| repository.resolve(revision);
        let uncommitted = |words: &[&str]| self.args.given.suggest("compare", words, &[]);
        let [base, head] = self.args.versions.resolve(resolve, uncommitted)?;
        let gate = Gate::resolve(&self.project.file, &self.args.gate);
        let release = match &gate {
            Some(gate) => release::version(self.project, gate, [&base, &head], self.console)?,
            None => None,
        };
        let versions = [self.runner.list(base)?, self.runner.list(head)?];
        let limit = gate.and_then(|gate| gate.min_effect);
        let release = release.map(|release| self.runner.list(release)).transpose()?;
        self.comparisons = if release.is_some() { 2 } else { 1 };
        self.verdicts = self.verdicts.shared_by(self.comparisons * parts(self.args));
        // Both experiments are finished together, so an interrupted comparison is resumed as a whole.
        let mut begun = Vec::new();
        let mut outcome = self.pair(&versions, &self.verdicts, &mut begun)?;
        if let Some(release) = release {
            self.console.compare_event(Event::AlsoAgainst(&release.version));
            let [_, head] = versions;
            let verdicts = self.verdicts.with_limit(limit);
            let also = self.pair(&[release, head], &verdicts, &mut begun)?;
            if let (Some(outcome), Some(also)) = (&mut outcome, also) {
                outcome.also = Some(Box::new(also));
            }
        }
        begun.iter().try_for_each(|begun| self.runner.finish(begun))?;
        Ok(outcome)
    }

    /// Measures two versions and judges them; none if only the plan is wanted.
    fn pair(
        &self,
        versions: &[ListedVersion; 2],
        verdicts: &VerdictSettings,
        begun: &mut Vec<Begun>,
    ) -> Result<Option<Outcome>> {
        let Self { project, runner, args, console, .. } = *self;
        let mut outcome = outcome_of(versions, args, verdicts);
        let chosen = Selection::new(runner, versions, args.measure_all, &mut outcome.warnings)?;
        let (common, measured) = (&chosen.common, &chosen.measured);
        let (not_measured, of) = (common.len() - measured.len(), common.len());
        console.compare_event(Event::Unaffected { not_measured, of });
        let outline = runner.outline(versions, measured);
        if verdicts.times() {
            announcement::plan(console, &outline, verdicts.criteria.confirm);
        }
        if args.experiment.dry_run {
            if common.is_empty() {
                console.line("warning: there is no benchmark in both versions");
            }
            return Ok(None);
        }

        outcome.warnings.extend(changing_ids(runner, &versions[HEAD], &outcome.added)?);
        if common.is_empty() {
            return Ok(Some(outcome));
        }
        let linked = chosen.linked();
        let mut seeds = runner.first_look(versions, &linked);
        if !verdicts.times() {
            seeds = runner.counted_seeds(1);
        }
        let builds = runner.link(versions, &linked, seeds)?;
        outcome.warnings.extend(suspicious_builds::equal(&builds.records(), builds.seeds.len()));
        let unmeasured = chosen.unmeasured(&builds);
        let row = |(benchmark, sameness): &(Benchmark, Sameness)| {
            JudgedRow::of_benchmark(benchmark, Verdict::from(*sameness))
        };
        let mut rows: Vec<JudgedRow> = unmeasured.iter().map(row).collect();
        if !measured.is_empty() {
            // What another program does is not in the functions of a bench target.
            let runs_itself = |target: &BenchTarget| !project.file.runs_other_programs(target);
            outcome.functions = chosen.functions_that_are_told(runs_itself);
            outcome.machine = Some(this_machine());
            outcome.explainable = explanations::possible(&versions[HEAD], measured);
            if verdicts.times() {
                outcome.add_disturbances(self.idle.disturbances());
                outcome.machine_state.clone_from(&runner.machine_state);
            }
            let counters = counts::counters(runner, &versions[1], verdicts, console)?;
            if verdicts.times() {
                outcome.dimensions = Some(outline.dimensions);
            }
            let comparisons = u32::try_from(self.comparisons).unwrap_or(1);
            let stages = Stages {
                runner,
                versions,
                measured,
                unmeasured: &unmeasured,
                verdicts,
                patience: patience(args),
                budget: args.budget.map(|budget| budget / comparisons),
                observer: console,
            };
            if verdicts.times() {
                let (experiment, judged) = stages.measure(&builds, &mut outcome)?;
                begun.push(experiment);
                rows.extend(judged);
            }
            for counter in counters {
                let unmeasured = &unmeasured;
                let observer = console;
                let counts =
                    Counts { runner, counter, versions, measured, unmeasured, verdicts, observer };
                let (experiment, judged) = counts.measure()?;
                begun.push(experiment);
                rows.extend(judged);
            }
        }
        for row in &mut rows {
            row.reach = chosen.reach_of(&row.benchmark).cloned();
        }
        if self.has_page {
            outcome.explanations = explanations::of_changed(runner, versions, &rows, console)?;
        }
        let compared = [&versions[0].version, &versions[HEAD].version];
        let listed = all_benchmarks(&versions[HEAD], args);
        self.acceptances.apply(&mut rows, compared, |benchmark| verdicts.of(benchmark))?;
        outcome.idle = self.acceptances.idle(&rows, compared, listed.as_deref())?;
        rows.sort_by_key(|row| common.iter().position(|benchmark| *benchmark == row.benchmark));
        outcome.rows = rows;
        Ok(Some(outcome))
    }
}

/// What is known of two versions before anything is measured.
fn outcome_of(
    versions: &[ListedVersion; 2],
    args: &CompareArgs,
    verdicts: &VerdictSettings,
) -> Outcome {
    let [base, head] = versions;
    let compared = [base.version.clone(), head.version.clone()];
    let mut outcome = Outcome::new(compared, verdicts.criteria);
    outcome.partition = args.experiment.partition;
    outcome.added = benchmarks_only_in(head, base);
    outcome.removed = benchmarks_only_in(base, head);
    outcome.dependencies = changed_dependencies(&base.locked, &head.locked);
    for version in versions {
        outcome.failed_targets.extend(version.listing.failures.iter().cloned());
    }
    outcome
}

/// All benchmarks of a version, unless only some were asked for or could be listed.
fn all_benchmarks(version: &ListedVersion, args: &CompareArgs) -> Option<Vec<Benchmark>> {
    let ExperimentArgs { patterns, target, .. } = &args.experiment;
    let TargetArgs { package, bench, exclude, commands, .. } = target;
    let is_all = [patterns, package, bench, exclude].iter().all(|wanted| wanted.is_empty())
        && commands.is_empty()
        && args.experiment.partition.is_none();
    (is_all && version.listing.failures.is_empty()).then(|| version.benchmarks())
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
/// `outcome` what makes that less sure. The experiment is the newest one of the runner's store.
pub fn of_all(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    measured: &[Benchmark],
    verdicts: &VerdictSettings,
    console: &Console,
    outcome: &mut Outcome,
) -> Result<Vec<JudgedRow>> {
    let (patience, budget) = (Patience::OneLook, None);
    let (unmeasured, observer) = (&[], console);
    let stages =
        Stages { runner, versions, measured, unmeasured, verdicts, patience, budget, observer };
    let builds = stages.link(outcome)?;
    stages.measure_and_finish(&builds, outcome)
}
