//! Explains, for the web page of a comparison, where the instructions of benchmarks went that it found to have changed.

use super::{Event, Observer, functions::Functions};
use crate::{
    builds::changed_dependencies,
    callgrind::{self, Explanation, Side},
    error::{Error, Exit, Result},
    impact::Impact,
    measure::{ListedVersion, Runner},
    model::{Benchmark, DependencyChange, Metric, Version},
    process::counting::find_valgrind,
    verdict::{DecidedRow, VerdictKind},
};

/// Where the instructions went that a version of a benchmark executes more or less, function by function.
#[derive(Clone, Debug)]
pub struct ExplainedBenchmark {
    /// The version that the other is compared with.
    pub base: Version,
    /// The other version.
    pub head: Version,
    /// The benchmark.
    pub benchmark: Benchmark,
    /// What its functions executed.
    pub explanation: Explanation,
    /// What differs that it executes or reads, in its set-up as well.
    pub reach: Impact,
    /// The packages of which the versions use other versions.
    pub dependencies: Vec<DependencyChange>,
}

/// So many benchmarks are explained: each takes about as long as counting it did.
const MOST: usize = 12;

/// Those of some benchmarks that can be explained on this machine.
pub fn possible(version: &ListedVersion, benchmarks: &[Benchmark]) -> Vec<Benchmark> {
    if find_valgrind().is_err() {
        return Vec::new();
    }
    benchmarks.iter().filter(|one| version.can_be_profiled(one)).cloned().collect()
}

/// The explanations of those benchmarks whose instructions changed most. Where one cannot be explained, that is told, and
/// the comparison is what it is.
pub fn explain_changed(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    rows: &[DecidedRow],
    observer: &dyn Observer,
) -> Result<Vec<ExplainedBenchmark>> {
    let changed = changed(rows, |benchmark| versions[1].can_be_profiled(benchmark));
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let (shown, left_out) = changed.split_at(changed.len().min(MOST));
    let (benchmarks, left_out) = (shown.len(), left_out.len());
    observer.compare_event(Event::Explaining { benchmarks, left_out });
    let functions = Functions::load(runner, versions)?;
    let mut explained = Vec::new();
    for row in shown {
        let reach = row.impact.clone().unwrap_or_default();
        match explain(runner, versions, &functions, &row.benchmark, reach) {
            Ok(report) => explained.push(report),
            Err(failure) if failure.exit() == Exit::Interrupted => return Err(failure),
            Err(failure) => observer.compare_event(Event::Warning(&failure.to_string())),
        }
    }
    Ok(explained)
}

/// Counts a benchmark in both versions by function, and compares that. `reach` is what of their differences it reaches.
pub fn explain(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    functions: &Functions,
    benchmark: &Benchmark,
    reach: Impact,
) -> Result<ExplainedBenchmark> {
    let target = benchmark.bench_target();
    let sets = functions.target_functions(&target).ok_or_else(|| {
        Error::new(Exit::Internal, format!("the functions of {target} are not known"))
    })?;
    let profiles = runner.profiles(versions, benchmark)?;
    let side = |version: usize| Side { profile: &profiles[version], functions: sets[version] };
    let [base, head] = versions;
    Ok(ExplainedBenchmark {
        base: base.version.clone(),
        head: head.version.clone(),
        benchmark: benchmark.clone(),
        explanation: callgrind::explain([side(0), side(1)]),
        reach,
        dependencies: changed_dependencies(&base.locked, &head.locked),
    })
}

/// The rows of instructions that changed, the largest change first.
fn changed(rows: &[DecidedRow], can_be_profiled: impl Fn(&Benchmark) -> bool) -> Vec<&DecidedRow> {
    let is_changed = |row: &&DecidedRow| {
        row.metric.as_ref() == Some(&Metric::instructions())
            && VerdictKind::new(&row.verdict).is_change()
            && can_be_profiled(&row.benchmark)
    };
    let mut changed: Vec<&DecidedRow> = rows.iter().filter(is_changed).collect();
    changed.sort_by(|one, other| size(other).total_cmp(&size(one)));
    changed
}

fn size(row: &DecidedRow) -> f64 {
    row.decisive().map_or(0.0, |stage| stage.assessment.comparison.log_change.abs())
}
