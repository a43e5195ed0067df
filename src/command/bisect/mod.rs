//! `cargo rbench bisect`: finds the commits of a range that changed benchmarks.

mod comparisons;
mod finder;
mod kind;
mod merges;
mod versions;

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
    time::SystemTime,
};

use self::{
    comparisons::{Comparisons, SampleLimits, Subject},
    finder::Finder,
    merges::named_merges,
    versions::Versions,
};
use super::{output::Output, project_of};
use crate::{
    cli::BisectArgs,
    compare::{Session, Warning, benchmarks_only_in, common_benchmarks},
    config::{Purpose, StoppingRule, VerdictSettings},
    console::{Console, announcement},
    error::{Error, Exit, Result},
    git::{Line, LineCommit, range_ends},
    harness::Filter,
    machine::{state::MachineState, this_machine},
    measure::{ExperimentSettings, Runner},
    model::{Benchmark, Version},
    process::{Interrupt, SavedHandler},
    report::{
        bisect::{
            BisectReport, CONFIDENCE, Commit, CommitPlace, Merged, Outcome, SearchedBenchmark,
            SearchedLine, Skipped,
        },
        quantity::count,
    },
    stats::{
        Change,
        bisection::{Conclusion, Ending, Estimate, Finding, Found, Search, Strategy, steps},
    },
};

/// The maximum depth of merges inside of merges to search.
const DEEPEST: usize = 3;

/// Searches the range, and reports the commits that changed benchmarks.
pub fn run(args: &BisectArgs) -> Result<Exit> {
    let (console, start) = (Console::attach(), SystemTime::now());
    let output = Output::with_files(args.report.format, &args.report.output.files)?;
    let interrupt = Interrupt::on_signals(SavedHandler::Compilations)?;
    let project = project_of(&args.experiment.target)?;
    let (first, last) = range_ends(&args.range)?;
    project.check_tables(&[first, last], &console)?;
    let line = project.repository.line(&args.range)?;
    let mode = project.file.mode(args.mode);
    let purpose = Purpose::Comparison { mode, patience: StoppingRule::Usual };
    let target = &args.experiment.target;
    let settings = ExperimentSettings {
        filter: Filter::new(
            &args.patterns(),
            args.experiment.exact,
            &target.package,
            &target.bench,
        )
        .within(args.experiment.partition),
        ..ExperimentSettings::resolve(&project.file, &args.experiment, purpose)
    };
    let verdicts = VerdictSettings::resolve(&project.file, &args.criteria)?;
    let verdicts = kind::only(verdicts, args, &console)?;
    let verdicts = if verdicts.counts_only() { verdicts.limited_as_counts() } else { verdicts };
    announce(&line, &console);
    if args.experiment.dry_run {
        return Ok(Exit::Success);
    }
    // Checked before rbench itself makes the machine busy.
    let idle = MachineState::now();
    let runner = Runner::open(&project, settings, &interrupt, &console)?;
    let command_line = Rc::new(args.given.without(&["budget"]));
    let mut versions =
        Versions::new(Session::new(&project, runner, &console, command_line), &console)?;
    let finder =
        Finder { project: &project, verdicts: &verdicts, budget: args.budget, console: &console };
    let report = finder.find(&args.range, &line, &idle, &mut versions);
    let runner = &versions.session.runner;
    runner.prune(start);
    let report = report.map_err(|error| runner.with_what_is_kept(error))?;
    output.write(&report)?;
    announcement::finished(&console, start);
    Ok(report.exit())
}

/// Prints the plan of the search.
fn announce(line: &Line, console: &Console) {
    let commits = line.commits.len();
    console.line(&format!(
        "searching {} after {}; each change takes about {}",
        count(commits, "commit"),
        line.base,
        count(steps(commits) as usize + 1, "comparison")
    ));
}

impl Finder<'_> {
    /// Finds the commits of a line that changed benchmarks.
    fn find(
        &self,
        range: &str,
        line: &Line,
        idle: &MachineState,
        versions: &mut Versions<'_>,
    ) -> Result<BisectReport> {
        let mut effort = SampleLimits::default();
        let criteria = self.verdicts.criteria;
        let alpha = criteria.false_alarm_rate;
        let searched = self.line(line, None, alpha, 0, (versions, &mut effort))?;
        let mut warnings = Vec::new();
        let idle = idle.disturbances().into_iter().map(Warning::Disturbance);
        for warning in idle.chain(effort.warnings) {
            warning.add_to(&mut warnings);
        }
        Ok(BisectReport {
            range: range.to_owned(),
            line: searched,
            criteria,
            machine: this_machine(),
            measured: effort.measured,
            stored: effort.stored,
            stopped: effort.stopped,
            warnings,
            command_line: versions.session.command_line.clone(),
        })
    }

    /// Searches a line, and the merged commits of merges that are found.
    ///
    /// With merges, half of the false-alarm rate is for the line itself and half for the merged commits.
    fn line(
        &self,
        line: &Line,
        only: Option<&[Benchmark]>,
        alpha: f64,
        depth: usize,
        (versions, effort): (&mut Versions<'_>, &mut SampleLimits),
    ) -> Result<SearchedLine> {
        let commits = line.commits.len();
        let ends = [line.version(0), line.version(commits)];
        for end in ends {
            versions.session.list(end).map_err(|error| endpoint_error(error, end))?;
        }
        let mut searched = SearchedLine {
            base: ends[0].clone(),
            head: ends[1].clone(),
            commits,
            forks: line.forks,
            benchmarks: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            skipped: Vec::new(),
            failed_targets: Vec::new(),
        };
        let is_meant = |benchmark: &Benchmark| only.is_none_or(|only| only.contains(benchmark));
        let mut benchmarks = if ends[0].tree == ends[1].tree {
            versions.benchmarks(ends[0])
        } else {
            versions.session.with(ends, |_, versions| {
                let [base, head] = versions;
                searched.added = benchmarks_only_in(head, base);
                searched.removed = benchmarks_only_in(base, head);
                for version in versions {
                    searched.failed_targets.extend(version.listing.failures.iter().cloned());
                }
                Ok(common_benchmarks(versions))
            })?
        };
        for some in [&mut benchmarks, &mut searched.added, &mut searched.removed] {
            some.retain(is_meant);
        }
        let subjects = self.subjects(&benchmarks);
        let has_merges = line.commits.iter().any(|commit| commit.parents > 1);
        let own = if has_merges && depth < DEEPEST { alpha / 2.0 } else { alpha };
        let search = |subject: &Subject| {
            Search::new(commits, self.verdicts.criteria(&subject.benchmark).min_effect)
        };
        let mut strategy = Strategy::new(subjects.iter().map(search).collect(), own);
        let mut comparisons = Comparisons {
            finder: self,
            versions,
            line,
            subjects: &subjects,
            effort,
            lacking: BTreeMap::new(),
            impacts: HashMap::new(),
            metrics: HashMap::new(),
        };
        comparisons.answer(&mut strategy)?;
        for (index, search) in strategy.searches().iter().enumerate() {
            searched.benchmarks.push(comparisons.searched(index, search)?);
        }
        searched.skipped = comparisons.skipped(strategy.searches());
        if depth < DEEPEST {
            self.merges(&mut searched, alpha - own, depth, (versions, effort))?;
        } else {
            let reason = "it is a merge within merges within merges";
            for place in named_merges(&mut searched) {
                place.merged = Some(Merged::NotSearched(reason.to_owned()));
            }
        }
        Ok(searched)
    }

    /// Each benchmark in each selected metric, or in its first metric.
    fn subjects(&self, benchmarks: &[Benchmark]) -> Vec<Subject> {
        let metrics = match self.verdicts.metrics.as_slice() {
            [] => vec![None],
            metrics => metrics.iter().cloned().map(Some).collect(),
        };
        let of = |benchmark: &Benchmark| {
            let of_metric =
                |metric| Subject { benchmark: benchmark.clone(), metric: Clone::clone(metric) };
            metrics.iter().map(of_metric).collect::<Vec<_>>()
        };
        benchmarks.iter().flat_map(of).collect()
    }
}

/// Adds hints to an error of an end of the range, without which there is no search.
fn endpoint_error(error: Error, end: &Version) -> Error {
    match error.exit() {
        Exit::Build => error.hint(format!(
            "a search compares both ends of its range first: choose another commit than {} for this end",
            end.short()
        )),
        Exit::Usage => error.cause(format!("this is about {end}, an end of the range")),
        _ => error,
    }
}

fn change(estimate: Estimate) -> Change {
    let [low, high] = estimate.interval(CONFIDENCE);
    Change { estimate: estimate.relative(), low, high }
}

impl Comparisons<'_, '_> {
    /// Converts a finished search into the result of a subject.
    fn searched(&mut self, index: usize, search: &Search) -> Result<SearchedBenchmark> {
        let Ok(conclusion) = search.conclusion() else {
            return Err(Error::new(Exit::Internal, "a search ended without a conclusion"));
        };
        let unexplained = conclusion.unexplained().map(change);
        let outcome = match conclusion {
            Conclusion::Same => Outcome::Same,
            Conclusion::Open => Outcome::Open,
            Conclusion::Lacks(end) => Outcome::Unusable {
                version: self.line.version(end).clone(),
                reason: self.why(end, index),
            },
            Conclusion::NotChanged(measured) => {
                let change = change(measured.estimate);
                if measured.finding == Finding::Unchanged {
                    Outcome::Unchanged { change }
                } else {
                    Outcome::Inconclusive { change }
                }
            }
            Conclusion::Changed { total, found } => {
                let total = change(total.estimate);
                let mut places = Vec::with_capacity(found.len());
                for one in found {
                    places.push(self.place(index, &one)?);
                }
                let unexplained = unexplained.unwrap_or(total);
                Outcome::Changed { total, places, unexplained }
            }
        };
        let Subject { benchmark, metric } = self.subjects[index].clone();
        let version = |commit: usize| self.line.version(commit).clone();
        let whole = [0, self.line.commits.len()];
        Ok(SearchedBenchmark {
            benchmark,
            metric: metric.or_else(|| self.metrics.get(&index).cloned()),
            comparisons: search.comparisons(),
            same: search
                .same()
                .filter(|pair| *pair != whole)
                .map(|pair| pair.map(version))
                .collect(),
            outcome,
        })
    }

    fn place(&mut self, index: usize, found: &Found) -> Result<CommitPlace> {
        let Found { after, at, change: estimate, ending, .. } = *found;
        let commits = &self.line.commits[after..at];
        let commit = |commit: &LineCommit| Commit {
            version: commit.version.clone(),
            authored: commit.authored,
            is_merge: commit.parents > 1,
        };
        let commits = commits.iter().map(commit).collect();
        if ending != Ending::Stopped && !self.impacts.contains_key(&([after, at], index)) {
            self.inspect([after, at], &[index])?;
        }
        Ok(CommitPlace {
            after: self.line.version(after).clone(),
            commits,
            ending,
            change: change(estimate),
            impact: self.impacts.get(&([after, at], index)).cloned(),
            merged: None,
        })
    }

    /// The reason why a commit cannot be compared in a subject.
    fn why(&self, commit: usize, subject: usize) -> String {
        let all = self.lacking.get(&(commit, None));
        all.or_else(|| self.lacking.get(&(commit, Some(subject)))).cloned().unwrap_or_default()
    }

    /// The skipped commits, with reasons.
    fn skipped(&self, searches: &[Search]) -> Vec<Skipped> {
        let mut skipped: BTreeMap<(usize, String), Vec<Benchmark>> = BTreeMap::new();
        for (index, search) in searches.iter().enumerate() {
            for commit in search.unusable() {
                let whom = skipped.entry((*commit, self.why(*commit, index))).or_default();
                if !self.lacking.contains_key(&(*commit, None)) {
                    whom.push(self.subjects[index].benchmark.clone());
                }
            }
        }
        let of = |((commit, reason), mut benchmarks): ((usize, String), Vec<Benchmark>)| {
            benchmarks.dedup();
            Skipped { version: self.line.version(commit).clone(), benchmarks, reason }
        };
        skipped.into_iter().map(of).collect()
    }
}
