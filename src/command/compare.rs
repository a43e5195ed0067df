//! `cargo rbench compare`: measures two versions, or reads stored results, and gives a verdict on every benchmark.

use std::time::{Duration, SystemTime};

use super::{output::Output, project_of, push, selected_targets, stored_targets};
use crate::{
    ci,
    cli::{CompareArgs, ExplainRows, FailOn, VerdictArgs},
    compare::{
        Acceptances, Archive, Benchmarks, CompiledRequest, ExplainedRows, Outcome, Request,
        Session, StoredRequest, Warning, archive, compare_compilations, compare_needed,
        compare_stored, with_release,
    },
    config::{BuildSettings, Gate, Purpose, SamplingConfigs, VerdictSettings, deciding},
    console::{Console, announcement},
    error::{Error, Exit, Result},
    harness::Filter,
    machine::state::MachineState,
    measure::{ExperimentSettings, Runner},
    model::{Benchmark, Mode, Version},
    process::{Interrupt, SavedHandler},
    project::{BaseSettings, Project},
    report::compare::{CompareReport, ComparisonReport, RankingReport},
    secrets,
    shared::SharedVariables,
    shell::CommandLine as _,
    store::Store,
    verdict::ExitPolicy,
};

pub fn run(args: &CompareArgs, shared: &SharedVariables) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let (format, files) = (args.report.format, &args.report.output.files);
    let output = if args.variants.is_empty() {
        Output::with_values(format, files)?
    } else {
        Output::with_files(format, files)?
    };
    let kept = if args.stored { SavedHandler::Nothing } else { SavedHandler::Compilations };
    let interrupt = Interrupt::on_signals(kept)?;
    // At the desk, the settings of the working tree are tried; in a job, no change sets the limits that it has to keep.
    let base_decides = ci::is_job(|name| secrets::variable(name)?.into_string().ok());
    if base_decides {
        secrets::leave_to_base();
    }
    let mut project = match &args.pack {
        Some(pack) => Project::from_pack(pack, &args.experiment.target.project.config, &console)?,
        None => project_of(&args.experiment.target)?,
    };
    let place = push::place_after_work(args.push, shared, &console);
    let each = each(args)?;
    for args in each.iter().filter(|_| project.packed.is_none()) {
        project.check_tables(&args.versions.names()?, &console)?;
    }
    let has_page = args.report.has_page();
    let warning = match each.first() {
        Some(first) if base_decides => judge_by_base(&mut project, first, &console)?,
        _ => None,
    };
    let compared = compared_each(&project, &each, has_page, &console, &interrupt)?;
    let Some(mut outcomes) = compared else { return Ok(Exit::Success) };
    for outcome in &mut outcomes {
        outcome.base_decides = base_decides;
        outcome.base_warning.clone_from(&warning);
    }
    let mut verdict = args.verdict.clone();
    if !args.variants.is_empty() {
        // Which settings are faster is a question, and no answer to it a failure.
        verdict.fail_on = verdict.fail_on.or(Some(FailOn::Never));
    }
    let policy = policy(&project, &verdict);
    let exit = Outcome::exit(&outcomes, &policy);
    // The options of a comparison with a release are those of the command.
    let reports = outcomes.into_iter().zip(each.iter().chain([args]));
    let report = |(outcome, args): (Outcome, &CompareArgs)| {
        let mut report = report(outcome, policy.clone(), args);
        // No other command works on a pack.
        report.suggests &= project.packed.is_none();
        report
    };
    let reports: Vec<ComparisonReport> = reports.map(report).collect();
    if !args.variants.is_empty() {
        if let Some(report) = RankingReport::of_variants(reports) {
            output.write(&report)?;
        }
    } else if let Some(report) = CompareReport::new(&reports) {
        output.write(&report)?;
    }
    if !args.stored {
        announcement::finished(&console, start, exit);
    }
    push::after_work(&project, place.as_ref(), &args.given, &console);
    Ok(exit)
}

/// Leaves to the base what a change must not decide about itself. Returns the warning for every report if the head has
/// other settings.
pub fn judge_by_base(
    project: &mut Project,
    args: &CompareArgs,
    console: &Console,
) -> Result<Option<Warning>> {
    let [base, head] = versions(project, args)?;
    let config = &args.experiment.target.project.config;
    let BaseSettings { differing, unusable } =
        project.judge_by_base([&base, &head], config, console)?;
    let is_same = differing.is_empty() && unusable.is_empty();
    Ok((!is_same).then_some(Warning::SettingsOfBase { differing, unusable }))
}

/// The options of each comparison: one, or one for each of `--variants`.
fn each(args: &CompareArgs) -> Result<Vec<CompareArgs>> {
    if args.variants.is_empty() {
        return Ok(vec![args.clone()]);
    }
    let base = match args.versions.typed() {
        [base, None] => base.unwrap_or("HEAD"),
        [_, Some(_)] => {
            return Err(Error::new(Exit::Usage, "cannot compare two versions in several variants")
                .cause("--variants compares one version with its variants")
                .hint("compare two versions as one variant: BASE+NAME HEAD+NAME"));
        }
    };
    Ok(args.variants.iter().map(|name| args.with_variant(base, name)).collect())
}

/// Compares as the arguments of each comparison say, by measuring or with stored results. A comparison with a release is
/// behind the one with the base. `None` after a dry run. With `has_page`, it also collects the data for a web page.
fn compared_each(
    project: &Project,
    each: &[CompareArgs],
    has_page: bool,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<Vec<Outcome>>> {
    let Some(first) = each.first() else { return Ok(None) };
    let [executed, compiled] =
        VerdictSettings::resolve_parts(&project.file, &first.verdict.criteria)?;
    if first.stored {
        if compiled.is_some() {
            return Err(Error::new(
                Exit::Usage,
                "cannot compare stored sizes or times of compiling",
            )
            .cause("they are not stored, since compiling gives them again")
            .hint("compare them without --stored"));
        }
        let outcomes = each.iter().map(|args| stored(project, args, each.len(), console));
        return Ok(Some(outcomes.collect::<Result<Vec<_>>>()?.concat()));
    }
    let measured = match executed {
        Some(verdicts) => {
            let tries_base = compiled.is_none();
            measured_each(project, each, verdicts, has_page, tries_base, console, interrupt)?
        }
        None => None,
    };
    let Some(verdicts) = compiled else { return Ok(measured) };
    let spent = measured.iter().flatten().filter_map(|one| one.spent).sum();
    let compiled = compilations(project, each, verdicts, spent, console)?;
    if first.experiment.dry_run {
        return Ok(None);
    }
    let Some(mut outcomes) = measured else { return Ok(Some(compiled)) };
    // A comparison with a release is behind those with the base, and about benchmarks only.
    for (outcome, compiled) in outcomes.iter_mut().zip(compiled) {
        outcome.add_compilations(compiled);
    }
    Ok(Some(outcomes))
}

/// Compares the compilations of each comparison, after `spent` of the budget.
fn compilations(
    project: &Project,
    each: &[CompareArgs],
    verdicts: VerdictSettings,
    spent: Duration,
    console: &Console,
) -> Result<Vec<Outcome>> {
    let verdicts = &verdicts.shared_by(each.len());
    let spent = spent.div_f64(each.len().max(1) as f64);
    let of_one = |args: &CompareArgs| {
        let settings = BuildSettings::resolve(&project.file, args.experiment.compile.clone());
        let build_env = project.build_env(settings.compile, console)?;
        let stopping = args.stopping.rule();
        let purpose = Purpose::Comparison { mode: Mode::Sequential, stopping };
        let sampling = args.experiment.measure.options(Mode::Sequential);
        let sampling = SamplingConfigs::resolve(&project.file, sampling, purpose);
        let [base, head] = versions(project, args)?;
        let request = CompiledRequest {
            versions: [&base, &head],
            filter: &selected_targets(project, &args.experiment.target),
            verdicts,
            analyses: sampling.common().interim_analyses,
            stopping,
            budget: args.stopping.time_for_each(each.len()).map(|all| all.saturating_sub(spent)),
            only_plan: args.experiment.dry_run,
        };
        compare_compilations(project, &build_env, &request, console)
    };
    each.iter().map(of_one).collect()
}

/// The same for one head.
pub fn compared(
    project: &Project,
    args: &CompareArgs,
    has_page: bool,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<Vec<Outcome>>> {
    compared_each(project, std::slice::from_ref(args), has_page, console, interrupt)
}

/// The release that the head is also compared with, if any.
fn gate(project: &Project, args: &CompareArgs) -> Option<Gate> {
    if project.packed.is_some() {
        // A pack has two versions.
        return None;
    }
    Gate::resolve(&project.file, args.gate.also_base.as_deref())
}

/// Compares stored results as the arguments say; all comparisons of the command share one error rate.
fn stored(
    project: &Project,
    args: &CompareArgs,
    comparisons: usize,
    console: &Console,
) -> Result<Vec<Outcome>> {
    let verdicts = VerdictSettings::resolve(&project.file, &args.verdict.criteria)?;
    let versions = versions(project, args)?;
    // The gate of the file applies only when measuring, since results of a release are often not stored.
    let gate = gate(project, args).filter(|gate| !gate.is_of_file);
    let verdicts = verdicts.shared_by(comparisons * parts(args));
    let pairs = with_release(project, gate.as_ref(), versions, verdicts, console)?;
    let archive = Archive::open(project, console, args.command_line())?;
    let benchmarks = stored_benchmarks(project, &archive.store, args)?;
    let compared = |(versions, verdicts)| {
        let (benchmarks, ignore_environment) = (benchmarks.clone(), args.ignore_environment);
        compare_stored(
            &StoredRequest { versions, benchmarks, verdicts, ignore_environment },
            &archive,
        )
    };
    pairs.into_iter().map(compared).collect()
}

/// Compares by measuring, as the arguments of each comparison say, of which there is at least one: they differ in their
/// versions, and share one error rate and the budget. `None` after a dry run.
fn measured_each(
    project: &Project,
    each: &[CompareArgs],
    verdicts: VerdictSettings,
    has_page: bool,
    tries_base: bool,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<Option<Vec<Outcome>>> {
    let start = SystemTime::now();
    let Some(args) = each.first() else { return Ok(None) };
    let (mode, stopping) = (project.file.mode(args.mode), args.stopping.rule());
    let purpose = Purpose::Comparison { mode, stopping };
    let settings = ExperimentSettings::resolve(project, &args.experiment, purpose);
    let acceptances = Acceptances::read(project)?;
    let runner = Runner::open(project, settings, interrupt, console)?;
    // Checked before rbench itself makes the machine busy.
    let idle = MachineState::now().disturbances();
    let mut session = Session::new(project, runner, console, args.command_line());
    session.acceptances = Some(acceptances);
    session.idle = idle;
    let verdicts = verdicts.shared_by(each.len() * parts(args));
    let requests = |args: &CompareArgs| -> Result<Vec<Request>> {
        // A variant is not a version that is released.
        let gate = gate(project, args).filter(|_| each.len() == 1);
        let (versions, verdicts) = (versions(project, args)?, verdicts.clone());
        let pairs = with_release(project, gate.as_ref(), versions, verdicts, console)?;
        let budget = args.stopping.time_for_each(each.len() * pairs.len());
        let request = |(versions, verdicts)| Request {
            benchmarks: if args.no_skip { Benchmarks::All } else { Benchmarks::Affected },
            stopping,
            budget,
            identifies: true,
            explains: has_page,
            explains_time: args.explain.map(|rows| match rows {
                ExplainRows::Changed => ExplainedRows::Changed,
                ExplainRows::Regressed => ExplainedRows::Regressed,
            }),
            audits: args.audit,
            only_plan: args.experiment.dry_run,
            tries_base,
            ..Request::new(versions, verdicts)
        };
        Ok(pairs.into_iter().map(request).collect())
    };
    let requests = each.iter().map(requests).collect::<Result<Vec<_>>>();
    let outcomes = requests.and_then(|requests| compare_needed(&requests.concat(), &mut session));
    let outcomes = session.runner.end(start, outcomes)?;
    Ok((!args.experiment.dry_run).then_some(outcomes))
}

pub fn report(outcome: Outcome, policy: ExitPolicy, args: &CompareArgs) -> ComparisonReport {
    ComparisonReport::new(outcome, policy, args.command_line()).explaining_all(args.reasons)
}

pub fn policy(project: &Project, args: &VerdictArgs) -> ExitPolicy {
    let fail_on = args.fail_on.unwrap_or_default();
    let metrics = deciding(&project.file, fail_on.metric());
    ExitPolicy { metrics, ..policy_of_flag(fail_on) }
}

/// The policy that the flag alone selects.
pub fn policy_of_flag(fail_on: FailOn) -> ExitPolicy {
    ExitPolicy {
        ignores_regressions: fail_on == FailOn::Never,
        inconclusive: fail_on == FailOn::Inconclusive,
        missing: fail_on == FailOn::Missing,
        nothing_compared: false,
        metrics: Vec::new(),
    }
}

fn versions(project: &Project, args: &CompareArgs) -> Result<[Version; 2]> {
    if let Some(packed) = &project.packed {
        return Ok(packed.versions.clone());
    }
    let resolve = |revision: &str| {
        let version = project.repository.resolve(revision);
        match args.versions.typed() {
            [Some(base), Some(word)] if word == revision => {
                args.given.revision_or_filter(version, "compare", &[base, "."], word)
            }
            _ => version,
        }
    };
    args.versions.resolve(resolve, |words| args.given.suggest("compare", words, &[]))
}

/// The number of parts that share the false-alarm rate: all parts of `--partition` are one comparison.
fn parts(args: &CompareArgs) -> usize {
    args.experiment.partition.map_or(1, |partition| partition.of as usize)
}

fn stored_benchmarks(
    project: &Project,
    store: &Store<'_>,
    args: &CompareArgs,
) -> Result<Vec<Benchmark>> {
    let experiment = &args.experiment;
    let targets = stored_targets(project, &experiment.target);
    let filter =
        Filter::new(&experiment.patterns, experiment.exact, targets).within(experiment.partition);
    let mut benchmarks = archive::chosen(store, &filter, &args.given)?;
    benchmarks.retain(|one| filter.has_in_part(one));
    Ok(benchmarks)
}
