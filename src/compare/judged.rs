//! What an experiment on two versions says by now.

use tracing::info_span;

use crate::{
    experiment::Runner,
    failure::Result,
    judge::{Judge, JudgeOptions, JudgedRow, Relation, Results, VersionRef},
    model::Benchmark,
    settings::VerdictSettings,
    store::ExperimentId,
};

/// The verdicts on benchmarks by an experiment that may still go on, in each metric that it measured and that is judged.
pub fn judged(
    runner: &Runner<'_>,
    verdicts: &VerdictSettings,
    id: ExperimentId,
    benchmarks: &[Benchmark],
) -> Result<Vec<JudgedRow>> {
    let _phase = info_span!("statistics", benchmarks = benchmarks.len()).entered();
    let results = Results::of_experiment(&runner.store, id)?;
    let options = JudgeOptions { metrics: verdicts.metrics.clone(), allow_different: false };
    let judge = Judge::new(&results, options);
    let place = |version| VersionRef { experiment: 0, version };
    let relation = Relation::SameExperiment([place(0), place(1)]);
    let mut rows = Vec::new();
    for benchmark in benchmarks {
        let of_benchmark = results.of_benchmark(benchmark, [0])?;
        rows.extend(judge.rows(&of_benchmark, &relation, &verdicts.of(benchmark))?);
    }
    Ok(rows)
}
