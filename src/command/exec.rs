//! `cargo rbench exec`: runs a benchmark, or a whole bench target, once, for debugging. Nothing is stored.

use std::slice;

use super::{project_of, selected_targets};
use crate::{
    cli::ExecArgs,
    config::BuildSettings,
    console::Console,
    error::{Error, Exit, Result},
    harness::{Conditions, Filter},
    measure::{ListedTarget, ListedVersion, Listing},
    model::{Benchmark, ExecutionRequest, FailedTarget, Name, Outcome},
    process::{Interrupt, SavedHandler},
    report::{exec::ExecReport, render},
};

/// Runs the matching benchmark in the executable as cargo links it, without a layout of rbench.
pub fn run(args: &ExecArgs) -> Result<Exit> {
    let console = Console::attach();
    let interrupt = Interrupt::on_signals(SavedHandler::Nothing)?;
    let conditions =
        Conditions { deadline: args.deadline, cpu: args.cpu, ..Conditions::new(&interrupt) };
    conditions.check()?;
    let project = project_of(&args.target)?;
    project.check_tables(&[&args.revision], &console)?;
    let settings = BuildSettings::resolve(&project.file, args.compile.clone());
    let targets = selected_targets(&project, &args.target);
    let filter = Filter::new(&args.filter.patterns(), args.filter.exact, targets);
    let version = project.repository.resolve(&args.revision);
    let version = args.given.revision_or_filter(version, "exec", &["."], &args.revision)?;
    let build_env = project.build_env(settings.compile, &console)?;
    build_env.share_lock_with_setups()?;
    let conditions = Conditions { setups: Some(project.file.setups()), ..conditions };
    let version =
        ListedVersion::new(&project, &build_env, version, &filter, (&conditions, &console))?
            .with_benchmarks()?;
    let listing = &version.listing;
    let (target, benchmarks) =
        if args.whole_target { only_target(listing)? } else { only_benchmark(listing)? };

    let request = ExecutionRequest {
        measurements: args.measurements as usize,
        warm_up: args.warm_up,
        min_time: args.min_time,
        iterations: args.iterations,
        seed: args.seed,
    };
    let results = execute(target, benchmarks, &request, &conditions).map_err(in_full)?;
    for (benchmark, result) in &results {
        report_aside(&console, benchmark, result);
    }
    let exit = if results.iter().any(|(_, result)| result.is_err()) {
        Exit::Benchmark
    } else {
        Exit::Success
    };
    let report = ExecReport {
        version: version.version.clone(),
        harness: target.harness.kind(),
        limit: target.harness.measurement_limit(request.measurements, false),
        request,
        benchmarks: results,
    };
    Console::result(&render::text(&report.document(), Console::result_columns()))?;
    Ok(exit)
}

/// Runs `benchmarks` of one target in one process. If there is only one and it fails, the result is an error; of
/// several, each has its own result.
fn execute(
    target: &ListedTarget,
    benchmarks: &[Benchmark],
    request: &ExecutionRequest,
    conditions: &Conditions<'_>,
) -> Result<Vec<(Benchmark, Result<Outcome>)>> {
    let ListedTarget { harness, executable, .. } = target;
    let results = match benchmarks {
        [only] => vec![Ok(harness.execute(executable, &only.name, request, conditions)?)],
        several => {
            let names: Vec<Name> = several.iter().map(|benchmark| benchmark.name.clone()).collect();
            harness.execute_together(executable, &names, request, conditions)?
        }
    };
    Ok(benchmarks.iter().cloned().zip(results).collect())
}

/// Prints warnings, the reason for skipping, or the error: what is not in the report.
fn report_aside(console: &Console, benchmark: &Benchmark, result: &Result<Outcome>) {
    match result {
        Ok(Outcome::Measured(execution)) => {
            for incident in &execution.incidents {
                console.line(&format!("warning: {}: {incident}", benchmark.name.id));
            }
        }
        Ok(Outcome::Skipped(reason)) => {
            console.line(&format!("skipped: {}: {reason}", benchmark.name.id));
        }
        Err(error) => console.error(&format!("error: {}", in_full(error.clone()))),
    }
}

/// Adds the exact command of the process to an error, if the user asked for details.
fn in_full(error: Error) -> Error {
    match error.command().filter(|_| Console::is_verbose()).map(str::to_owned) {
        Some(command) => error.hint(format!("or without rbench: {command}")),
        None => error,
    }
}

const MOST: usize = 10;

fn only_target(listing: &Listing) -> Result<(&ListedTarget, &[Benchmark])> {
    match (&listing.targets[..], &listing.failures[..]) {
        ([only], _) => Ok((only, &only.benchmarks)),
        ([], [FailedTarget { error, .. }, ..]) => Err(error.clone()),
        (several, _) => {
            let all = several.iter().filter_map(|target| target.benchmarks.first());
            let what = format!(
                "the benchmarks that match are in {} bench targets, not in one",
                several.len()
            );
            Err(Error::new(Exit::Usage, what)
                .listing(&all.collect::<Vec<_>>(), MOST)
                .hint("select a bench target with -p and --bench"))
        }
    }
}

fn only_benchmark(listing: &Listing) -> Result<(&ListedTarget, &[Benchmark])> {
    // An id that is listed twice counts once: running it then fails with that reason.
    if let [only] = &listing.targets[..]
        && let [first, rest @ ..] = &only.benchmarks[..]
        && rest.iter().all(|one| one == first)
    {
        return Ok((only, slice::from_ref(first)));
    }
    match (&listing.targets[..], &listing.failures[..]) {
        ([], [FailedTarget { error, .. }, ..]) => Err(error.clone()),
        (several, _) => {
            let all: Vec<_> = several.iter().flat_map(|target| &target.benchmarks).collect();
            let what = format!("{} benchmarks match, not one", all.len());
            Err(Error::new(Exit::Usage, what)
                .listing(&all, MOST)
                .hint("use the whole id with --exact, and -p or --bench if needed")
                .hint("or run all of them in one process with --whole-target"))
        }
    }
}
