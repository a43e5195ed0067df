//! `cargo rbench diagnose`: investigates the noise of one or a few benchmarks: warm-up, level shifts, multimodality,
//! order effects.

mod evidence;
mod measure;
mod scale;
mod stored;

use std::{fs, path::Path, rc::Rc, time::SystemTime};

use self::{evidence::MeasuredConditions, measure::Measuring};
use super::{output::Output, project_of};
use crate::{
    cli::DiagnoseArgs,
    compare::archive,
    config::CriteriaOptions,
    config::VerdictSettings,
    console::{Console, announcement},
    error::{Context, Error, Exit, Result},
    harness::Filter,
    machine::{state::MachineState, this_machine},
    measure::{ExperimentSettings, Runner},
    model::{Benchmark, FailedTarget, Machine, Version},
    process::{Interrupt, Load, SavedHandler},
    project::Project,
    report::diagnose::{DiagnosisReport, ExaminedBenchmark},
};

/// Measures or reads results, examines them, and reports.
pub fn run(args: &DiagnoseArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    if let Some(directory) = &args.plots {
        make(directory)?;
    }
    let kept = if args.from_stored { SavedHandler::Nothing } else { SavedHandler::Compilations };
    let interrupt = Interrupt::on_signals(kept)?;
    let report = if args.from_stored {
        read(args, &console)?
    } else {
        measured(args, &console, &interrupt)?
    };
    output.write(&report)?;
    if let Some(directory) = &args.plots {
        write_plots(directory, &report, &console)?;
    }
    if !args.from_stored {
        announcement::finished(&console, start);
    }
    Ok(if report.has_failures() { Exit::Benchmark } else { Exit::Success })
}

/// Reads and examines stored results.
fn read(args: &DiagnoseArgs, console: &Console) -> Result<DiagnosisReport> {
    let DiagnoseOptions { project, version, verdicts } = DiagnoseOptions::from_args(args, console)?;
    from_stored(&project, args, version, &verdicts, console)
}

/// The resolved arguments, as far as they do not depend on results.
struct DiagnoseOptions {
    project: Project,
    version: Version,
    verdicts: VerdictSettings,
}

impl DiagnoseOptions {
    fn from_args(args: &DiagnoseArgs, console: &Console) -> Result<Self> {
        let project = project_of(&args.target)?;
        project.check_tables(&[&args.revision], console)?;
        let criteria = CriteriaOptions {
            min_effect: args.criteria.min_effect,
            estimator: args.criteria.estimator,
            ..CriteriaOptions::default()
        };
        let verdicts = VerdictSettings::resolve(&project.file, &criteria)?;
        let hint = args.given.as_filter("diagnose", "HEAD", &args.revision);
        let version = project.repository.resolve(&args.revision);
        let version = version.map_err(|error| hint.iter().fold(error, Error::hint))?;
        Ok(Self { project, version, verdicts })
    }
}

/// Measures and examines the benchmarks.
fn measured(
    args: &DiagnoseArgs,
    console: &Console,
    interrupt: &Interrupt,
) -> Result<DiagnosisReport> {
    let DiagnoseOptions { project, version, verdicts } = DiagnoseOptions::from_args(args, console)?;
    let start = SystemTime::now();
    let settings = ExperimentSettings::for_diagnosis(&project.file, args);
    let mut runner = Runner::open(&project, settings.clone(), interrupt, console)?;
    let examined = examine(&mut runner, settings, args, &version, &verdicts, console);
    runner.prune(start);
    let benchmarks = examined.map_err(|error| runner.with_what_is_kept(error))?;
    Ok(report(args, version, Some(this_machine()), benchmarks))
}

fn examine(
    runner: &mut Runner<'_>,
    settings: ExperimentSettings,
    args: &DiagnoseArgs,
    version: &Version,
    verdicts: &VerdictSettings,
    console: &Console,
) -> Result<Vec<ExaminedBenchmark>> {
    let versions = [runner.list(version.clone())?];
    for FailedTarget { target, error } in &versions[0].listing.failures {
        console.line(&format!("warning: {target}: {error}"));
    }
    let benchmarks = versions[0].benchmarks();
    check_few(&benchmarks, args)?;
    let seeds = runner.first_seeds(&versions, &benchmarks);
    let builds = runner.link(&versions, &benchmarks, seeds)?;
    let mut load = Load::start(args.effort.load)?;
    let effort = &args.effort;
    // With `--load`, interruptions by the busy processes are what the user wants to see.
    if effort.load == 0 {
        runner.leave_out_interruptions(&versions[0])?;
    }
    let begun = Vec::new();
    let mut measuring = Measuring {
        runner,
        settings,
        versions: &versions,
        builds: &builds,
        effort,
        console,
        begun,
    };
    let mut all = Vec::with_capacity(benchmarks.len());
    for benchmark in &benchmarks {
        console.line(&format!("examining {benchmark}"));
        let before = MachineState::now();
        let sources = measuring.benchmark(benchmark, &verdicts.criteria(benchmark))?;
        if !load.is_running() {
            return Err(Error::new(Exit::Internal, "a busy process has ended"));
        }
        let others = MachineState::now().others_since(&before);
        all.push((benchmark, sources, others));
    }
    drop(load);
    let (runner, begun) = (measuring.runner, measuring.begun);
    for one in &begun {
        runner.finish(one)?;
    }
    let mut examined = Vec::with_capacity(all.len());
    for (benchmark, sources, others) in all {
        let circumstances = MeasuredConditions {
            build: builds.link_time(&benchmark.bench_target()),
            load: args.effort.load,
            others,
            notes: Vec::new(),
        };
        let outcome = match sources {
            Ok(sources) => {
                let criteria = verdicts.criteria(benchmark);
                evidence::examine(&runner.store, benchmark, &sources, &criteria, circumstances)?
            }
            Err(not) => Err(not),
        };
        examined.push(ExaminedBenchmark { benchmark: benchmark.clone(), outcome });
    }
    Ok(examined)
}

/// Refuses many benchmarks without a filter: each takes up to a minute.
fn check_few(benchmarks: &[Benchmark], args: &DiagnoseArgs) -> Result<()> {
    const SHOWN: usize = 10;
    if benchmarks.len() <= 1 || !args.filter.patterns().is_empty() {
        return Ok(());
    }
    let what = format!("there are {} benchmarks, and no filter chooses some", benchmarks.len());
    let mut error = Error::new(Exit::Usage, what);
    for benchmark in benchmarks.iter().take(SHOWN) {
        error = error.cause(format!("  {benchmark}"));
    }
    if let Some(more) = benchmarks.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        error = error.cause(format!("  and {more} more"));
    }
    Err(error.hint("name one or a few after the revision: each takes up to a minute"))
}

/// Reports on stored results.
fn from_stored(
    project: &Project,
    args: &DiagnoseArgs,
    version: Version,
    verdicts: &VerdictSettings,
    console: &Console,
) -> Result<DiagnosisReport> {
    let store = archive::store(project, console, &args.given)?;
    let experiments = store.experiments()?;
    let (patterns, target) = (args.filter.patterns(), &args.target);
    let filter = Filter::new(&patterns, args.filter.exact, &target.package, &target.bench);
    let mut known = archive::chosen(&store, &filter, &args.given)?;
    known.retain(|benchmark| !target.exclude.contains(&benchmark.package));
    let mut found = Vec::new();
    for benchmark in known {
        if let Some(stored) = stored::find(&store, &experiments, &version, &benchmark)? {
            found.push((benchmark, stored));
        }
    }
    if found.is_empty() {
        return Err(archive::not_stored(&version, &args.given));
    }
    let benchmarks: Vec<Benchmark> = found.iter().map(|(benchmark, _)| benchmark.clone()).collect();
    check_few(&benchmarks, args)?;
    let machine = found.last().map(|(_, stored)| (*stored.newest.plan.machine).clone());
    let mut examined = Vec::with_capacity(found.len());
    for (benchmark, stored) in found {
        let circumstances = MeasuredConditions {
            load: stored.load,
            notes: stored.notes,
            ..MeasuredConditions::default()
        };
        let criteria = verdicts.criteria(&benchmark);
        let outcome =
            evidence::examine(&store, &benchmark, &stored.sources, &criteria, circumstances)?;
        examined.push(ExaminedBenchmark { benchmark, outcome });
    }
    Ok(report(args, version, machine, examined))
}

fn report(
    args: &DiagnoseArgs,
    version: Version,
    machine: Option<Machine>,
    benchmarks: Vec<ExaminedBenchmark>,
) -> DiagnosisReport {
    let given = args.given.without(&["plots", "filter", "exact", "from-stored", "long"]);
    DiagnosisReport { version, machine, benchmarks, command_line: Rc::new(given) }
}

/// Creates the directory for plots before measuring, so that an error costs no time.
fn make(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)
        .context(Exit::Usage, || format!("cannot make the directory {}", directory.display()))
}

fn write_plots(directory: &Path, report: &DiagnosisReport, console: &Console) -> Result<()> {
    let plots = report.plots();
    for plot in &plots {
        let path = directory.join(&plot.name);
        fs::write(&path, &plot.svg)
            .context(Exit::Usage, || format!("cannot write {}", path.display()))?;
    }
    console.line(&format!("{} plots are in {}", plots.len(), directory.display()));
    Ok(())
}
