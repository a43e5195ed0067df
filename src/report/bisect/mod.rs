//! The report of `bisect`: the commits of a range that changed benchmarks.

mod document;
pub(super) mod json;
#[cfg(test)]
mod tests;
mod words;

use std::rc::Rc;

use super::{
    Report,
    document::{Document, Medium},
};
use crate::{
    compare::Warning,
    error::{Exit, Result},
    impact::Impact,
    model::{Benchmark, FailedTarget, Machine, Metric, Version},
    shell::CommandLine,
    stats::{Change, Criteria, bisection::Ending},
};

/// The confidence of the intervals of all changes.
pub const CONFIDENCE: f64 = 0.95;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct BisectReport {
    /// The range as typed.
    pub range: String,
    /// The line of first parents.
    pub line: SearchedLine,
    /// The criteria of the verdicts; each comparison has a stricter false-positive rate.
    pub criteria: Criteria,
    /// The machine that measured.
    pub machine: Machine,
    /// The number of comparisons measured.
    pub measured: usize,
    /// The number of comparisons taken from the store.
    pub stored: usize,
    /// True if the search stopped at the end of its budget.
    pub stopped: bool,
    /// Reasons why the results are less certain.
    pub warnings: Vec<Warning>,
    /// Writes the suggested commands.
    pub command_line: Rc<dyn CommandLine>,
}

/// A searched line of commits.
#[derive(Clone, Debug)]
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
    /// Benchmarks that only the last commit has.
    pub added: Vec<Benchmark>,
    /// Benchmarks that only the base has.
    pub removed: Vec<Benchmark>,
    /// The skipped commits.
    pub skipped: Vec<Skipped>,
    /// Bench targets of the ends whose benchmarks could not be listed.
    pub failed_targets: Vec<FailedTarget>,
}

/// A skipped commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The commit.
    pub version: Version,
    /// The benchmarks it was skipped for; all if empty.
    pub benchmarks: Vec<Benchmark>,
    /// The reason for skipping it.
    pub reason: String,
}

/// The result of a benchmark.
#[derive(Clone, Debug)]
pub struct SearchedBenchmark {
    /// The benchmark searched for.
    pub benchmark: Benchmark,
    /// The metric of the comparisons; `None` if nothing was measured.
    pub metric: Option<Metric>,
    /// The number of comparisons with a verdict on it.
    pub comparisons: usize,
    /// Ranges of commits without impact on it, after the first version up to the second, which were
    /// not measured.
    pub same: Vec<[Version; 2]>,
    /// The outcome of the search.
    pub outcome: Outcome,
}

/// The outcome of the search for a benchmark.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Nothing that differs between the ends has an impact on it.
    Same,
    /// It cannot be compared at one end.
    Unusable {
        /// The end.
        version: Version,
        /// The reason.
        reason: String,
    },
    /// The ends were not compared.
    Open,
    /// The ends were compared, and are shown to differ by less than the smallest change of
    /// interest.
    Unchanged {
        /// The change from base to head.
        change: Change,
    },
    /// The ends were compared, and neither a change nor its absence is shown.
    Inconclusive {
        /// The change from base to head.
        change: Change,
    },
    /// It changed.
    Changed {
        /// The change from the base to the last commit.
        total: Change,
        /// The places where it changed, oldest first.
        places: Vec<CommitPlace>,
        /// The part of the change that these places do not explain.
        unexplained: Change,
    },
}

/// The commits that changed a benchmark.
#[derive(Clone, Debug)]
pub struct CommitPlace {
    /// The last version before them.
    pub after: Version,
    /// The candidates for the change, oldest first: a single commit, unless the search could not
    /// narrow it down.
    pub commits: Vec<Commit>,
    /// The reason why the search of this place ended.
    pub ending: Ending,
    /// The change at this place.
    pub change: Change,
    /// The impact of their differences on the benchmark, if known.
    pub impact: Option<Impact>,
    /// For a merge: the search of the merged commits.
    pub merged: Option<Merged>,
}

/// A commit of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The version at this commit.
    pub version: Version,
    /// When its author wrote it, in seconds since 1970-01-01 UTC.
    pub authored: i64,
    /// True for a merge.
    pub is_merge: bool,
}

/// The search of the commits of a merge.
#[derive(Clone, Debug)]
pub enum Merged {
    /// They were searched too.
    Searched(Box<SearchedLine>),
    /// They were not searched, for this reason.
    NotSearched(String),
}

impl CommitPlace {
    /// The commit that is named, if there is a single one and the change is shown.
    pub fn named(&self) -> Option<&Commit> {
        match self.commits.as_slice() {
            [commit] if self.ending == Ending::Shown => Some(commit),
            _ => None,
        }
    }
}

impl BisectReport {
    /// The exit code: success whatever was found, and an error if something could not be examined.
    pub fn exit(&self) -> Exit {
        let failed = |one: &SearchedBenchmark| matches!(one.outcome, Outcome::Unusable { .. });
        let line = &self.line;
        if line.failed_targets.is_empty() && !line.benchmarks.iter().any(failed) {
            Exit::Success
        } else {
            Exit::Benchmark
        }
    }
}

impl Report for BisectReport {
    fn document(&self, _medium: Medium) -> Document {
        self.write_document()
    }

    fn json(&self) -> Result<String> {
        self.write_json()
    }
}
