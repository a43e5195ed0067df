//! Verdicts on an experiment of two versions from its results so far.

use tracing::info_span;

use crate::{
    config::VerdictSettings,
    error::Result,
    measure::Runner,
    model::{Benchmark, Stage},
    store::ExperimentId,
    verdict::{
        DecidedRow, DecisionOptions, ProvisionalRow, Relation, Results, Verdicts, VersionRef,
    },
};

/// Base and head, in the only experiment of the results.
const VERSIONS: [VersionRef; 2] =
    [VersionRef { experiment: 0, version: 0 }, VersionRef { experiment: 0, version: 1 }];

/// The verdicts on benchmarks by an experiment that may not be finished, in each of its metrics
/// that the settings select.
pub fn decide_rows(
    runner: &Runner<'_>,
    settings: &VerdictSettings,
    id: ExperimentId,
    benchmarks: &[Benchmark],
) -> Result<Vec<DecidedRow>> {
    decide_so_far(runner, settings, id, benchmarks, 0)
}

/// The same while `pending` other benchmarks are still to be measured for the first time. They share
/// the error rate, so a verdict that is shown now still holds when they are decided.
pub fn decide_so_far(
    runner: &Runner<'_>,
    settings: &VerdictSettings,
    id: ExperimentId,
    benchmarks: &[Benchmark],
    pending: usize,
) -> Result<Vec<DecidedRow>> {
    let _phase = info_span!("statistics", benchmarks = benchmarks.len()).entered();
    let results = Results::load(&runner.store, id)?;
    let pending = pending * settings.metrics.len().max(1);
    let decider = Verdicts::new(&results, DecisionOptions { pending, ..settings.into() });
    let mut rows = Vec::new();
    for benchmark in benchmarks {
        let of_benchmark = results.benchmark(benchmark, [0])?;
        let relation = Relation::SameExperiment(VERSIONS);
        rows.extend(decider.rows(&of_benchmark, &relation, &settings.criteria(benchmark))?);
    }
    Ok(rows)
}

/// What the measurements of a stage show of benchmarks so far, without deciding anything.
pub fn provisional_rows<'b>(
    runner: &Runner<'_>,
    settings: &VerdictSettings,
    id: ExperimentId,
    stage: Stage,
    benchmarks: impl IntoIterator<Item = &'b Benchmark>,
) -> Result<Vec<ProvisionalRow>> {
    let results = Results::load(&runner.store, id)?;
    let verdicts = Verdicts::new(&results, settings.into());
    let mut rows = Vec::new();
    for benchmark in benchmarks {
        let of_benchmark = results.benchmark(benchmark, [0])?;
        let criteria = settings.criteria(benchmark);
        rows.extend(verdicts.provisional(&of_benchmark, VERSIONS, stage, &criteria)?);
    }
    Ok(rows)
}

impl From<&VerdictSettings> for DecisionOptions {
    fn from(settings: &VerdictSettings) -> Self {
        Self { metrics: settings.metrics.clone(), ..Self::default() }
    }
}
