//! `cargo rbench selftest`: compares a version with itself repeatedly, and reports whether the false-positive rate on
//! this machine is as promised.

use std::{
    rc::Rc,
    time::{Duration, Instant, SystemTime},
};

use rbench_code::impact::Impact;
use rbench_stats::Rule;

use super::{output::Output, project_of};
use crate::{
    cli::SelftestArgs,
    compare::{Benchmarks, Request, Selection, Session, Warning, compare},
    config::{CriteriaOptions, Purpose, StoppingRule, VerdictSettings},
    console::{Console, announcement},
    error::{Error, Exit, Result},
    machine::{state::MachineState, this_machine},
    measure::{ExperimentSettings, Runner},
    model::{BenchTarget, Benchmark, FailedTarget, Mode, SampleSizes, Version},
    process::{Interrupt, SavedHandler},
    project::Project,
    report::{
        quantity::{count, duration},
        selftest::{ModeResult, SelftestReport, name_of},
    },
    store::RecordedBuild,
    verdict::{
        DecidedRow,
        fitness::{Fitness, Observed},
    },
};

/// The time for measuring, unless the number of repetitions is given.
const BUDGET: Duration = Duration::from_secs(240);

/// The maximum number of repetitions, unless it is given, and with `--quick`.
const MOST: u32 = 20;
const MOST_QUICK: u32 = 5;

pub fn run(args: &SelftestArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    // The results describe this moment and are not stored, so an interrupt has nothing to keep.
    let interrupt = Interrupt::on_signals(SavedHandler::Nothing)?;
    let project = project_of(&args.experiment.target)?;
    project.check_tables(&[&args.revision], &console)?;
    // Checked before rbench itself makes the machine busy.
    let idle = MachineState::now();
    let mut test = Selftest::prepare(&project, args, &interrupt, &console)?;
    let idle = idle.disturbances().into_iter().map(Warning::Disturbance);
    Warning::add_all(idle, &mut test.warnings);
    let most = if args.experiment.measure.quick { MOST_QUICK } else { MOST };
    let repeat = args.repeat.unwrap_or_else(|| affordable(BUDGET, test.least_time()).min(most));
    test.announce(repeat);
    if args.experiment.dry_run {
        return Ok(Exit::Success);
    }
    let done = (0..repeat).try_for_each(|repetition| test.once(repetition, repeat));
    test.session.runner.prune(start);
    done?;
    let report = test.finish(repeat)?;
    output.write(&report)?;
    announcement::finished(&console, start, report.exit());
    Ok(report.exit())
}

struct MeasuredMode {
    settings: ExperimentSettings,
    dimensions: SampleSizes,
    least_time: Duration,
    took: Duration,
    rows: Vec<Observed>,
}

struct Selftest<'a> {
    session: Session<'a>,
    console: &'a Console,
    verdicts: VerdictSettings,
    version: Version,
    versions: [Version; 2],
    measured: Vec<Benchmark>,
    left_out: Vec<Benchmark>,
    modes: Vec<MeasuredMode>,
    /// Causes that make the comparisons less reliable.
    warnings: Vec<Warning>,
    /// Bench targets whose benchmarks could not be listed.
    failed_targets: Vec<FailedTarget>,
}

impl<'a> Selftest<'a> {
    /// Makes both versions and selects the benchmarks that execute the same code in both.
    ///
    /// The versions differ in a function that nothing calls: identical versions would have identical programs, and the
    /// test would not cover layouts.
    fn prepare(
        project: &'a Project,
        args: &SelftestArgs,
        interrupt: &'a Interrupt,
        console: &'a Console,
    ) -> Result<Self> {
        let modes = modes(project, args);
        // Only the default rule promises a false-positive rate, and only for changes that fresh builds confirm.
        let criteria = CriteriaOptions {
            rule: Some(Rule::Paired),
            confirm: Some(true),
            ..CriteriaOptions::default()
        };
        let verdicts = VerdictSettings::resolve(&project.file, &criteria)?;
        let runner = Runner::in_memory(project, modes[0].clone(), interrupt, console)?;
        let version = project.repository.resolve(&args.revision)?;
        let versions = runner.that_differ_in_an_unused_function(&version)?;
        let mut session = Session::new(project, runner, console, Rc::new(args.given.clone()));
        let (mut warnings, mut failed_targets) = (Vec::new(), Vec::new());
        let (measured, left_out) = session.with(versions.each_ref(), |session, listed| {
            for version in listed {
                failed_targets.extend(version.listing.failures.iter().cloned());
            }
            let chosen = Selection::new(&session.runner, listed, true, &mut warnings)?;
            let is_same = |benchmark: &Benchmark| !chosen.impact(benchmark).is_some_and(differs);
            Ok(chosen.common.iter().cloned().partition::<Vec<Benchmark>, _>(is_same))
        })?;
        if measured.is_empty() {
            return Err(nothing_to_measure(&version, &left_out));
        }
        let mut test = Self {
            session,
            console,
            verdicts,
            version,
            versions,
            measured,
            left_out,
            modes: Vec::new(),
            warnings,
            failed_targets,
        };
        test.modes =
            modes.into_iter().map(|settings| test.run_mode(settings)).collect::<Result<_>>()?;
        Ok(test)
    }

    fn run_mode(&mut self, settings: ExperimentSettings) -> Result<MeasuredMode> {
        self.session.runner.measure_by(settings.clone());
        let outline = self.session.with(self.versions.each_ref(), |session, listed| {
            Ok(session.runner.outline(listed, &self.measured))
        })?;
        Ok(MeasuredMode {
            settings,
            dimensions: outline.dimensions,
            least_time: outline.planned_time,
            took: Duration::ZERO,
            rows: Vec::new(),
        })
    }

    /// The minimum duration of one repetition in all modes.
    fn least_time(&self) -> Duration {
        self.modes.iter().map(|mode| mode.least_time).sum()
    }

    fn announce(&self, repeat: u32) {
        let modes: Vec<&str> = self.modes.iter().map(|mode| name_of(mode.settings.mode)).collect();
        self.console.line(&format!(
            "plan: {} of {}, compared with itself {}, {}; measuring takes at least {}",
            count(self.measured.len(), "benchmark"),
            self.version,
            count(repeat as usize, "time"),
            modes.join(" and "),
            duration(self.least_time().saturating_mul(repeat)),
        ));
    }

    /// Compares all benchmarks once in each mode. The first time shows how long all take, with linking and starting.
    fn once(&mut self, repetition: u32, repeat: u32) -> Result<()> {
        let begin = Instant::now();
        for index in 0..self.modes.len() {
            let mut settings = self.modes[index].settings.clone();
            let mode = name_of(settings.mode);
            self.console.line(&format!("repetition {} of {repeat}: {mode}", repetition + 1));
            // Every repetition has its own layouts: repetitions must be independent.
            settings.builds.seed = settings.builds.seed.wrapping_add(u64::from(repetition));
            self.session.runner.measure_by(settings);
            let start = Instant::now();
            let request = Request {
                benchmarks: Benchmarks::These(self.measured.clone()),
                stopping: StoppingRule::SingleAnalysis,
                // Counts do not depend on the machine, so only times are tested.
                ..Request::new(self.versions.clone(), self.verdicts.only(false))
            };
            let outcome = compare(&request, &mut self.session)?;
            Warning::add_all(outcome.warnings, &mut self.warnings);
            let observed = self.observed(&outcome.rows, repetition as usize)?;
            let mode = &mut self.modes[index];
            mode.took += start.elapsed();
            mode.rows.extend(observed);
        }
        if repetition == 0 && repeat > 1 {
            let all = duration(begin.elapsed().saturating_mul(repeat));
            self.console.line(&format!("at this pace, {repeat} repetitions take about {all}"));
        }
        Ok(())
    }

    /// The results of the newest comparison, one for each benchmark, in its first metric only: the other metrics are
    /// from the same executions, so they are not independent.
    fn observed(&mut self, rows: &[DecidedRow], repetition: usize) -> Result<Vec<Observed>> {
        let experiments = self.session.runner.store.experiments()?;
        let Some(newest) = experiments.last() else { return Ok(Vec::new()) };
        let went_first = self.session.with(self.versions.each_ref(), |session, listed| {
            Ok(session.runner.went_first(&newest.identity, listed, &self.measured))
        })?;
        let mut observed = Vec::with_capacity(self.measured.len());
        for (index, benchmark) in self.measured.iter().enumerate() {
            let Some(row) = rows.iter().find(|row| row.benchmark == *benchmark) else { continue };
            let executions = self.session.runner.store.rows(benchmark, &[newest.id])?;
            let first = |round, seed| went_first.get(&(index, round, seed)).copied();
            let rate = self.verdicts.criteria.false_alarm_rate;
            observed.push(Observed::new(row, &executions, (repetition, rate), first));
        }
        Ok(observed)
    }

    fn finish(self, repeat: u32) -> Result<SelftestReport> {
        let same_programs = self.same_programs()?;
        let rate = self.verdicts.criteria.false_alarm_rate;
        let mode = |mode: MeasuredMode| ModeResult {
            mode: mode.settings.mode,
            sample_sizes: mode.dimensions,
            duration: mode.took,
            fitness: Fitness::evaluate(&mode.rows, repeat as usize, rate),
        };
        Ok(SelftestReport {
            version: self.version,
            machine: this_machine(),
            criteria: self.verdicts.criteria,
            repetitions: repeat as usize,
            benchmarks: self.measured,
            left_out: self.left_out,
            same_programs,
            modes: self.modes.into_iter().map(mode).collect(),
            warnings: self.warnings,
            failed_targets: self.failed_targets,
        })
    }

    /// The bench targets whose builds were byte-identical in both versions.
    fn same_programs(&self) -> Result<Vec<BenchTarget>> {
        let store = &self.session.runner.store;
        let experiments = store.experiments()?;
        let Some(newest) = experiments.last() else { return Ok(Vec::new()) };
        Ok(same_programs(&store.builds(newest.id)?))
    }
}

/// The settings of each mode to test: the given mode, or both, the project's own first.
fn modes(project: &Project, args: &SelftestArgs) -> Vec<ExperimentSettings> {
    let modes = match (args.mode, project.file.mode(None)) {
        (Some(asked), _) => vec![asked],
        (None, Mode::Interleaved) => vec![Mode::Interleaved, Mode::Sequential],
        (None, Mode::Sequential) => vec![Mode::Sequential, Mode::Interleaved],
    };
    let settings = |mode| {
        let purpose = Purpose::Comparison { mode, stopping: StoppingRule::SingleAnalysis };
        ExperimentSettings::resolve(project, &args.experiment, purpose)
    };
    modes.into_iter().map(settings).collect()
}

/// True if a benchmark certainly executes or reads a difference. Uncertainties alone do not count.
const fn differs(impact: &Impact) -> bool {
    !(impact.functions.is_empty() && impact.files.is_empty() && impact.variables.is_empty())
}

/// The number of repetitions that fit into this time: from 1 to [`MOST`].
fn affordable(budget: Duration, one: Duration) -> u32 {
    let times = budget.as_secs_f64() / one.as_secs_f64().max(1e-3);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
    let times = times.clamp(1.0, f64::from(MOST)) as u32;
    times
}

fn same_programs(builds: &[RecordedBuild]) -> Vec<BenchTarget> {
    let mut targets: Vec<&BenchTarget> = builds.iter().map(|build| &build.target).collect();
    targets.sort();
    targets.dedup();
    let programs = |target: &BenchTarget, version: usize| {
        let own = builds.iter().filter(|one| one.target == *target && one.version == version);
        own.map(|one| (one.seed, one.digest)).collect::<Vec<_>>()
    };
    targets
        .into_iter()
        .filter(|target| programs(target, 0) == programs(target, 1))
        .cloned()
        .collect()
}

fn nothing_to_measure(version: &Version, left_out: &[Benchmark]) -> Error {
    if left_out.is_empty() {
        return Error::new(Exit::Usage, format!("there is no benchmark to measure in {version}"));
    }
    let what = format!("cannot make two versions like {version} whose benchmarks do the same");
    Error::new(Exit::Usage, what).cause(
        "with an additional unused function, the compiler generates different code for something that each \
         benchmark executes",
    )
}

#[cfg(test)]
mod tests {
    use rbench_code::elf::Digest;

    use super::*;
    use crate::{
        model::{Layout, Stage},
        verdict::testing::{seeds, target},
    };

    #[test]
    fn repetitions_fit_into_the_budget() {
        let repetitions =
            |seconds| affordable(Duration::from_secs(240), Duration::from_secs_f64(seconds));
        assert_eq!([0.0, 1.0, 12.0, 25.0, 70.0, 1000.0].map(repetitions), [20, 20, 20, 9, 3, 1]);
    }

    #[test]
    fn same_programs_lists_targets_equal_in_every_build() {
        let build = |version: usize, at: usize, program: &str| RecordedBuild {
            version,
            target: target(),
            seed: seeds(Stage::First)[at],
            layout: Layout::SameAddress,
            digest: Digest::compute(program.as_bytes()),
        };
        let both =
            |second| [build(0, 0, "a"), build(0, 1, "b"), build(1, 0, "a"), build(1, 1, second)];
        assert_eq!(same_programs(&both("b")), [target()]);
        assert_eq!(same_programs(&both("c")), []);
    }

    #[test]
    fn uncertainty_alone_is_no_difference() {
        let uncertain = Impact {
            uncertainties: vec!["it starts other programs".to_owned()],
            ..Impact::default()
        };
        assert!(!differs(&uncertain));
        assert!(differs(&Impact { files: vec!["data".to_owned()], ..uncertain }));
    }
}
