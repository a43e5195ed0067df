//! `cargo rbench run`: measures one version alone, or compares the versions of a range, and stores the results.

use std::{rc::Rc, time::SystemTime};

mod pair_queue;
mod range;

use super::{output::Output, project_of, show};
use crate::{
    cli::{GivenOptions, RunArgs},
    compare::{Session, count_version},
    config::{CriteriaOptions, Purpose, StoppingRule, VerdictSettings},
    console::{Console, announcement},
    error::{Exit, Result},
    git::is_range,
    measure::{Builds, ExperimentSettings, ListedVersion, Runner},
    model::{Benchmark, FailedTarget, Stage, Version},
    process::{Interrupt, SavedHandler},
    report::show::ShowReport,
};

/// Measures the versions, then reports their stored results.
pub fn run(args: &RunArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    let project = project_of(&args.experiment.target)?;
    project.check_tables(&args.revisions, &console)?;
    let purpose = match args.revisions.as_slice() {
        [revision] if !is_range(revision) => Purpose::OneVersion,
        _ => Purpose::Comparison { mode: project.file.mode(None), patience: StoppingRule::Usual },
    };
    let settings = ExperimentSettings::resolve(&project.file, &args.experiment, purpose);
    let criteria = CriteriaOptions { metrics: args.metrics.clone(), ..CriteriaOptions::default() };
    let verdicts = VerdictSettings::resolve(&project.file, &criteria)?;
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let only_plan = args.experiment.dry_run;
    let given = Rc::new(args.given.without(&["steps"]));
    let session = Session::new(&project, runner, &console, given.clone());
    let mut run = Run { session, verdicts, only_plan, console: &console, given };
    let repository = &project.repository;
    let measured = match args.revisions.as_slice() {
        // A version is measured again on request: that shows the variance between experiments.
        [revision] if !is_range(revision) => repository
            .resolve(revision)
            .and_then(|version| run.one(&version))
            .and_then(|measured| Run::finish(&output, measured)),
        revisions => range::versions(repository, revisions)
            .map(|versions| spread(versions, args.steps))
            .and_then(|versions| run.range(versions, args.budget))
            .and_then(|done| output.write(&done.report).map(|()| done.exit)),
    };
    let runner = &run.session.runner;
    runner.prune(start);
    if measured.is_ok() && !only_plan {
        announcement::finished(&console, start);
    }
    measured.map_err(|error| runner.with_what_is_kept(error))
}

/// The context of a run.
struct Run<'a> {
    session: Session<'a>,
    verdicts: VerdictSettings,
    only_plan: bool,
    console: &'a Console,
    given: Rc<GivenOptions>,
}

/// The result of measuring a version.
struct MeasuredRun {
    report: ShowReport,
    has_failures: bool,
}

impl MeasuredRun {
    const fn exit(&self) -> Exit {
        if self.has_failures { Exit::Benchmark } else { Exit::Success }
    }
}

impl Run<'_> {
    /// Reports a measured version.
    fn finish(output: &Output<'_>, measured: Option<MeasuredRun>) -> Result<Exit> {
        let Some(measured) = measured else { return Ok(Exit::Success) };
        output.write(&measured.report)?;
        Ok(measured.exit())
    }

    /// Measures one version. `None` after a dry run.
    fn one(&self, version: &Version) -> Result<Option<MeasuredRun>> {
        let (runner, console) = (&self.session.runner, self.console);
        let versions = [runner.list(version.clone())?];
        let benchmarks = versions[0].benchmarks();
        if self.verdicts.times() {
            announcement::plan(console, &runner.outline(&versions, &benchmarks), false);
        }
        if self.only_plan {
            return Ok(None);
        }
        let failures = &versions[0].listing.failures;
        for FailedTarget { target, error } in failures {
            console.line(&format!("warning: {target}: {error}"));
        }
        if !benchmarks.is_empty() && self.verdicts.times() {
            let builds =
                runner.link(&versions, &benchmarks, runner.first_seeds(&versions, &benchmarks))?;
            measure(runner, &versions, &builds, &benchmarks, console)?;
        }
        if !benchmarks.is_empty() {
            count_version(runner, &versions, &benchmarks, &self.verdicts, console)?;
        }
        let (store, given) = (&runner.store, &self.given);
        let report =
            show::show_version(store, version, &benchmarks, &self.verdicts, given, console)?;
        let has_failures = !failures.is_empty() || report.has_failures();
        Ok(Some(MeasuredRun { report, has_failures }))
    }
}

/// Measures benchmarks of one built version in a separate experiment, or resumes an interrupted one.
pub(super) fn measure(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 1],
    builds: &Builds,
    benchmarks: &[Benchmark],
    console: &Console,
) -> Result<()> {
    let started = runner.begin(versions, benchmarks, builds)?;
    announcement::resumed(console, &started);
    runner.measure(&started, Stage::First, versions, builds, benchmarks)?;
    runner.finish(&started)
}

/// Selects at most `steps` versions, evenly spread, including the first and the last.
fn spread(versions: Vec<Version>, steps: Option<u32>) -> Vec<Version> {
    let count = steps.map_or(usize::MAX, |steps| steps as usize);
    if count >= versions.len() {
        return versions;
    }
    let last = versions.len() - 1;
    let chosen =
        |step: usize| if count == 1 { 0 } else { (step * last + (count - 1) / 2) / (count - 1) };
    let chosen: Vec<usize> = (0..count).map(chosen).collect();
    let versions = versions.into_iter().enumerate();
    versions.filter(|(index, _)| chosen.contains(index)).map(|(_, version)| version).collect()
}
