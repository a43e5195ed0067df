//! The report of `find`: which commits of a range changed which benchmarks.

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
    error::{Error, Exit, Result},
    impact::Impact,
    model::{BenchTarget, Benchmark, Machine, Metric, Version},
    shell::CommandLine,
    stats::{Change, Criteria, bisection::Ending},
};

/// The confidence of the intervals of all changes.
pub const CONFIDENCE: f64 = 0.95;

/// What a search found.
#[derive(Clone, Debug)]
pub struct BisectReport {
    /// The range as it was typed.
    pub range: String,
    /// Its line of first parents.
    pub line: SearchedLine,
    /// How benchmarks were judged; each comparison has a stricter false-alarm rate.
    pub criteria: Criteria,
    /// The machine.
    pub machine: Machine,
    /// How many comparisons were measured.
    pub measured: usize,
    /// How many were in the store already.
    pub stored: usize,
    /// Whether the budget ended the search.
    pub stopped: bool,
    /// What makes it less sure.
    pub warnings: Vec<Warning>,
    /// What writes the commands that are advised.
    pub command_line: Rc<dyn CommandLine>,
}

/// A line of commits that was searched.
#[derive(Clone, Debug)]
pub struct SearchedLine {
    /// The version before the first commit.
    pub base: Version,
    /// The last commit.
    pub head: Version,
    /// How many commits there are.
    pub commits: usize,
    /// Whether the base is not the start of the range, which lies beside the line.
    pub forks: bool,
    /// What came of each benchmark that both ends have.
    pub benchmarks: Vec<SearchedBenchmark>,
    /// Benchmarks that only the last commit has.
    pub added: Vec<Benchmark>,
    /// Benchmarks that only the base has.
    pub removed: Vec<Benchmark>,
    /// What was passed over.
    pub skipped: Vec<Skipped>,
    /// Bench targets of the ends whose benchmarks could not be listed.
    pub failed_targets: Vec<(BenchTarget, Error)>,
}

/// A commit that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The commit.
    pub version: Version,
    /// The benchmarks that it was passed over for; all if empty.
    pub benchmarks: Vec<Benchmark>,
    /// Why.
    pub reason: String,
}

/// What came of a benchmark.
#[derive(Clone, Debug)]
pub struct SearchedBenchmark {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// In which metric; absent where nothing was measured.
    pub metric: Option<Metric>,
    /// How many comparisons say something of it.
    pub comparisons: usize,
    /// Stretches of commits, from the one after the first to the second, over which it does the same, so that
    /// nothing of them was measured.
    pub same: Vec<[Version; 2]>,
    /// What was found.
    pub outcome: Outcome,
}

/// What was found of a benchmark.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It executes and reads nothing that differs between the ends.
    Same,
    /// It cannot be compared at one end.
    Unusable {
        /// The end.
        version: Version,
        /// Why.
        reason: String,
    },
    /// The ends were not compared.
    Open,
    /// The ends were compared, and are shown to differ by less than the smallest change of interest.
    Unchanged {
        /// The change.
        change: Change,
    },
    /// The ends were compared, and neither a change nor its absence is shown.
    Inconclusive {
        /// The change.
        change: Change,
    },
    /// It changed.
    Changed {
        /// From the base to the last commit.
        total: Change,
        /// Where, oldest first.
        places: Vec<CommitPlace>,
        /// What all these places do not explain.
        unexplained: Change,
    },
}

/// Commits that changed a benchmark.
#[derive(Clone, Debug)]
pub struct CommitPlace {
    /// The last version before them.
    pub after: Version,
    /// The commits among which the change is, oldest first: a single one, unless it could not be narrowed.
    pub commits: Vec<Commit>,
    /// What the search of this place ended with.
    pub ending: Ending,
    /// The change.
    pub change: Change,
    /// What of their differences the benchmark executes and reads, if that is known.
    pub impact: Option<Impact>,
    /// If it is a merge: what came of what it merged.
    pub merged: Option<Merged>,
}

/// A commit of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The commit.
    pub version: Version,
    /// When its author wrote it, in seconds since 1970-01-01 UTC.
    pub authored: i64,
    /// Whether it is a merge.
    pub is_merge: bool,
}

/// What came of the commits that a merge merged.
#[derive(Clone, Debug)]
pub enum Merged {
    /// They were searched too.
    Searched(Box<SearchedLine>),
    /// They were not, for this reason.
    NotSearched(String),
}

impl CommitPlace {
    /// The commit that is named, if it is a single one and shown.
    pub fn named(&self) -> Option<&Commit> {
        match self.commits.as_slice() {
            [commit] if self.ending == Ending::Shown => Some(commit),
            _ => None,
        }
    }
}

impl BisectReport {
    /// How the command ends: what was found is no failure, and what could not be examined is one.
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
