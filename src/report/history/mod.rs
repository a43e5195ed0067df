//! The report of `history`: benchmarks over the stored versions, each version compared with the one
//! before it.

mod document;
pub(super) mod page;
#[cfg(test)]
mod tests;

use std::{rc::Rc, time::SystemTime};

use rbench_stats::{Change, Criteria, SessionVariance};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

pub use super::json::{Estimate, Measured};
use super::{
    distinct,
    json::{self, MetricFields, Reason, metric_fields},
    quantity,
};
use crate::{
    model::{
        Benchmark, CommitRange, Machine, Metric, SkipReason, Unmeasured, Variant, Version,
        VersionChanges,
    },
    shell::CommandLine,
    verdict::{DecidedRow, Verdict, VerdictKind},
};

/// Benchmarks over the stored versions.
#[derive(Clone, Debug)]
pub struct HistoryReport {
    /// The subject, if the report is one of several: the title of its page begins with it.
    pub subject: Option<String>,
    pub criteria: Criteria,
    /// True for one line per benchmark instead of all of its versions.
    pub overview: bool,
    /// True to show only events.
    pub changes_only: bool,
    /// True to show only benchmarks that are suspected to have become slower.
    pub worst_only: bool,
    /// The paths, as typed, that limit the report to changes of files below them; none for all.
    pub paths: Vec<String>,
    /// The number of stored versions that are not shown.
    pub hidden: usize,
    /// The variant of all versions; plain versions if absent.
    pub variant: Option<Variant>,
    /// The names of other variants with stored results.
    pub other_variants: Vec<String>,
    /// The number of experiments left out because they are not finished.
    pub unfinished: usize,
    /// True if the clone is shallow, so that the order of some versions is unknown.
    pub shallow: bool,
    pub benchmarks: Vec<BenchmarkHistory>,
    /// The benchmarks that were not measured in any of the versions, although they are stored.
    pub unmeasured: Vec<UnmeasuredBenchmark>,
    /// The suspected changes, oldest first.
    pub events: Vec<Event>,
    /// The commits of the ranges in which something changed: those of [`Self::changed_ranges`].
    pub commits: Vec<(CommitRange, VersionChanges)>,
    pub command_line: Rc<dyn CommandLine>,
}

/// One benchmark in one metric over the stored versions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchmarkHistory {
    /// The benchmark measured.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The metric of the values.
    #[serde(flatten, serialize_with = "metric_fields")]
    #[schemars(with = "MetricFields<'_>")]
    pub metric: Metric,
    /// The variation between experiments; null if it is not needed, no version was measured twice,
    /// or the compared experiments had different conditions.
    pub sessions: Option<SessionVariation>,
    /// The change-point analysis of its values.
    pub series: Series,
    /// The versions, oldest first, in the order of the repository; none if only events are shown.
    pub versions: Vec<HistoryRow>,
}

/// A benchmark that no version measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnmeasuredBenchmark {
    /// The benchmark.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The reason why the newest comparison skipped it; null if it failed, or was not chosen.
    pub reason: Option<SkipReason>,
}

/// The variation of a benchmark between experiments.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionVariation {
    /// The relative standard deviation: 0.005 is 0.5 %.
    #[schemars(range(min = 0))]
    pub standard_deviation: f64,
    /// The degrees of freedom of the standard deviation.
    #[schemars(range(min = 0))]
    pub degrees_of_freedom: f64,
    /// The number of versions that were measured more than once.
    pub repeats: usize,
}

/// The change-point analysis of a benchmark's values.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Series {
    /// Analysed for change points.
    Decided {
        /// The number of versions in the series.
        versions: usize,
        /// The probability that a series without a change resembles one with a change as much; 1 if that
        /// is more than 5 %.
        #[schemars(range(min = 0, max = 1))]
        p: f64,
        /// The suspected changes, oldest first.
        changes: Vec<SuspectedChange>,
    },
    /// Not analysed.
    Undecided {
        /// The reason.
        reason: String,
    },
}

/// A change that the series suggests, and that no comparison has confirmed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuspectedChange {
    /// The commits that may have caused it.
    #[serde(flatten)]
    pub place: CommitPlace,
    /// The relative change of the level, with its 95 % CI.
    #[serde(flatten)]
    pub change: Change,
}

/// The commits that may have caused a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommitPlace {
    /// The most likely range: both ends were measured, and nothing between them. An end may also have
    /// the same impact as a measured version.
    #[serde(flatten)]
    pub best: CommitRange,
    /// The range that contains the change with 95 % confidence.
    pub possible: CommitRange,
}

/// Suspected changes of benchmarks that may have a common cause.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Event {
    /// The commits that may have caused them.
    #[serde(flatten)]
    pub place: CommitPlace,
    /// The changes, the largest first.
    #[schemars(length(min = 1))]
    pub changes: Vec<EventChange>,
}

/// A suspected change of a benchmark.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventChange {
    /// The benchmark.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The metric that changed.
    #[serde(flatten, serialize_with = "metric_fields")]
    #[schemars(with = "MetricFields<'_>")]
    pub metric: Metric,
    /// The change in the series of the benchmark.
    #[serde(flatten)]
    pub change: SuspectedChange,
}

/// A version of a benchmark's history.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HistoryRow {
    /// The version measured.
    pub version: Version,
    /// True if the repository still has it.
    pub in_repository: bool,
    /// The start of its experiment, in UTC.
    #[serde(rename = "measured_at", serialize_with = "quantity::time")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub measured: SystemTime,
    /// The machine that measured it.
    pub machine: Machine,
    /// The compiler: the first line of `rustc -vV`.
    pub toolchain: String,
    /// The mode of its executions, and the estimator of the value.
    #[serde(flatten)]
    pub conditions: Measured,
    /// The value, if it was measured; for a version that was skipped because nothing relevant changed,
    /// the value of the version before it.
    pub result: Option<Estimate>,
    /// The reason why it was not measured.
    pub unmeasured: Option<Unmeasured>,
    /// True if it was measured on the same machine and with the same settings as the newest
    /// version.
    #[serde(skip)]
    pub like_newest: bool,
    /// The comparison with the version before it, if there is one.
    pub against: Option<ReferenceVersion>,
}

/// A version compared with the one before it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReferenceVersion {
    /// The version before it.
    pub version: Version,
    /// The relation of their measurements.
    pub relation: Relation,
    /// The verdict on the two versions.
    #[serde(flatten, serialize_with = "verdict_fields")]
    #[schemars(with = "VerdictFields")]
    pub row: DecidedRow,
}

/// The relation of the measurements of two versions. Conditions are the machine, the settings and
/// the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// In one experiment.
    SameExperiment,
    /// In two experiments under the same conditions.
    AcrossExperiments,
    /// Under different conditions.
    DifferentConditions,
}

/// A verdict for programs.
#[derive(Serialize, JsonSchema)]
pub(super) struct VerdictFields {
    verdict: VerdictKind,
    reason: Reason,
    change: Option<json::Change>,
}

pub(super) fn verdict_fields<S: Serializer>(row: &DecidedRow, to: S) -> Result<S::Ok, S::Error> {
    let (verdict, reason) = (VerdictKind::new(&row.verdict), Reason::for_row(row));
    VerdictFields { verdict, reason, change: json::Change::new(row) }.serialize(to)
}

impl HistoryReport {
    /// The command that decides an event: a comparison of the ends of its range.
    pub fn confirmation(&self, event: &Event) -> String {
        let CommitRange { after, until } = &event.place.possible;
        let [base, head] = [after, until].map(Version::current_revision_arg);
        self.command_line.suggest("compare", &[&base, &head], &[])
    }

    /// The report on one of its benchmarks alone.
    #[must_use]
    pub fn of_one(&self, history: &BenchmarkHistory, machine: &str) -> Self {
        let Benchmark { package, target, name } = &history.benchmark;
        let of_it =
            |one: &&EventChange| one.benchmark == history.benchmark && one.metric == history.metric;
        let events = self.events.iter().filter_map(|event| {
            let changes: Vec<_> = event.changes.iter().filter(of_it).cloned().collect();
            (!changes.is_empty()).then(|| Event { place: event.place.clone(), changes })
        });
        let mut report = Self {
            subject: Some(format!("{} of {package} {target}, on {machine}", name.id)),
            benchmarks: vec![history.clone()],
            unmeasured: Vec::new(),
            events: events.collect(),
            commits: Vec::new(),
            ..self.clone()
        };
        let ranges = report.changed_ranges();
        report.commits =
            self.commits.iter().filter(|(one, _)| ranges.contains(one)).cloned().collect();
        report
    }

    /// The ranges in which a comparison showed a change, or the series suggests one.
    pub fn changed_ranges(&self) -> Vec<CommitRange> {
        let compared = self.rows().filter(|row| row.changed_in_its_experiment());
        let compared = compared.filter_map(|row| {
            let after = row.against.as_ref()?.version.clone();
            Some(CommitRange { after, until: row.version.clone() })
        });
        let suspected = self.events.iter().map(|event| event.place.best.clone());
        distinct(compared.chain(suspected))
    }

    fn rows(&self) -> impl DoubleEndedIterator<Item = &HistoryRow> {
        self.benchmarks.iter().flat_map(|benchmark| &benchmark.versions)
    }
}

impl Series {
    pub fn changes(&self) -> &[SuspectedChange] {
        match self {
            Self::Decided { changes, .. } => changes,
            Self::Undecided { .. } => &[],
        }
    }

    /// Keeps the suspected changes that satisfy the predicate.
    pub fn retain(&mut self, is_kept: impl FnMut(&SuspectedChange) -> bool) {
        if let Self::Decided { changes, .. } = self {
            changes.retain(is_kept);
        }
    }

    /// The relative change over all suspected changes: 0.05 if the last level is 5 % above the
    /// first. A change from or to a count of 0 has no ratio: then it is only that change and those
    /// after it.
    pub fn total(&self) -> f64 {
        let estimates = || self.changes().iter().map(|one| one.change.estimate);
        let has_no_ratio = |estimate: f64| estimate <= -1.0 || estimate == f64::INFINITY;
        let first = estimates().rposition(has_no_ratio).unwrap_or(0);
        estimates().skip(first).map(|estimate| 1.0 + estimate).product::<f64>() - 1.0
    }
}

impl CommitPlace {
    /// The 95 % range, if it differs from the most likely one.
    fn possible_range(&self) -> Option<String> {
        (self.possible != self.best).then(|| self.possible.to_string())
    }
}

impl HistoryRow {
    /// The kind shown in place of a missing value.
    const fn without_value(&self) -> VerdictKind {
        match self.unmeasured {
            Some(Unmeasured::Skipped(_)) => VerdictKind::Skipped,
            _ => VerdictKind::Failed,
        }
    }
}

impl ReferenceVersion {
    /// True if the verdict compares results of two experiments.
    fn is_across(&self) -> bool {
        self.relation != Relation::SameExperiment
            && !matches!(
                self.row.verdict,
                Verdict::Identical | Verdict::Unaffected | Verdict::Skipped { .. }
            )
    }
}

impl From<SessionVariance> for SessionVariation {
    fn from(variance: SessionVariance) -> Self {
        Self {
            standard_deviation: variance.standard_deviation().exp_m1(),
            degrees_of_freedom: variance.freedom,
            repeats: variance.repeats,
        }
    }
}
