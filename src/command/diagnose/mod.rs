//! `cargo rbench diagnose`: investigates the noise of one or a few benchmarks: warm-up, level shifts, multimodality,
//! order effects.

mod evidence;
mod measure;

use std::{rc::Rc, time::SystemTime};

use self::{
    evidence::{Evidence, MeasuredConditions, Sources, Stored},
    measure::Measuring,
};
use super::{output::Output, project_of, stored_targets};
use crate::{
    cli::DiagnoseArgs,
    compare::archive,
    config::{CriteriaOptions, VerdictSettings},
    console::{Console, announcement},
    error::{Error, Exit, Result},
    harness::Filter,
    machine::{state::MachineState, this_machine},
    measure::{DiagnosedBenchmark, ExperimentSettings, Runner},
    model::{Benchmark, Machine, Unmeasured, Version},
    process::{Interrupt, Load, SavedHandler},
    project::Project,
    report::diagnose::{DiagnosisReport, ExaminedBenchmark, recommended_lines},
    store::Store,
};

pub fn run(args: &DiagnoseArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let kept = if args.from_stored { SavedHandler::Nothing } else { SavedHandler::Compilations };
    let interrupt = Interrupt::on_signals(kept)?;
    let project = project_of(&args.target)?;
    project.check_tables(&[&args.revision], &console)?;
    let criteria = CriteriaOptions {
        min_effect: args.criteria.min_effect,
        estimator: args.criteria.estimator,
        ..CriteriaOptions::default()
    };
    let verdicts = VerdictSettings::resolve(&project.file, &criteria)?;
    let version = project.repository.resolve(&args.revision);
    let version = args.given.revision_or_filter(version, "diagnose", &["HEAD"], &args.revision)?;
    let task = Task { args, project: &project, version, verdicts, console: &console };
    let (machine, benchmarks) =
        if args.from_stored { task.read()? } else { task.measure(&interrupt)? };
    let given = args.given.without(&["filter", "exact", "from-stored", "long"]);
    let (version, command_line) = (task.version, Rc::new(given));
    let plan = args.plan.then(|| recommended_lines(&benchmarks, project.file.mode(None)));
    let explains_all = args.reasons;
    let report = DiagnosisReport { version, machine, benchmarks, plan, explains_all, command_line };
    output.write(&report)?;
    let exit = if report.has_failures() { Exit::Benchmark } else { Exit::Success };
    if !args.from_stored {
        announcement::finished(&console, start, exit);
    }
    Ok(exit)
}

struct Task<'t> {
    args: &'t DiagnoseArgs,
    project: &'t Project,
    version: Version,
    verdicts: VerdictSettings,
    console: &'t Console,
}

type Examined = (Option<Machine>, Vec<ExaminedBenchmark>);

impl Task<'_> {
    fn measure(&self, interrupt: &Interrupt) -> Result<Examined> {
        let start = SystemTime::now();
        let settings = ExperimentSettings::for_diagnosis(self.project, self.args);
        let mut runner = Runner::open(self.project, settings.clone(), interrupt, self.console)?;
        let examined = self.measure_with(&mut runner, &settings);
        let benchmarks = runner.end(start, examined)?;
        Ok((Some(this_machine()), benchmarks))
    }

    fn measure_with(
        &self,
        runner: &mut Runner<'_>,
        settings: &ExperimentSettings,
    ) -> Result<Vec<ExaminedBenchmark>> {
        let versions = [runner.list(self.version.clone())?];
        announcement::failed_targets(self.console, &versions[0].listing.failures);
        let benchmarks = versions[0].benchmarks();
        check_few(&benchmarks, self.args)?;
        let seeds = runner.first_seeds(&versions, &benchmarks);
        let builds = runner.link(&versions, &benchmarks, seeds)?;
        let effort = &self.args.effort;
        let mut load = Load::start(effort.load)?;
        // With `--load`, interruptions by the busy processes are what the user wants to see.
        if effort.load == 0 {
            runner.leave_out_interruptions(&versions[0])?;
        }
        let (mut begun, mut all) = (Vec::new(), Vec::with_capacity(benchmarks.len()));
        for benchmark in &benchmarks {
            self.console.line(&format!("examining {benchmark}"));
            let before = MachineState::now();
            let mut measuring = Measuring {
                runner: &mut *runner,
                settings,
                one: DiagnosedBenchmark { versions: &versions, builds: &builds, benchmark },
                criteria: &self.verdicts.criteria(benchmark),
                effort,
                console: self.console,
                begun: &mut begun,
            };
            let sources = measuring.measure()?;
            if !load.is_running() {
                return Err(Error::new(Exit::Internal, "a busy process has ended"));
            }
            let measured = MeasuredConditions {
                build: builds.build_time(&benchmark.bench_target()),
                load: effort.load,
                others: MachineState::now().others_since(&before),
                notes: Vec::new(),
            };
            all.push((benchmark, sources, measured));
        }
        drop(load);
        for one in &begun {
            runner.finish(one)?;
        }
        let examine = |(benchmark, sources, measured): (&Benchmark, _, _)| {
            self.examine(&runner.store, benchmark.clone(), sources, measured)
        };
        all.into_iter().map(examine).collect()
    }

    /// Examines what is stored of a benchmark that was measured.
    fn examine(
        &self,
        store: &Store<'_>,
        benchmark: Benchmark,
        sources: Result<Sources, Unmeasured>,
        measured: MeasuredConditions,
    ) -> Result<ExaminedBenchmark> {
        let criteria = &self.verdicts.criteria(&benchmark);
        let evidence = Evidence { store, benchmark: &benchmark, criteria };
        let outcome = match sources {
            Ok(sources) => evidence.examine(&sources, measured)?,
            Err(unmeasured) => Err(unmeasured),
        };
        Ok(ExaminedBenchmark { benchmark, outcome: outcome.into() })
    }

    fn read(&self) -> Result<Examined> {
        let args = self.args;
        let store = archive::store(self.project, self.console, &args.given)?;
        let experiments = store.experiments()?;
        let targets = stored_targets(self.project, &args.target);
        let filter = Filter::new(&args.filter.patterns(), args.filter.exact, targets);
        let known = archive::chosen(&store, &filter, &args.given)?;
        let (mut benchmarks, mut found) = (Vec::new(), Vec::new());
        for benchmark in known {
            if let Some(stored) = evidence::find(&store, &experiments, &self.version, &benchmark)? {
                benchmarks.push(benchmark);
                found.push(stored);
            }
        }
        let Some(last) = found.last() else {
            return Err(archive::not_stored(&self.version, &args.given));
        };
        check_few(&benchmarks, args)?;
        let machine = (*last.newest.plan.machine).clone();
        let examine = |(benchmark, stored): (Benchmark, Stored)| {
            let (load, notes) = (stored.load, stored.notes);
            let measured = MeasuredConditions { load, notes, ..MeasuredConditions::default() };
            self.examine(&store, benchmark, Ok(stored.sources), measured)
        };
        let examined: Result<Vec<_>> = benchmarks.into_iter().zip(found).map(examine).collect();
        Ok((Some(machine), examined?))
    }
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
