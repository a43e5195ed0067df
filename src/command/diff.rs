//! `cargo rbench diff`: the functions whose machine code differs between two versions, and which benchmarks
//! execute them.

use std::time::SystemTime;

use super::{output::Output, project_of};
use crate::{
    cli::{DiffArgs, LayoutArgs},
    compare::{Functions, benchmarks_only_in, common_benchmarks},
    config::BuildSettings,
    console::Console,
    elf::FunctionDiff,
    error::{Exit, Result},
    measure::{ExperimentSettings, ListedVersion, Runner},
    model::{BenchTarget, Benchmark, FailedTarget, TargetFilter, Version},
    process::{Interrupt, SavedHandler},
    project::{Project, source_of},
    report::diff::{DiffReport, ExecutedFunctions, TargetDiff},
    shell::CommandLine as _,
};

/// Compiles both versions and compares them function by function.
pub fn run(args: &DiffArgs) -> Result<Exit> {
    let console = Console::attach();
    let project = project_of(&args.target)?;
    let (report, exit) = if args.by_benchmark {
        diff_benchmarks(&project, args, &console)?
    } else {
        (diff_functions(&project, args, &console)?, Exit::Success)
    };
    Output::new(args.output.format)?.write(&report)?;
    Ok(exit)
}

/// Compares compiled functions without executing anything.
fn diff_functions(project: &Project, args: &DiffArgs, console: &Console) -> Result<DiffReport> {
    let settings =
        BuildSettings::resolve(&project.file, args.compile.options(&LayoutArgs::default()));
    let filter = TargetFilter::from(&args.target);
    let versions = versions(project, args)?;
    let build_env = project.build_env(settings.compile, console)?;
    let functions = |version: &Version| {
        let checkout = project.checkout(version, console)?;
        let source = source_of(version, &checkout);
        build_env.functions(&build_env.compile(source, &filter)?)
    };
    let functions = Functions([functions(&versions[0])?, functions(&versions[1])?]);
    Ok(report(versions, &functions))
}

/// Also traces the benchmarks of both versions. Prints an error for each target that cannot be listed, and then fails.
fn diff_benchmarks(
    project: &Project,
    args: &DiffArgs,
    console: &Console,
) -> Result<(DiffReport, Exit)> {
    let start = SystemTime::now();
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    project.check_tables(&args.versions.names()?, console)?;
    let settings = ExperimentSettings::for_tracing(&project.file, &args.target, &args.compile);
    let runner = Runner::open(project, settings, &interrupt, console)?;
    let report = traced(project, &runner, args, console);
    runner.prune(start);
    report.map_err(|error| runner.with_what_is_kept(error))
}

fn traced(
    project: &Project,
    runner: &Runner<'_>,
    args: &DiffArgs,
    console: &Console,
) -> Result<(DiffReport, Exit)> {
    let [base, head] = versions(project, args)?;
    let listed = [runner.list(base.clone())?, runner.list(head.clone())?];
    let mut report = report([base, head], &Functions::load(runner, &listed)?);
    let differences: Vec<(BenchTarget, FunctionDiff)> =
        report.targets.iter().map(|one| (one.target.clone(), one.diff.clone())).collect();
    let common = common_benchmarks(&listed);
    let impact = runner.impact(&listed, &differences, &common)?;
    let impacts: Vec<_> = common.into_iter().zip(impact.benchmarks).collect();
    let not_traced = benchmarks_in_one_version(&listed);
    let mut failed = listed.iter().flat_map(|version| &version.listing.failures).peekable();
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

/// The benchmarks that only one version has.
fn benchmarks_in_one_version([base, head]: &[ListedVersion; 2]) -> Vec<Benchmark> {
    [benchmarks_only_in(base, head), benchmarks_only_in(head, base)].concat()
}

fn versions(project: &Project, args: &DiffArgs) -> Result<[Version; 2]> {
    args.versions.resolve(
        |revision| project.repository.resolve(revision),
        |words| args.given.suggest("diff", words, &[]),
    )
}

/// Makes the report without the impact on benchmarks.
fn report([base, head]: [Version; 2], functions: &Functions) -> DiffReport {
    let [only_base, only_head] = functions.unmatched_targets();
    DiffReport {
        base,
        head,
        targets: functions.compare_targets(TargetDiff::new),
        only_base,
        only_head,
    }
}
