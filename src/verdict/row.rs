//! The verdict on one benchmark in one metric: the result of judging, and the input of reports.

use schemars::JsonSchema;
use serde::Serialize;

use super::{interim::Progress, interleaving::Interleaving};
use crate::{
    impact::Impact,
    model::{Benchmark, Metric, Throughput},
    stats::{ABOVE_MIN_EFFECT, Assessment, Change, More, Power, Summary, Verdict},
};

/// What is said of one benchmark in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedRow {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The metric; absent where the verdict is about the benchmark as a whole: identical machine code, nothing
    /// that differs in what it executes, a failure, results that must not be compared.
    pub metric: Option<Metric>,
    /// The verdict.
    pub verdict: Verdict,
    /// What was judged: the first stage and, where there was one, the second, on fresh builds. The last
    /// decides. Empty where nothing was judged.
    pub stages: Vec<DecidedStage>,
    /// What the mean of all measurements says, where the estimator is one of the fastest measurements.
    pub by_mean: Option<ByMean>,
    /// What to add for a smaller change to be seen, where the verdict is inconclusive.
    pub advice: Option<Advice>,
    /// What one iteration processes in base and head, where the benchmark says that it is not the same amount.
    pub work: Option<[Throughput; 2]>,
    /// How the executions of the stage that decides were interleaved; absent where nothing was judged.
    pub interleaving: Option<Interleaving>,
    /// What follows from the first stage: what the experiment does next, or did.
    pub progress: Progress,
    /// Which version has no measurements because the benchmark failed or was skipped there: 0 for base, 1 for head;
    /// absent where that is so of none or of both.
    pub unmeasured_in: Option<usize>,
    /// What of the differences between the versions the benchmark executes or reads; absent where that is not
    /// known, as of stored results.
    pub impact: Option<Impact>,
}

/// What the mean of all measurements says of a benchmark whose estimator is one of the fastest measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByMean {
    /// The change of the mean in the stage that decides, with its 95 % confidence interval.
    pub change: Change,
    /// Whether the verdict is by the mean: only the mean showed a change. The stages are then of the mean.
    pub primary: bool,
}

/// One stage of judging a benchmark in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedStage {
    /// Base and head.
    pub summaries: [Summary; 2],
    /// Their comparison, and what follows from it.
    pub assessment: Assessment,
}

/// What to add to an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// Of what there should be more.
    pub what: Repetition,
    /// How many in all: of builds, or of executions of each build.
    pub number: usize,
    /// The smallest relative change that would then be reported with a power of 80 %.
    pub smallest_reported: f64,
}

/// A level of an experiment that can be repeated more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Repetition {
    /// Builds: `-l`.
    Builds,
    /// Executions of each build: `-m`.
    Executions,
}

impl DecidedRow {
    /// A verdict on a benchmark as a whole.
    pub fn without_metric(benchmark: &Benchmark, verdict: Verdict) -> Self {
        Self {
            benchmark: benchmark.clone(),
            metric: None,
            verdict,
            stages: Vec::new(),
            by_mean: None,
            advice: None,
            work: None,
            interleaving: None,
            progress: Progress::Ended,
            unmeasured_in: None,
            impact: None,
        }
    }

    /// The stage that decides.
    pub fn decisive(&self) -> Option<&DecidedStage> {
        self.stages.last()
    }
}

/// No more builds or executions than this are ever advised: beyond, another benchmark is needed.
const MOST_ADVISED: usize = 100;

impl Advice {
    /// Whether what is advised shows as small a change as should be seen in a benchmark with this smallest change
    /// of interest.
    pub fn detects(&self, min_effect: f64) -> bool {
        self.smallest_reported <= ABOVE_MIN_EFFECT * min_effect
    }

    /// What makes one and a half times the smallest change of interest be reported; where that is out of reach,
    /// what halves the smallest that is reported now; nothing where the experiment was large enough.
    pub(super) fn from_outlook(outlook: &Power, min_effect: f64) -> Option<Self> {
        let now = outlook.smallest_reported();
        let wanted = ABOVE_MIN_EFFECT * min_effect;
        if now <= wanted {
            return None;
        }
        let more =
            outlook.more(wanted, MOST_ADVISED).or_else(|| outlook.more(now / 2.0, MOST_ADVISED))?;
        Some(match more {
            More::Builds(number) => Self {
                what: Repetition::Builds,
                number,
                smallest_reported: outlook.with_builds(number),
            },
            More::Executions(number) => Self {
                what: Repetition::Executions,
                number,
                smallest_reported: outlook.with_executions(number)?,
            },
        })
    }
}
