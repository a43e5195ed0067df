//! `cargo rbench diff`: the functions whose machine code differs between two versions, which benchmarks execute them,
//! and how they change the time or the instructions of one benchmark.

use std::time::SystemTime;

use rbench_code::elf::{FunctionDiff, FunctionSet};

use super::{output::Output, project_of, selected_targets};
use crate::{
    cli::{DiffArgs, ExplainBy},
    compare::{self, Functions, common_benchmarks},
    config::BuildSettings,
    console::{Console, announcement},
    error::{Exit, Result},
    harness::choose_one,
    measure::{ExperimentSettings, ListedVersion, Runner, benchmarks_only_in},
    model::{BenchTarget, Benchmark, FailedTarget, TargetFilter, Version},
    process::{Interrupt, SavedHandler},
    project::{Project, source_of},
    report::{
        Report,
        diff::{DiffReport, ExecutedFunctions, TargetDiff},
    },
    shell::CommandLine as _,
};

pub fn run(args: &DiffArgs) -> Result<Exit> {
    let console = Console::attach();
    let (format, files) = (args.report.format, &args.report.output.files);
    let output = if args.explain.is_some() && args.by == ExplainBy::Time {
        Output::with_pictures(format, files)?
    } else {
        Output::with_files(format, files)?
    };
    let project = project_of(&args.target)?;
    let (report, exit) = if args.by_benchmark || args.explain.is_some() {
        executed(&project, args, &console)?
    } else {
        (compiled(&project, args, &console)?, Exit::Success)
    };
    output.write(&*report)?;
    Ok(exit)
}

/// Compares compiled functions without executing anything.
fn compiled(project: &Project, args: &DiffArgs, console: &Console) -> Result<Box<dyn Report>> {
    let settings = BuildSettings::resolve(&project.file, args.compile.clone());
    let filter = selected_targets(project, &args.target);
    let versions = versions(project, args)?;
    let build_env = project.build_env(settings.compile, console)?;
    let checkout = |version: &Version| project.checkout(version, console);
    let checkouts = [checkout(&versions[0])?, checkout(&versions[1])?];
    let sources = [0, 1].map(|at| source_of(&versions[at], &checkouts[at]));
    let [base, head] = build_env.compile_both(sources, &filter)?;
    let functions = Functions([build_env.functions(&base)?, build_env.functions(&head)?]);
    Ok(Box::new(differences(versions, &functions)))
}

/// Also executes benchmarks of both versions: with `--explain` one of them, else all.
fn executed(
    project: &Project,
    args: &DiffArgs,
    console: &Console,
) -> Result<(Box<dyn Report>, Exit)> {
    let start = SystemTime::now();
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    project.check_tables(&args.versions.names()?, console)?;
    let settings = ExperimentSettings::for_tracing(project, &args.target, &args.compile);
    let runner = Runner::open(project, settings, &interrupt, console)?;
    let reported = versions(project, args).and_then(|[base, head]| {
        let list = || Ok([runner.list(base.clone())?, runner.list(head.clone())?]);
        let mut listed = list()?;
        if runner.discard_older_compilations(&listed)? {
            drop(listed);
            listed = list()?;
        }
        let report: (Box<dyn Report>, Exit) = if let Some(benchmark) = &args.explain {
            (explained(&runner, &listed, benchmark, args.by, console)?, Exit::Success)
        } else {
            let (report, exit) = traced(&runner, &listed, console)?;
            (Box::new(report), exit)
        };
        Ok(report)
    });
    runner.end(start, reported)
}

/// Traces all benchmarks. Prints an error for each target that cannot be listed, and then fails.
fn traced(
    runner: &Runner<'_>,
    listed: &[ListedVersion; 2],
    console: &Console,
) -> Result<(DiffReport, Exit)> {
    let versions = listed.each_ref().map(|listed| listed.version.clone());
    let mut report = differences(versions, &Functions::load(runner, listed)?);
    let differences: Vec<(BenchTarget, FunctionDiff)> =
        report.targets.iter().map(|one| (one.target.clone(), one.diff.clone())).collect();
    let common = common_benchmarks(listed);
    let impact = runner.impact(listed, &differences, &common, false)?;
    let impacts: Vec<_> = common.into_iter().zip(impact.benchmarks).collect();
    let [base, head] = listed;
    let not_traced = [benchmarks_only_in(base, head), benchmarks_only_in(head, base)].concat();
    let mut failed = failed_targets(listed).peekable();
    let exit = if failed.peek().is_some() { Exit::Benchmark } else { Exit::Success };
    let mut without_list = Vec::new();
    for FailedTarget { target, error } in failed {
        console.error(&format!("error: {error}"));
        without_list.push(target);
    }
    for target in &mut report.targets {
        let is_its = |benchmark: &Benchmark| benchmark.bench_target() == target.target;
        let of_target = ExecutedFunctions {
            benchmarks: impacts.iter().filter(|(one, _)| is_its(one)).cloned().collect(),
            not_traced: not_traced.iter().filter(|one| is_its(one)).cloned().collect(),
        };
        let is_listed = !without_list.contains(&&target.target);
        target.executed = is_listed.then_some(of_target);
    }
    Ok((report, exit))
}

/// Samples the benchmark or counts its instructions in both versions, function by function.
fn explained(
    runner: &Runner<'_>,
    listed: &[ListedVersion; 2],
    benchmark: &str,
    by: ExplainBy,
    console: &Console,
) -> Result<Box<dyn Report>> {
    announcement::failed_targets(console, failed_targets(listed));
    let benchmark = choose_one(&common_benchmarks(listed), benchmark, &TargetFilter::default())?;
    let functions = Functions::load(runner, listed)?;
    let differences = functions
        .compare_targets(|target, base, head| (target.clone(), FunctionSet::diff(base, head)));
    let impact = runner.impact(listed, &differences, std::slice::from_ref(&benchmark), false)?;
    let impact = impact.benchmarks.into_iter().next().unwrap_or_default();
    Ok(match by {
        ExplainBy::Time => Box::new(compare::explain_time(
            runner,
            listed,
            &functions,
            &benchmark,
            &[],
            impact,
            None,
        )?),
        ExplainBy::Instructions => {
            Box::new(compare::explain(runner, listed, &functions, &benchmark, impact)?)
        }
    })
}

fn failed_targets(listed: &[ListedVersion; 2]) -> impl Iterator<Item = &FailedTarget> {
    listed.iter().flat_map(|version| &version.listing.failures)
}

fn versions(project: &Project, args: &DiffArgs) -> Result<[Version; 2]> {
    args.versions.resolve(
        |revision| project.repository.resolve(revision),
        |words| args.given.suggest("diff", words, &[]),
    )
}

fn differences([base, head]: [Version; 2], functions: &Functions) -> DiffReport {
    let [only_base, only_head] = functions.unmatched_targets();
    DiffReport {
        base,
        head,
        targets: functions.compare_targets(TargetDiff::new),
        only_base,
        only_head,
    }
}
