//! The report of `compare` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ComparisonReport, WarningFields, overall::GeometricMean};
use crate::stats::Criteria;
use crate::{
    compare::{ComparedExperiment, Warning},
    error::Result,
    model::{Benchmark, DependencyChange, FailedTarget, Machine, Partition, SampleSizes, Version},
    report::{
        accepted::IdleFields,
        date,
        document::Step,
        impact::ReachFields,
        json::{self, Change, Estimate, Interval, Measured, MetricFields, Versioned},
        reason::Reason,
        shares::Shares,
    },
    stats::{self, Direction, Method},
    verdict::{Advice, ByMean, Counts, DecidedRow, DecidedStage, Repetition, VerdictKind},
};

/// A comparison of two versions.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Comparison<'r> {
    /// The version of rbench.
    rbench: &'static str,
    base: &'r Version,
    head: &'r Version,
    criteria: Criteria,
    /// For benchmarks without their own settings; null if nothing was measured, and for stored
    /// results.
    sample_sizes: Option<SampleSizes>,
    machine: Option<&'r Machine>,
    /// The state of the machine before measuring, if it matters to measurements, for people: see
    /// `cargo rbench doctor`.
    environment: Option<&'r str>,
    /// The experiments that stored results are from, oldest first; empty if the results were just
    /// measured.
    stored: Vec<Stored<'r>>,
    /// Reasons why the results are less certain.
    warnings: Vec<WarningFields>,
    counts: Counts,
    /// One for each metric with a change.
    geometric_means: Vec<GeometricMean>,
    /// One for each bench target that was measured.
    functions: Vec<Functions<'r>>,
    /// The external packages whose version differs between base and head; empty for stored results.
    dependencies: Vec<&'r DependencyChange>,
    /// The compared part of all benchmarks; absent if all were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<Partition>,
    /// Benchmarks of both versions, one for each metric, in the order of definition.
    benchmarks: Vec<Row<'r>>,
    /// Benchmarks that only the head has.
    added: Vec<&'r Benchmark>,
    /// Benchmarks that only the base has.
    removed: Vec<&'r Benchmark>,
    failed_targets: Vec<&'r FailedTarget>,
    unused_acceptances: Vec<IdleFields<'r>>,
    /// Suggested commands.
    next_steps: Vec<Step>,
    /// The comparison of the same head with a release; null if there is none, and in itself.
    also_base: Option<Box<Versioned<Self>>>,
}

/// An experiment that stored results are from.
#[derive(Serialize, JsonSchema)]
struct Stored<'r> {
    /// The identity of the experiment.
    identity: &'r str,
    /// The start of the experiment, in UTC.
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
    sample_sizes: SampleSizes,
}

/// The number of functions of a bench target that differ in their machine code.
#[derive(Serialize, JsonSchema)]
struct Functions<'r> {
    package: &'r str,
    target: &'r str,
    changed: usize,
    added: usize,
    removed: usize,
    unchanged: usize,
}

/// One benchmark in one metric.
#[derive(Serialize, JsonSchema)]
struct Row<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    verdict: VerdictKind,
    reason: Reason,
    #[serde(flatten)]
    measured: Measured,
    /// The smallest change of interest in this benchmark; null without a verdict on values.
    #[schemars(range(min = 0))]
    min_effect: Option<f64>,
    base: Option<Estimate>,
    head: Option<Estimate>,
    change: Option<Change>,
    /// In the deciding stage; null if the estimator is not one of the fastest measurements.
    by_mean: Option<ByMeanFields>,
    /// Present if the row does not affect the exit code: counts beside times, unless that was
    /// requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = false))]
    primary: Option<bool>,
    /// null: not known, or not measured because of it.
    impact: Option<ReachFields<'r>>,
    /// If the verdict is inconclusive.
    advice: Option<AdviceFields>,
    /// The first stage, and the second on fresh builds if there was one. The last one decides:
    /// base, head and change are its own.
    #[schemars(length(max = 2))]
    stages: Vec<Stage>,
}

/// The change of the mean of all measurements. Changes are relative: 0.05 is 5 % more than the base.
#[derive(Serialize, JsonSchema)]
struct ByMeanFields {
    estimate: f64,
    /// The lower end of its 95 % CI.
    low: f64,
    /// The upper end; null if unbounded.
    #[schemars(with = "Option<f64>")]
    high: f64,
    /// True if the mean decided the verdict, because only the mean shows a change.
    primary: bool,
}

/// The sample size that the benchmark needs.
#[derive(Serialize, JsonSchema)]
struct AdviceFields {
    more: Repetition,
    /// The total number; of executions, for each build.
    #[schemars(range(min = 2))]
    number: usize,
    /// The smallest relative change that would then be reported with a power of 80 %.
    smallest_reported: f64,
}

/// One stage of a comparison.
#[derive(Serialize, JsonSchema)]
struct Stage {
    base: Estimate,
    head: Estimate,
    change: Change,
    base_comparison_interval: Interval,
    head_comparison_interval: Interval,
    /// The difference of the mean logarithms.
    log_change: f64,
    /// The standard error of that.
    log_standard_error: f64,
    degrees_of_freedom: f64,
    /// The direction in which the rule flags the change.
    flagged: Option<Direction>,
    /// True if the change is shown to be smaller than the smallest of interest.
    equivalent: bool,
    /// The number of builds whose layout seed the other version does not have.
    builds_left_out: usize,
    /// The share of the variance that pairing removed; negative if it added some.
    pairing_gain: Option<f64>,
    /// The correlation of the versions over layout seeds.
    correlation: Option<f64>,
    /// The shares of the variance; null if no build was executed twice, or nothing varies.
    variance: Option<Shares>,
    /// The smallest relative increase that builds with this variance flag with a power of 80 %;
    /// null for rules of unknown power.
    smallest_flagged: Option<f64>,
}

impl ComparisonReport {
    pub(super) fn write_json(&self) -> Result<String> {
        json::document(&self.fields())
    }

    fn fields(&self) -> Comparison<'_> {
        Comparison {
            rbench: env!("CARGO_PKG_VERSION"),
            base: (&self.outcome.base).into(),
            head: (&self.outcome.head).into(),
            criteria: self.outcome.criteria,
            sample_sizes: self.outcome.sample_sizes,
            machine: self.outcome.machine.as_ref(),
            environment: self.outcome.environment.as_deref(),
            stored: self.outcome.stored.iter().map(Stored::from).collect(),
            warnings: self.warning_fields(),
            counts: self.outcome.counts(),
            geometric_means: self.geometric_means(),
            functions: self.function_fields(),
            dependencies: self.outcome.dependencies.iter().collect(),
            partition: self.outcome.partition,
            benchmarks: self.outcome.rows.iter().map(|row| self.row(row)).collect(),
            added: self.outcome.added.iter().collect(),
            removed: self.outcome.removed.iter().collect(),
            failed_targets: self.outcome.failed_targets.iter().collect(),
            unused_acceptances: self.outcome.idle.iter().map(IdleFields::from).collect(),
            next_steps: self.next_steps(),
            also_base: self.also.as_ref().map(|also| Box::new(also.fields().into())),
        }
    }

    fn warning_fields(&self) -> Vec<WarningFields> {
        let fields = |warning: Warning| WarningFields {
            text: self.warning_text(&warning),
            ..WarningFields::from(&warning)
        };
        self.all_warnings().into_iter().map(fields).collect()
    }

    fn function_fields(&self) -> Vec<Functions<'_>> {
        let counts = self.outcome.functions.iter().map(|(target, diff)| Functions {
            package: &target.package,
            target: &target.target,
            changed: diff.changed.len(),
            added: diff.added.len(),
            removed: diff.removed.len(),
            unchanged: diff.unchanged,
        });
        counts.collect()
    }

    fn row<'r>(&self, row: &'r DecidedRow) -> Row<'r> {
        let value = |version: usize| {
            let summary = &row.decisive()?.summaries[version];
            Some(Estimate::new(summary, self.outcome.criteria.confidence))
        };
        Row {
            id: (&row.benchmark).into(),
            metric: row.metric.as_ref().into(),
            verdict: VerdictKind::new(&row.verdict),
            reason: Reason::for_row(row),
            measured: Measured::new(
                row.interleaving,
                row.decisive().map(|stage| &stage.summaries[1]),
            ),
            min_effect: row.decisive().map(|stage| stage.assessment.min_effect),
            base: value(0),
            head: value(1),
            change: Change::new(row),
            by_mean: row.by_mean.map(ByMeanFields::from),
            primary: (!self.policy.decides(row, &self.outcome.rows)).then_some(false),
            impact: row.impact.as_ref().map(ReachFields::from),
            advice: row.advice.map(AdviceFields::from),
            stages: row.stages.iter().map(|stage| self.stage(stage)).collect(),
        }
    }

    fn stage(&self, stage: &DecidedStage) -> Stage {
        let DecidedStage { summaries: [base, head], assessment } = stage;
        let comparison = &assessment.comparison;
        Stage {
            base: Estimate::new(base, self.outcome.criteria.confidence),
            head: Estimate::new(head, self.outcome.criteria.confidence),
            change: assessment.into(),
            base_comparison_interval: comparison.base.into(),
            head_comparison_interval: comparison.head.into(),
            log_change: comparison.log_change,
            log_standard_error: comparison.standard_error,
            degrees_of_freedom: comparison.freedom,
            flagged: assessment.flag,
            equivalent: assessment.equivalent,
            builds_left_out: match comparison.method {
                Method::Paired { left_out } => left_out,
                Method::Welch(_) => 0,
            },
            pairing_gain: comparison.gain,
            correlation: comparison.correlation,
            variance: Shares::change_shares(stage),
            smallest_flagged: assessment.smallest_flagged(),
        }
    }
}

impl<'r> From<&'r ComparedExperiment> for Stored<'r> {
    fn from(
        ComparedExperiment { identity, started, sample_sizes }: &'r ComparedExperiment,
    ) -> Self {
        Self { identity, started_at: date::rfc3339(*started), sample_sizes: *sample_sizes }
    }
}

impl From<ByMean> for ByMeanFields {
    fn from(
        ByMean { change: stats::Change { estimate, low, high }, primary: decides }: ByMean,
    ) -> Self {
        Self { estimate, low, high, primary: decides }
    }
}

impl From<Advice> for AdviceFields {
    fn from(Advice { what, number, smallest_reported }: Advice) -> Self {
        Self { more: what, number, smallest_reported }
    }
}
