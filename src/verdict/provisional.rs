//! The difference of two versions while they are still being measured. It is shown, and decides nothing.

use rbench_stats::{AlphaSpending, Criteria, Decider};

use super::{
    benchmark::BenchmarkResults,
    relation::{self, VersionRef},
    row::DecidedStage,
    verdicts::{MetricData, Verdicts, summaries},
};
use crate::{
    error::Result,
    model::{Benchmark, Metric, Stage},
};

/// The difference of two versions in one metric of a benchmark, by the builds measured so far.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvisionalRow {
    pub benchmark: Benchmark,
    pub metric: Metric,
    /// The stage whose builds were measured.
    pub stage: Stage,
    pub builds: usize,
    /// The relative change of the head.
    pub estimate: f64,
    /// Its 95 % CI; `None` with too few builds for one.
    pub interval: Option<[f64; 2]>,
}

impl Verdicts<'_> {
    /// The difference by all builds of a stage, in each metric to decide. Empty without measurements of both versions.
    pub fn provisional(
        &self,
        benchmark: &BenchmarkResults<'_>,
        versions: [VersionRef; 2],
        stage: Stage,
        criteria: &Criteria,
    ) -> Result<Vec<ProvisionalRow>> {
        let pairing = relation::pairing_within_experiment(&benchmark.layouts(versions)?);
        let mut rows = Vec::new();
        for metric in &self.metrics(benchmark, &versions) {
            let data = MetricData { benchmark, versions, metric, criteria, pairing };
            let rates = AlphaSpending::single_analysis(criteria);
            let (summaries, change) = match data.analysed(stage.into(), rates)? {
                Some(Ok(analysed)) => {
                    let DecidedStage { summaries, assessment } = analysed.into_stage(Decider::Own);
                    (Some(summaries), Some(assessment.change))
                }
                // Too few builds for an interval.
                Some(Err(_)) => {
                    (summaries(benchmark, versions, stage.into(), metric, criteria)?, None)
                }
                None => (None, None),
            };
            let Some([base, head]) = summaries else { continue };
            rows.push(ProvisionalRow {
                benchmark: benchmark.benchmark.clone(),
                metric: metric.clone(),
                stage,
                builds: base.builds().len().min(head.builds().len()),
                estimate: change.map_or_else(
                    || head.values().mean / base.values().mean - 1.0,
                    |change| change.estimate,
                ),
                interval: change.map(|change| [change.low, change.high]),
            });
        }
        Ok(rows)
    }
}
