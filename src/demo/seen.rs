//! What a comparison showed, read from its JSON: the form that is public, for programs.

use serde::Deserialize;

/// A comparison, as far as the demo explains it.
#[derive(Clone, Debug, Deserialize)]
pub struct Seen {
    /// Every benchmark that both commits have.
    pub benchmarks: Vec<Row>,
}

/// A benchmark.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// The name of the verdict.
    pub verdict: String,
    /// The verdict as a sentence, with its reason.
    pub reason: String,
    /// The numbers, where there are any.
    pub measured: Option<Numbers>,
}

/// The numbers behind a verdict.
#[derive(Clone, Debug, Deserialize)]
pub struct Numbers {
    /// The first stage, and the second where there was one. The last one decides.
    pub stages: Vec<Stage>,
}

/// What one stage found.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Stage {
    /// The change from base to head.
    pub change: Change,
}

/// A change with its interval: 0.1 is 10 % slower.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Change {
    /// The best guess.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end; none if there is no bound.
    pub high: Option<f64>,
}

impl Row {
    /// The change by the stage that decides, if the benchmark was judged.
    pub fn change(&self) -> Option<Change> {
        Some(self.measured.as_ref()?.stages.last()?.change)
    }

    /// Whether it is called faster or slower.
    pub fn is_flagged(&self) -> bool {
        self.verdict == "regressed" || self.verdict == "improved"
    }

    /// Whether it could not be judged for a reason that is no noise.
    pub fn is_broken(&self) -> bool {
        self.verdict == "failed" || self.verdict == "not-comparable"
    }
}
