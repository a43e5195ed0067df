//! `cargo rbench explain`: attributes a benchmark's change in executed instructions to functions.

use std::time::SystemTime;

use super::{output::Output, project_of};
use crate::{
    cli::ExplainArgs,
    compare::{self, ExplainedBenchmark, Functions, common_benchmarks},
    console::Console,
    elf::FunctionSet,
    error::{Error, Exit, Result},
    measure::{ExperimentSettings, Runner},
    model::{Benchmark, FailedTarget, Version},
    process::{Interrupt, SavedHandler},
    project::Project,
    shell::CommandLine as _,
};

/// Counts the benchmark's instructions in both versions, compares them by function, and reports.
pub fn run(args: &ExplainArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    if args.lacks_benchmark() {
        let what = format!("no benchmark is given behind `{}`", args.benchmark());
        return Err(Error::new(Exit::Usage, what)
            .hint("`cargo rbench list` lists the benchmarks of a version"));
    }
    let project = project_of(&args.target)?;
    project.check_tables(&args.versions().names()?, &console)?;
    let settings = ExperimentSettings::for_explanation(&project.file, args);
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let report = explained(&project, &runner, args, &console);
    runner.prune(start);
    output.write(&report.map_err(|error| runner.with_what_is_kept(error))?)?;
    Ok(Exit::Success)
}

fn explained(
    project: &Project,
    runner: &Runner<'_>,
    args: &ExplainArgs,
    console: &Console,
) -> Result<ExplainedBenchmark> {
    let [base, head] = versions(project, args)?;
    let listed = [runner.list(base)?, runner.list(head)?];
    for FailedTarget { target, error } in
        listed.iter().flat_map(|version| &version.listing.failures)
    {
        console.line(&format!("warning: {target}: {error}"));
    }
    let benchmark = only(&common_benchmarks(&listed), args)?;
    let functions = Functions::load(runner, &listed)?;
    let differences = functions
        .compare_targets(|target, base, head| (target.clone(), FunctionSet::diff(base, head)));
    let impact = runner.impact(&listed, &differences, std::slice::from_ref(&benchmark))?;
    let impact = impact.benchmarks.into_iter().next().unwrap_or_default();
    compare::explain(runner, &listed, &functions, &benchmark, impact)
}

fn versions(project: &Project, args: &ExplainArgs) -> Result<[Version; 2]> {
    args.versions().resolve(
        |revision| project.repository.resolve(revision),
        |words| args.given.suggest("explain", &[words, &[args.benchmark()]].concat(), &[]),
    )
}

/// Returns the only benchmark of both versions that matches, or a usage error.
fn only(benchmarks: &[Benchmark], args: &ExplainArgs) -> Result<Benchmark> {
    const MOST: usize = 10;
    match benchmarks {
        [only] => Ok(only.clone()),
        [] => Err(Error::new(
            Exit::Usage,
            format!("no benchmark of both versions matches `{}`", args.benchmark()),
        )
        .hint("`cargo rbench list` lists the benchmarks of a version")),
        several => {
            let what = format!(
                "{} benchmarks match `{}`, and one can be explained at a time",
                several.len(),
                args.benchmark()
            );
            let mut error = Error::new(Exit::Usage, what);
            for benchmark in several.iter().take(MOST) {
                error = error.cause(format!("  {benchmark}"));
            }
            if several.len() > MOST {
                error = error.cause(format!("  and {} more", several.len() - MOST));
            }
            Err(error.hint("use the whole id with --exact, and -p or --bench if needed"))
        }
    }
}
