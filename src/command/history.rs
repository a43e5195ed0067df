//! `cargo rbench history`: the changes of benchmarks over the stored commits, in git order, or every build and execution
//! of one version. It reads stored results and measures nothing.

mod changes;
mod rows;
mod version;
mod versions;

use std::rc::Rc;

pub use self::version::measured_version;
use self::versions::PathFilter;
use changes::BenchmarkSeries;
use rbench_stats::Criteria;
use rows::{Histories, History};
use versions::{ChosenVersions, chosen, others};

use super::{output::Output, stored_project};
use crate::{
    cli::HistoryArgs,
    compare::{Acceptances, Archive, archive},
    config::VerdictSettings,
    console::Console,
    error::{Error, Exit, Result},
    git::is_range,
    harness::Filter,
    model::Benchmark,
    report::{
        self,
        history::{BenchmarkHistory, HistoryReport},
    },
    shell::CommandLine as _,
    store::Store,
    verdict::{DecisionOptions, Results, Verdicts, VersionRef},
};

pub fn run(args: &HistoryArgs) -> Result<Exit> {
    let console = Console::attach();
    let output = Output::with_values(args.format, &args.output.files)?;
    let project = stored_project(&args.target.project)?;
    project.check_tables(&[args.revision.as_deref().unwrap_or("HEAD")], &console)?;
    let verdicts = VerdictSettings::resolve(&project.file, &args.criteria)?;
    let Archive { store, acceptances, .. } =
        &Archive::open(&project, &console, Rc::new(args.given.clone()))?;
    let mut args = args.clone();
    if let Some(word) = args.revision.take() {
        let experiments = store.experiments()?;
        if experiments.is_empty() {
            return Err(archive::nothing_stored(store.path(), &args.given));
        }
        match version::find(&word, &project.repository, &experiments) {
            Ok(version) => {
                refuse_options_of_several(&args, &word)?;
                let report =
                    version::report(&args, &version, store, &experiments, &verdicts, &console)?;
                output.write(&report)?;
                return Ok(Exit::Success);
            }
            Err(no_version) => take_as_filter(&mut args, word, store, &no_version)?,
        }
    }
    let filter = Filter::new(&args.filter.patterns(), args.filter.exact, (&args.target).into());
    let benchmarks = archive::chosen(store, &filter, &args.given)?;
    let results = archive::finished(store, verdicts.counts_only(), &benchmarks, &args.given)?;
    let report = report(&args, &results, &benchmarks, &verdicts, acceptances)?;
    let note = report::idle_note(&acceptances.not_in_history()?);
    output.write(&report)?;
    if let Some(note) = note {
        console.line(&format!("note: {note}"));
    }
    Ok(Exit::Success)
}

/// Refuses options that would have no effect on the report on one version.
fn refuse_options_of_several(args: &HistoryArgs, word: &str) -> Result<()> {
    let Some(option) = args.option_of_several() else { return Ok(()) };
    let error = Error::new(Exit::Usage, format!("`--{option}` is about several versions"))
        .cause(format!("`{word}` names one"));
    let hint = args.given.as_filter("history", &[], word);
    Err(hint.into_iter().fold(error, Error::hint))
}

/// Takes a word that names no version as a filter. Fails if no benchmark matches it: then it may be a mistyped version.
fn take_as_filter(
    args: &mut HistoryArgs,
    word: String,
    store: &Store<'_>,
    no_version: &Error,
) -> Result<()> {
    let filter = Filter::new(std::slice::from_ref(&word), args.filter.exact, (&args.target).into());
    archive::chosen(store, &filter, &args.given).map_err(|error| {
        let error = error.cause(format!("it names no version either: {}", no_version.what()));
        let since = word.split_once("..").filter(|_| is_range(&word));
        let since = since.map(|(start, _)| {
            let range = args.given.suggest("history", &[], &[("since", Some(start))]);
            format!("show the versions since one with: {range}")
        });
        let hints = no_version.hints().iter().cloned().chain(since);
        hints.fold(error, Error::hint)
    })?;
    args.add_filter(word);
    Ok(())
}

/// Decides on the changes of these benchmarks.
pub(super) fn report(
    args: &HistoryArgs,
    results: &Results<'_>,
    benchmarks: &[Benchmark],
    verdicts: &VerdictSettings,
    acceptances: &Acceptances<'_>,
) -> Result<HistoryReport> {
    let repository = acceptances.repository;
    results.check_metrics(&verdicts.metrics, benchmarks)?;
    let ChosenVersions { entries, hidden, variant } = chosen(args, repository, results)?;
    let touched = PathFilter::from_args(args, repository, &entries)?;
    let options =
        DecisionOptions { ignore_environment: args.ignore_environment, ..verdicts.into() };
    let histories = Histories {
        results,
        decider: Verdicts::new(results, options),
        entries: &entries,
        acceptances,
        ignore_environment: args.ignore_environment,
        changes_only: args.changes_only,
    };
    let mut report = HistoryReport {
        subject: None,
        criteria: verdicts.criteria,
        overview: args.filter.patterns().is_empty(),
        changes_only: args.changes_only,
        worst_only: args.top.is_some(),
        paths: args.paths(),
        hidden,
        other_variants: others(results, variant.as_ref()),
        variant,
        unfinished: results.unfinished,
        shallow: repository.is_shallow() && entries.iter().any(|entry| !entry.in_repository),
        benchmarks: Vec::new(),
        unmeasured: Vec::new(),
        events: Vec::new(),
        commits: Vec::new(),
        command_line: Rc::new(args.given.clone()),
    };
    let mut courses = Vec::new();
    for benchmark in benchmarks {
        let loaded = load(&histories, benchmark, &verdicts.criteria(benchmark))?;
        // A filter for changes says nothing of a benchmark without values.
        if loaded.is_empty() && args.top.is_none() && touched.is_none() {
            report.unmeasured.push(histories.unmeasured(benchmark)?);
        }
        for (history, course) in loaded {
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
    for range in report.changed_ranges() {
        let changes = repository.changes(&range.after, &range.until)?;
        report.commits.push((range, changes));
    }
    Ok(report)
}

/// Keeps the benchmarks with the largest suspected slowdowns, the worst first.
fn keep_worst(benchmarks: &mut Vec<BenchmarkHistory>, count: usize) {
    benchmarks.retain(|benchmark| benchmark.series.total() > 0.0);
    benchmarks.sort_by(|one, other| other.series.total().total_cmp(&one.series.total()));
    benchmarks.truncate(count);
}

/// Loads all versions of one benchmark in each metric, each compared with the nearest measured version before it.
fn load(
    all: &Histories<'_>,
    benchmark: &Benchmark,
    criteria: &Criteria,
) -> Result<Vec<(BenchmarkHistory, BenchmarkSeries)>> {
    let executed = all.results.experiments_with(benchmark)?;
    let experiments = all.entries.iter().flat_map(|entry| all.experiments_for(entry, &executed));
    let of_benchmark = all.results.benchmark(benchmark, experiments)?;
    let places: Vec<Vec<VersionRef>> =
        all.entries.iter().map(|entry| of_benchmark.find_in(&entry.measured)).collect();
    let same = all.same(&of_benchmark)?;
    let sources = rows::sources(&of_benchmark, &places, &same);
    let Some(newest) = places.iter().rev().find_map(|places| places.last()).copied() else {
        return Ok(Vec::new());
    };
    let is_measured = |places: &Vec<VersionRef>| {
        places.last().filter(|place| of_benchmark.unmeasured(**place).is_none()).copied()
    };
    let measured: Vec<VersionRef> = places.iter().filter_map(is_measured).collect();
    let mut histories = Vec::new();
    for metric in all.metrics_of(&of_benchmark, &measured) {
        let history = History {
            all,
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
