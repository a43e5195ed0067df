//! Explains, for the web page of a comparison, where the instructions of benchmarks went that it found to have changed.

use super::{explain, functions::Functions};
use crate::{
    console::Console,
    experiment::{ListedVersion, Runner},
    failure::{Exit, Result},
    judge::JudgedRow,
    model::{Benchmark, Metric},
    process::counting::find_valgrind,
    report::{explain::ExplainReport, quantity::count, verdict::VerdictKind},
};

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
pub fn of_changed(
    runner: &Runner<'_>,
    versions: &[ListedVersion; 2],
    rows: &[JudgedRow],
    console: &Console,
) -> Result<Vec<ExplainReport>> {
    let changed = changed(rows, |benchmark| versions[1].can_be_profiled(benchmark));
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    let left_out = match changed.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" ({more} more changed by less)"),
    };
    let shown = &changed[..changed.len().min(MOST)];
    let whom = count(shown.len(), "benchmark");
    console.line(&format!("explaining where the instructions of {whom} went{left_out}"));
    let functions = Functions::of(runner, versions)?;
    let mut explained = Vec::new();
    for row in shown {
        let reach = row.reach.clone().unwrap_or_default();
        match explain::of_benchmark(runner, versions, &functions, &row.benchmark, reach) {
            Ok(report) => explained.push(report),
            Err(failure) if failure.exit() == Exit::Interrupted => return Err(failure),
            Err(failure) => console.line(&format!("warning: {failure}")),
        }
    }
    Ok(explained)
}

/// The rows of instructions that changed, the largest change first.
fn changed(rows: &[JudgedRow], can_be_profiled: impl Fn(&Benchmark) -> bool) -> Vec<&JudgedRow> {
    let is_changed = |row: &&JudgedRow| {
        row.metric.as_ref() == Some(&Metric::instructions())
            && VerdictKind::of(&row.verdict).is_change()
            && can_be_profiled(&row.benchmark)
    };
    let mut changed: Vec<&JudgedRow> = rows.iter().filter(is_changed).collect();
    changed.sort_by(|one, other| size(other).total_cmp(&size(one)));
    changed
}

fn size(row: &JudgedRow) -> f64 {
    row.decisive().map_or(0.0, |stage| stage.assessment.comparison.log_change.abs())
}
