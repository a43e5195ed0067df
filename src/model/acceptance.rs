//! Slowdowns that were accepted on purpose, as far as they are between two versions.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Benchmark, Metric};

/// What of a benchmark's slowdown was accepted, by one or several entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    /// The largest relative change that is accepted, of all entries together: 0.05 is 5 % more than the base.
    pub ceiling: f64,
    /// The entries, at least one.
    pub changes: Vec<AcceptedChange>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedChange {
    /// The commit that made the benchmark slower, in hex.
    pub commit: String,
    /// Why that is accepted, on one line.
    pub reason: String,
}

impl AcceptedChange {
    /// Seven digits of the commit.
    pub fn short(&self) -> &str {
        self.commit.get(..7).unwrap_or(&self.commit)
    }
}

/// An entry that changes no verdict any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleAcceptance {
    /// Of this benchmark.
    pub benchmark: Benchmark,
    /// In this metric.
    pub metric: Metric,
    /// Of this commit, in hex.
    pub commit: String,
    /// Why.
    pub why: Idle,
}

/// Why an entry changes no verdict any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// Its commit is not in the history of HEAD: it was rebased or squashed, or is on another branch.
    NotInHistory,
    /// The head does not have the benchmark.
    NoBenchmark,
    /// The benchmark is as fast as before its commit.
    Recovered,
}
