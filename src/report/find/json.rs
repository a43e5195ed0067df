//! What was found, for programs.

use serde::Serialize;

use super::{
    CONFIDENCE, Commit, FindReport, Merged, Outcome, Place, SearchedBenchmark, SearchedLine,
    Skipped,
};
use crate::{
    failure::Result,
    report::{
        compare::WarningFields,
        json::{Criteria, FailedTarget, FullName, Machine, Version, document},
        reach::ReachFields,
    },
    stats::{self, bisection::Ending},
};

#[derive(Serialize)]
struct Find<'r> {
    rbench: &'static str,
    range: &'r str,
    criteria: Criteria,
    machine: Machine<'r>,
    measured_comparisons: usize,
    stored_comparisons: usize,
    stopped: bool,
    line: Line<'r>,
    warnings: Vec<WarningFields>,
}

#[derive(Serialize)]
struct Line<'r> {
    base: Version<'r>,
    head: Version<'r>,
    commits: usize,
    forks: bool,
    benchmarks: Vec<Benchmark<'r>>,
    added: Vec<FullName<'r>>,
    removed: Vec<FullName<'r>>,
    skipped: Vec<SkippedFields<'r>>,
    failed_targets: Vec<FailedTarget<'r>>,
}

#[derive(Serialize)]
struct SkippedFields<'r> {
    version: Version<'r>,
    benchmarks: Vec<FullName<'r>>,
    reason: &'r str,
}

#[derive(Serialize)]
struct Benchmark<'r> {
    #[serde(flatten)]
    id: FullName<'r>,
    metric: Option<&'r str>,
    comparisons: usize,
    outcome: &'static str,
    reason: Option<&'r str>,
    change: Option<Change>,
    unexplained: Option<Change>,
    places: Vec<PlaceFields<'r>>,
    same: Vec<Stretch<'r>>,
}

#[derive(Serialize)]
struct Stretch<'r> {
    after: Version<'r>,
    to: Version<'r>,
}

#[derive(Serialize)]
struct PlaceFields<'r> {
    ending: &'static str,
    named: Option<&'r str>,
    after: Version<'r>,
    commits: Vec<CommitFields<'r>>,
    change: Change,
    reach: Option<ReachFields<'r>>,
    merged: Option<Box<Line<'r>>>,
    not_searched: Option<&'r str>,
}

#[derive(Serialize)]
struct CommitFields<'r> {
    #[serde(flatten)]
    version: Version<'r>,
    authored_seconds: i64,
    merge: bool,
}

/// A relative change: 0.05 is 5 % more than before.
#[derive(Serialize)]
struct Change {
    estimate: f64,
    low: f64,
    high: f64,
    confidence: f64,
}

impl FindReport {
    pub(super) fn write_json(&self) -> Result<String> {
        document(&Find {
            rbench: env!("CARGO_PKG_VERSION"),
            range: &self.range,
            criteria: (&self.criteria).into(),
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
            benchmarks: line.benchmarks.iter().map(Benchmark::from).collect(),
            added: line.added.iter().map(FullName::from).collect(),
            removed: line.removed.iter().map(FullName::from).collect(),
            skipped: line.skipped.iter().map(SkippedFields::from).collect(),
            failed_targets: line.failed_targets.iter().map(FailedTarget::from).collect(),
        }
    }
}

impl<'r> From<&'r Skipped> for SkippedFields<'r> {
    fn from(Skipped { version, benchmarks, reason }: &'r Skipped) -> Self {
        let benchmarks = benchmarks.iter().map(FullName::from).collect();
        Self { version: version.into(), benchmarks, reason }
    }
}

impl<'r> From<&'r SearchedBenchmark> for Benchmark<'r> {
    fn from(one: &'r SearchedBenchmark) -> Self {
        let (mut reason, mut change, mut unexplained, mut places) = (None, None, None, Vec::new());
        let outcome = match &one.outcome {
            Outcome::Same => "unaffected",
            Outcome::Unusable { reason: why, .. } => {
                reason = Some(&**why);
                "not_comparable"
            }
            Outcome::Open => "not_compared",
            Outcome::Unchanged { change: of } => {
                change = Some(of.into());
                "unchanged"
            }
            Outcome::Inconclusive { change: of } => {
                change = Some(of.into());
                "inconclusive"
            }
            Outcome::Changed { total, places: all, unexplained: rest } => {
                change = Some(total.into());
                unexplained = Some(rest.into());
                places = all.iter().map(PlaceFields::from).collect();
                "changed"
            }
        };
        let stretch = |[after, to]: &'r [crate::model::Version; 2]| Stretch {
            after: after.into(),
            to: to.into(),
        };
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

impl<'r> From<&'r Place> for PlaceFields<'r> {
    fn from(place: &'r Place) -> Self {
        let (merged, not_searched) = match &place.merged {
            None => (None, None),
            Some(Merged::Searched(line)) => (Some(Box::new(Line::from(&**line))), None),
            Some(Merged::NotSearched(reason)) => (None, Some(&**reason)),
        };
        Self {
            ending: match place.ending {
                Ending::Shown => "shown",
                Ending::Spread => "spread",
                Ending::NotShown => "not_shown",
                Ending::Stopped => "stopped",
            },
            named: place.named().and_then(|commit| commit.version.commit.as_deref()),
            after: (&place.after).into(),
            commits: place.commits.iter().map(CommitFields::from).collect(),
            change: (&place.change).into(),
            reach: place.reach.as_ref().map(ReachFields::from),
            merged,
            not_searched,
        }
    }
}

impl<'r> From<&'r Commit> for CommitFields<'r> {
    fn from(Commit { version, authored, is_merge }: &'r Commit) -> Self {
        Self { version: version.into(), authored_seconds: *authored, merge: *is_merge }
    }
}

impl From<&stats::Change> for Change {
    fn from(&stats::Change { estimate, low, high }: &stats::Change) -> Self {
        Self { estimate, low, high, confidence: CONFIDENCE }
    }
}
