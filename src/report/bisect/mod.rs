//! The report of `bisect`: the commits of a range that changed benchmarks.

pub(super) mod document;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    date,
    json::{MetricFields, metric_fields},
};
use crate::{
    compare::Warning,
    error::Exit,
    impact::Impact,
    model::{Benchmark, CommitRange, FailedTarget, Machine, Metric, Version},
    shell::CommandLine,
    stats::{Change, Criteria, bisection::Ending},
};

/// The confidence of the intervals of all changes.
pub const CONFIDENCE: f64 = 0.95;

/// The result of a search.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BisectReport {
    /// The range as typed.
    pub range: String,
    /// The criteria of the verdicts. Each comparison has a stricter false-positive rate, so that the
    /// whole search keeps this one.
    pub criteria: Criteria,
    /// The machine that measured.
    pub machine: Machine,
    /// The number of comparisons of two versions that were measured.
    #[serde(rename = "measured_comparisons")]
    pub measured: usize,
    /// The number of comparisons of two versions taken from the store.
    #[serde(rename = "stored_comparisons")]
    pub stored: usize,
    /// True if the search stopped at the end of its budget.
    pub stopped: bool,
    /// The line of first parents.
    pub line: SearchedLine,
    /// Reasons why the results are less certain.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
    /// Writes the suggested commands.
    #[serde(skip)]
    pub command_line: Rc<dyn CommandLine>,
}

/// A searched line of commits, each with its first parent before it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchedLine {
    /// The version before the first commit.
    pub base: Version,
    /// The last commit.
    pub head: Version,
    /// The number of commits.
    pub commits: usize,
    /// True if the start of the range is not on the line, so that the base differs from it.
    pub forks: bool,
    /// The results of the benchmarks that both ends have.
    pub benchmarks: Vec<SearchedBenchmark>,
    /// Benchmarks that only the last commit has; not searched.
    pub added: Vec<Benchmark>,
    /// Benchmarks that only the base has; not searched.
    pub removed: Vec<Benchmark>,
    /// The commits that could not be compared.
    pub skipped: Vec<Skipped>,
    /// Bench targets of the ends whose benchmarks could not be listed.
    pub failed_targets: Vec<FailedTarget>,
}

/// A commit that could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Skipped {
    /// The commit.
    pub version: Version,
    /// The benchmarks it was skipped for; all if empty.
    pub benchmarks: Vec<Benchmark>,
    /// The reason for skipping it.
    pub reason: String,
}

/// The result of a benchmark.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchedBenchmark {
    /// The benchmark searched for.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// The metric of the comparisons; `None` if nothing was measured.
    #[serde(flatten, serialize_with = "metric_fields")]
    #[schemars(with = "MetricFields<'_>")]
    pub metric: Option<Metric>,
    /// The number of comparisons with a verdict on it.
    pub comparisons: usize,
    /// The outcome of the search.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Ranges of commits without impact on it, which were not measured.
    pub same: Vec<CommitRange>,
}

/// The outcome of the search for a benchmark: the verdict on the two ends of the line. Intervals are
/// of 95 % confidence.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing that differs between the ends has an impact on it.
    Unaffected,
    /// It cannot be compared at one end.
    NotComparable {
        /// The end.
        version: Version,
        /// The reason.
        reason: String,
    },
    /// The search was stopped before the ends were compared.
    NotCompared,
    /// The ends differ by less than the smallest change of interest.
    Unchanged {
        /// The change from base to head.
        change: Change,
    },
    /// Neither a change nor its absence is shown.
    Inconclusive {
        /// The change from base to head.
        change: Change,
    },
    /// The ends differ.
    Changed {
        /// The change from the base to the last commit.
        change: Change,
        /// The places where it changed, oldest first.
        places: Vec<CommitPlace>,
        /// The part of the change that these places do not explain.
        unexplained: Change,
    },
}

/// The commits that changed a benchmark.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CommitPlace {
    /// The reason why the search of this place ended.
    pub ending: Ending,
    /// The last version before them.
    pub after: Version,
    /// The candidates for the change, oldest first: a single commit, unless the search could not
    /// narrow it down.
    #[schemars(length(min = 1))]
    pub commits: Vec<Commit>,
    /// The change at this place.
    pub change: Change,
    /// The impact of their differences on the benchmark; null if it was not examined.
    pub impact: Option<Impact>,
    /// For a merge: the search of the merged commits.
    pub merged: Option<Merged>,
}

/// A commit of the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Commit {
    /// The version at this commit.
    #[serde(flatten)]
    pub version: Version,
    /// When its author wrote it, in UTC.
    ///
    /// In seconds since 1970-01-01; in JSON, in RFC 3339.
    #[serde(rename = "authored_at", serialize_with = "date::unix_time")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub authored: i64,
    /// True for a merge: it has more than one parent.
    #[serde(rename = "merge")]
    pub is_merge: bool,
}

/// The search of the commits of a merge.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Merged {
    /// They were searched too.
    Searched(Box<SearchedLine>),
    /// They were not searched, for this reason.
    NotSearched(String),
}

impl CommitPlace {
    /// The commit that is named, if there is a single one and the change is shown.
    pub fn named(&self) -> Option<&Commit> {
        self.commits.first().filter(|_| self.ending == Ending::Named)
    }
}

impl BisectReport {
    /// The exit code: success whatever was found, and an error if something could not be examined.
    pub fn exit(&self) -> Exit {
        let failed = |one: &SearchedBenchmark| matches!(one.outcome, Outcome::NotComparable { .. });
        let line = &self.line;
        if line.failed_targets.is_empty() && !line.benchmarks.iter().any(failed) {
            Exit::Success
        } else {
            Exit::Benchmark
        }
    }
}
