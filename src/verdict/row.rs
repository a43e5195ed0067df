//! The verdict on one benchmark in one metric, as `verdicts.rs` produces it and reports consume it;
//! and the kinds of verdicts in their order of importance.

use std::time::Duration;

use rbench_code::impact::Impact;
use rbench_stats::{ABOVE_MIN_EFFECT, Assessment, Change, More, Power, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{benchmark_verdict::Verdict, interim::Progress, interleaving::Interleaving};
use crate::model::{Benchmark, Metric, Throughput, names};

/// The verdict on one benchmark in one metric, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedRow {
    pub benchmark: Benchmark,
    /// The metric; `None` if the verdict is about the benchmark as a whole: identical machine code,
    /// no impact, a failure, or results that must not be compared.
    pub metric: Option<Metric>,
    pub verdict: Verdict,
    /// The first stage and, if there was one, the second, on fresh builds. The last one decides.
    /// Empty if no values were compared.
    pub stages: Vec<DecidedStage>,
    /// The comparison by the mean of all measurements, if the estimator
    /// [needs it](rbench_stats::Estimator::needs_mean).
    pub by_mean: Option<ByMean>,
    /// The sample size that would show a smaller change, if the verdict is inconclusive.
    pub advice: Option<Advice>,
    /// The work of one iteration in base and head, if the benchmark declares different amounts.
    pub work: Option<[Throughput; 2]>,
    /// The interleaving of the deciding stage; `None` if no values were compared.
    pub interleaving: Option<Interleaving>,
    /// The next step of the first stage, planned or already done.
    pub progress: Progress,
    /// Where the benchmark failed or was skipped, as the verdict says.
    pub unmeasured_in: Option<UnmeasuredIn>,
    /// The differences between the versions that the benchmark executes or reads; `None` if
    /// unknown, as for stored results.
    pub impact: Option<Impact>,
}

/// The versions without measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnmeasuredIn {
    Base,
    Head,
    Both,
}

impl UnmeasuredIn {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Head => "head",
            Self::Both => "both",
        }
    }

    /// The only version without measurements: 0 for base, 1 for head.
    pub const fn only(self) -> Option<usize> {
        match self {
            Self::Base => Some(0),
            Self::Head => Some(1),
            Self::Both => None,
        }
    }
}

/// The comparison by the mean, for a benchmark whose estimator ignores changes of the slower measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ByMean {
    /// The change of the mean in the deciding stage, with its 95 % CI.
    #[serde(flatten)]
    pub change: Change,
    /// True if the mean decided, because only the mean showed a change. The stages then hold the
    /// means.
    pub primary: bool,
}

/// One stage of the decision on a benchmark in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedStage {
    pub summaries: [Summary; 2],
    /// The comparison of base and head, and the evidence it gives.
    pub assessment: Assessment,
}

/// The sample size that an experiment needs for a smaller change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The level of the experiment to repeat more often.
    #[serde(rename = "more")]
    pub what: Repetition,
    /// The total number of builds, or of executions of each build.
    #[schemars(range(min = 2))]
    pub number: usize,
    /// The smallest relative change that would then be reported with a power of 80 %.
    pub smallest_reported: f64,
    /// The average time of one execution of both versions so far, if there was one.
    #[serde(skip)]
    pub pair_time: Option<Duration>,
}

/// A level of an experiment that can be repeated more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Repetition {
    /// Builds: `-l`.
    Builds,
    /// Executions of each build: `-m`.
    Executions,
}

/// True for the reason of a failure that several benchmarks have one id, in the words of any harness. They are a whole line: a
/// message of a program may have them among others.
pub(super) fn is_about_id(reason: &str) -> bool {
    let is_said = |line: &str| {
        let line = line.trim();
        let number = line.strip_suffix(" benchmarks have this id; give each a name of its own");
        number.is_some_and(|number| number.parse::<usize>().is_ok())
            || line == "two benchmarks of this target have this id"
    };
    reason.lines().any(is_said)
}

impl DecidedRow {
    /// True if the benchmark was skipped in the head and not in the base.
    pub const fn is_skipped_in_head(&self) -> bool {
        matches!(
            (&self.verdict, self.unmeasured_in),
            (Verdict::Skipped { .. }, Some(UnmeasuredIn::Head))
        )
    }

    /// True if the id of the benchmark stands for several in both versions: no change has caused that.
    pub fn shares_id_in_both(&self) -> bool {
        let Verdict::Failed { reason } = &self.verdict else { return false };
        self.unmeasured_in == Some(UnmeasuredIn::Both) && is_about_id(reason)
    }

    /// A verdict on a benchmark as a whole, without values.
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

    /// The verdict on one metric, by these stages.
    pub(super) fn of_metric(
        benchmark: &Benchmark,
        metric: &Metric,
        verdict: Verdict,
        stages: Vec<DecidedStage>,
    ) -> Self {
        let metric = Some(metric.clone());
        Self { metric, stages, ..Self::without_metric(benchmark, verdict) }
    }

    pub fn decisive(&self) -> Option<&DecidedStage> {
        self.stages.last()
    }
}

/// The largest number of builds or executions ever advised: beyond it, the benchmark itself should
/// be changed.
const MOST_ADVISED: usize = 100;

impl Advice {
    /// True if the advised experiment would show a change of interest with enough power.
    pub fn detects(&self, min_effect: f64) -> bool {
        self.smallest_reported <= ABOVE_MIN_EFFECT * min_effect
    }

    /// Advises an experiment that reports one and a half times the smallest change of interest; if
    /// that is unattainable, one that halves the smallest change reported now. `None` if the
    /// experiment was large enough.
    pub(crate) fn from_power(power: &Power, min_effect: f64) -> Option<Self> {
        let now = power.smallest_reported();
        let wanted = ABOVE_MIN_EFFECT * min_effect;
        if now <= wanted {
            return None;
        }
        let more =
            power.more(wanted, MOST_ADVISED).or_else(|| power.more(now / 2.0, MOST_ADVISED))?;
        Some(match more {
            More::Builds(number) => Self {
                what: Repetition::Builds,
                number,
                smallest_reported: power.with_builds(number),
                pair_time: None,
            },
            More::Executions(number) => Self {
                what: Repetition::Executions,
                number,
                smallest_reported: power.with_executions(number)?,
                pair_time: None,
            },
        })
    }
}

/// A verdict without its reason, the most important first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// The head costs more.
    Regressed,
    /// There are no measurements.
    Failed,
    /// The head costs more, and that was accepted.
    Accepted,
    /// The head costs less.
    Improved,
    /// The measurements must not be compared.
    NotComparable,
    /// Neither a change nor its absence is shown.
    Inconclusive,
    /// Both versions cost the same, within the smallest change of interest.
    Unchanged,
    /// The benchmark neither executes nor reads anything that differs; it was skipped.
    Unaffected,
    /// Both versions have the same machine code.
    Identical,
    /// The benchmark chose not to be measured.
    Skipped,
}

names!(VerdictKind {
    Regressed = "regressed",
    Failed = "failed",
    Accepted = "accepted",
    Improved = "improved",
    NotComparable = "not comparable",
    Inconclusive = "inconclusive",
    Unchanged = "unchanged",
    Unaffected = "unaffected",
    Identical = "identical",
    Skipped = "skipped",
});

impl VerdictKind {
    /// The kind of a verdict.
    pub const fn new(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Regressed { .. } => Self::Regressed,
            Verdict::Accepted { .. } => Self::Accepted,
            Verdict::Improved { .. } => Self::Improved,
            Verdict::Unchanged { .. } => Self::Unchanged,
            Verdict::Inconclusive { .. } => Self::Inconclusive,
            Verdict::Identical => Self::Identical,
            Verdict::Unaffected => Self::Unaffected,
            Verdict::Skipped { .. } => Self::Skipped,
            Verdict::Failed { .. } => Self::Failed,
            Verdict::NotComparable { .. } => Self::NotComparable,
        }
    }

    pub const fn is_change(self) -> bool {
        matches!(self, Self::Regressed | Self::Accepted | Self::Improved)
    }
}
