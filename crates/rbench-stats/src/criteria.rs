//! The criteria of verdicts that users can set, with their defaults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{error::StatsError, estimator::Estimator, rule::Rule};
use crate::{KnownMetric, Metric};

pub(super) const CONFIDENCE_OF_FRESH_BUILDS: f64 = 0.95;

/// The largest `α₂`: the interval that is printed beside a confirmed change then does not include 0.
const MOST_CONFIRMATION: f64 = (1.0 - CONFIDENCE_OF_FRESH_BUILDS) / 2.0;

/// The criteria of verdicts, the same for all benchmarks and both stages of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Criteria {
    /// The estimator of an execution; if absent, the one that suits the way the execution was measured.
    pub estimator: Option<Estimator>,
    /// The rule that flags a benchmark.
    pub rule: Rule,
    /// The probability, between 0 and 1, that a comparison reports a regression where nothing changed; without
    /// confirmation, that it flags any one unchanged benchmark.
    #[schemars(range(min = 0, max = 1))]
    pub false_alarm_rate: f64,
    /// The number of comparisons in one command that share the false-alarm rate evenly: a head is compared with a
    /// release as well, or times and counts are decided by themselves.
    #[serde(skip)]
    pub comparisons: usize,
    /// The confidence, between 0 and 1, of the intervals of one version, and so of the rule `overlap`.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f64,
    /// The smallest relative change of interest: 0.01 is 1 %. At least 0.
    #[schemars(range(min = 0))]
    pub min_effect: f64,
    /// The smallest changes of interest in metrics that have their own.
    #[serde(skip)]
    pub limits: MetricLimits,
    /// True if a flagged change must be confirmed on fresh builds.
    pub confirm: bool,
    /// The seed of all random estimates: the bootstraps of `diagnose`.
    #[serde(skip)]
    pub seed: u64,
}

/// The smallest relative changes of interest in metrics that have their own, in the order of [`Metric::KNOWN`]: 0.01 is
/// 1 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricLimits([Option<f64>; Metric::KNOWN.len()]);

impl Default for MetricLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl MetricLimits {
    pub const DEFAULT: Self = {
        let mut limits = [None; Metric::KNOWN.len()];
        // A constant has no iterators.
        let mut row = 0;
        while row < limits.len() {
            limits[row] = Metric::KNOWN[row].min_effect;
            row += 1;
        }
        Self(limits)
    };

    /// The limits of the metrics that have their own.
    pub fn new(limit: impl Fn(&KnownMetric) -> Option<f64>) -> Self {
        Self(Metric::KNOWN.each_ref().map(limit))
    }

    /// The limit of a metric, if it has its own.
    pub fn for_metric(&self, metric: &Metric) -> Option<f64> {
        self.0[Metric::KNOWN.iter().position(|known| known.name == metric.name)?]
    }
}

impl Default for Criteria {
    fn default() -> Self {
        Self {
            estimator: None,
            rule: Rule::default(),
            false_alarm_rate: 0.05,
            comparisons: 1,
            confidence: 0.95,
            min_effect: 0.01,
            limits: MetricLimits::DEFAULT,
            confirm: true,
            seed: 2006,
        }
    }
}

impl Criteria {
    pub fn checked(self) -> Result<Self, StatsError> {
        StatsError::unless_probability(self.false_alarm_rate)?;
        StatsError::unless_probability(self.confidence)?;
        if self.min_effect >= 0.0 && self.min_effect.is_finite() {
            Ok(self)
        } else {
            Err(StatsError::NotAnEffect(self.min_effect))
        }
    }

    /// These criteria with the limit of a metric that has its own.
    #[must_use]
    pub fn for_metric(self, metric: &Metric) -> Self {
        let min_effect = self.limits.for_metric(metric).unwrap_or(self.min_effect);
        Self { min_effect, ..self }
    }

    /// Tightens these criteria so that one comparison reports a false change of a benchmark, in either direction, with
    /// a probability of at most `rate`.
    ///
    /// An unchanged benchmark is flagged with a probability of at most `α₁ = 2α`, and fresh builds then confirm it in
    /// the same direction with at most `α₂ = min(α, 2.5 %)`: so `α = √(rate/2)`, or `rate / 5 %` if that is more. Without
    /// confirmation, it is the rate itself.
    #[must_use]
    pub fn within(self, rate: f64) -> Self {
        let needed = if self.confirm {
            (rate / 2.0).sqrt().max(rate / (2.0 * MOST_CONFIRMATION))
        } else {
            rate
        };
        Self { false_alarm_rate: self.false_alarm_rate.min(needed), ..self }
    }

    /// The smallest change of interest as a difference of logarithms, so that it is the same in both directions: 1 %
    /// more, or the 0.99 % less that undoes it.
    pub(super) fn min_log_change(&self) -> f64 {
        self.min_effect.ln_1p()
    }

    /// `α₁`: the probability that all analyses of the first stage together flag an unchanged benchmark. Without
    /// confirmation it is the false-alarm rate; with confirmation it may be twice as high.
    pub(super) fn flag_rate(&self) -> f64 {
        let rate = self.false_alarm_rate;
        // Below 1 for any rate.
        if self.confirm { (2.0 * rate).min(f64::midpoint(rate, 1.0)) } else { rate }
    }

    /// `α₂`: the largest one-sided p value with which fresh builds confirm a flagged benchmark, for `G` benchmarks in
    /// each of `J` comparisons of one command: `min(α, 2α / (J G α₁))`, and at most [`MOST_CONFIRMATION`].
    ///
    /// A false regression then has probability `α₁/2 · α₂` per benchmark, and at most `α/J` over all of them: at most
    /// `α` over all comparisons, even if these are dependent.
    pub(super) fn confirmation_rate(&self, benchmarks: usize) -> f64 {
        let rate = self.false_alarm_rate;
        let verdicts = (benchmarks.max(1) * self.comparisons.max(1)) as f64;
        rate.min(2.0 * rate / (self.flag_rate() * verdicts)).min(MOST_CONFIRMATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_criteria_are_valid() {
        assert_eq!(Criteria::default().checked(), Ok(Criteria::default()));
    }

    #[test]
    fn criteria_out_of_range_are_refused() {
        let with = |change: fn(&mut Criteria)| {
            let mut criteria = Criteria::default();
            change(&mut criteria);
            criteria.checked().unwrap_err()
        };
        assert_eq!(with(|c| c.false_alarm_rate = 0.0), StatsError::NotAProbability(0.0));
        assert_eq!(with(|c| c.confidence = 95.0), StatsError::NotAProbability(95.0));
        assert_eq!(with(|c| c.min_effect = -0.01), StatsError::NotAnEffect(-0.01));
        assert_eq!(
            with(|c| c.min_effect = f64::NAN).to_string(),
            "NaN is not a smallest change of interest: a finite number from 0 up"
        );
    }

    #[test]
    fn criteria_within_a_rate_keep_that_rate() {
        for rate in [1e-6, 0.001, 0.0025] {
            for confirm in [true, false] {
                let criteria = Criteria { confirm, ..Criteria::default() }.within(rate);
                let second = if confirm { criteria.confirmation_rate(1) } else { 1.0 };
                let reported = criteria.flag_rate() * second;
                assert!((reported / rate - 1.0).abs() < 1e-9, "{reported}, not {rate}");
            }
        }
        assert_eq!(Criteria::default().within(0.5), Criteria::default());
    }

    #[test]
    fn confirmation_rate_falls_with_the_number_of_benchmarks() {
        let criteria = Criteria::default();
        assert_eq!(
            [1, 20, 50, 200].map(|g| criteria.confirmation_rate(g)),
            [MOST_CONFIRMATION, MOST_CONFIRMATION, 0.02, 0.005]
        );
        assert_eq!(criteria.confirmation_rate(0), MOST_CONFIRMATION);
    }

    #[test]
    fn verdicts_of_one_command_share_the_false_alarm_rate() {
        for comparisons in [1, 2] {
            let criteria = Criteria { comparisons, ..Criteria::default() };
            for benchmarks in [1, 7, 20, 50, 1000] {
                let of_one = criteria.flag_rate() / 2.0 * criteria.confirmation_rate(benchmarks);
                let of_all = comparisons as f64 * benchmarks as f64 * of_one;
                assert!(
                    of_all <= criteria.false_alarm_rate + 1e-12,
                    "{comparisons} of {benchmarks}"
                );
            }
        }
        // For few benchmarks the rate is no stricter than that of a single comparison.
        let rate = |comparisons, benchmarks| {
            Criteria { comparisons, ..Criteria::default() }.confirmation_rate(benchmarks)
        };
        assert_eq!([rate(2, 10), rate(2, 50)], [rate(1, 10), rate(1, 100)]);
        assert!((MOST_CONFIRMATION - 0.025).abs() < 1e-12);
    }
}
