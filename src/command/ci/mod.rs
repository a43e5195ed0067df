//! `cargo rbench ci`: compares in a CI job and publishes the result: job summary, annotations, comment, reports.

mod comment;
mod commenter;
mod job;
mod versions;

use std::time::SystemTime;

use tracing::debug;

use self::{comment::comment, job::Job};
use super::{compare, output::Output, project_of, push};
use crate::{
    ci::{self, Comparisons},
    cli::{
        CiArgs, CiCommand, CiMergeArgs, CiRunArgs, CompareArgs, ExplainRows, FailOn, RevisionPair,
    },
    compare::Outcome,
    console::{Console, announcement},
    error::{Error, Exit, Result},
    process::{Interrupt, SavedHandler},
    project::Project,
    report::compare::{CompareReport, ComparisonReport},
    shared::SharedVariables,
    verdict::ExitPolicy,
};

pub fn run(args: &CiArgs, shared: &SharedVariables) -> Result<Exit> {
    match &args.command {
        None => compared(&args.run, shared),
        Some(CiCommand::Comment(args)) => comment(args),
        Some(CiCommand::Merge(args)) => merged(args),
    }
}

/// Finds the versions, compares them, and publishes the verdicts.
fn compared(
    CiRunArgs { compare: args, variant, place }: &CiRunArgs,
    shared: &SharedVariables,
) -> Result<Exit> {
    let console = Console::attach();
    let mut job = Job::new(place, &console)?;
    job.environment.may_run(job.has_token)?;
    job.stop_commands()?;
    let result = compared_versions(args, variant.as_deref(), &job, &console)
        .and_then(|args| compare_and_publish(&args, shared, &mut job, &console));
    if let Err(error) = &result {
        debug!("not compared: {error}");
        job.publish_failure(error)?;
    }
    job.keep_log();
    result
}

fn compared_versions(
    args: &CompareArgs,
    variant: Option<&str>,
    job: &Job<'_>,
    console: &Console,
) -> Result<CompareArgs> {
    if !args.variants.is_empty() {
        return Err(Error::new(Exit::Usage, "`ci` compares two commits, not several variants")
            .hint("run one job for each variant, with: --variant NAME --comment-name NAME"));
    }
    let manifest = args.experiment.target.project.manifest_path.as_deref();
    if args.pack.is_some() {
        return Err(Error::new(Exit::Usage, "`ci` measures no pack")
            .hint("measure it with: cargo rbench compare --pack FILE"));
    }
    if args.watch {
        return Err(Error::new(Exit::Usage, "`ci` does not wait for saves")
            .hint("watch at your desk: cargo rbench compare HEAD . --watch"));
    }
    let versions = versions::find(&job.environment, args.versions.typed(), manifest, console)?;
    let versions = versions.map(|revision| match variant {
        None => revision,
        Some(name) => format!("{revision}+{name}"),
    });
    let audit = args.stopping.time_for_each(1).is_some();
    let explain = args.explain.or((!args.stored).then_some(ExplainRows::Regressed));
    let versions = RevisionPair::from_revisions(versions);
    Ok(CompareArgs { versions, audit, explain, ..args.clone() })
}

fn compare_and_publish(
    args: &CompareArgs,
    shared: &SharedVariables,
    job: &mut Job<'_>,
    console: &Console,
) -> Result<Exit> {
    let start = SystemTime::now();
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    if !args.experiment.dry_run {
        job.clear()?;
        job.mark_stale();
    }
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    let mut project = project_of(&args.experiment.target)?;
    let warning = compare::judge_by_base(&mut project, args, console)?;
    let place = push::place_after_work(args.push, shared, console);
    project.check_tables(&args.versions.names()?, console)?;
    let Some(mut outcomes) = compare::compared(&project, args, true, console, &interrupt)? else {
        return Ok(Exit::Success);
    };
    for outcome in &mut outcomes {
        outcome.base_decides = true;
        outcome.base_warning.clone_from(&warning);
    }
    let policy = if job.is_advisory() {
        compare::policy_of_flag(FailOn::Never)
    } else {
        // Another part may have compared something.
        let fail_on = args.verdict.fail_on.unwrap_or_default();
        let nothing_compared =
            fail_on.fails_without_comparison() && args.experiment.partition.is_none();
        ExitPolicy { nothing_compared, ..compare::policy(&project, &args.verdict) }
    };
    let (exit, ignores_regressions) =
        (Outcome::exit(&outcomes, &policy), policy.ignores_regressions);
    let sources = outcomes.first().map(|outcome| sources(&project, outcome, console));
    let report = |outcome| compare::report(outcome, policy.clone(), args);
    let reports: Vec<ComparisonReport> = outcomes.into_iter().map(report).collect();
    let Some(report) = CompareReport::new(&reports) else { return Ok(exit) };
    output.write(&report)?;
    job.write_report(&report)?;
    if !args.stored {
        announcement::finished(console, start, exit);
    }
    job.publish(&report.comparisons(), exit, ignores_regressions, &sources.unwrap_or_default())?;
    push::after_work(&project, place.as_ref(), &args.given, console);
    Ok(exit)
}

/// The sources of changed functions, which annotations point to. Without sources there are no annotations, only a
/// warning.
fn sources(project: &Project, outcome: &Outcome, console: &Console) -> Vec<(String, String)> {
    let changed = project.repository.changed_sources(&outcome.base, &outcome.head);
    changed.unwrap_or_else(|error| {
        console.line(&format!("warning: {error}"));
        Vec::new()
    })
}

/// Merges the comparisons of all parts and publishes them as one.
fn merged(args: &CiMergeArgs) -> Result<Exit> {
    let console = Console::attach();
    let mut job = Job::new(&args.place, &console)?;
    job.stop_commands()?;
    let result = (|| {
        let parts: Vec<String> =
            args.files.iter().map(|path| comment::read(path)).collect::<Result<_>>()?;
        job.clear()?;
        let parts: Vec<Comparisons> =
            parts.iter().map(|part| Comparisons::parse(part)).collect::<Result<_>>()?;
        job.publish_finished(&ci::merge(&parts)?, args.fail_on)
    })();
    if let Err(error) = &result {
        job.publish_failure(error)?;
    }
    result
}
