//! The history for programs.

use serde::Serialize;

use super::{
    Against, BenchmarkHistory, HistoryReport, HistoryRow, Relation, Series, SuspectedChange,
};
use crate::{
    failure::Result,
    judge::VerdictKind,
    model::Unmeasured,
    report::{
        json::{
            self, Change, Criteria, Estimate, FullName, Machine, Measured, MetricFields, Version,
        },
        reason::Reason,
    },
    stats::SessionVariance,
};

#[derive(Serialize)]
struct History<'r> {
    criteria: Criteria,
    warnings: Vec<String>,
    hidden: usize,
    /// Oldest first.
    events: Vec<Event<'r>>,
    benchmarks: Vec<Benchmark<'r>>,
}

#[derive(Serialize)]
struct Event<'r> {
    #[serde(flatten)]
    place: Place<'r>,
    changes: Vec<EventChange<'r>>,
}

/// The commits after the first, up to the second, as `A..B` of git.
#[derive(Serialize)]
struct Place<'r> {
    after: Version<'r>,
    until: Version<'r>,
    possible_after: Version<'r>,
    possible_until: Version<'r>,
}

#[derive(Serialize)]
struct EventChange<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    #[serde(flatten)]
    change: SuspectedFields,
}

/// Relative: 0.05 is 5 %.
#[derive(Serialize)]
struct SuspectedFields {
    estimate: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct SeriesFields<'r> {
    /// Absent where the course of values is not judged.
    versions: Option<usize>,
    p: Option<f64>,
    /// Why it is not judged.
    reason: Option<&'r str>,
    changes: Vec<SeriesChange<'r>>,
}

#[derive(Serialize)]
struct SeriesChange<'r> {
    #[serde(flatten)]
    place: Place<'r>,
    #[serde(flatten)]
    change: SuspectedFields,
}

#[derive(Serialize)]
struct Benchmark<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    sessions: Option<Sessions>,
    series: SeriesFields<'r>,
    versions: Vec<Row<'r>>,
}

#[derive(Serialize)]
struct Sessions {
    /// Relative: 0.005 is 0.5 %.
    standard_deviation: f64,
    degrees_of_freedom: f64,
    repeats: usize,
}

#[derive(Serialize)]
struct Row<'r> {
    version: Version<'r>,
    in_repository: bool,
    measured_seconds: f64,
    machine: Machine<'r>,
    /// The first line of `rustc -vV`.
    toolchain: &'r str,
    #[serde(flatten)]
    measured: Measured,
    result: Option<Estimate>,
    failure: Option<&'r str>,
    skipped: Option<&'r str>,
    against: Option<AgainstFields<'r>>,
}

#[derive(Serialize)]
struct AgainstFields<'r> {
    version: Version<'r>,
    relation: Relation,
    verdict: VerdictKind,
    reason: Reason,
    change: Option<Change>,
}

impl HistoryReport {
    pub(super) fn write_json(&self) -> Result<String> {
        json::document(&History {
            criteria: (&self.criteria).into(),
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

    fn benchmark<'r>(&self, history: &'r BenchmarkHistory) -> Benchmark<'r> {
        Benchmark {
            id: (&history.benchmark).into(),
            metric: Some(&history.metric).into(),
            sessions: history.sessions.as_ref().map(Sessions::from),
            series: (&history.series).into(),
            versions: history.versions.iter().map(|row| self.row(row)).collect(),
        }
    }

    fn row<'r>(&self, row: &'r HistoryRow) -> Row<'r> {
        let value = |summary| Estimate::of(summary, self.criteria.confidence);
        let (failure, skipped) = match &row.failure {
            Some(Unmeasured::Failed(reason)) => (Some(reason.as_str()), None),
            Some(Unmeasured::Skipped(reason)) => (None, Some(reason.as_str())),
            None => (None, None),
        };
        Row {
            version: (&row.version).into(),
            in_repository: row.in_repository,
            measured_seconds: json::seconds(row.measured),
            machine: (&row.machine).into(),
            toolchain: row.toolchain.lines().next().unwrap_or_default(),
            measured: Measured::of(row.interleaving, row.summary.as_ref()),
            result: row.summary.as_ref().map(value),
            failure,
            skipped,
            against: row.against.as_ref().map(AgainstFields::from),
        }
    }
}

impl<'r> From<&'r super::Place> for Place<'r> {
    fn from(place: &'r super::Place) -> Self {
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
            Series::Judged { versions, p, .. } => (Some(*versions), Some(*p), None),
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

impl<'r> From<&'r Against> for AgainstFields<'r> {
    fn from(Against { version, relation, row }: &'r Against) -> Self {
        Self {
            version: version.into(),
            relation: *relation,
            verdict: VerdictKind::of(&row.verdict),
            reason: Reason::of(row),
            change: Change::of(row),
        }
    }
}
