//! `cargo rbench history`: the changes of benchmarks over the stored commits, in git order. It reads stored results and
//! measures nothing, unless `--bisect` is given.

mod changes;
mod path_filter;
mod versions;

use std::{
    collections::{BTreeMap, HashSet},
    rc::Rc,
};

use changes::BenchmarkSeries;
use path_filter::PathFilter;
use versions::chosen;

use super::{bisect, output::Output, stored_project};
use crate::{
    cli::{BisectArgs, HistoryArgs},
    compare::{Acceptances, archive},
    config::CriteriaOptions,
    config::VerdictSettings,
    console::Console,
    error::{Exit, Result},
    harness::Filter,
    model::{Benchmark, Metric, Stage, Version},
    report::{
        self,
        history::{self, BenchmarkHistory, HistoryReport, HistoryRow, ReferenceVersion, Series},
    },
    stats::{Criteria, SessionVariance},
    verdict::{
        BenchmarkResults, DecisionOptions, Relation, Results, TimelineEntry, Verdicts, VersionRef,
        obstacles,
    },
};

/// The number of newest results to read for a version that was not measured together with another one.
const NEWEST: usize = 4;

/// Reads stored results, decides on changes, and reports.
pub fn run(args: &HistoryArgs) -> Result<Exit> {
    let console = Console::attach();
    let output = Output::with_files(args.format, &args.output.files)?;
    let (report, note) = read(args, &console)?;
    output.write(&report)?;
    if let Some(note) = note {
        console.line(&format!("note: {note}"));
    }
    Ok(if args.bisect { confirm(args, &report, &console) } else { Exit::Success })
}

/// Reads stored results and decides on changes. Also returns a note about accepted slowdowns, if there is one.
fn read(args: &HistoryArgs, console: &Console) -> Result<(HistoryReport, Option<String>)> {
    let project = stored_project(&args.target.project)?;
    project.check_tables(&["HEAD"], console)?;
    let verdicts = VerdictSettings::resolve(&project.file, &args.criteria)?;
    let patterns = args.filter.patterns();
    let filter =
        Filter::new(&patterns, args.filter.exact, &args.target.package, &args.target.bench);
    let store = archive::store(&project, console, &args.given)?;
    let benchmarks = archive::chosen(&store, &filter, &args.given)?;
    let results = archive::finished(&store, verdicts.counts_only(), &benchmarks, &args.given)?;
    let acceptances = Acceptances::read(&project)?;
    let report = report(args, &results, &benchmarks, &verdicts, &acceptances)?;
    Ok((report, report::idle_note(&acceptances.not_in_history()?)))
}

/// Bisects the commits of each event for the changes of its benchmarks.
fn confirm(args: &HistoryArgs, report: &HistoryReport, console: &Console) -> Exit {
    if report.events.is_empty() {
        console.line("no change is suspected: there is nothing to confirm");
    }
    let mut exit = Exit::Success;
    for event in &report.events {
        let [base, head] = event.place.possible.each_ref().map(Version::current_revision_arg);
        if event.place.possible[1].dirty {
            let command = report.confirmation(event);
            console.line(&format!("the uncommitted files are compared with: {command}"));
            continue;
        }
        let mut of_metric: BTreeMap<&str, (&Metric, Vec<&Benchmark>)> = BTreeMap::new();
        for (BenchmarkHistory { benchmark, metric, .. }, _) in report.members(event) {
            of_metric.entry(&metric.name).or_insert((metric, Vec::new())).1.push(benchmark);
        }
        let range = format!("{base}..{head}");
        for (metric, benchmarks) in of_metric.into_values() {
            let metrics = vec![metric.clone()];
            let criteria = CriteriaOptions { metrics, ..args.criteria.clone() };
            // An error in one search must not prevent the others.
            let mut search = BisectArgs::for_range(&range, benchmarks, &args.target.project);
            search.criteria = criteria;
            let of_event = bisect::run(&search).unwrap_or_else(|error| {
                console.line(&format!("error: {error}"));
                error.exit()
            });
            if of_event == Exit::Interrupted {
                return of_event;
            }
            if exit == Exit::Success {
                exit = of_event;
            }
        }
    }
    exit
}

fn report(
    args: &HistoryArgs,
    results: &Results<'_>,
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
    acceptances: &Acceptances<'_>,
) -> Result<HistoryReport> {
    let repository = acceptances.repository;
    results.check_metrics(&verdicts.metrics, benchmarks)?;
    let (entries, hidden) = chosen(args, repository, results)?;
    let touched = PathFilter::from_args(args, repository, &entries)?;
    let options = DecisionOptions {
        metrics: verdicts.metrics.clone(),
        ignore_environment: args.ignore_environment,
    };
    let histories = Histories {
        results,
        judge: Verdicts::new(results, options),
        entries: &entries,
        acceptances,
        ignore_environment: args.ignore_environment,
        changes_only: args.changes_only,
    };
    let mut report = HistoryReport {
        criteria: verdicts.criteria,
        overview: args.filter.patterns().is_empty(),
        changes_only: args.changes_only,
        worst_only: args.top.is_some(),
        paths: args.paths(),
        hidden,
        unfinished: results.unfinished,
        shallow: repository.is_shallow() && entries.iter().any(|entry| !entry.in_repository),
        benchmarks: Vec::new(),
        events: Vec::new(),
        command_line: Rc::new(args.given.clone()),
    };
    let mut courses = Vec::new();
    for benchmark in benchmarks {
        for (history, course) in histories.load(benchmark, &verdicts.criteria(benchmark))? {
            report.benchmarks.push(history);
            courses.push(course);
        }
    }
    let rate = verdicts.criteria.false_alarm_rate;
    changes::detect_changes(&mut report.benchmarks, &courses, &entries, rate);
    if let Some(touched) = touched {
        touched.keep(&mut report.benchmarks);
    }
    if let Some(worst) = args.top {
        keep_worst(&mut report.benchmarks, worst as usize);
    }
    report.events = changes::events(&report.benchmarks, &entries);
    Ok(report)
}

/// Keeps the benchmarks with the largest suspected slowdowns, the worst first.
fn keep_worst(benchmarks: &mut Vec<BenchmarkHistory>, count: usize) {
    benchmarks.retain(|benchmark| benchmark.series.total() > 0.0);
    benchmarks.sort_by(|one, other| other.series.total().total_cmp(&one.series.total()));
    benchmarks.truncate(count);
}

/// Computes the histories of benchmarks over some versions.
struct Histories<'r> {
    results: &'r Results<'r>,
    judge: Verdicts<'r>,
    entries: &'r [TimelineEntry],
    acceptances: &'r Acceptances<'r>,
    /// True if results of different machines, settings and compilers may be compared.
    ignore_environment: bool,
    /// True if verdicts on consecutive versions are not needed.
    changes_only: bool,
}

impl Histories<'_> {
    /// Loads all versions of one benchmark in each metric, each compared with the nearest measured version before it.
    fn load(
        &self,
        benchmark: &Benchmark,
        criteria: &Criteria,
    ) -> Result<Vec<(BenchmarkHistory, BenchmarkSeries)>> {
        let executed = self.results.experiments_with(benchmark)?;
        let experiments =
            self.entries.iter().flat_map(|entry| self.experiments_for(entry, &executed));
        let of_benchmark = self.results.benchmark(benchmark, experiments)?;
        let places: Vec<Vec<VersionRef>> =
            self.entries.iter().map(|entry| of_benchmark.find_in(&entry.measured)).collect();
        let same = self.same(&of_benchmark)?;
        let sources = sources(&of_benchmark, &places, &same);
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
                same: &same,
                sources: &sources,
                metric,
                newest,
                criteria,
            };
            let course = history.series()?;
            let newest = course.newest.unwrap_or(newest);
            histories.push((History { newest, ..history }.report()?, course));
        }
        Ok(histories)
    }

    /// For each entry, the nearest earlier entry in which the benchmark is unaffected: an experiment on both skipped
    /// it for that reason.
    fn same(&self, benchmark: &BenchmarkResults<'_>) -> Result<Vec<Option<usize>>> {
        let mut same = Vec::with_capacity(self.entries.len());
        for entry in self.entries {
            let mut places = Vec::new();
            for place in &entry.measured {
                let known = self.results.skip_reason(place.experiment, &benchmark.benchmark)?;
                places.extend(known.map(|_| *place));
            }
            let mut before = entry.follows.filter(|_| !places.is_empty());
            while let Some(index) = before {
                if benchmark.same_in([&self.entries[index].measured, &places])?.is_some() {
                    break;
                }
                before = self.entries[index].follows;
            }
            same.push(before);
        }
        Ok(same)
    }

    /// All metrics of any version; wall time if the benchmark failed in all versions.
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

    /// The newest experiments with results of an entry, or with a comparison of it with the entry that it follows.
    fn experiments_for(&self, entry: &TimelineEntry, executed: &HashSet<usize>) -> Vec<usize> {
        let says_something = |place: &&VersionRef| {
            executed.contains(&place.experiment) || self.results.build_failure(**place).is_some()
        };
        let newest_first = |entry: &TimelineEntry| {
            let places = entry.measured.iter().rev().filter(says_something);
            places.map(|place| place.experiment).collect()
        };
        let all: Vec<usize> = newest_first(entry);
        let mut wanted: Vec<usize> = all.iter().copied().take(NEWEST).collect();
        if let Some(base) = entry.follows.and_then(|index| self.entries.get(index)) {
            let of_base: Vec<usize> = newest_first(base);
            wanted.extend(of_base.iter().take(NEWEST));
            let of_base: HashSet<usize> = of_base.into_iter().collect();
            wanted.extend(all.into_iter().filter(|one| of_base.contains(one)).take(NEWEST));
        }
        wanted
    }
}

/// For each entry, the entry whose measurements are its value: itself, or an earlier one in which the benchmark is
/// unaffected.
fn sources(
    benchmark: &BenchmarkResults<'_>,
    places: &[Vec<VersionRef>],
    same: &[Option<usize>],
) -> Vec<Option<usize>> {
    let mut sources: Vec<Option<usize>> = Vec::with_capacity(places.len());
    for (index, own) in places.iter().enumerate() {
        let carried = || {
            let source = (*sources.get(same[index]?)?)?;
            let place = places[source].last()?;
            benchmark.unmeasured(*place).is_none().then_some(source)
        };
        let source = if own.is_empty() { carried() } else { Some(index) };
        sources.push(source);
    }
    sources
}

/// The history of one benchmark in one metric.
struct History<'h> {
    all: &'h Histories<'h>,
    benchmark: &'h BenchmarkResults<'h>,
    /// For each entry, the experiments that measured the benchmark, oldest first.
    places: &'h [Vec<VersionRef>],
    /// For each entry, the nearest earlier entry in which the benchmark is unaffected, if there is one.
    same: &'h [Option<usize>],
    /// For each entry, the entry whose measurements are its value.
    sources: &'h [Option<usize>],
    metric: Metric,
    newest: VersionRef,
    criteria: &'h Criteria,
}

impl History<'_> {
    fn report(self) -> Result<BenchmarkHistory> {
        let mut versions = Vec::new();
        let mut across = Vec::new();
        let shown = if self.all.changes_only { 0 } else { self.places.len() };
        for index in 0..shown {
            let Some((place, row)) = self.row(index)? else { continue };
            let relation = row.against.as_ref().map(|against| against.relation);
            if relation == Some(history::Relation::AcrossExperiments) {
                across.push(place);
            }
            versions.push(row);
        }
        let sessions = self.sessions(&across)?;
        let benchmark = self.benchmark.benchmark.clone();
        let series = Series::NotJudged { reason: String::new() };
        Ok(BenchmarkHistory { benchmark, metric: self.metric, sessions, series, versions })
    }

    /// The benchmark's variance between experiments, if all verdicts use the same one. A verdict across experiments
    /// uses the variance under its own conditions.
    fn sessions(&self, across: &[VersionRef]) -> Result<Option<SessionVariance>> {
        let experiments = &self.all.results.experiments;
        let newest = self.newest.experiment;
        let mode = |place: VersionRef| {
            let all = self.benchmark.interleaving(&[place], Stage::First);
            Some(all.ok()??.mode)
        };
        let of_newest = mode(self.newest);
        let is_like_newest = |place: &VersionRef| {
            let plan = &experiments[place.experiment].plan;
            let obstacles = plan.incompatibilities(&experiments[newest].plan);
            obstacles.is_empty() && mode(*place) == of_newest
        };
        if across.is_empty() || !across.iter().all(is_like_newest) {
            return Ok(None);
        }
        let Some(mode) = of_newest else { return Ok(None) };
        self.benchmark.session_variance(newest, &self.metric, mode, self.criteria)
    }

    /// The row of an entry and the place of its measurements. `None` if the benchmark was measured neither in this
    /// version nor in an earlier one in which it is unaffected.
    fn row(&self, index: usize) -> Result<Option<(VersionRef, HistoryRow)>> {
        let results = self.all.results;
        let Some(source) = self.sources[index] else { return Ok(None) };
        let entry = &self.all.entries[index];
        let base = self.base_of(index);
        let relation = self.relation(base, index)?;
        let against = match (&relation, base) {
            (Some(relation), Some(base)) => self.against(relation, [base, index])?,
            _ => None,
        };
        let Some(place) = self.place(source)? else { return Ok(None) };
        // An entry without own measurements may have been compared.
        let compared = relation.filter(|_| source != index);
        let compared = compared.map_or(place, |relation| relation.versions()[HEAD]);
        let stored = &results.experiments[compared.experiment];
        let judge = &self.all.judge;
        let (stage, summary) = judge.value(self.benchmark, place, &self.metric, self.criteria)?;
        if source != index && summary.is_none() {
            return Ok(None);
        }
        let row = HistoryRow {
            version: entry.version.clone(),
            in_repository: entry.in_repository,
            measured: stored.begun,
            machine: (*stored.plan.machine).clone(),
            toolchain: stored.plan.versions[compared.version].toolchain.clone(),
            summary,
            interleaving: self.benchmark.interleaving(&[place], stage).ok().flatten(),
            failure: self.benchmark.unmeasured(place),
            like_newest: obstacles(&results.experiments, [place, self.newest]).is_empty(),
            against,
        };
        Ok(Some((place, row)))
    }

    /// The relation of an entry to its base, if it has one.
    fn relation(&self, base: Option<usize>, index: usize) -> Result<Option<Relation>> {
        let Some(base) = base else { return Ok(None) };
        let entries = self.all.entries;
        self.benchmark.relation(
            [&entries[base].measured, &entries[index].measured],
            [&self.places[base], &self.places[index]],
        )
    }

    /// The place of an entry's measurements: those together with its base if there are any.
    fn place(&self, index: usize) -> Result<Option<VersionRef>> {
        let relation = self.relation(self.base_of(index), index)?;
        let with_base = relation.map(|relation| relation.versions()[HEAD]);
        let with_base = with_base.filter(|place| self.places[index].contains(place));
        Ok(with_base.or(self.places[index].last().copied()))
    }

    /// The nearest earlier entry in which the benchmark did not fail, or in which it is unaffected.
    fn base_of(&self, index: usize) -> Option<usize> {
        let entries = self.all.entries;
        if self.places[index].is_empty() {
            return self.same[index];
        }
        let same = self.same[index].filter(|same| self.sources[*same].is_some());
        let is_measured = |index: usize| {
            let place = self.places[index].last();
            place.is_some_and(|place| self.benchmark.unmeasured(*place).is_none())
        };
        std::iter::successors(entries[index].follows, |before| entries[*before].follows)
            .find(|before| is_measured(*before) || same == Some(*before))
    }

    fn against(
        &self,
        relation: &Relation,
        [base, head]: [usize; 2],
    ) -> Result<Option<ReferenceVersion>> {
        let compared = [base, head].map(|index| &self.all.entries[index].version);
        let mut rows = self.all.judge.rows(self.benchmark, relation, self.criteria)?;
        self.all.acceptances.apply(&mut rows, compared, |_| *self.criteria)?;
        let row = rows
            .into_iter()
            .find(|row| row.metric.is_none() || row.metric.as_ref() == Some(&self.metric));
        let version = self.all.entries[base].version.clone();
        let relation = match relation {
            Relation::SameExperiment(_) => history::Relation::SameExperiment,
            Relation::AcrossExperiments(_) => history::Relation::AcrossExperiments,
            Relation::Incomparable { .. } => history::Relation::DifferentConditions,
        };
        Ok(row.map(|row| ReferenceVersion { version, relation, row }))
    }
}

/// The index of the head in a relation.
const HEAD: usize = 1;
