//! Explains changed times and instruction counts by functions.

use rbench_code::{
    callgrind::{self, Explanation, Side},
    impact::Impact,
};

use super::{
    Event, Observer,
    explained_time::{ExplainedTime, explain_time},
    functions::Functions,
    request::ExplainedRows,
};
use crate::{
    builds::changed_dependencies,
    error::{Exit, Result},
    measure::{ListedVersion, Runner},
    model::{Benchmark, DependencyChange, Metric, Unit, Version},
    process::counting::find_valgrind,
    store::ExperimentId,
    verdict::{DecidedRow, VerdictKind},
};

/// The explanation of a benchmark's changed instruction count, function by function.
#[derive(Clone, Debug)]
pub struct ExplainedBenchmark {
    /// The version that the other is compared with.
    pub base: Version,
    /// The other version.
    pub head: Version,
    pub benchmark: Benchmark,
    pub explanation: Explanation,
    /// The impact of the changes on it, including its set-up.
    pub impact: Impact,
    /// The packages whose versions differ.
    pub dependencies: Vec<DependencyChange>,
}

/// Limit for explained benchmarks: explaining one takes about as long as counting it did.
const MOST: usize = 12;

/// Those of these benchmarks that can be explained on this machine.
pub fn possible(version: &ListedVersion, benchmarks: &[Benchmark]) -> Vec<Benchmark> {
    if find_valgrind().is_err() {
        return Vec::new();
    }
    benchmarks.iter().filter(|one| version.can_be_profiled(one)).cloned().collect()
}

/// Explains the benchmarks whose instructions changed most. One that cannot be explained causes
/// only a warning.
pub fn explain_changed(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    rows: &[DecidedRow],
    observer: &dyn Observer,
) -> Result<Vec<ExplainedBenchmark>> {
    let is_meant = |row: &DecidedRow| {
        row.metric.as_ref() == Some(&Metric::instructions())
            && VerdictKind::new(&row.verdict).is_change()
            && versions[1].can_be_profiled(&row.benchmark)
    };
    explain_rows(
        runner,
        versions,
        &changed(rows, is_meant),
        "instructions",
        observer,
        &|functions, row| {
            let impact = row.impact.clone().unwrap_or_default();
            explain(runner, versions, functions, &row.benchmark, impact)
        },
    )
}

/// Explains in time the benchmarks that regressed most, or also those that improved. One that cannot be explained causes
/// only a warning.
pub fn explain_changed_times(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    rows: &[DecidedRow],
    experiments: &[ExperimentId],
    which: ExplainedRows,
    observer: &dyn Observer,
    counted: &[ExplainedBenchmark],
) -> Result<Vec<ExplainedTime>> {
    let is_meant = |row: &DecidedRow| {
        let kind = VerdictKind::new(&row.verdict);
        let is_time = row.metric.as_ref().is_some_and(|one| one.unit == Unit::Nanoseconds);
        is_time
            && kind.is_change()
            && (kind == VerdictKind::Regressed || which == ExplainedRows::Changed)
    };
    explain_rows(runner, versions, &changed(rows, is_meant), "time", observer, &|functions, row| {
        let (impact, benchmark) = (row.impact.clone().unwrap_or_default(), &row.benchmark);
        let change = row.decisive().map(|stage| stage.assessment.change);
        let mut explained =
            explain_time(runner, versions, functions, benchmark, experiments, impact, change)?;
        let is_counted = |other: &DecidedRow| {
            other.benchmark == *benchmark && other.metric == Some(Metric::instructions())
        };
        if explained.needs_counts() && rows.iter().any(is_counted) {
            let known = counted.iter().find(|one| one.benchmark == *benchmark);
            explained.counted = match known {
                Some(known) => Some(known.explanation.clone()),
                None => counts(runner, versions, functions, benchmark)?,
            };
        }
        Ok(explained)
    })
}

fn explain_rows<T>(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    changed: &[&DecidedRow],
    what: &'static str,
    observer: &dyn Observer,
    explain: &dyn Fn(&Functions, &DecidedRow) -> Result<T>,
) -> Result<Vec<T>> {
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let (shown, left_out) = changed.split_at(changed.len().min(MOST));
    let (benchmarks, left_out) = (shown.len(), left_out.len());
    observer.compare_event(Event::Explaining { what, benchmarks, left_out });
    let functions = Functions::load(runner, versions)?;
    let mut explained = Vec::new();
    for row in shown {
        match explain(&functions, row) {
            Ok(report) => explained.push(report),
            Err(error) if error.exit() == Exit::Interrupted => return Err(error),
            Err(error) => observer.compare_event(Event::Warning(&error.to_string())),
        }
    }
    Ok(explained)
}

/// Counts a benchmark in both versions by function, and compares the counts. `impact` is the impact
/// of the changes on it.
pub fn explain(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    functions: &Functions,
    benchmark: &Benchmark,
    impact: Impact,
) -> Result<ExplainedBenchmark> {
    let sets = functions.sets_of(benchmark)?;
    let profiles = runner.profiles(versions, benchmark)?;
    let side = |version: usize| Side { profile: &profiles[version], functions: sets[version] };
    let [base, head] = versions;
    Ok(ExplainedBenchmark {
        base: base.version.clone(),
        head: head.version.clone(),
        benchmark: benchmark.clone(),
        explanation: callgrind::explain([side(0), side(1)]),
        impact,
        dependencies: changed_dependencies(&base.locked, &head.locked),
    })
}

/// The counts of a benchmark by function; `None` if it cannot be profiled.
fn counts(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    functions: &Functions,
    benchmark: &Benchmark,
) -> Result<Option<Explanation>> {
    match explain(runner, versions, functions, benchmark, Impact::default()) {
        Err(error) if error.exit() == Exit::Interrupted => Err(error),
        explained => Ok(explained.ok().map(|one| one.explanation)),
    }
}

/// These rows, the largest change first.
fn changed(rows: &[DecidedRow], is_meant: impl Fn(&DecidedRow) -> bool) -> Vec<&DecidedRow> {
    let mut changed: Vec<&DecidedRow> = rows.iter().filter(|row| is_meant(row)).collect();
    changed.sort_by(|one, other| size(other).total_cmp(&size(one)));
    changed
}

fn size(row: &DecidedRow) -> f64 {
    row.decisive().map_or(0.0, |stage| stage.assessment.comparison.log_change.abs())
}
