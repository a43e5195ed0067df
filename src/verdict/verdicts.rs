//! Decides each metric of a benchmark in two versions, from its measurements.
//!
//! Versions of one experiment are decided by its stages, results of two experiments with the
//! variance between experiments. `compare`, `compare --stored`, `history`, `run` and the demo all
//! decide here, from rows of the store.

use std::{cell::RefCell, collections::HashMap};

use rbench_stats::{
    AlphaSpending, Analysis, Assessment, Criteria, Decider, Decision, Estimator, Pairing, Power,
    StatsError, Summary, decide_counts,
};

use super::{
    benchmark::{BenchmarkResults, BuildSelection},
    benchmark_verdict::Verdict,
    interim::Progress,
    interleaving::Mixed,
    relation::{self, Relation, VersionRef},
    results::Results,
    row::{Advice, ByMean, DecidedRow, DecidedStage, UnmeasuredIn, VerdictKind, is_about_id},
};
use crate::{
    error::Result,
    model::{Metric, Mode, SkipReason, Stage, Unmeasured},
    store::MeasuredBenchmark,
};

const NO_REPEAT: &str = "measured in two experiments, and no commit was measured twice with the \
                         same settings, so the variation between experiments is unknown";

/// The probability that an audit shows a change of any skipped benchmark by chance, in either
/// direction. It ends a comparison as a defect of rbench, so it is rare even if each commit has one.
pub const AUDIT_ERROR_RATE: f64 = 0.001;

/// The reason given for not comparing interleaved executions with others, whatever conditions are
/// allowed.
pub const MIXED: &str = "some of its executions were interleaved with those of the other version, and others ran alone, so \
                     their times cannot be compared";

/// The metrics to decide, and the conditions under which results of two experiments are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionOptions {
    /// The metrics to decide; if empty, all [default](Metric::is_default) ones.
    pub metrics: Vec<Metric>,
    /// True to compare results of different machines, settings and compilers.
    pub ignore_environment: bool,
    /// The number of verdicts on benchmarks that are still to be measured, which will share the error rate.
    pub pending: usize,
}

/// Decides benchmarks by the results of some experiments.
pub struct Verdicts<'r> {
    results: &'r Results<'r>,
    options: DecisionOptions,
    /// The number of verdicts for two versions of an experiment, which share the error rate.
    counts: RefCell<HashMap<VersionRef, HashMap<usize, usize>>>,
}

impl<'r> Verdicts<'r> {
    pub fn new(results: &'r Results<'r>, options: DecisionOptions) -> Self {
        Self { results, options, counts: RefCell::default() }
    }

    pub fn metrics(&self, benchmark: &BenchmarkResults<'_>, places: &[VersionRef]) -> Vec<Metric> {
        let mut metrics = benchmark.metrics(places);
        metrics.retain(|metric| self.is_decided(metric));
        if self.options.metrics.is_empty() && benchmark.waits(places) {
            // A program that waits has little CPU time, and most of that starts the process.
            metrics.retain(|metric| *metric != Metric::cpu());
        }
        metrics
    }

    /// One verdict for each metric that both versions have, or a single one without a metric if
    /// there are no values to decide by.
    ///
    /// A benchmark that was measured although its experiment had a reason to skip it was audited: it
    /// keeps the verdict of the reason, with the stages as evidence, unless a change is shown at
    /// the error rate of audits.
    pub fn rows(
        &self,
        benchmark: &BenchmarkResults<'_>,
        relation: &Relation,
        criteria: &Criteria,
    ) -> Result<Vec<DecidedRow>> {
        let Some(reason) = self.audited(benchmark, relation)? else {
            return self.measured_rows(benchmark, relation, criteria);
        };
        let audits = self.count_decided(relation.versions())?.max(1);
        let criteria = criteria.within(AUDIT_ERROR_RATE / audits as f64);
        let mut rows = self.measured_rows(benchmark, relation, &criteria)?;
        if rows.iter().any(|row| VerdictKind::new(&row.verdict).is_change()) {
            return Ok(rows);
        }
        let progress = rows.iter().map(|row| row.progress).fold(Progress::Ended, Progress::combine);
        rows.truncate(1);
        let kept = |row| DecidedRow { verdict: reason.into(), metric: None, progress, ..row };
        Ok(rows.into_iter().map(kept).collect())
    }

    /// The reason for which the experiment of these versions would have skipped the benchmark, if
    /// it measured it all the same.
    fn audited(
        &self,
        benchmark: &BenchmarkResults<'_>,
        relation: &Relation,
    ) -> Result<Option<SkipReason>> {
        let versions = relation.versions();
        if !matches!(relation, Relation::SameExperiment(_))
            || versions.iter().any(|place| benchmark.rows(*place).is_empty())
        {
            return Ok(None);
        }
        self.results.skip_reason(versions[0].experiment, &benchmark.benchmark)
    }

    fn measured_rows(
        &self,
        benchmark: &BenchmarkResults<'_>,
        relation: &Relation,
        criteria: &Criteria,
    ) -> Result<Vec<DecidedRow>> {
        let versions = relation.versions();
        if let Some(row) = unmeasured(benchmark, versions) {
            return Ok(vec![row]);
        }
        let metrics = self.metrics(benchmark, &versions);
        let without_values = self.verdict_without_values(benchmark, relation)?;
        let without_values = without_values
            .or_else(|| metrics.is_empty().then(|| self.nothing_in_common(benchmark, versions)));
        if let Some(verdict) = without_values {
            return Ok(vec![DecidedRow::without_metric(&benchmark.benchmark, verdict)]);
        }
        if versions.iter().all(|place| self.results.is_counting(place.experiment)) {
            let row = |metric: &Metric| by_counts(benchmark, versions, metric, criteria);
            return metrics.iter().map(row).collect();
        }
        let row = |metric: &Metric| match relation {
            Relation::SameExperiment(versions) => {
                self.decide_by_stages(benchmark, *versions, metric, criteria)
            }
            Relation::AcrossExperiments(versions) | Relation::Incomparable { versions, .. } => {
                self.across(benchmark, *versions, metric, criteria)
            }
        };
        let work = benchmark.different_work(versions);
        let complete = |row: DecidedRow| {
            let decisive = if row.stages.len() > 1 { Stage::Second } else { Stage::First };
            let interleaving = benchmark.interleaving(&versions, decisive).ok().flatten();
            DecidedRow { work, interleaving, ..row }
        };
        metrics.iter().map(|metric| Ok(complete(row(metric)?))).collect()
    }

    /// The verdict on a measured benchmark whose values are not needed or must not be used.
    fn verdict_without_values(
        &self,
        benchmark: &BenchmarkResults<'_>,
        relation: &Relation,
    ) -> Result<Option<Verdict>> {
        let [base, head] = relation.versions();
        if let Some(reason) = benchmark.skip_reason([base, head])? {
            return Ok(Some(reason.into()));
        }
        // Equal programs alone are no reason: they may read different files.
        if self.results.version(base).key() == self.results.version(head).key() {
            return Ok(Some(Verdict::Identical));
        }
        if is_mixed(benchmark, relation) {
            return Ok(Some(Verdict::NotComparable { reason: MIXED.to_owned() }));
        }
        Ok(match relation {
            Relation::Incomparable { reasons, .. } if !self.options.ignore_environment => {
                let reasons = reasons.join("; ");
                let reason = format!("measured under different conditions ({reasons})");
                Some(Verdict::NotComparable { reason })
            }
            _ => None,
        })
    }

    /// The verdict if there is no metric to decide.
    fn nothing_in_common(
        &self,
        benchmark: &BenchmarkResults<'_>,
        versions: [VersionRef; 2],
    ) -> Verdict {
        let measured = versions.map(|place| benchmark.metrics(&[place]));
        if measured.iter().any(Vec::is_empty) {
            return no_measurements();
        }
        let wanted = match self.options.metrics.as_slice() {
            [] => String::new(),
            wanted => format!(" of {}", Metric::names(wanted)),
        };
        let [base, head] = measured.map(|metrics| Metric::names(&metrics));
        let reason = format!("no common metric{wanted}: base has {base}, head has {head}");
        Verdict::NotComparable { reason }
    }

    /// Decides by the stages of the experiment that measured both versions.
    fn decide_by_stages(
        &self,
        benchmark: &BenchmarkResults<'_>,
        versions: [VersionRef; 2],
        metric: &Metric,
        criteria: &Criteria,
    ) -> Result<DecidedRow> {
        let row =
            |verdict, stages| DecidedRow::of_metric(&benchmark.benchmark, metric, verdict, stages);
        let analyses = benchmark.interim_analyses(versions);
        let subject = MetricData {
            benchmark,
            versions,
            metric,
            criteria,
            pairing: relation::pairing_within_experiment(&benchmark.layouts(versions)?),
        };
        let (count, all) = (self.count_decided(versions)?, analyses.planned.count());
        // The first analysis that decides the metric counts, whatever was measured later for another one.
        let mut first = None;
        for index in 0..analyses.count() {
            match subject.analysed(
                analyses.builds(index),
                AlphaSpending::at_analysis(criteria, index, all),
            )? {
                None => return Ok(row(no_measurements(), Vec::new())),
                Some(Err(error)) => return Ok(row(Verdict::refused(&error), Vec::new())),
                Some(Ok(stage)) => {
                    let ends = stage.analysis.ends_first_stage(index + 1 == all, criteria);
                    first = Some(stage);
                    if ends {
                        break;
                    }
                }
            }
        }
        let Some(first) = first else { return Ok(row(no_measurements(), Vec::new())) };
        let needs_fresh = criteria.confirm && first.analysis.nominated_by(criteria).is_some();
        let second = if needs_fresh {
            subject.analysed(Stage::Second.into(), AlphaSpending::second_stage(criteria, all))?
        } else {
            None
        };
        let progress = Progress::after(&analyses, &first.analysis, count, criteria);
        let second = match second.transpose() {
            Err(error) => {
                // An interrupted second stage may have too few builds: its progress makes it go on.
                let refused = row(Verdict::refused(&error), vec![first.into_stage(Decider::Own)]);
                return Ok(DecidedRow { progress, ..refused });
            }
            Ok(second) => second,
        };
        let fresh = second.as_ref().map(|second| &second.analysis);
        let Decision { verdict, decider, by_mean } = first.analysis.decide(fresh, count, criteria);
        let by_mean = by_mean.map(|change| ByMean { change, primary: decider == Decider::Mean });
        let stages: Vec<DecidedStage> =
            std::iter::once(first).chain(second).map(|stage| stage.into_stage(decider)).collect();
        let power =
            stages.last().filter(|_| matches!(verdict, rbench_stats::Verdict::Inconclusive { .. }));
        let power = power.and_then(|DecidedStage { summaries, assessment }| {
            let power = Power::estimate(assessment, count, criteria)?;
            Some(power.with_executions_of(assessment, summaries))
        });
        let pair_time = benchmark.pair_time(versions);
        let advice = power.and_then(|power| Advice::from_power(&power, criteria.min_effect));
        let advice = advice.map(|advice| Advice { pair_time, ..advice });
        let verdict = verdict.with_power(power.as_ref());
        Ok(DecidedRow { by_mean, advice, progress, ..row(verdict.into(), stages) })
    }

    /// The value of a version in its experiment, and the stage that it comes from: the one that
    /// decides, so that it equals the value in a comparison within the experiment.
    pub fn value(
        &self,
        benchmark: &BenchmarkResults<'_>,
        place: VersionRef,
        metric: &Metric,
        criteria: &Criteria,
    ) -> Result<(Stage, Option<Summary>)> {
        if self.results.is_counting(place.experiment) {
            let summary = benchmark.summary(place, Stage::First, metric, criteria)?;
            return Ok((Stage::First, summary));
        }
        let versions = benchmark.confirmed_in(place.experiment);
        let row = versions.map(|pair| self.decide_by_stages(benchmark, pair, metric, criteria));
        let is_confirmed = row.transpose()?.is_some_and(|row| row.stages.len() > 1);
        let stage = if is_confirmed { Stage::Second } else { Stage::First };
        Ok((stage, benchmark.summary(place, stage, metric, criteria)?))
    }

    /// Decides by results of two experiments with the variance between experiments, or finds them
    /// not comparable. There is no advice, because more builds would not reduce that variance.
    fn across(
        &self,
        benchmark: &BenchmarkResults<'_>,
        versions: [VersionRef; 2],
        metric: &Metric,
        criteria: &Criteria,
    ) -> Result<DecidedRow> {
        let [base, head] = versions;
        let row =
            |verdict, stages| DecidedRow::of_metric(&benchmark.benchmark, metric, verdict, stages);
        let interleaving = benchmark.interleaving(&versions, Stage::First).ok().flatten();
        let mode = interleaving.map_or(Mode::Sequential, |all| all.mode);
        let sessions = benchmark.session_variance(head.experiment, metric, mode, criteria)?;
        let Some(sessions) = sessions else {
            let verdict = Verdict::NotComparable { reason: NO_REPEAT.to_owned() };
            return Ok(row(verdict, Vec::new()));
        };
        let Some(summaries) =
            summaries(benchmark, versions, Stage::First.into(), metric, criteria)?
        else {
            return Ok(row(no_measurements(), Vec::new()));
        };
        let pairing = relation::pairing_across_experiments(&benchmark.layouts(versions)?);
        let decided = self.count_decided([base; 2])?.min(self.count_decided([head; 2])?);
        let [one, other] = &summaries;
        Ok(match Assessment::across(one, other, pairing, &sessions, criteria) {
            Err(error) => row(Verdict::refused(&error), Vec::new()),
            Ok(assessment) => {
                let power = Power::estimate(&assessment, decided, criteria);
                let verdict = rbench_stats::Verdict::decide_stored(&assessment, decided, criteria);
                let verdict = verdict.with_power(power.as_ref());
                row(verdict.into(), vec![DecidedStage { summaries, assessment }])
            }
        })
    }

    fn is_decided(&self, metric: &Metric) -> bool {
        let metrics = &self.options.metrics;
        if metrics.is_empty() { metric.is_default() } else { metrics.contains(metric) }
    }

    /// The number of pairs of benchmark and metric that one experiment measured in both versions,
    /// which is the number of verdicts. It includes the CPU time of programs that wait, which only
    /// makes verdicts stricter.
    fn count_decided(&self, [base, head]: [VersionRef; 2]) -> Result<usize> {
        let known = self.counts.borrow().get(&base).and_then(|of| of.get(&head.version)).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let decided = |of: &MeasuredBenchmark| {
            let [base, head] = [&of.versions[base.version], &of.versions[head.version]];
            if base.failed || head.failed {
                return 0;
            }
            let common = base.metrics.iter().filter(|metric| head.metrics.contains(metric));
            common.filter(|metric| self.is_decided(metric)).count()
        };
        let measured: usize = self.results.measured(base.experiment)?.iter().map(decided).sum();
        let count = measured + self.options.pending;
        self.counts.borrow_mut().entry(base).or_default().insert(head.version, count);
        Ok(count)
    }
}

/// True if executions that would be compared ran in different modes.
fn is_mixed(benchmark: &BenchmarkResults<'_>, relation: &Relation) -> bool {
    let stages = match relation {
        Relation::SameExperiment(_) => &[Stage::First, Stage::Second][..],
        Relation::AcrossExperiments(_) | Relation::Incomparable { .. } => &[Stage::First],
    };
    let versions = relation.versions();
    stages.iter().any(|stage| benchmark.interleaving(&versions, *stage) == Err(Mixed))
}

/// Decides a counted metric, in one experiment or in two.
fn by_counts(
    benchmark: &BenchmarkResults<'_>,
    versions: [VersionRef; 2],
    metric: &Metric,
    criteria: &Criteria,
) -> Result<DecidedRow> {
    let criteria = criteria.for_metric(metric);
    let builds = Stage::First.into();
    let summaries = summaries(benchmark, versions, builds, metric, &criteria)?;
    let decided = summaries.and_then(|summaries| {
        let (assessment, verdict) = decide_counts(&summaries[0], &summaries[1], &criteria)?;
        Some((verdict.into(), vec![DecidedStage { summaries, assessment }]))
    });
    let (verdict, stages) = decided.unwrap_or_else(|| (no_measurements(), Vec::new()));
    Ok(DecidedRow::of_metric(&benchmark.benchmark, metric, verdict, stages))
}

/// The row of a benchmark that failed in a version, or else was skipped in one; `None` if both were
/// measured.
fn unmeasured(benchmark: &BenchmarkResults<'_>, versions: [VersionRef; 2]) -> Option<DecidedRow> {
    let unmeasured = versions.map(|place| benchmark.unmeasured(place));
    let index = first_to_report(&unmeasured)?;
    let has_failed = |index: usize| matches!(unmeasured[index], Some(Unmeasured::Failed(_)));
    let is_alike = unmeasured[1 - index].is_some() && has_failed(index) == has_failed(1 - index);
    let unmeasured_in = Some(match index {
        _ if is_alike => UnmeasuredIn::Both,
        0 => UnmeasuredIn::Base,
        _ => UnmeasuredIn::Head,
    });
    let verdict = match unmeasured {
        // What is said of both must be so of both.
        [Some(Unmeasured::Failed(base)), Some(Unmeasured::Failed(head))]
            if base != head && !(is_about_id(&base) && is_about_id(&head)) =>
        {
            Verdict::Failed { reason: format!("{base}\nin head: {head}") }
        }
        [base, head] => match [base, head].into_iter().nth(index)?? {
            Unmeasured::Failed(reason) => Verdict::Failed { reason },
            Unmeasured::Skipped(reason) => Verdict::Skipped { reason },
        },
    };
    Some(DecidedRow { unmeasured_in, ..DecidedRow::without_metric(&benchmark.benchmark, verdict) })
}

/// The version whose reason is reported: the first that failed, and only then one that was skipped. That several
/// benchmarks have an id hides no other failure.
fn first_to_report(unmeasured: &[Option<Unmeasured>; 2]) -> Option<usize> {
    let rank = |one: &Unmeasured| match one {
        Unmeasured::Failed(reason) => 1 + u8::from(!is_about_id(reason)),
        Unmeasured::Skipped(_) => 0,
    };
    let ranks = unmeasured.iter().map(|one| one.as_ref().map(rank));
    let (index, rank) =
        ranks.enumerate().max_by_key(|(index, rank)| (*rank, usize::MAX - index))?;
    rank.map(|_| index)
}

fn no_measurements() -> Verdict {
    Verdict::Failed { reason: "it gave no measurements".to_owned() }
}

/// The input of a decision by the stages of an experiment.
pub(super) struct MetricData<'s> {
    pub(super) benchmark: &'s BenchmarkResults<'s>,
    pub(super) versions: [VersionRef; 2],
    pub(super) metric: &'s Metric,
    pub(super) criteria: &'s Criteria,
    pub(super) pairing: Pairing,
}

/// Builds of a benchmark that were analysed, with the summaries by both estimators.
pub(super) struct Analysed {
    /// Base and head by the estimator.
    own: [Summary; 2],
    /// Base and head by the mean, if the analysis uses it.
    mean: Option<[Summary; 2]>,
    pub(super) analysis: Analysis,
}

impl MetricData<'_> {
    /// Analyses some builds; `None` if one of the versions has no measurements.
    pub(super) fn analysed(
        &self,
        builds: BuildSelection<'_>,
        rates: AlphaSpending,
    ) -> Result<Option<Result<Analysed, StatsError>>> {
        let of = |criteria: &Criteria| {
            summaries(self.benchmark, self.versions, builds, self.metric, criteria)
        };
        let Some(own) = of(self.criteria)? else { return Ok(None) };
        let mean = if own[0].estimator().needs_mean() {
            of(&Criteria { estimator: Some(Estimator::Mean), ..*self.criteria })?
        } else {
            None
        };
        let analysis = Analysis::new(rates, &own, mean.as_ref(), self.pairing, self.criteria);
        Ok(Some(analysis.map(|analysis| Analysed { own, mean, analysis })))
    }
}

impl Analysed {
    /// Keeps the summaries and the assessment of one estimator.
    pub(super) fn into_stage(self, decider: Decider) -> DecidedStage {
        let assessment = self.analysis.assessment(decider).clone();
        let mean = self.mean.filter(|_| decider == Decider::Mean);
        let summaries = mean.unwrap_or(self.own);
        DecidedStage { summaries, assessment }
    }
}

/// The summaries of some builds of base and head; `None` if one of them has no measurements.
pub(super) fn summaries(
    benchmark: &BenchmarkResults<'_>,
    [base, head]: [VersionRef; 2],
    builds: BuildSelection<'_>,
    metric: &Metric,
    criteria: &Criteria,
) -> Result<Option<[Summary; 2]>> {
    let summary = |place| benchmark.summary(place, builds, metric, criteria);
    Ok(summary(base)?.zip(summary(head)?).map(<[Summary; 2]>::from))
}

#[cfg(test)]
mod tests;
