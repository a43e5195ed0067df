//! The findings of a diagnosis as JSON has them: numbers that are infinite or unknown are null.

use serde::Serialize;

use super::{ExaminedLength, ExaminedPrologue};
use crate::{
    diagnosis::{
        Advice, Candidates, Class, FTest, Influence, Leaps, Neighbours, Position, Prologue,
        Repetitions, Segments, Simultaneous, SteadyStates, Trend, Variance,
    },
    model::Dimensions,
    stats::{Interval, plan::Optimum},
};

/// A value with its interval.
#[derive(Serialize)]
pub(super) struct Known {
    estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct Test {
    f: Option<f64>,
    degrees_of_freedom: [f64; 2],
    p: f64,
}

#[derive(Serialize)]
pub(super) struct VarianceFields {
    mean: f64,
    layouts: Option<Known>,
    executions: Option<Known>,
    measurements: Option<Known>,
    execution_share_of_estimate: Option<Known>,
    layout_test: Option<Test>,
    execution_test: Option<Test>,
}

#[derive(Serialize)]
pub(super) struct InfluenceFields {
    factor: Option<f64>,
    without_shift: Option<f64>,
    by_additive_model: Known,
    relative_sd: f64,
    p: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct AdviceFields {
    measurements: RepetitionFields,
    executions: RepetitionFields,
    half_width: f64,
    dimensions: Option<Dimensions>,
    half_width_now: Option<f64>,
    build_cost: f64,
    execution_cost: f64,
}

#[derive(Serialize)]
struct RepetitionFields {
    best: Option<f64>,
    unlimited: bool,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct TrendFields {
    executions: usize,
    measurements: usize,
    l: f64,
    expected: f64,
    sd: f64,
    p_page: f64,
    p: f64,
    correlation: f64,
    friedman: f64,
    p_friedman: f64,
    effect: Known,
    profile: Vec<f64>,
    warm_up: usize,
}

#[derive(Serialize)]
struct PositionFields {
    seed: u64,
    round: usize,
}

#[derive(Serialize)]
pub(super) struct StateFields {
    spread: f64,
    range: f64,
    test: Test,
    executions: Vec<StateOfExecution>,
}

#[derive(Serialize)]
struct StateOfExecution {
    #[serde(flatten)]
    position: PositionFields,
    value: f64,
    error: Option<f64>,
    deviation: f64,
}

#[derive(Serialize)]
pub(super) struct LeapFields {
    threshold: f64,
    executions: Vec<SegmentFields>,
}

#[derive(Serialize)]
struct SegmentFields {
    #[serde(flatten)]
    position: PositionFields,
    class: &'static str,
    p: f64,
    segments: Vec<SegmentOfExecution>,
}

#[derive(Serialize)]
struct SegmentOfExecution {
    start: usize,
    end: usize,
    level: f64,
}

#[derive(Serialize)]
pub(super) struct SimultaneousFields {
    executions: usize,
    several: usize,
    p_together: Option<f64>,
    typical: Option<ModeFields>,
}

#[derive(Serialize)]
struct ModeFields {
    #[serde(flatten)]
    position: PositionFields,
    tested: usize,
    dip: f64,
    p: f64,
    levels: [f64; 2],
    slower: f64,
    distance: f64,
    gap_ratio: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct PrologueFields<'r> {
    others: &'r [String],
    #[serde(flatten)]
    after_all: PairedFields,
    by_index: &'r [f64],
    after_each: Vec<AfterOne<'r>>,
}

#[derive(Serialize)]
struct AfterOne<'r> {
    other: &'r str,
    #[serde(flatten)]
    paired: PairedFields,
}

#[derive(Serialize)]
struct PairedFields {
    pairs: usize,
    change: Known,
    p: f64,
}

#[derive(Serialize)]
pub(super) struct NeighbourFields {
    executions: usize,
    ratio: f64,
    p: f64,
    correlation: Known,
    error: Option<f64>,
    error_if_independent: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct EstimatorFields {
    counts: Vec<usize>,
    estimators: Vec<EstimatorRow>,
}

#[derive(Serialize)]
struct EstimatorRow {
    estimator: &'static str,
    values: Vec<f64>,
    relative_sds: Vec<Known>,
}

#[derive(Serialize)]
pub(super) struct LengthFields {
    reference: f64,
    oracle: u64,
    in_use: u64,
    points: Vec<PointFields>,
}

#[derive(Serialize)]
struct PointFields {
    iterations: u64,
    measurements: usize,
    value: f64,
    error: f64,
}

fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

impl From<&Interval> for Known {
    fn from(Interval { center, low, high }: &Interval) -> Self {
        Self { estimate: finite(*center), low: finite(*low), high: finite(*high) }
    }
}

impl From<&FTest> for Test {
    fn from(FTest { f, freedom, p }: &FTest) -> Self {
        Self { f: finite(*f), degrees_of_freedom: *freedom, p: *p }
    }
}

impl From<Position> for PositionFields {
    fn from(Position { seed, round }: Position) -> Self {
        Self { seed, round }
    }
}

impl From<&Variance> for VarianceFields {
    fn from(found: &Variance) -> Self {
        let known = |share: Option<Interval>| share.as_ref().map(Known::from);
        Self {
            mean: found.mean,
            layouts: known(found.shares.version),
            executions: known(found.shares.build),
            measurements: known(found.shares.execution),
            execution_share_of_estimate: known(found.of_executions),
            layout_test: found.layout.as_ref().map(Test::from),
            execution_test: found.executions.as_ref().map(Test::from),
        }
    }
}

impl From<&Influence> for InfluenceFields {
    fn from(found: &Influence) -> Self {
        Self {
            factor: finite(found.impact.factor),
            without_shift: finite(found.impact.without_shift),
            by_additive_model: (&found.analytic).into(),
            relative_sd: found.relative_sd,
            p: finite(found.p),
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

impl From<&Trend> for TrendFields {
    fn from(found: &Trend) -> Self {
        Self {
            executions: found.executions,
            measurements: found.measurements,
            l: found.l,
            expected: found.expected,
            sd: found.sd,
            p_page: found.p_page,
            p: found.p,
            correlation: found.correlation,
            friedman: found.friedman,
            p_friedman: found.p_friedman,
            effect: (&found.effect).into(),
            profile: found.profile.clone(),
            warm_up: found.warm_up,
        }
    }
}

impl From<&SteadyStates> for StateFields {
    fn from(found: &SteadyStates) -> Self {
        let executions = found.states.iter().map(|state| StateOfExecution {
            position: state.position.into(),
            value: state.value,
            error: finite(state.error),
            deviation: state.deviation,
        });
        Self {
            spread: found.spread,
            range: found.range,
            test: (&found.test).into(),
            executions: executions.collect(),
        }
    }
}

impl From<&Leaps> for LeapFields {
    fn from(found: &Leaps) -> Self {
        let executions = found.executions.iter().map(SegmentFields::from).collect();
        Self { threshold: found.threshold, executions }
    }
}

impl From<&Segments> for SegmentFields {
    fn from(found: &Segments) -> Self {
        let class = match found.class {
            Class::Flat => "flat",
            Class::WarmUp => "warm_up",
            Class::SlowDown => "slow_down",
            Class::NoSteadyState => "no_steady_state",
        };
        let segments = found.segments.iter().map(|segment| SegmentOfExecution {
            start: segment.start,
            end: segment.end,
            level: segment.level,
        });
        Self { position: found.position.into(), class, p: found.p, segments: segments.collect() }
    }
}

impl From<&Simultaneous> for SimultaneousFields {
    fn from(found: &Simultaneous) -> Self {
        let typical = found.typical.and_then(|index| found.executions.get(index));
        Self {
            executions: found.executions.len(),
            several: found.several,
            p_together: found.together,
            typical: typical.map(|modes| ModeFields {
                position: modes.position.into(),
                tested: modes.tested,
                dip: modes.dip,
                p: modes.p,
                levels: modes.levels,
                slower: modes.slower,
                distance: modes.distance,
                gap_ratio: finite(modes.gap_ratio),
            }),
        }
    }
}

impl From<&Prologue> for PairedFields {
    fn from(found: &Prologue) -> Self {
        Self { pairs: found.pairs, change: (&found.change).into(), p: found.p }
    }
}

impl<'r> From<&'r ExaminedPrologue> for PrologueFields<'r> {
    fn from(found: &'r ExaminedPrologue) -> Self {
        let each = found.after_each.iter();
        Self {
            others: &found.others,
            after_all: (&found.after_all).into(),
            by_index: &found.by_index,
            after_each: each.map(|(other, one)| AfterOne { other, paired: one.into() }).collect(),
        }
    }
}

impl From<&Neighbours> for NeighbourFields {
    fn from(found: &Neighbours) -> Self {
        Self {
            executions: found.executions,
            ratio: found.ratio,
            p: found.p,
            correlation: (&found.correlation).into(),
            error: finite(found.error),
            error_if_independent: finite(found.error_if_independent),
        }
    }
}

impl From<&Candidates> for EstimatorFields {
    fn from(found: &Candidates) -> Self {
        let rows = found.table.iter().map(|(candidate, precisions)| EstimatorRow {
            estimator: candidate.name(),
            values: precisions.iter().map(|one| one.value).collect(),
            relative_sds: precisions.iter().map(|one| Known::from(&one.relative_sd)).collect(),
        });
        Self { counts: found.counts.clone(), estimators: rows.collect() }
    }
}

impl From<&ExaminedLength> for LengthFields {
    fn from(found: &ExaminedLength) -> Self {
        let points = found.curve.points.iter().map(|point| PointFields {
            iterations: point.iterations,
            measurements: point.measurements,
            value: point.value,
            error: point.error,
        });
        Self {
            reference: found.curve.reference,
            oracle: found.oracle,
            in_use: found.in_use,
            points: points.collect(),
        }
    }
}
