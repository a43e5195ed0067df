//! The report of `bisect` for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    BisectReport, CONFIDENCE, Commit, CommitPlace, Merged, Outcome, SearchedBenchmark,
    SearchedLine, Skipped,
};
use crate::model::{Benchmark, FailedTarget, Machine, OBJECT_ID, Version};
use crate::stats::Criteria;
use crate::{
    error::Result,
    impact::Impact,
    report::{compare::WarningFields, date, json::document},
    stats::{self, bisection::Ending},
};

/// The commits of a range that changed benchmarks.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Bisect<'r> {
    /// The version of rbench.
    rbench: &'static str,
    /// As it was typed.
    range: &'r str,
    /// The criteria as given. Each comparison has a stricter false-positive rate, so that the whole
    /// search keeps this one.
    criteria: Criteria,
    machine: &'r Machine,
    /// The number of comparisons of two versions that were measured.
    measured_comparisons: usize,
    /// The number of comparisons of two versions taken from the store.
    stored_comparisons: usize,
    /// True if the search stopped at the end of its budget.
    stopped: bool,
    line: Line<'r>,
    /// Reasons why the results are less certain.
    warnings: Vec<WarningFields>,
}

/// A line of commits, each with its first parent before it.
#[derive(Serialize, JsonSchema)]
struct Line<'r> {
    /// The version before the first commit.
    base: &'r Version,
    /// The last commit.
    head: &'r Version,
    /// The number of commits.
    commits: usize,
    /// True if the start of the range is not on the line, so that the base differs from it.
    forks: bool,
    benchmarks: Vec<BenchmarkFields<'r>>,
    /// Only in the head; not searched.
    added: Vec<&'r Benchmark>,
    /// Only in the base; not searched.
    removed: Vec<&'r Benchmark>,
    skipped: Vec<SkippedFields<'r>>,
    /// Of both ends.
    failed_targets: Vec<&'r FailedTarget>,
}

/// A commit that could not be compared.
#[derive(Serialize, JsonSchema)]
struct SkippedFields<'r> {
    version: &'r Version,
    /// The benchmarks that it was skipped for; all if there are none.
    benchmarks: Vec<&'r Benchmark>,
    reason: &'r str,
}

/// The search of one benchmark.
#[derive(Serialize, JsonSchema)]
struct BenchmarkFields<'r> {
    #[serde(flatten)]
    id: &'r Benchmark,
    /// null if nothing was measured.
    metric: Option<&'r str>,
    /// The number of comparisons with a verdict on it.
    comparisons: usize,
    outcome: OutcomeKind,
    /// The reason why it is not comparable.
    reason: Option<&'r str>,
    /// From the base to the head.
    change: Option<Change>,
    /// The part of it that the places do not explain.
    unexplained: Option<Change>,
    /// The places where it changed, oldest first.
    places: Vec<PlaceFields<'r>>,
    /// Ranges of commits without impact on it, which were not measured.
    same: Vec<Stretch<'r>>,
}

/// The verdict on the two ends of a line.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutcomeKind {
    /// Nothing that differs between the ends has an impact on it.
    Unaffected,
    /// It cannot be measured at one end.
    NotComparable,
    /// The search was stopped before the ends were compared.
    NotCompared,
    /// The ends differ by less than the smallest change of interest.
    Unchanged,
    /// Neither a change nor its absence is shown.
    Inconclusive,
    /// The ends differ.
    Changed,
}

/// Commits after the first version, up to the second.
#[derive(Serialize, JsonSchema)]
struct Stretch<'r> {
    after: &'r Version,
    to: &'r Version,
}

/// Commits that changed a benchmark.
#[derive(Serialize, JsonSchema)]
struct PlaceFields<'r> {
    ending: Ending,
    /// The commit that changed the benchmark; null if several are left, or the change is not shown.
    #[schemars(regex(pattern = OBJECT_ID))]
    named: Option<&'r str>,
    /// The last version before them.
    after: &'r Version,
    /// The commits that may be the cause, oldest first.
    #[schemars(length(min = 1))]
    commits: Vec<CommitFields<'r>>,
    change: Change,
    /// null if their differences were not examined.
    impact: Option<&'r Impact>,
    /// The search of the merged commits, if the commit is a merge and they were searched.
    merged: Option<Box<Line<'r>>>,
    /// The reason why the commits of a merge were not searched.
    not_searched: Option<&'r str>,
}

/// A commit of the line.
#[derive(Serialize, JsonSchema)]
struct CommitFields<'r> {
    #[serde(flatten)]
    version: &'r Version,
    /// When its author wrote it, in UTC.
    #[schemars(extend("format" = "date-time"))]
    authored_at: Option<String>,
    /// True if it has more than one parent.
    merge: bool,
}

/// A relative change: 0.05 is 5 % more than before. A bound is null if it is infinite, and all three are if the value
/// was 0 before.
#[derive(Serialize, JsonSchema)]
struct Change {
    #[schemars(with = "Option<f64>")]
    estimate: f64,
    #[schemars(with = "Option<f64>")]
    low: f64,
    #[schemars(with = "Option<f64>")]
    high: f64,
    confidence: f64,
}

impl BisectReport {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Bisect {
            rbench: env!("CARGO_PKG_VERSION"),
            range: &self.range,
            criteria: self.criteria,
            machine: (&self.machine).into(),
            measured_comparisons: self.measured,
            stored_comparisons: self.stored,
            stopped: self.stopped,
            line: (&self.line).into(),
            warnings: self.warnings.iter().map(WarningFields::from).collect(),
        })
    }
}

impl<'r> From<&'r SearchedLine> for Line<'r> {
    fn from(line: &'r SearchedLine) -> Self {
        Self {
            base: (&line.base).into(),
            head: (&line.head).into(),
            commits: line.commits,
            forks: line.forks,
            benchmarks: line.benchmarks.iter().map(BenchmarkFields::from).collect(),
            added: line.added.iter().collect(),
            removed: line.removed.iter().collect(),
            skipped: line.skipped.iter().map(SkippedFields::from).collect(),
            failed_targets: line.failed_targets.iter().collect(),
        }
    }
}

impl<'r> From<&'r Skipped> for SkippedFields<'r> {
    fn from(Skipped { version, benchmarks, reason }: &'r Skipped) -> Self {
        let benchmarks = benchmarks.iter().collect();
        Self { version: version.into(), benchmarks, reason }
    }
}

impl<'r> From<&'r SearchedBenchmark> for BenchmarkFields<'r> {
    fn from(one: &'r SearchedBenchmark) -> Self {
        let (mut reason, mut change, mut unexplained, mut places) = (None, None, None, Vec::new());
        let outcome = match &one.outcome {
            Outcome::Same => OutcomeKind::Unaffected,
            Outcome::Unusable { reason: why, .. } => {
                reason = Some(&**why);
                OutcomeKind::NotComparable
            }
            Outcome::Open => OutcomeKind::NotCompared,
            Outcome::Unchanged { change: of } => {
                change = Some(of.into());
                OutcomeKind::Unchanged
            }
            Outcome::Inconclusive { change: of } => {
                change = Some(of.into());
                OutcomeKind::Inconclusive
            }
            Outcome::Changed { total, places: all, unexplained: rest } => {
                change = Some(total.into());
                unexplained = Some(rest.into());
                places = all.iter().map(PlaceFields::from).collect();
                OutcomeKind::Changed
            }
        };
        let stretch =
            |[after, to]: &'r [Version; 2]| Stretch { after: after.into(), to: to.into() };
        Self {
            id: (&one.benchmark).into(),
            metric: one.metric.as_ref().map(|metric| &*metric.name),
            comparisons: one.comparisons,
            outcome,
            reason,
            change,
            unexplained,
            places,
            same: one.same.iter().map(stretch).collect(),
        }
    }
}

impl<'r> From<&'r CommitPlace> for PlaceFields<'r> {
    fn from(place: &'r CommitPlace) -> Self {
        let (merged, not_searched) = match &place.merged {
            None => (None, None),
            Some(Merged::Searched(line)) => (Some(Box::new(Line::from(&**line))), None),
            Some(Merged::NotSearched(reason)) => (None, Some(&**reason)),
        };
        Self {
            ending: place.ending,
            named: place.named().and_then(|commit| commit.version.commit.as_deref()),
            after: (&place.after).into(),
            commits: place.commits.iter().map(CommitFields::from).collect(),
            change: (&place.change).into(),
            impact: place.impact.as_ref(),
            merged,
            not_searched,
        }
    }
}

impl<'r> From<&'r Commit> for CommitFields<'r> {
    fn from(Commit { version, authored, is_merge }: &'r Commit) -> Self {
        Self {
            version: version.into(),
            authored_at: date::rfc3339_of_seconds(*authored),
            merge: *is_merge,
        }
    }
}

impl From<&stats::Change> for Change {
    fn from(&stats::Change { estimate, low, high }: &stats::Change) -> Self {
        Self { estimate, low, high, confidence: CONFIDENCE }
    }
}
