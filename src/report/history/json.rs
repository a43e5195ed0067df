//! The report of `history` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    BenchmarkHistory, HistoryReport, HistoryRow, ReferenceVersion, Relation, Series,
    SuspectedChange,
};
use crate::stats::Criteria;
use crate::{
    error::Result,
    model::{Benchmark, Machine, Unmeasured, Version},
    report::{
        date,
        json::{self, Change, Estimate, Measured, MetricFields},
        reason::Reason,
    },
    stats::SessionVariance,
    verdict::VerdictKind,
};

/// The benchmarks over the stored versions.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct History<'r> {
    criteria: Criteria,
    warnings: Vec<String>,
    /// The number of stored versions that are not shown.
    hidden: usize,
    /// The suspected changes in the series of values, oldest first: one for all benchmarks that may
    /// have changed at one commit.
    events: Vec<Event<'r>>,
    /// One for each metric.
    benchmarks: Vec<BenchmarkFields<'r>>,
}

/// A suspected change of one or several benchmarks.
#[derive(Serialize, JsonSchema)]
struct Event<'r> {
    #[serde(flatten)]
    place: Place<'r>,
    /// The largest first.
    #[schemars(length(min = 1))]
    changes: Vec<EventChange<'r>>,
}

/// The commits after the first, up to the second, as `A..B` of git.
#[derive(Serialize, JsonSchema)]
struct Place<'r> {
    /// The last measured version before the change, or one with the same impact as a measured one.
    after: &'r Version,
    /// The first measured version after the change.
    until: &'r Version,
    /// With 95 % confidence, the change is after this version …
    possible_after: &'r Version,
    /// … and not after this one.
    possible_until: &'r Version,
}

/// A suspected change of a benchmark.
#[derive(Serialize, JsonSchema)]
struct EventChange<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    #[serde(flatten)]
    change: SuspectedFields,
}

/// A relative change of the level: 0.05 is 5 % more than before.
#[derive(Serialize, JsonSchema)]
struct SuspectedFields {
    /// The relative change of the level: 0.05 is 5 % more than before; null if that was 0.
    #[schemars(with = "Option<f64>")]
    estimate: f64,
    /// The lower end of its interval.
    #[schemars(with = "Option<f64>")]
    low: f64,
    /// The upper end.
    #[schemars(with = "Option<f64>")]
    high: f64,
}

/// The verdict on the series of values.
#[derive(Serialize, JsonSchema)]
struct SeriesFields<'r> {
    /// The number of versions that were compared; null without a verdict.
    versions: Option<usize>,
    /// The probability that a series without a change looks as much as if it had one; 1 if that is
    /// more than 5 %.
    #[schemars(range(min = 0, max = 1))]
    p: Option<f64>,
    /// The reason why there is no verdict.
    reason: Option<&'r str>,
    /// The suspected changes, oldest first.
    changes: Vec<SeriesChange<'r>>,
}

/// A suspected change of the level.
#[derive(Serialize, JsonSchema)]
struct SeriesChange<'r> {
    #[serde(flatten)]
    place: Place<'r>,
    #[serde(flatten)]
    change: SuspectedFields,
}

/// A benchmark in one metric.
#[derive(Serialize, JsonSchema)]
struct BenchmarkFields<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    sessions: Option<Sessions>,
    series: SeriesFields<'r>,
    /// Oldest first, in the order of the repository; none with --changes-only.
    versions: Vec<Row<'r>>,
}

/// The variation of a benchmark between experiments.
#[derive(Serialize, JsonSchema)]
struct Sessions {
    /// The relative standard deviation: 0.005 is 0.5 %.
    #[schemars(range(min = 0))]
    standard_deviation: f64,
    #[schemars(range(min = 0))]
    degrees_of_freedom: f64,
    /// The number of versions that were measured more than once.
    repeats: usize,
}

/// A version of a benchmark's history.
#[derive(Serialize, JsonSchema)]
struct Row<'r> {
    version: &'r Version,
    /// True if the repository still has its commit.
    in_repository: bool,
    /// The start of its experiment, in UTC.
    #[schemars(extend("format" = "date-time"))]
    measured_at: String,
    machine: &'r Machine,
    /// The first line of `rustc -vV`.
    toolchain: &'r str,
    #[serde(flatten)]
    measured: Measured,
    /// The value; for a version that was skipped because nothing relevant changed, the value of the
    /// version before it.
    result: Option<Estimate>,
    /// The reason why it failed; null if it did not.
    failure: Option<&'r str>,
    /// The reason why the benchmark chose not to run; null if it did not.
    skipped: Option<&'r str>,
    against: Option<AgainstFields<'r>>,
}

/// The comparison with a version before it.
#[derive(Serialize, JsonSchema)]
struct AgainstFields<'r> {
    version: &'r Version,
    relation: Relation,
    verdict: VerdictKind,
    reason: Reason,
    change: Option<Change>,
}

impl HistoryReport {
    pub(super) fn write_json(&self) -> Result<String> {
        json::document(&History {
            criteria: self.criteria,
            warnings: self.warnings(),
            hidden: self.hidden,
            events: self.events.iter().map(|event| self.event_fields(event)).collect(),
            benchmarks: self.benchmarks.iter().map(|one| self.benchmark(one)).collect(),
        })
    }

    fn event_fields<'r>(&'r self, event: &'r super::Event) -> Event<'r> {
        let mut changes = Vec::new();
        for (history, change) in self.members(event) {
            changes.push(EventChange {
                id: (&history.benchmark).into(),
                metric: Some(&history.metric).into(),
                change: change.into(),
            });
        }
        Event { place: (&event.place).into(), changes }
    }

    fn benchmark<'r>(&self, history: &'r BenchmarkHistory) -> BenchmarkFields<'r> {
        BenchmarkFields {
            id: (&history.benchmark).into(),
            metric: Some(&history.metric).into(),
            sessions: history.sessions.as_ref().map(Sessions::from),
            series: (&history.series).into(),
            versions: history.versions.iter().map(|row| self.row(row)).collect(),
        }
    }

    fn row<'r>(&self, row: &'r HistoryRow) -> Row<'r> {
        let value = |summary| Estimate::new(summary, self.criteria.confidence);
        let (failure, skipped) = match &row.failure {
            Some(Unmeasured::Failed(reason)) => (Some(reason.as_str()), None),
            Some(Unmeasured::Skipped(reason)) => (None, Some(reason.as_str())),
            None => (None, None),
        };
        Row {
            version: (&row.version).into(),
            in_repository: row.in_repository,
            measured_at: date::rfc3339(row.measured),
            machine: (&row.machine).into(),
            toolchain: row.toolchain.lines().next().unwrap_or_default(),
            measured: Measured::new(row.interleaving, row.summary.as_ref()),
            result: row.summary.as_ref().map(value),
            failure,
            skipped,
            against: row.against.as_ref().map(AgainstFields::from),
        }
    }
}

impl<'r> From<&'r super::CommitPlace> for Place<'r> {
    fn from(place: &'r super::CommitPlace) -> Self {
        let ([after, until], [possible_after, possible_until]) = (&place.best, &place.possible);
        Self {
            after: after.into(),
            until: until.into(),
            possible_after: possible_after.into(),
            possible_until: possible_until.into(),
        }
    }
}

impl From<&SuspectedChange> for SuspectedFields {
    fn from(&SuspectedChange { estimate, low, high, .. }: &SuspectedChange) -> Self {
        Self { estimate, low, high }
    }
}

impl<'r> From<&'r Series> for SeriesFields<'r> {
    fn from(series: &'r Series) -> Self {
        let changes = series.changes().iter();
        let change = |change: &'r SuspectedChange| SeriesChange {
            place: (&change.place).into(),
            change: change.into(),
        };
        let changes = changes.map(change).collect();
        let (versions, p, reason) = match series {
            Series::Decided { versions, p, .. } => (Some(*versions), Some(*p), None),
            Series::NotJudged { reason } => (None, None, Some(reason.as_str())),
        };
        Self { versions, p, reason, changes }
    }
}

impl From<&SessionVariance> for Sessions {
    fn from(variance: &SessionVariance) -> Self {
        Self {
            standard_deviation: variance.standard_deviation().exp_m1(),
            degrees_of_freedom: variance.freedom,
            repeats: variance.repeats,
        }
    }
}

impl<'r> From<&'r ReferenceVersion> for AgainstFields<'r> {
    fn from(ReferenceVersion { version, relation, row }: &'r ReferenceVersion) -> Self {
        Self {
            version: version.into(),
            relation: *relation,
            verdict: VerdictKind::new(&row.verdict),
            reason: Reason::for_row(row),
            change: Change::new(row),
        }
    }
}
