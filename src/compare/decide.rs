//! Verdicts on an experiment of two versions from its results so far.

use tracing::info_span;

use crate::{
    config::VerdictSettings,
    error::Result,
    measure::Runner,
    model::Benchmark,
    store::ExperimentId,
    verdict::{DecidedRow, DecisionOptions, Relation, Results, Verdicts, VersionRef},
};

/// The verdicts on benchmarks by an experiment that may not be finished, in each of its metrics
/// that the settings select.
pub fn decide_rows(
    runner: &Runner<'_>,
    verdicts: &VerdictSettings,
    id: ExperimentId,
    benchmarks: &[Benchmark],
) -> Result<Vec<DecidedRow>> {
    let _phase = info_span!("statistics", benchmarks = benchmarks.len()).entered();
    let results = Results::load(&runner.store, id)?;
    let options = DecisionOptions { metrics: verdicts.metrics.clone(), ignore_environment: false };
    let decider = Verdicts::new(&results, options);
    let place = |version| VersionRef { experiment: 0, version };
    let relation = Relation::SameExperiment([place(0), place(1)]);
    let mut rows = Vec::new();
    for benchmark in benchmarks {
        let of_benchmark = results.benchmark(benchmark, [0])?;
        rows.extend(decider.rows(&of_benchmark, &relation, &verdicts.criteria(benchmark))?);
    }
    Ok(rows)
}
