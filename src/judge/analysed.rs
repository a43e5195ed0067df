//! Some builds of a benchmark, analysed by its estimator and by the mean of all measurements. Decides nothing.

use super::{
    benchmark::BenchmarkResults, looks::SomeBuilds, relation::VersionRef, row::JudgedStage,
};
use crate::{
    failure::Result,
    model::Metric,
    stats::{Analysis, Criteria, Decider, Estimator, Pairing, Rates, Refusal, Summary},
};

/// What is judged by the stages of an experiment.
pub(super) struct Subject<'s> {
    pub(super) benchmark: &'s BenchmarkResults<'s>,
    pub(super) versions: [VersionRef; 2],
    pub(super) metric: &'s Metric,
    pub(super) criteria: &'s Criteria,
    pub(super) pairing: Pairing,
}

/// Some builds of a benchmark, with the two estimates that they were analysed by.
pub(super) struct Analysed {
    /// Base and head by the estimator.
    own: [Summary; 2],
    /// The same by the mean, where the analysis has it.
    mean: Option<[Summary; 2]>,
    pub(super) analysis: Analysis,
}

impl Subject<'_> {
    /// The analysis of some builds; `None` if one of the versions has no measurements.
    pub(super) fn analysed(
        &self,
        builds: SomeBuilds<'_>,
        rates: Rates,
    ) -> Result<Option<Result<Analysed, Refusal>>> {
        let of = |criteria: &Criteria| {
            summaries(self.benchmark, self.versions, builds, self.metric, criteria)
        };
        let Some(own) = of(self.criteria)? else { return Ok(None) };
        let mean = if own[0].estimator().needs_mean() {
            of(&Criteria { estimator: Some(Estimator::Mean), ..*self.criteria })?
        } else {
            None
        };
        let analysis = Analysis::at(rates, &own, mean.as_ref(), self.pairing, self.criteria);
        Ok(Some(analysis.map(|analysis| Analysed { own, mean, analysis })))
    }
}

impl Analysed {
    /// The stage by one of the estimates.
    pub(super) fn by(self, decider: Decider) -> JudgedStage {
        let assessment = self.analysis.by(decider).clone();
        let mean = self.mean.filter(|_| decider == Decider::Mean);
        let summaries = mean.unwrap_or(self.own);
        JudgedStage { summaries, assessment }
    }
}

/// Some builds of base and head; `None` if one of them has no measurements.
pub(super) fn summaries(
    benchmark: &BenchmarkResults<'_>,
    [base, head]: [VersionRef; 2],
    builds: SomeBuilds<'_>,
    metric: &Metric,
    criteria: &Criteria,
) -> Result<Option<[Summary; 2]>> {
    let summary = |place| benchmark.summary(place, builds, metric, criteria);
    Ok(summary(base)?.zip(summary(head)?).map(<[Summary; 2]>::from))
}
