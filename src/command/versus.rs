//! `cargo rbench versus`: compares several implementations of one task, which are benchmarks of one version.

use std::{rc::Rc, time::SystemTime};

use super::{output::Output, project_of};
use crate::{
    cli::VersusArgs,
    compare::{Benchmarks, ExplainedRows, Outcome, Request, Session, compare_all},
    config::{Purpose, StoppingRule, VerdictSettings},
    console::{Console, announcement},
    error::{Error, Exit, Result},
    harness::select_implementations,
    machine::state::MachineState,
    measure::{ExperimentSettings, ListedVersion, Runner},
    model::{Benchmark, Implementation, Implementations, Version},
    process::{Interrupt, SavedHandler},
    project::Project,
    report::compare::{ComparisonReport, RankingReport},
    shell::CommandLine as _,
    verdict::{ExitPolicy, VerdictKind},
};

pub fn run(args: &VersusArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    if args.experiment.partition.is_some() {
        return Err(Error::new(Exit::Usage, "cannot compare implementations in parts")
            .cause("--partition may put them into different parts"));
    }
    let project = project_of(&args.experiment.target)?;
    let (version, patterns) = version_and_patterns(&project, &args.words)?;
    let stopping = args.stopping.rule();
    let purpose = Purpose::Comparison { mode: project.file.mode(args.mode), stopping };
    let settings = ExperimentSettings::resolve(&project, &args.experiment, purpose);
    let verdicts = VerdictSettings::resolve(&project.file, &args.criteria)?;
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    // Checked before rbench itself makes the machine busy.
    let idle = MachineState::now().disturbances();
    let mut session = Session::new(&project, runner, &console, Rc::new(args.given.clone()));
    session.idle = idle;
    let measured = listed(&version, &patterns, args, &mut session).and_then(|implementations| {
        let [first, others @ ..] = &implementations.all[..] else { return Ok(None) };
        let request = |other: &Implementation| Request {
            benchmarks: Benchmarks::All,
            stopping,
            budget: args.stopping.time_for_each(others.len()),
            explains_time: args.explain.then_some(ExplainedRows::Changed),
            only_plan: args.experiment.dry_run,
            ..Request::new(
                [first, other].map(|one| one.as_variant_of(&version)),
                verdicts.clone().shared_by(others.len()),
            )
        };
        let requests: Vec<Request> = others.iter().map(request).collect();
        let outcomes = compare_all(&requests, &mut session)?;
        Ok(Some((implementations, outcomes)))
    });
    let Some((implementations, outcomes)) = session.runner.end(start, measured)? else {
        return Ok(Exit::Success);
    };
    if args.experiment.dry_run {
        return Ok(Exit::Success);
    }
    let exit = exit(&outcomes);
    let more = (args.stopping.rule() != StoppingRule::UntilDecided).then(|| {
        let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
        args.given.without(&["budget", "builds", "quick"]).suggest(
            "versus",
            &words,
            &[("budget", Some("unlimited"))],
        )
    });
    let report = |mut outcome: Outcome| {
        // Both are in one program, so no difference of machine code explains anything.
        outcome.functions.clear();
        outcome.rows.iter_mut().for_each(|row| row.impact = None);
        ComparisonReport::new(outcome, ExitPolicy::default(), Rc::new(args.given.clone()))
    };
    let comparisons = outcomes.into_iter().map(report).collect();
    output.write(&RankingReport::of_implementations(
        version,
        implementations,
        comparisons,
        more,
    ))?;
    announcement::finished(&console, start, exit);
    Ok(exit)
}

/// The version, and the words that are patterns. The last word is the version if it is a revision, and patterns for a
/// comparison are left without it.
fn version_and_patterns(project: &Project, words: &[String]) -> Result<(Version, Vec<String>)> {
    if let [patterns @ .., last] = words
        && !patterns.is_empty()
        && let Ok(version) = project.repository.resolve(last)
    {
        return Ok((version, patterns.to_vec()));
    }
    Ok((project.repository.resolve(".")?, words.to_vec()))
}

/// Compiles and lists the version once for each implementation.
fn listed(
    version: &Version,
    patterns: &[String],
    args: &VersusArgs,
    session: &mut Session<'_>,
) -> Result<Implementations> {
    let mut listed = Some(session.runner.list(version.clone())?);
    let all: Vec<_> = listed.iter().flat_map(ListedVersion::benchmarks).collect();
    if let Some(last) = args.words.last()
        && patterns.len() < args.words.len()
    {
        let are_all_benchmarks =
            |all: &[Benchmark]| select_implementations(&args.words, all).is_ok();
        let of_which = if are_all_benchmarks(&all) {
            Some("of it")
        } else if let Some(present) = present_beside(version, last, session)?
            && are_all_benchmarks(&present.benchmarks())
        {
            Some("of the present version")
        } else {
            None
        };
        if let Some(of_which) = of_which {
            let words = |last: &[&str]| {
                let words: Vec<&str> = patterns.iter().map(String::as_str).collect();
                args.given.suggest("versus", &[&words, last].concat(), &[])
            };
            return Err(Error::new(Exit::Usage, format!("`{last}` is ambiguous"))
                .cause(format!("it is a revision, and selects benchmarks {of_which}"))
                .hint(format!(
                    "to compare these benchmarks of the present version: {}",
                    words(&[last, "."])
                ))
                .hint(format!(
                    "to compare the others in this revision: {}",
                    words(&[&version.short()])
                )));
        }
    }
    let implementations = select_implementations(patterns, &all).map_err(|error| {
        let known = format!("{version} has {} benchmarks", all.len());
        // The last word could have been the version.
        let last = patterns.last().filter(|last| error.what().contains(&format!("`{last}`")));
        let error = error.cause(known);
        last.iter()
            .fold(error, |error, last| error.cause(format!("`{last}` is no revision either")))
    })?;
    for one in &implementations.all {
        let own = listed.take().map_or_else(|| session.runner.list(version.clone()), Ok)?;
        session.add(own.as_implementation(one));
    }
    Ok(implementations)
}

/// The present version, whose benchmarks `name` may mean as well, if it is the name of another one: who adds an
/// implementation may have called a branch like it before. `None` if it cannot be compiled.
fn present_beside(
    version: &Version,
    name: &str,
    session: &Session<'_>,
) -> Result<Option<ListedVersion>> {
    let is_hash = version.commit.as_ref().is_some_and(|commit| commit.starts_with(name));
    if is_hash || name == "HEAD" || name.contains(['~', '^', '@', ':']) {
        return Ok(None);
    }
    let present = session.project.repository.resolve(".")?;
    if present.tree == version.tree {
        return Ok(None);
    }
    match session.runner.list(present) {
        Err(error) if error.exit() == Exit::Interrupted => Err(error),
        listed => Ok(listed.ok()),
    }
}

/// A failed benchmark is a failure; no order of implementations is one.
fn exit(outcomes: &[Outcome]) -> Exit {
    let mut rows = outcomes.iter().flat_map(|outcome| &outcome.rows);
    let has_failed = rows.any(|row| VerdictKind::new(&row.verdict) == VerdictKind::Failed);
    if has_failed { Exit::Benchmark } else { Exit::Success }
}
