//! `cargo rbench run`: measures one version alone, or compares the versions of a range, and stores the results.

use std::{
    mem,
    rc::Rc,
    time::{Duration, Instant, SystemTime},
};

mod pair_queue;

use pair_queue::{Order, PairQueue};

use super::{history::measured_version, output::Output, project_of, pull, push};
use crate::{
    cli::{GivenOptions, RunArgs},
    compare::{KnownBroken, Request, Session, compare, count_version, passed_over},
    config::{CriteriaOptions, Purpose, StoppingRule, VerdictSettings},
    console::{Console, announcement},
    error::{Error, Exit, Result},
    git::{Repository, is_range},
    measure::{Builds, ExperimentSettings, ListedVersion, Runner, benchmarks_only_in},
    model::{Benchmark, Partition, Stage, Version},
    process::{Interrupt, SavedHandler},
    report::{
        compare::ComparisonReport,
        quantity::{count, duration},
        version::{RangeComparison, RangeReport, VersionReport},
    },
    shared::{Place, SharedVariables},
    verdict::ExitPolicy,
};

pub fn run(args: &RunArgs, shared: &SharedVariables) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let (format, files) = (args.report.format, &args.report.output.files);
    let output = match args.revisions.as_slice() {
        [revision] if !is_range(revision) => Output::with_values(format, files)?,
        _ => Output::with_files(format, files)?,
    };
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    let project = project_of(&args.experiment.target)?;
    let place = push::place_after_work(args.push, shared, &console);
    project.check_tables(&args.revisions, &console)?;
    let purpose = match args.revisions.as_slice() {
        [revision] if !is_range(revision) => {
            if args.part.is_some() {
                return Err(Error::new(
                    Exit::Usage,
                    "cannot divide the measurement of one version",
                )
                .cause("--part divides the comparisons of a range")
                .hint("name a range A..B, or divide the benchmarks with --partition"));
            }
            Purpose::OneVersion
        }
        _ => Purpose::Comparison { mode: project.file.mode(None), stopping: StoppingRule::Usual },
    };
    let settings = ExperimentSettings::resolve(&project, &args.experiment, purpose);
    let criteria = CriteriaOptions { metrics: args.metrics.clone(), ..CriteriaOptions::default() };
    let verdicts = VerdictSettings::resolve(&project.file, &criteria)?;
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let only_plan = args.experiment.dry_run;
    let place_of_parts = place.as_ref().filter(|_| args.part.is_some() && !only_plan);
    if let Some(place) = place_of_parts {
        pull::before_work(&project, place, &runner.store, &console)?;
    }
    let given = Rc::new(args.given.without(&["steps"]));
    let session = Session::new(&project, runner, &console, given.clone());
    let (part, console, output) = (args.part, &console, &output);
    let mut run =
        Run { session, verdicts, only_plan, part, place_of_parts, console, given, output };
    let repository = &project.repository;
    let exit = match args.revisions.as_slice() {
        // A version is measured again on request: that shows the variance between experiments.
        [revision] if !is_range(revision) => {
            repository.resolve(revision).and_then(|version| run.one(&version))
        }
        revisions => versions(repository, revisions)
            .map(|versions| spread(versions, args.steps))
            .and_then(|versions| run.range(versions, args.budget)),
    };
    let exit = run.session.runner.end(start, exit)?;
    if !only_plan {
        announcement::finished(console, start, exit);
        push::after_work(&project, place.as_ref(), &args.given, console);
    }
    Ok(exit)
}

struct Run<'a> {
    session: Session<'a>,
    verdicts: VerdictSettings,
    only_plan: bool,
    /// The comparisons that this machine makes, if it does not make all.
    part: Option<Partition>,
    /// Where other machines look for what need not be compared again.
    place_of_parts: Option<&'a Place>,
    console: &'a Console,
    given: Rc<GivenOptions>,
    output: &'a Output<'a>,
}

/// The versions of a range, the oldest first, and the results so far.
struct Versions {
    all: Vec<Version>,
    /// The matching benchmarks of each listed version.
    benchmarks: Vec<Vec<Benchmark>>,
    /// The errors of versions that could not be compared.
    failures: Vec<Error>,
    comparisons: Vec<RangeComparison>,
}

impl Run<'_> {
    fn one(&self, version: &Version) -> Result<Exit> {
        let (runner, console) = (&self.session.runner, self.console);
        let versions = [runner.list(version.clone())?];
        let benchmarks = versions[0].benchmarks();
        if self.verdicts.times() {
            announcement::plan(console, &runner.outline(&versions, &benchmarks), false);
        }
        if self.only_plan {
            return Ok(Exit::Success);
        }
        let failures = &versions[0].listing.failures;
        announcement::failed_targets(self.console, failures);
        if !benchmarks.is_empty() && self.verdicts.times() {
            let builds =
                runner.link(&versions, &benchmarks, runner.first_seeds(&versions, &benchmarks))?;
            measure(runner, &versions, &builds, &benchmarks, console)?;
        }
        if !benchmarks.is_empty() {
            count_version(runner, &versions, &benchmarks, &self.verdicts, console)?;
        }
        let report = self.stored(version, &benchmarks)?;
        self.output.write(&report)?;
        let has_failures = !failures.is_empty() || report.has_failures();
        Ok(if has_failures { Exit::Benchmark } else { Exit::Success })
    }

    fn stored(&self, version: &Version, benchmarks: &[Benchmark]) -> Result<VersionReport> {
        let (store, given) = (&self.session.runner.store, &self.given);
        measured_version(store, version, benchmarks, &self.verdicts, given, self.console)
    }

    /// Compares the versions, which start with the oldest: all neighbors, or the most informative pairs within the
    /// budget. Skips pairs with stored comparisons, and versions that cannot be built. A history of interleaved
    /// comparisons is more precise than one of separate measurements.
    fn range(&mut self, versions: Vec<Version>, budget: Option<Duration>) -> Result<Exit> {
        let order = if budget.is_some() { Order::MostInformative } else { Order::Adjacent };
        let mut agenda = PairQueue::new(order, versions.len());
        let mut versions = Versions {
            benchmarks: vec![Vec::new(); versions.len()],
            failures: Vec::new(),
            comparisons: Vec::new(),
            all: versions,
        };
        self.leave_to_others(&versions, &mut agenda);
        self.leave_out_unbuildable(&versions, &mut agenda)?;
        let (begin, mut previous, mut done) = (Instant::now(), SystemTime::now(), 0);
        while let Some(pair) = agenda.next() {
            if budget.is_some_and(|budget| begin.elapsed() >= budget) {
                self.console.line(&format!(
                    "{} after {}: the rest was not compared",
                    count(done, "comparison"),
                    duration(begin.elapsed())
                ));
                break;
            }
            let start = SystemTime::now();
            if let Some(lacking) = self.list(&mut versions, pair)? {
                agenda.lacks(lacking);
                continue;
            }
            done += 1;
            let [base, head] = pair.map(|index| versions.all[index].clone());
            self.console.line(&format!("comparison {done}: {base} with {head}"));
            let comparison = self.pair([base, head.clone()])?;
            agenda.compared(pair, comparison.has_changes());
            versions.comparisons.push(comparison);
            // If this machine is lost, another one begins behind this comparison.
            push::after_work(self.session.project, self.place_of_parts, &self.given, self.console);
            // All versions of a long range may not fit on the disk at once. The older version of a pair is needed once
            // more.
            if order == Order::Adjacent {
                self.session.forget(&head);
                self.session.runner.prune(previous);
                previous = start;
            }
        }
        self.report_range(versions)
    }

    /// Leaves the comparisons of other parts to other machines.
    fn leave_to_others(&self, versions: &Versions, agenda: &mut PairQueue) {
        let Some(part) = self.part else { return };
        let (mut own, mut all) = (0, 0);
        for (index, head) in versions.all.iter().enumerate().skip(1) {
            all += 1;
            if part.has_head(head) {
                own += 1;
            } else {
                agenda.leave_to_others(index);
            }
        }
        let all = count(all, "comparison");
        self.console.line(&format!("part {}/{}: {own} of {all}", part.part, part.of));
    }

    fn leave_out_unbuildable(&self, versions: &Versions, agenda: &mut PairQueue) -> Result<()> {
        let runner = &self.session.runner;
        let before = KnownBroken::read(runner)?;
        for (index, version) in versions.all.iter().enumerate() {
            if before.why_unbuildable(version, || runner.compiler(version)).is_some() {
                self.console.line(&passed_over(version, &*self.given));
                agenda.lacks(index);
            }
        }
        Ok(())
    }

    /// Compiles and lists both versions. Returns the index of a version that cannot be built or has no matching
    /// benchmark: that must not end the whole run.
    fn list(&mut self, versions: &mut Versions, [base, head]: [usize; 2]) -> Result<Option<usize>> {
        for index in [head, base] {
            let version = &versions.all[index];
            if self.session.listed(version).is_some() {
                continue;
            }
            match self.session.list(version) {
                Ok(listed) => {
                    versions.benchmarks[index] = listed.benchmarks();
                    announcement::failed_targets(self.console, &listed.listing.failures);
                }
                Err(error) if matches!(error.exit(), Exit::Build | Exit::Usage) => {
                    if error.exit() == Exit::Build && !self.only_plan {
                        self.session.runner.record_unbuildable(version, &error)?;
                    }
                    self.console.line(&format!("{version}: skipped: {error}"));
                    versions.failures.push(error);
                    return Ok(Some(index));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn pair(&mut self, compared: [Version; 2]) -> Result<RangeComparison> {
        let added = self.session.with(compared.each_ref(), |_, [base, head]| {
            Ok(benchmarks_only_in(head, base).len())
        })?;
        if added > 0 {
            let added = count(added, "benchmark");
            self.console.line(&format!("{added} of the newer version cannot be compared"));
        }
        let request = Request {
            reuses: true,
            only_plan: self.only_plan,
            ..Request::new(compared.clone(), self.verdicts.clone())
        };
        let mut outcome = compare(&request, &mut self.session)?;
        let rows = mem::take(&mut outcome.rows);
        let report = ComparisonReport::new(outcome, ExitPolicy::default(), self.given.clone());
        for warning in report.warning_sentences() {
            self.console.line(&format!("warning: {warning}"));
        }
        Ok(RangeComparison::new(compared, rows))
    }

    /// Reports the stored results of the versions, the newest first. Fails if no two versions could be compared.
    fn report_range(&self, mut versions: Versions) -> Result<Exit> {
        if let Some(error) = versions.failures.pop()
            && versions.comparisons.is_empty()
        {
            return Err(error);
        }
        let mut report = RangeReport {
            criteria: self.verdicts.criteria,
            versions: Vec::new(),
            comparisons: versions.comparisons,
            command_line: self.given.clone(),
        };
        let all = versions.all.iter().zip(&versions.benchmarks).rev();
        for (version, benchmarks) in all.filter(|_| !self.only_plan) {
            let mut comparisons = report.comparisons.iter();
            if comparisons.any(|one| one.base == *version || one.head == *version) {
                report.versions.push(self.stored(version, benchmarks)?);
            }
        }
        self.output.write(&report)?;
        let has_failures = report.versions.iter().any(VersionReport::has_failures);
        Ok(if has_failures { Exit::Benchmark } else { Exit::Success })
    }
}

/// Measures benchmarks of one built version in a separate experiment, or resumes an interrupted one.
fn measure(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 1],
    builds: &Builds,
    benchmarks: &[Benchmark],
    console: &Console,
) -> Result<()> {
    let started = runner.begin(versions, benchmarks, builds)?;
    announcement::resumed(console, &started);
    runner.measure(&started, Stage::First.into(), versions, builds, benchmarks, &mut |_| Ok(()))?;
    runner.finish(&started)
}

/// Resolves revisions and ranges, in their order. A range starts with its base, with which its first version is
/// compared, and goes from the oldest to the newest.
fn versions(repository: &Repository, revisions: &[String]) -> Result<Vec<Version>> {
    let mut versions = Vec::new();
    for revision in revisions {
        if is_range(revision) {
            let mut range = repository.resolve_range(revision)?;
            range.push(repository.resolve_range_start(revision)?);
            versions.extend(range.into_iter().rev());
        } else {
            versions.push(repository.resolve(revision)?);
        }
    }
    Ok(versions)
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
