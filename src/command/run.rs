//! `cargo rbench run`: one version, or the versions of a range, measured and kept.

use super::show;
use crate::{
    cli::{CriteriaArgs, Format, RunArgs},
    console::Console,
    experiment::{Experiment, with_experiment},
    failure::{Exit, Failure, Result},
    harness::Filter,
    machine::this_machine,
    model::{Stage, Version},
    process::Interrupt,
    project::Project,
    settings,
    source::is_range,
    stats::Criteria,
    store,
};

/// Measures what was asked for.
pub fn run(args: &RunArgs) -> Result<Exit> {
    let console = Console::new(args.output.verbose);
    let interrupt = Interrupt::on_signals()?;
    let project = Project::find(args.experiment.target.manifest_path.as_deref())?;
    with_experiment(&project, &args.experiment, &console, &interrupt, |experiment, filter| {
        let repository = &experiment.project.repository;
        let run = Run {
            experiment,
            filter,
            only_plan: args.experiment.dry_run,
            criteria: settings::criteria(&project.file, &CriteriaArgs::default())?,
            format: args.output.format,
        };
        if is_range(&args.revision) {
            let versions = spread(repository.resolve_range(&args.revision)?, args.steps);
            run.range(&versions)
        } else {
            run.one(&repository.resolve(&args.revision)?)
        }
    })
}

/// A run that goes on.
struct Run<'a> {
    experiment: &'a Experiment<'a>,
    filter: &'a Filter,
    only_plan: bool,
    /// How the values of executions become that of a version.
    criteria: Criteria,
    format: Format,
}

impl Run<'_> {
    /// Fills the history: what is there already is left out, and so is what cannot be built.
    fn range(&self, versions: &[Version]) -> Result<Exit> {
        let console = self.experiment.console;
        let mut exit = Exit::Success;
        let mut skipped: Vec<Failure> = Vec::new();
        for (index, version) in versions.iter().enumerate() {
            let place = format!("{} of {}: {version}", index + 1, versions.len());
            match self.known(version)? {
                Some(Known::Measured) => console.line(&format!("{place} was measured before")),
                Some(Known::Unbuildable) => console.line(&format!(
                    "{place} could not be built before; try again with: cargo rbench run {}",
                    version.short()
                )),
                None => {
                    console.line(&place);
                    match self.one_of_many(version)? {
                        Ok(done) => exit = worse(exit, done),
                        Err(failure) => {
                            console.line(&format!("skipped: {failure}"));
                            skipped.push(failure);
                        }
                    }
                }
            }
        }
        match skipped.pop() {
            // Not one version has what was asked for.
            Some(failure) if skipped.len() + 1 == versions.len() => Err(failure),
            _ => Ok(exit),
        }
    }

    /// One version of a range. That it cannot be built, or has nothing of what is asked for, must not
    /// end the rest.
    fn one_of_many(&self, version: &Version) -> Result<Result<Exit>> {
        match self.one(version) {
            Err(failure) if failure.exit() == Exit::Build => {
                if !self.only_plan {
                    self.experiment.keep_unbuildable(version, &failure)?;
                }
                Ok(Err(failure))
            }
            Err(failure) if failure.exit() == Exit::Usage => Ok(Err(failure)),
            Err(failure) => Err(failure),
            Ok(exit) => Ok(Ok(exit)),
        }
    }

    fn one(&self, version: &Version) -> Result<Exit> {
        let Self { experiment, filter, only_plan, .. } = *self;
        let sides = [experiment.side(version.clone(), filter)?];
        let benchmarks = sides[0].benchmarks();
        let console = experiment.console;
        console.line(&experiment.announcement(&sides, &benchmarks, false));
        if only_plan {
            return Ok(Exit::Success);
        }
        let mut failed = 0;
        for (target, failure) in &sides[0].listing.failures {
            failed += 1;
            console.line(&format!("warning: {target}: {failure}"));
        }
        let builds = experiment.build(&sides, experiment.seeds(&benchmarks, 0))?;
        let stored = experiment.begin(&sides, &builds)?;
        let collected = experiment.measure(&stored, Stage::First, &sides, &builds, &benchmarks)?;
        experiment.finish(&stored)?;
        failed += collected.iter().filter(|collected| collected.failure.is_some()).count();
        show::after_measuring(experiment.store, version, filter, &self.criteria, self.format)?;
        Ok(if failed > 0 { Exit::Benchmark } else { Exit::Success })
    }

    /// What the store knows of this version on this machine with these settings.
    fn known(&self, version: &Version) -> Result<Option<Known>> {
        let wanted = self.experiment.plan([(version.clone(), String::new())].into_iter());
        let comparable = |experiment: &store::Experiment| {
            experiment.finished.is_some()
                && experiment.plan.settings_key == wanted.settings_key
                && experiment.plan.dimensions == wanted.dimensions
                && experiment.plan.machine == this_machine()
        };
        let mut known = None;
        for experiment in self.experiment.store.experiments()?.iter().filter(|e| comparable(e)) {
            for (planned, failure) in experiment.plan.versions.iter().zip(&experiment.unbuildable) {
                if planned.version.tree == version.tree && known != Some(Known::Measured) {
                    let unbuildable = failure.is_some();
                    known = Some(if unbuildable { Known::Unbuildable } else { Known::Measured });
                }
            }
        }
        Ok(known)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Measured,
    Unbuildable,
}

/// At most `steps` of the versions, evenly spread, the first and the last among them.
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

/// A failed benchmark of any version counts.
const fn worse(one: Exit, other: Exit) -> Exit {
    if matches!(one, Exit::Success) { other } else { one }
}
