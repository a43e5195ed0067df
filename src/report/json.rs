//! Values that the JSON of several reports share. All keys are in snake case, units are in names,
//! and intervals are `low` and `high`. An infinite or unknown number is null.

use rbench_stats::{
    Assessment, Comparison, DifferenceShares, Estimator, Evidence, InconclusiveReason, Interval,
    Moments, Summary, or_infinite,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::{
    escape::is_hidden,
    quantity::{plus_minus, value, value_of_metric},
    sentence,
};
use crate::{
    error::{Context, Exit, Result},
    model::{self, AcceptedChange, InterleavingUnavailable, Metric, Mode, Unit},
    verdict::{DecidedRow, DecidedStage, Interleaving, Verdict},
};

pub const SCHEMA_VERSION: u32 = 1;

// A report with the version of its shape.
#[derive(Serialize, JsonSchema)]
pub(super) struct Versioned<T> {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    #[serde(flatten)]
    report: T,
}

/// The JSON document of a report with its schema version.
pub fn document(report: &impl Serialize) -> Result<String> {
    text(&Versioned { schema_version: SCHEMA_VERSION, report })
}

/// A report as JSON, indented, with a final line break. Characters that control a terminal are
/// escaped, so they neither do so nor are removed as styles.
pub fn text(report: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(report);
    let text = text.context(Exit::Internal, || "cannot write the report as JSON")?;
    Ok(escaped(&text) + "\n")
}

/// Escapes every hidden character of a JSON document; each of them is in a string.
pub fn escaped(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for character in document.chars() {
        if character != '\n' && is_hidden(character) {
            // None of them has more than 16 bits.
            out += &format!("\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

/// The value of one version in one metric.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The value by the estimator, in the metric's unit.
    pub value: f64,
    /// The lower end of the three-level interval at the confidence of the criteria; null with less
    /// than two builds.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The number of builds.
    #[schemars(range(min = 1))]
    pub builds: usize,
    /// The number of executions of all builds together.
    #[schemars(range(min = 1))]
    executions: usize,
    /// The number of measurements of all executions together.
    #[schemars(range(min = 1))]
    measurements: usize,
}

impl Estimate {
    /// The value and the half-width of its interval, for people.
    pub fn texts(&self, unit: Unit) -> (String, String) {
        (value_of_metric(self.value, unit), self.half_width())
    }

    /// The value and the half-width of its interval, for people: `4.384 µs ± 1.9 %`.
    pub fn text(&self, unit: Unit) -> String {
        format!("{} {}", value(self.value, unit), self.half_width()).trim_end().to_owned()
    }

    /// The half-width of its interval, for people; empty without one.
    pub fn half_width(&self) -> String {
        let interval = self.low.zip(self.high);
        let interval = interval.map(|(low, high)| Interval { center: self.value, low, high });
        interval.as_ref().map_or_else(String::new, plus_minus)
    }

    pub fn new(summary: &Summary, confidence: f64) -> Self {
        let interval = Interval::three_level(summary, confidence).ok();
        Self {
            value: summary.values().mean,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            builds: summary.builds().len(),
            executions: summary.builds().iter().map(|build| build.executions).sum(),
            measurements: summary.builds().iter().map(|build| build.measurements).sum(),
        }
    }
}

/// The relative change from base to head: 0.05 is 5 % more than the base.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    #[serde(flatten)]
    pub change: rbench_stats::Change,
    /// The confidence of the interval. The intervals of all interim analyses together contain the true change with at
    /// least 95 % confidence.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f64,
    /// The two-sided p value of no change.
    #[schemars(range(min = 0, max = 1))]
    p: f64,
    /// True if builds were paired by layout seed.
    paired: bool,
}

impl Change {
    /// The change in the deciding stage, if there is one.
    pub fn new(row: &DecidedRow) -> Option<Self> {
        row.decisive().map(|stage| Self::from(&stage.assessment))
    }
}

impl From<&Assessment> for Change {
    fn from(Assessment { change, comparison, alpha: rates, .. }: &Assessment) -> Self {
        let Comparison { p, method, .. } = comparison;
        Self { change: *change, confidence: rates.confidence, p: *p, paired: method.is_paired() }
    }
}

/// The mode in which a benchmark was measured, and the estimator of its values.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The mode of its executions: interleaved with those of the other version, or sequential. Null: no
    /// value, or not all were measured in one mode.
    pub mode: Option<Mode>,
    /// The reason why it was not interleaved although that was requested; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interleaving_unavailable: Option<InterleavingUnavailable>,
    /// How many times as long as alone the benchmark takes interleaved, in the mean of both versions, where executions alone
    /// have shown that it is more than 1.1. Absent if it was not interleaved, was not checked, or nothing was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_alone: Option<f64>,
    /// The estimator of the value; null: there is no value.
    estimator: Option<Estimator>,
}

impl Measured {
    pub fn new(interleaving: Option<Interleaving>, summary: Option<&Summary>) -> Self {
        let interleaving = interleaving.filter(|_| summary.is_some());
        Self {
            mode: interleaving.as_ref().map(|all| all.mode),
            times_alone: interleaving.as_ref().and_then(|all| all.times_alone),
            interleaving_unavailable: interleaving.and_then(|all| all.unavailable),
            estimator: summary.map(Summary::estimator),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct MetricFields<'r> {
    /// The name, such as `wall`; null if the entry is about the benchmark as a whole.
    metric: Option<&'r str>,
    unit: Option<Unit>,
}

impl<'r> From<Option<&'r Metric>> for MetricFields<'r> {
    fn from(metric: Option<&'r Metric>) -> Self {
        Self { metric: metric.map(|metric| &*metric.name), unit: metric.map(|metric| metric.unit) }
    }
}

/// Serializes a metric, or its absence, as [`MetricFields`].
pub fn metric_fields<'m, S: Serializer>(
    metric: impl Into<Option<&'m Metric>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    MetricFields::from(metric.into()).serialize(to)
}

/// The amount that one iteration processes.
#[derive(Serialize, JsonSchema)]
pub struct Throughput {
    #[schemars(extend("enum" = ["bytes", "bits", "elements"]))]
    unit: &'static str,
    amount: u64,
}

impl From<model::Throughput> for Throughput {
    fn from(throughput: model::Throughput) -> Self {
        let (amount, unit) = throughput.amount();
        Self { unit, amount }
    }
}

/// The reason for the verdict, as values and as a sentence. Changes are relative: 0.05 is 5 % more
/// than the base.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    #[serde(flatten)]
    ground: Ground,
    /// The sentence; of a benchmark that failed, was skipped or is not comparable, the message.
    pub text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Ground {
    /// This 95 % CI of the change is within the smallest change to report.
    Equivalent {
        low: f64,
        high: f64,
        /// The smallest change to report.
        #[schemars(range(min = 0))]
        min_effect: f64,
        /// The evidence of a difference below the smallest change to report; null if there is none.
        difference: Option<Evidence>,
    },
    /// Both versions have the same machine code.
    SameMachineCode,
    /// The benchmark neither executes nor reads anything that differs.
    NothingReached,
    /// The benchmark chose not to run.
    Skipped {
        /// The version where it was skipped.
        #[schemars(extend("enum" = ["base", "head", "both", null]))]
        version: Option<String>,
    },
    /// The benchmark failed.
    Failed {
        /// The version where it failed; null: there is too little to decide.
        #[schemars(extend("enum" = ["base", "head", "both", null]))]
        version: Option<String>,
    },
    /// The measurements must not be compared.
    NotComparable,
    /// Slower, and accepted.
    Accepted {
        /// The largest accepted change; null if any change was accepted, from a base of 0.
        #[serde(deserialize_with = "or_infinite")]
        #[schemars(with = "Option<f64>", range(min = 0))]
        ceiling: f64,
        /// The evidence of the change.
        shown: Evidence,
        #[schemars(length(min = 1))]
        accepted: Vec<AcceptedChange>,
    },
    #[serde(untagged)]
    Shown(Evidence),
    #[serde(untagged)]
    Inconclusive(InconclusiveReason),
}

impl Reason {
    /// True if fresh builds confirmed a change.
    pub const fn is_confirmed(&self) -> bool {
        matches!(self.ground, Ground::Shown(Evidence::Confirmed { .. }))
    }

    /// True if the benchmark was skipped in the head and not in the base.
    pub fn is_skipped_in_head(&self) -> bool {
        matches!(&self.ground, Ground::Skipped { version: Some(version) } if version == "head")
    }

    pub fn for_row(row: &DecidedRow) -> Self {
        let version = sentence::place(row).map(str::to_owned);
        let ground = match &row.verdict {
            Verdict::Accepted { evidence, acceptance, .. } => Ground::Accepted {
                ceiling: acceptance.ceiling,
                shown: *evidence,
                accepted: acceptance.changes.clone(),
            },
            Verdict::Regressed { evidence, .. } | Verdict::Improved { evidence, .. } => {
                Ground::Shown(*evidence)
            }
            Verdict::Unchanged { change, min_effect, difference } => Ground::Equivalent {
                low: change.low,
                high: change.high,
                min_effect: *min_effect,
                difference: *difference,
            },
            Verdict::Inconclusive { reason, .. } => Ground::Inconclusive(*reason),
            Verdict::Identical => Ground::SameMachineCode,
            Verdict::Unaffected => Ground::NothingReached,
            Verdict::Skipped { .. } => Ground::Skipped { version },
            Verdict::Failed { .. } => Ground::Failed { version },
            Verdict::NotComparable { .. } => Ground::NotComparable,
        };
        let text = match &row.verdict {
            // Not escaped: JSON keeps strings as they are.
            Verdict::Skipped { reason }
            | Verdict::Failed { reason }
            | Verdict::NotComparable { reason } => reason.clone(),
            _ => sentence::row(row),
        };
        Self { ground, text }
    }
}

/// The shares of builds and executions in a variance, which add up to 1. More executions of each
/// build reduce only the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    #[schemars(range(min = 0, max = 1))]
    builds: f64,
    /// The share of the executions, for the number of executions there were of each build, with
    /// their measurements.
    #[schemars(range(min = 0, max = 1))]
    executions: f64,
}

impl Shares {
    /// The head of a column of shares: of builds and of executions.
    pub const HEAD: &str = "variance b/e";

    /// The shares in percent: `96/4 %`; empty if unknown.
    pub fn text(shares: Option<Self>) -> String {
        shares.map_or_else(String::new, |Self { builds, .. }| {
            let builds = (100.0 * builds).round();
            format!("{builds:.0}/{:.0} %", 100.0 - builds)
        })
    }

    pub const fn builds(&self) -> f64 {
        self.builds
    }

    /// The shares of the variance of a change; `None` if no build was executed twice, or nothing
    /// varies.
    pub fn change_shares(DecidedStage { summaries, assessment }: &DecidedStage) -> Option<Self> {
        let DifferenceShares { builds, executions } = assessment.comparison.shares(summaries)?;
        Some(Self { builds, executions })
    }

    /// The shares of the variance of one version's value, in the estimator in use; `None` if no
    /// build was executed twice, or nothing varies.
    ///
    /// Of `S_V²`, the sample variance of the build values, `S_B² · mean_k(1 / m_k)` comes from
    /// executions, where `S_B²` pools the variance of their estimates within builds ((15) and (16)
    /// of Kalibera et al. 2006).
    pub fn version_shares(summary: &Summary) -> Option<Self> {
        let (mut squares, mut freedom, mut inverses) = (0.0, 0, 0.0);
        for build in summary.builds() {
            let estimates: Vec<f64> = build.estimates.iter().map(|one| one.value).collect();
            squares += Moments::compute(&estimates).squares;
            freedom += estimates.len().saturating_sub(1);
            inverses += 1.0 / estimates.len().max(1) as f64;
        }
        let values = summary.values();
        let l = values.count as f64;
        let variance = values.squares / (l - 1.0);
        let of_executions = squares / freedom as f64 * inverses / l;
        let executions = (of_executions / variance).min(1.0);
        (freedom > 0 && variance > 0.0).then_some(Self { builds: 1.0 - executions, executions })
    }
}

#[cfg(test)]
mod tests {
    use rbench_stats::{Estimator, Measurements};

    use super::*;
    use crate::model::Metric;

    fn share(builds: [&[f64]; 2]) -> String {
        let builds = (0..).zip(builds.map(|executions| executions.iter().map(|one| [*one])));
        let data = Measurements::new(Metric::wall(), builds).unwrap();
        Shares::text(Shares::version_shares(&Summary::compute(&data, Estimator::Minimum)))
    }

    #[test]
    fn shares_attribute_execution_noise_to_executions() {
        // Build values 2 and 8, so S_V² = 18; executions ±1 about them, so S_B² / m = 1.
        assert_eq!(share([&[1.0, 3.0], &[7.0, 9.0]]), "94/6 %");
        assert_eq!(share([&[1.0, 3.0], &[1.2, 3.0]]), "0/100 %");
    }

    #[test]
    fn shares_need_repeated_executions() {
        assert_eq!(share([&[1.0], &[8.0]]), "");
        assert_eq!(share([&[1.0, 1.0], &[1.0, 1.0]]), "");
    }
}
