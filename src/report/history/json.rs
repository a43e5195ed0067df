//! The history for programs.

use serde::Serialize;

use super::{Against, BenchmarkHistory, HistoryReport, HistoryRow, Relation};
use crate::{
    failure::Result,
    model::Unmeasured,
    report::{
        json::{
            self, Change, Criteria, Estimate, FullName, Machine, Measured, MetricFields, Reason,
            Version,
        },
        verdict::VerdictKind,
    },
    stats::SessionVariance,
};

#[derive(Serialize)]
struct History<'r> {
    criteria: Criteria,
    warnings: Vec<String>,
    hidden: usize,
    benchmarks: Vec<Benchmark<'r>>,
}

#[derive(Serialize)]
struct Benchmark<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    #[serde(flatten)]
    metric: MetricFields<'r>,
    sessions: Option<Sessions>,
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
            benchmarks: self.benchmarks.iter().map(|one| self.benchmark(one)).collect(),
        })
    }

    fn benchmark<'r>(&self, history: &'r BenchmarkHistory) -> Benchmark<'r> {
        Benchmark {
            id: (&history.benchmark).into(),
            metric: Some(&history.metric).into(),
            sessions: history.sessions.as_ref().map(Sessions::from),
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
