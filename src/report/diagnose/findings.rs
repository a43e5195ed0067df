//! The findings of a diagnosis whose shape in JSON differs.

use schemars::JsonSchema;
use serde::Serialize;

use super::ExaminedPrologue;
use crate::{
    diagnosis::{
        Advice, Candidates, FTest, Modes, Multimodality, OrderEffect, Repetitions, Variance,
    },
    model::SampleSizes,
    stats::{Interval, plan::Optimum},
};

/// The shares of layouts, executions and measurements in the variance.
#[derive(Serialize, JsonSchema)]
pub(super) struct VarianceFields {
    /// The mean of all build means, in the metric's unit.
    mean: f64,
    /// The share that layouts contribute to the variance of a single measurement, from 0 to 1; the
    /// three shares add up to 1.
    layouts: Option<Interval>,
    /// The share that executions contribute.
    executions: Option<Interval>,
    /// The share that measurements contribute.
    measurements: Option<Interval>,
    /// The share that the execution, with its measurements, contributes to the variance of an
    /// execution's estimate; the rest is of the build.
    execution_share_of_estimate: Option<Interval>,
    /// The test of no effect of layouts, by the estimator in use.
    layout_test: Option<FTest>,
    /// The test of no effect of executions, by means, as if measurements were independent.
    execution_test: Option<FTest>,
}

/// The sample sizes with the most precision for the time. Costs are in the time of one measurement.
#[derive(Serialize, JsonSchema)]
pub(super) struct AdviceFields {
    /// `n0`: of each execution.
    measurements: RepetitionFields,
    /// `m0`: of each build.
    executions: RepetitionFields,
    /// The relative half-width that the sample sizes are for: half of the smallest change of
    /// interest.
    half_width: f64,
    /// null if more than 1,000 builds would be needed.
    dimensions: Option<SampleSizes>,
    /// The relative half-width of these data.
    half_width_now: Option<f64>,
    build_cost: f64,
    execution_cost: f64,
}

/// The best number of repetitions at one level.
#[derive(Serialize, JsonSchema)]
struct RepetitionFields {
    /// null if it is unlimited.
    best: Option<f64>,
    /// True if the level above does not vary, so that more repetitions are always better.
    unlimited: bool,
    /// The lower end of its interval.
    low: Option<f64>,
    /// The upper end; null if it is unlimited.
    high: Option<f64>,
}

/// Executions with several modes at the same time.
#[derive(Serialize, JsonSchema)]
pub(super) struct SimultaneousFields {
    /// The number of executions that were tested.
    executions: usize,
    /// The number of executions with several modes.
    several: usize,
    /// The p value of all executions together, because a single one shows too little.
    p_together: Option<f64>,
    /// The execution with the median distance of its modes.
    typical: Option<Modes>,
}

/// The effect of benchmarks that run before in the same process.
#[derive(Serialize, JsonSchema)]
pub(super) struct PrologueFields<'r> {
    /// Their ids, in order.
    others: &'r [String],
    #[serde(flatten)]
    after_all: &'r OrderEffect,
    /// The relative slowdown of each measurement after the others: medians over the pairs.
    by_index: &'r [f64],
    /// After each of them alone, if that was measured.
    after_each: Vec<AfterOne<'r>>,
}

/// The effect of one benchmark that runs before.
#[derive(Serialize, JsonSchema)]
struct AfterOne<'r> {
    /// Its id.
    other: &'r str,
    #[serde(flatten)]
    paired: &'r OrderEffect,
}

/// The precision of estimators at growing numbers of measurements.
#[derive(Serialize, JsonSchema)]
pub(super) struct EstimatorFields {
    /// The numbers of measurements.
    counts: Vec<usize>,
    estimators: Vec<EstimatorRow>,
}

/// The precision of an estimator.
#[derive(Serialize, JsonSchema)]
struct EstimatorRow {
    estimator: &'static str,
    /// The mean at each of the counts, in the metric's unit.
    values: Vec<f64>,
    /// The standard deviation between executions of one build at each of the counts, relative to the value.
    relative_sds: Vec<Interval>,
}

fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

impl From<&Variance> for VarianceFields {
    fn from(found: &Variance) -> Self {
        Self {
            mean: found.mean,
            layouts: found.shares.version,
            executions: found.shares.build,
            measurements: found.shares.execution,
            execution_share_of_estimate: found.of_executions,
            layout_test: found.layout,
            execution_test: found.executions,
        }
    }
}

impl From<&Advice> for AdviceFields {
    fn from(found: &Advice) -> Self {
        Self {
            measurements: (&found.measurements).into(),
            executions: (&found.executions).into(),
            half_width: found.half_width,
            dimensions: found.dimensions,
            half_width_now: finite(found.half_width_now),
            build_cost: found.cost.build,
            execution_cost: found.cost.execution,
        }
    }
}

impl From<&Repetitions> for RepetitionFields {
    fn from(Repetitions { best, low, high }: &Repetitions) -> Self {
        let (number, unlimited) = match best {
            Optimum::About(number) => (finite(*number), false),
            Optimum::Unlimited => (None, true),
            Optimum::Indifferent => (Some(1.0), false),
        };
        Self { best: number, unlimited, low: finite(*low), high: finite(*high) }
    }
}

impl From<&Multimodality> for SimultaneousFields {
    fn from(found: &Multimodality) -> Self {
        let typical = found.typical.and_then(|index| found.executions.get(index));
        Self {
            executions: found.executions.len(),
            several: found.several,
            p_together: found.together,
            typical: typical.copied(),
        }
    }
}

impl<'r> From<&'r ExaminedPrologue> for PrologueFields<'r> {
    fn from(found: &'r ExaminedPrologue) -> Self {
        let each = found.after_each.iter();
        Self {
            others: &found.others,
            after_all: &found.after_all,
            by_index: &found.by_index,
            after_each: each.map(|(other, one)| AfterOne { other, paired: one }).collect(),
        }
    }
}

impl From<&Candidates> for EstimatorFields {
    fn from(found: &Candidates) -> Self {
        let rows = found.table.iter().map(|(candidate, precisions)| EstimatorRow {
            estimator: candidate.name(),
            values: precisions.iter().map(|one| one.value).collect(),
            relative_sds: precisions.iter().map(|one| one.relative_sd).collect(),
        });
        Self { counts: found.counts.clone(), estimators: rows.collect() }
    }
}
