//! Slowdowns that users accepted on purpose, for the commits between two versions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Benchmark, Metric, OBJECT_ID};

/// The accepted part of a benchmark's slowdown, from one or several entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    /// The largest accepted relative change, over all entries: 0.05 is 5 % more than the base.
    pub ceiling: f64,
    /// The entries, at least one.
    pub changes: Vec<AcceptedChange>,
}

/// An accepted slowdown: one entry of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedChange {
    /// The commit that made the benchmark slower, in hex.
    #[schemars(regex(pattern = OBJECT_ID))]
    pub commit: String,
    /// The user's reason, on one line.
    pub reason: String,
}

impl AcceptedChange {
    /// The first seven digits of the commit.
    pub fn short(&self) -> &str {
        self.commit.get(..7).unwrap_or(&self.commit)
    }
}

/// An entry that changes no verdict any more, so that users can delete it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleAcceptance {
    pub benchmark: Benchmark,
    pub metric: Metric,
    /// The commit of the entry, in hex.
    pub commit: String,
    /// The reason why it changes nothing.
    pub why: Idle,
}

/// The reason why an entry changes no verdict any more.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// Its commit is not in the history of HEAD: it was rebased or squashed, or is on another branch.
    NotInHistory,
    /// The head does not have the benchmark.
    NoBenchmark,
    /// The benchmark is as fast as before its commit.
    Recovered,
}
