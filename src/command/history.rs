//! `cargo rbench history`: how benchmarks changed over the stored commits, in git order.

use std::{collections::HashSet, rc::Rc};

use super::output::Output;
use crate::{
    cli::HistoryArgs,
    console::Console,
    failure::{Exit, Failure, Result},
    harness::Filter,
    judge::{
        BenchmarkResults, Judge, JudgeOptions, KnownCommit, Relation, Results, TimelineEntry,
        VersionRef, obstacles, timeline,
    },
    model::{Benchmark, Metric, Stage},
    project::Project,
    report::{
        CommandLine as _,
        history::{self, Against, BenchmarkHistory, HistoryReport, HistoryRow},
    },
    settings::VerdictSettings,
    source::Repository,
    stats::Criteria,
};

/// How many versions are shown unless something else is asked for.
const SHOWN: usize = 20;

/// The dates of commits choose so many times as many as are shown; the repository then orders them.
const CANDIDATES: usize = 4;

/// How many of a version's newest results are looked at, unless it was measured together with another.
const NEWEST: usize = 4;

/// Reads, judges, reports.
pub fn run(args: &HistoryArgs) -> Result<Exit> {
    let console = Console::new(false);
    let output = Output::with_files(args.format, &args.output.files)?;
    let project = Project::find(args.target.manifest_path.as_deref())?;
    project.check_tables(&["HEAD"], &console)?;
    let verdicts = VerdictSettings::resolve(&project.file, &args.criteria)?;
    let patterns = args.filter.patterns();
    let filter =
        Filter::new(&patterns, args.filter.exact, &args.target.package, &args.target.bench);
    let store = project.stored(&console)?;
    let results = Results::finished(&store)?;
    let benchmarks = filter.choose(store.benchmarks()?)?;
    output.write(&report(args, &project.repository, &results, &benchmarks, &verdicts)?)?;
    Ok(Exit::Success)
}

fn report(
    args: &HistoryArgs,
    repository: &Repository,
    results: &Results<'_>,
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
) -> Result<HistoryReport> {
    let (entries, hidden) = chosen(args, repository, results)?;
    let options =
        JudgeOptions { metrics: verdicts.metrics.clone(), allow_different: args.allow_different };
    let histories = Histories { results, judge: Judge::new(results, options), entries: &entries };
    let mut report = HistoryReport {
        criteria: verdicts.criteria,
        overview: args.filter.patterns().is_empty(),
        hidden,
        unfinished: results.unfinished,
        shallow: repository.is_shallow() && entries.iter().any(|entry| !entry.in_repository),
        benchmarks: Vec::new(),
        command_line: Rc::new(args.given.clone()),
    };
    for benchmark in benchmarks {
        report.benchmarks.extend(histories.of(benchmark, &verdicts.of(benchmark))?);
    }
    Ok(report)
}

/// The versions to show, oldest first, and how many stored ones are not shown.
fn chosen(
    args: &HistoryArgs,
    repository: &Repository,
    results: &Results<'_>,
) -> Result<(Vec<TimelineEntry>, usize)> {
    let shown = match (args.last, &args.since) {
        (Some(last), _) => last as usize,
        (None, Some(_)) => usize::MAX,
        (None, None) => SHOWN,
    };
    let commits = commits_by_date(results);
    let candidates = if let Some(revision) = &args.since {
        repository.since(revision, commits.iter().copied())?
    } else {
        let newest = commits.iter().take(shown.saturating_mul(CANDIDATES));
        newest.map(|commit| (*commit).to_owned()).collect()
    };
    let placed = repository.in_order(candidates.iter().map(String::as_str))?;
    let known: Vec<KnownCommit> = placed
        .into_iter()
        .map(|place| KnownCommit { commit: place.commit, ancestor: place.ancestor })
        .collect();
    let entries = timeline(&results.experiments, &known);
    let all = entries.len();
    // What is older than the candidates, or not since the revision, has no place here.
    let is_candidate = |entry: &TimelineEntry| {
        let commit = entry.version.commit.as_ref();
        commit.map_or(args.since.is_none(), |commit| candidates.contains(commit))
    };
    let kept: Vec<bool> = entries.iter().map(is_candidate).collect();
    let count = kept.iter().filter(|kept| **kept).count();
    if let (0, Some(revision)) = (count, &args.since) {
        let measure = args.given.suggest("run", &[&format!("{revision}..HEAD")], &[]);
        let what = format!("no results are stored since `{revision}`");
        return Err(
            Failure::new(Exit::Usage, what).hint(format!("measure newer commits with: {measure}"))
        );
    }
    let skipped = count.saturating_sub(shown);
    Ok((retain(entries, &kept, skipped), all - count + skipped))
}

/// The entries that are kept, less the first of them; what followed one that is not kept follows nothing.
fn retain(entries: Vec<TimelineEntry>, kept: &[bool], skipped: usize) -> Vec<TimelineEntry> {
    let indices: Vec<usize> =
        (0..entries.len()).filter(|index| kept[*index]).skip(skipped).collect();
    let new_index = |old: usize| indices.binary_search(&old).ok();
    entries
        .into_iter()
        .enumerate()
        .filter(|(index, _)| new_index(*index).is_some())
        .map(|(_, entry)| TimelineEntry { follows: entry.follows.and_then(new_index), ..entry })
        .collect()
}

/// Every stored commit once, the newest date first.
fn commits_by_date<'r>(results: &'r Results<'_>) -> Vec<&'r str> {
    let versions = results.experiments.iter().flat_map(|stored| &stored.plan.versions);
    let mut dated: Vec<(Option<i64>, &str)> = versions
        .filter_map(|planned| Some((planned.version.time, planned.version.commit.as_deref()?)))
        .collect();
    dated.sort_by(|one, other| other.cmp(one));
    let mut met = HashSet::new();
    dated.into_iter().map(|(_, commit)| commit).filter(|commit| met.insert(*commit)).collect()
}

/// The histories of benchmarks over some versions.
struct Histories<'r> {
    results: &'r Results<'r>,
    judge: Judge<'r>,
    entries: &'r [TimelineEntry],
}

impl Histories<'_> {
    /// All versions of one benchmark, each against the nearest before it that was measured, in each metric.
    fn of(&self, benchmark: &Benchmark, criteria: &Criteria) -> Result<Vec<BenchmarkHistory>> {
        let experiments = self.entries.iter().flat_map(|entry| self.experiments_for(entry));
        let of_benchmark = self.results.of_benchmark(benchmark, experiments)?;
        let places: Vec<Vec<VersionRef>> =
            self.entries.iter().map(|entry| of_benchmark.among(&entry.measured)).collect();
        let Some(newest) = places.iter().rev().find_map(|places| places.last()).copied() else {
            return Ok(Vec::new());
        };
        let is_measured = |places: &Vec<VersionRef>| {
            places.last().filter(|place| of_benchmark.unmeasured(**place).is_none()).copied()
        };
        let measured: Vec<VersionRef> = places.iter().filter_map(is_measured).collect();
        let mut histories = Vec::new();
        for metric in self.metrics_of(&of_benchmark, &measured) {
            let history = History {
                all: self,
                benchmark: &of_benchmark,
                places: &places,
                metric,
                newest,
                criteria,
            };
            histories.push(history.report()?);
        }
        Ok(histories)
    }

    /// Every metric that any version has; wall time where the benchmark failed in all of them.
    fn metrics_of(&self, benchmark: &BenchmarkResults<'_>, measured: &[VersionRef]) -> Vec<Metric> {
        let mut metrics: Vec<Metric> = Vec::new();
        for place in measured {
            for metric in self.judge.metrics(benchmark, &[*place]) {
                if !metrics.contains(&metric) {
                    metrics.push(metric);
                }
            }
        }
        if measured.is_empty() { vec![Metric::wall()] } else { metrics }
    }

    /// The experiments with results of an entry, and of how it changed since the one that it follows.
    fn experiments_for(&self, entry: &TimelineEntry) -> Vec<usize> {
        let newest = |entry: &TimelineEntry| {
            let measured = entry.measured.iter().rev().take(NEWEST);
            measured.map(|place| place.experiment).collect::<Vec<_>>()
        };
        let mut wanted = newest(entry);
        if let Some(base) = entry.follows.and_then(|index| self.entries.get(index)) {
            let of_base: HashSet<usize> =
                base.measured.iter().map(|place| place.experiment).collect();
            let together = entry.measured.iter().rev().map(|place| place.experiment);
            wanted.extend(together.filter(|one| of_base.contains(one)).take(NEWEST));
            wanted.extend(newest(base));
        }
        wanted
    }
}

/// The history of one benchmark in one metric.
struct History<'h> {
    all: &'h Histories<'h>,
    benchmark: &'h BenchmarkResults<'h>,
    /// For each entry, where the benchmark was measured, oldest first.
    places: &'h [Vec<VersionRef>],
    metric: Metric,
    newest: VersionRef,
    criteria: &'h Criteria,
}

impl History<'_> {
    fn report(self) -> Result<BenchmarkHistory> {
        let mut versions = Vec::new();
        for index in 0..self.places.len() {
            versions.extend(self.row(index)?);
        }
        let is_across = |row: &HistoryRow| {
            let against = row.against.as_ref();
            against.is_some_and(|a| a.relation == history::Relation::AcrossExperiments)
        };
        let sessions = if versions.iter().any(is_across) {
            let like = self.newest.experiment;
            self.benchmark.session_variance(like, &self.metric, self.criteria.estimator)?
        } else {
            None
        };
        let benchmark = self.benchmark.benchmark.clone();
        Ok(BenchmarkHistory { benchmark, metric: self.metric, sessions, versions })
    }

    /// The row of an entry; none if the benchmark was not measured there.
    fn row(&self, index: usize) -> Result<Option<HistoryRow>> {
        let results = self.all.results;
        let Some(last) = self.places[index].last().copied() else { return Ok(None) };
        let entry = &self.all.entries[index];
        let base = self.base_of(index);
        let relation = base.and_then(|base| {
            Relation::of(&self.places[base], &self.places[index], &results.experiments)
        });
        let place = relation.as_ref().map_or(last, |relation| relation.versions()[HEAD]);
        let against = match (&relation, base) {
            (Some(relation), Some(base)) => self.against(relation, base)?,
            _ => None,
        };
        let stored = &results.experiments[place.experiment];
        let estimator = self.criteria.estimator;
        let summary = self.benchmark.summary(place, Stage::First, &self.metric, estimator)?;
        Ok(Some(HistoryRow {
            version: entry.version.clone(),
            in_repository: entry.in_repository,
            measured: stored.begun,
            machine: stored.plan.machine.clone(),
            toolchain: stored.plan.versions[place.version].toolchain.clone(),
            summary,
            failure: self.benchmark.unmeasured(place),
            like_newest: obstacles(&results.experiments, [place, self.newest]).is_empty(),
            against,
        }))
    }

    /// The nearest entry before it where the benchmark did not fail.
    fn base_of(&self, index: usize) -> Option<usize> {
        let entries = self.all.entries;
        let is_measured = |index: &usize| {
            let place = self.places[*index].last();
            place.is_some_and(|place| self.benchmark.unmeasured(*place).is_none())
        };
        std::iter::successors(entries[index].follows, |before| entries[*before].follows)
            .find(is_measured)
    }

    fn against(&self, relation: &Relation, base: usize) -> Result<Option<Against>> {
        let rows = self.all.judge.rows(self.benchmark, relation, self.criteria)?;
        let row = rows
            .into_iter()
            .find(|row| row.metric.is_none() || row.metric.as_ref() == Some(&self.metric));
        let version = self.all.entries[base].version.clone();
        let relation = match relation {
            Relation::SameExperiment(_) => history::Relation::SameExperiment,
            Relation::AcrossExperiments(_) => history::Relation::AcrossExperiments,
            Relation::Incomparable { .. } => history::Relation::DifferentConditions,
        };
        Ok(row.map(|row| Against { version, relation, row }))
    }
}

/// The index of the head in a relation.
const HEAD: usize = 1;
