//! The comparison for programs.

use serde::Serialize;

use super::{
    ComparisonReport, StoredExperiment, Warning, WarningFields, advice::NextStep,
    overall::GeometricMean,
};
use crate::{
    failure::Result,
    judge::{Advice, ByMean, Counts, JudgedRow, JudgedStage, Repetition, VerdictKind},
    model::{Dimensions, Partition},
    report::{
        accepted::IdleFields,
        json::{
            self, Change, Criteria, Dependency, Estimate, FailedTarget, FullName, Interval,
            Machine, Measured, MetricFields, Version,
        },
        reach::ReachFields,
        reason::Reason,
        shares::Shares,
    },
    stats::{self, Direction, Method},
};

/// A comparison; that with a release has the same shape.
#[derive(Serialize)]
struct Comparison<'r> {
    schema_version: u32,
    rbench: &'static str,
    base: Version<'r>,
    head: Version<'r>,
    criteria: Criteria,
    dimensions: Option<Dimensions>,
    machine: Option<Machine<'r>>,
    machine_state: Option<&'r str>,
    stored: Vec<Stored<'r>>,
    warnings: Vec<WarningFields>,
    counts: Counts,
    geometric_means: Vec<GeometricMean>,
    functions: Vec<Functions<'r>>,
    dependencies: Vec<Dependency<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<Partition>,
    benchmarks: Vec<Row<'r>>,
    added: Vec<FullName<'r>>,
    removed: Vec<FullName<'r>>,
    failed_targets: Vec<FailedTarget<'r>>,
    idle_acceptances: Vec<IdleFields<'r>>,
    next_steps: Vec<NextStep>,
    also_against: Option<Box<Self>>,
}

#[derive(Serialize)]
struct Stored<'r> {
    identity: &'r str,
    begun_seconds: f64,
    dimensions: Dimensions,
}

#[derive(Serialize)]
struct Functions<'r> {
    package: &'r str,
    target: &'r str,
    changed: usize,
    added: usize,
    removed: usize,
    unchanged: usize,
}

/// One benchmark in one metric.
#[derive(Serialize)]
struct Row<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    verdict: VerdictKind,
    reason: Reason,
    #[serde(flatten)]
    measured: Measured,
    /// The smallest change of interest in this benchmark; absent where nothing was judged.
    min_effect: Option<f64>,
    base: Option<Estimate>,
    head: Option<Estimate>,
    change: Option<Change>,
    /// Absent where the estimator is none of the fastest measurements.
    by_mean: Option<ByMeanFields>,
    /// Present where it does not affect the exit code: counts beside times.
    #[serde(skip_serializing_if = "Option::is_none")]
    decides: Option<bool>,
    reach: Option<ReachFields<'r>>,
    advice: Option<AdviceFields>,
    /// The first, and the second where there was one. The last one decides.
    stages: Vec<Stage>,
}

/// The change of the mean of all measurements. Changes are relative: 0.05 is 5 % more than the base.
#[derive(Serialize)]
struct ByMeanFields {
    estimate: f64,
    /// The 95 % confidence interval.
    low: f64,
    high: f64,
    /// Whether the verdict is by the mean.
    decides: bool,
}

#[derive(Serialize)]
struct AdviceFields {
    /// Of what there should be more.
    more: &'static str,
    /// How many in all.
    number: usize,
    smallest_reported: f64,
}

#[derive(Serialize)]
struct Stage {
    base: Estimate,
    head: Estimate,
    change: Change,
    base_comparison_interval: Interval,
    head_comparison_interval: Interval,
    /// The difference of the mean logarithms.
    log_change: f64,
    log_standard_error: f64,
    degrees_of_freedom: f64,
    /// If the rule flags the change.
    flagged: Option<&'static str>,
    /// Whether the change is shown to be smaller than the smallest of interest.
    equivalent: bool,
    builds_left_out: usize,
    pairing_gain: Option<f64>,
    correlation: Option<f64>,
    variance: Option<Shares>,
    smallest_flagged: Option<f64>,
}

impl ComparisonReport {
    pub(super) fn write_json(&self) -> Result<String> {
        json::whole_document(&self.fields())
    }

    fn fields(&self) -> Comparison<'_> {
        Comparison {
            schema_version: json::SCHEMA_VERSION,
            rbench: env!("CARGO_PKG_VERSION"),
            base: (&self.base).into(),
            head: (&self.head).into(),
            criteria: (&self.criteria).into(),
            dimensions: self.dimensions,
            machine: self.machine.as_ref().map(Machine::from),
            machine_state: self.machine_state.as_deref(),
            stored: self.stored.iter().map(Stored::from).collect(),
            warnings: self.warning_fields(),
            counts: self.counts(),
            geometric_means: self.geometric_means(),
            functions: self.function_fields(),
            dependencies: self.dependencies.iter().map(Dependency::from).collect(),
            partition: self.partition,
            benchmarks: self.rows.iter().map(|row| self.row(row)).collect(),
            added: self.added.iter().map(FullName::from).collect(),
            removed: self.removed.iter().map(FullName::from).collect(),
            failed_targets: self.failed_targets.iter().map(FailedTarget::from).collect(),
            idle_acceptances: self.idle.iter().map(IdleFields::from).collect(),
            next_steps: self.next_steps(),
            also_against: self.also.as_ref().map(|also| Box::new(also.fields())),
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
        let counts = self.functions.iter().map(|(target, diff)| Functions {
            package: &target.package,
            target: &target.target,
            changed: diff.changed.len(),
            added: diff.added.len(),
            removed: diff.removed.len(),
            unchanged: diff.unchanged,
        });
        counts.collect()
    }

    fn row<'r>(&self, row: &'r JudgedRow) -> Row<'r> {
        let value = |version: usize| {
            let summary = &row.decisive()?.summaries[version];
            Some(Estimate::of(summary, self.criteria.confidence))
        };
        Row {
            id: (&row.benchmark).into(),
            metric: row.metric.as_ref().into(),
            verdict: VerdictKind::of(&row.verdict),
            reason: Reason::of(row),
            measured: Measured::of(
                row.interleaving,
                row.decisive().map(|stage| &stage.summaries[1]),
            ),
            min_effect: row.decisive().map(|stage| stage.assessment.min_effect),
            base: value(0),
            head: value(1),
            change: Change::of(row),
            by_mean: row.by_mean.map(ByMeanFields::from),
            decides: (!self.policy.decides(row, &self.rows)).then_some(false),
            reach: row.reach.as_ref().map(ReachFields::from),
            advice: row.advice.map(AdviceFields::from),
            stages: row.stages.iter().map(|stage| self.stage(stage)).collect(),
        }
    }

    fn stage(&self, stage: &JudgedStage) -> Stage {
        let JudgedStage { summaries: [base, head], assessment } = stage;
        let comparison = &assessment.comparison;
        Stage {
            base: Estimate::of(base, self.criteria.confidence),
            head: Estimate::of(head, self.criteria.confidence),
            change: assessment.into(),
            base_comparison_interval: comparison.base.into(),
            head_comparison_interval: comparison.head.into(),
            log_change: comparison.log_change,
            log_standard_error: comparison.standard_error,
            degrees_of_freedom: comparison.freedom,
            flagged: assessment.flag.map(|direction| match direction {
                Direction::Worse => "worse",
                Direction::Better => "better",
            }),
            equivalent: assessment.equivalent,
            builds_left_out: match comparison.method {
                Method::Paired { left_out } => left_out,
                Method::Welch(_) => 0,
            },
            pairing_gain: comparison.gain,
            correlation: comparison.correlation,
            variance: Shares::of_change(stage),
            smallest_flagged: assessment.smallest_flagged(),
        }
    }
}

impl<'r> From<&'r StoredExperiment> for Stored<'r> {
    fn from(StoredExperiment { identity, begun, dimensions }: &'r StoredExperiment) -> Self {
        Self { identity, begun_seconds: json::seconds(*begun), dimensions: *dimensions }
    }
}

impl From<ByMean> for ByMeanFields {
    fn from(ByMean { change: stats::Change { estimate, low, high }, decides }: ByMean) -> Self {
        Self { estimate, low, high, decides }
    }
}

impl From<Advice> for AdviceFields {
    fn from(Advice { what, number, smallest_reported }: Advice) -> Self {
        let more = match what {
            Repetition::Builds => "builds",
            Repetition::Executions => "executions",
        };
        Self { more, number, smallest_reported }
    }
}
