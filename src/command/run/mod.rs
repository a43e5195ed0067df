//! `cargo rbench run`: measures and stores one version, or the versions of a range.

use std::{collections::HashSet, rc::Rc, time::SystemTime};

mod agenda;

use super::{announcement, output::Output, show};
use crate::{
    cli::{CriteriaOptions, GivenOptions, RunArgs},
    console::Console,
    experiment::{Builds, ExperimentSettings, ListedVersion, Runner},
    failure::{Exit, Failure, Result},
    model::{Benchmark, Stage, Version},
    process::{Interrupt, Kept},
    project::Project,
    report::{
        CommandLine as _,
        show::{RangeReport, ShowReport},
    },
    settings::{Purpose, VerdictSettings},
    source::is_range,
    store::{Store, StoredExperiment},
};

/// Measures what was asked for, and reports what is stored of it then.
pub fn run(args: &RunArgs) -> Result<Exit> {
    let (console, start) = (Console::new(args.output.verbose), SystemTime::now());
    let output = Output::new(args.output.format)?;
    let interrupt = Interrupt::on_signals(Kept::Compilations)?;
    let project = Project::find(args.experiment.target.manifest_path.as_deref())?;
    project.check_tables(&args.revisions, &console)?;
    let settings =
        ExperimentSettings::resolve(&project.file, &args.experiment, Purpose::OneVersion);
    let criteria = CriteriaOptions { metrics: args.metrics.clone(), ..CriteriaOptions::default() };
    let verdicts = VerdictSettings::resolve(&project.file, &criteria)?;
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let only_plan = args.experiment.dry_run;
    let given = Rc::new(args.given.without(&["steps"]));
    let run = Run { runner: &runner, verdicts, only_plan, console: &console, given };
    let repository = &project.repository;
    let measured = match args.revisions.as_slice() {
        // On request, a version is measured again: that shows how much the machine varies.
        [revision] if !is_range(revision) => repository
            .resolve(revision)
            .and_then(|version| run.one(&version))
            .and_then(|measured| Run::finish(&output, measured)),
        revisions => repository
            .resolve_all(revisions)
            .and_then(|versions| run.range(&spread(versions, args.steps)))
            .and_then(|done| output.write(&done.report).map(|()| done.exit)),
    };
    runner.prune(start);
    if measured.is_ok() && !only_plan {
        announcement::finished(&console, start);
    }
    measured.map_err(|failure| runner.with_what_is_kept(failure))
}

/// A run that goes on.
struct Run<'a> {
    runner: &'a Runner<'a>,
    verdicts: VerdictSettings,
    only_plan: bool,
    console: &'a Console,
    given: Rc<GivenOptions>,
}

/// A version that is built.
struct Prepared {
    versions: [ListedVersion; 1],
    /// All that are asked for.
    wanted: Vec<Benchmark>,
    /// Those that are to be measured.
    benchmarks: Vec<Benchmark>,
    /// None if there are none of these.
    builds: Option<Builds>,
}

/// A version that is measured.
struct Measured {
    report: ShowReport,
    has_failures: bool,
}

/// A range that is measured.
struct RangeDone {
    report: RangeReport,
    exit: Exit,
}

impl Measured {
    const fn exit(&self) -> Exit {
        if self.has_failures { Exit::Benchmark } else { Exit::Success }
    }
}

impl Run<'_> {
    /// Reports one version that was measured.
    fn finish(output: &Output<'_>, measured: Option<Measured>) -> Result<Exit> {
        let Some(measured) = measured else { return Ok(Exit::Success) };
        output.write(&measured.report)?;
        Ok(measured.exit())
    }

    /// Fills the history: what was measured before is left out, and so is what cannot be built.
    fn range(&self, versions: &[Version]) -> Result<RangeDone> {
        let report = RangeReport { versions: Vec::new(), command_line: self.given.clone() };
        let mut done = RangeDone { report, exit: Exit::Success };
        let mut skipped: Vec<Failure> = Vec::new();
        let before = self.measured_before()?;
        for (index, version) in versions.iter().enumerate() {
            let start = SystemTime::now();
            let place = format!("{} of {}: {version}", index + 1, versions.len());
            if before.is_unbuildable(version, || self.runner.compiler(version)) {
                let again = self.given.suggest("run", &[&version.to_type_now()], &[]);
                self.console.line(&format!(
                    "{place}: skipped, because it could not be built before; try again with: {again}"
                ));
                continue;
            }
            self.console.line(&place);
            let prepared = self.prepare(version, &before);
            if let Ok(Some(prepared)) = &prepared {
                // What cannot be measured now, as on a full disk, is no defect of the version.
                self.measure(prepared)?;
            }
            match prepared.and_then(|prepared| prepared.map(|one| self.report(one)).transpose()) {
                Ok(None) => {}
                Ok(Some(measured)) => {
                    if measured.has_failures {
                        done.exit = Exit::Benchmark;
                    }
                    done.report.versions.push(measured.report);
                }
                // That one cannot be built, or has nothing of what is wanted, must not end the rest.
                Err(failure) if matches!(failure.exit(), Exit::Build | Exit::Usage) => {
                    if failure.exit() == Exit::Build && !self.only_plan {
                        self.runner.record_unbuildable(version, &failure)?;
                    }
                    self.console.line(&format!("skipped: {failure}"));
                    skipped.push(failure);
                }
                Err(failure) => return Err(failure),
            }
            // All versions of a long range may not fit on the disk together.
            self.runner.prune(start);
        }
        match skipped.pop() {
            // Not one version has what is wanted.
            Some(failure) if skipped.len() + 1 == versions.len() => Err(failure),
            _ => Ok(done),
        }
    }

    /// Measures one version; `None` if only the plan is wanted.
    fn one(&self, version: &Version) -> Result<Option<Measured>> {
        let Some(prepared) = self.prepare(version, &Before::default())? else { return Ok(None) };
        self.measure(&prepared)?;
        self.report(prepared).map(Some)
    }

    /// Builds those benchmarks of a version of which no finished experiment has results yet; `None` if only
    /// the plan is wanted.
    fn prepare(&self, version: &Version, before: &Before) -> Result<Option<Prepared>> {
        let versions = [self.runner.list(version.clone())?];
        let wanted = versions[0].benchmarks();
        let compiler = &versions[0].compilation.record.rustc;
        let known = before.benchmarks(&self.runner.store, version, compiler)?;
        let benchmarks: Vec<Benchmark> =
            wanted.iter().filter(|benchmark| !known.contains(benchmark)).cloned().collect();
        if benchmarks.is_empty() && !wanted.is_empty() {
            self.console.line(&format!("{version} is already measured"));
        } else {
            announcement::plan(self.console, &self.runner.outline(&versions, &benchmarks), false);
        }
        if self.only_plan {
            return Ok(None);
        }
        let failures = &versions[0].listing.failures;
        for (target, failure) in failures {
            self.console.line(&format!("warning: {target}: {failure}"));
        }
        let builds = if benchmarks.is_empty() {
            None
        } else {
            Some(self.runner.link(&versions, &benchmarks, self.runner.first_seeds(&benchmarks))?)
        };
        Ok(Some(Prepared { versions, wanted, benchmarks, builds }))
    }

    /// The finished experiments that measured as this run does.
    fn measured_before(&self) -> Result<Before> {
        let wanted = self.runner.plan(std::iter::empty(), &[]);
        let mut experiments = self.runner.store.experiments()?;
        experiments.retain(|stored| {
            stored.finished.is_some() && stored.plan.obstacles(&wanted).is_empty()
        });
        Ok(Before { experiments })
    }

    /// Measures what is built.
    fn measure(&self, prepared: &Prepared) -> Result<()> {
        let Prepared { versions, benchmarks, builds, .. } = prepared;
        let Some(builds) = builds else { return Ok(()) };
        measure(self.runner, versions, builds, benchmarks, self.console)
    }

    /// What is stored of a version by now.
    fn report(&self, prepared: Prepared) -> Result<Measured> {
        let Prepared { versions: [ListedVersion { version, listing, .. }], wanted, .. } = prepared;
        let given = self.given.clone();
        let report = show::of_version(
            &self.runner.store,
            &version,
            &wanted,
            &self.verdicts,
            given,
            self.console,
        )?;
        let has_failures = !listing.failures.is_empty() || report.has_failures();
        Ok(Measured { report, has_failures })
    }
}

/// Measures benchmarks of one version that is built, in an experiment of its own; one that was interrupted goes on.
pub(super) fn measure(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 1],
    builds: &Builds,
    benchmarks: &[Benchmark],
    console: &Console,
) -> Result<()> {
    let begun = runner.begin(versions, benchmarks, builds)?;
    announcement::resumed(console, &begun);
    runner.measure(&begun, Stage::First, versions, builds, benchmarks)?;
    runner.finish(&begun)
}

/// Finished experiments that measured on this machine with these settings.
#[derive(Default)]
struct Before {
    experiments: Vec<StoredExperiment>,
}

impl Before {
    /// Those on the files of a version, with its index in each.
    fn of(&self, version: &Version) -> impl Iterator<Item = (&StoredExperiment, usize)> {
        self.experiments.iter().filter_map(|stored| {
            let mut versions = stored.plan.versions.iter();
            let index = versions.position(|planned| planned.version.tree == version.tree)?;
            Some((stored, index))
        })
    }

    /// The benchmarks of a version of which there are results by this compiler.
    fn benchmarks(
        &self,
        store: &Store<'_>,
        version: &Version,
        compiler: &str,
    ) -> Result<HashSet<Benchmark>> {
        let mut measured = HashSet::new();
        for (stored, index) in self.of(version) {
            if stored.plan.versions[index].toolchain == *compiler {
                let benchmarks = store.measured_metrics(stored.id)?.into_iter();
                let done = benchmarks.filter(|one| {
                    !one.versions[index].failed && !one.versions[index].metrics.is_empty()
                });
                measured.extend(done.map(|one| one.benchmark));
            }
        }
        Ok(measured)
    }

    /// Whether the version could not be built by its compiler, whenever that was tried.
    fn is_unbuildable(&self, version: &Version, compiler: impl FnOnce() -> String) -> bool {
        let failed =
            |(stored, index): &(&StoredExperiment, usize)| stored.unbuildable[*index].is_some();
        let mut tries: Vec<_> = self.of(version).collect();
        if tries.iter().any(failed) {
            let compiler = compiler();
            tries.retain(|(stored, index)| stored.plan.versions[*index].toolchain == compiler);
        }
        !tries.is_empty() && tries.iter().all(failed)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::testing::{Filling, plan, version};

    #[test]
    fn a_benchmark_was_measured_before_if_it_gave_results_on_the_same_files_by_the_same_compiler() {
        let store = Store::in_memory().unwrap();
        let filling = Filling::begin(&store, &["base", "head"], &["whole", "broken", "filtered"]);
        for id in ["whole", "broken"] {
            filling.measure(id, 1, Stage::First, &[("wall", 100.0)]);
        }
        filling.fail("broken", 1, Stage::First);
        let before = Before { experiments: store.experiments().unwrap() };
        let compiler = &before.experiments[0].plan.versions[1].toolchain;
        let measured = |name, compiler| {
            let benchmarks = before.benchmarks(&store, &version(name), compiler).unwrap();
            benchmarks.into_iter().map(|benchmark| benchmark.name.id).collect::<Vec<_>>()
        };
        assert_eq!(measured("head", compiler), ["whole"]);
        assert_eq!(measured("head", "rustc 1.91.0"), [""; 0]);
        for other in ["base", "unknown"] {
            assert_eq!(measured(other, compiler), [""; 0]);
        }
    }

    #[test]
    fn what_one_compiler_could_not_build_is_tried_with_another() {
        let store = Store::in_memory().unwrap();
        let id = store.begin(&plan(&["head"], "key")).unwrap();
        let failure = Failure::new(Exit::Build, "cannot compile");
        store.record_unbuildable(id, 0, &failure).unwrap();
        let before = Before { experiments: store.experiments().unwrap() };
        let compiler = &before.experiments[0].plan.versions[0].toolchain;
        let is_unbuildable =
            |name, compiler: &str| before.is_unbuildable(&version(name), || compiler.to_owned());
        assert!(is_unbuildable("head", compiler));
        assert!(!is_unbuildable("head", "rustc 1.91.0"));
        assert!(!is_unbuildable("base", compiler));
    }
}
