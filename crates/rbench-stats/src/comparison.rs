//! Compares two versions: the difference, its standard error, its p value and its intervals. Pure.
//!
//! With `x[v][k] = ln b[v][k]`, the change is `exp(D) − 1` for `D = mean x[head] − mean x[base]`: on logs a change is a
//! difference, and swapping the versions negates it.
//!
//! - *Paired*, `d[k] = x[head][k] − x[base][k]`: `SE_D = sd(d) / sqrt(l)`, `ν = l − 1`.
//! - *Welch*: `SE_D² = s_A² + s_B²` with `s_v² = Var(x[v]) / l_v`, and Welch's `ν = SE_D⁴ / (s_A⁴ / (l_A − 1) + s_B⁴ /
//!   (l_B − 1))`.
//!
//! Versions of two sessions have the variance [between sessions](super::sessions) in `SE_D` and `ν` as well.
//!
//! # Values in steps
//!
//! Where values come in steps of `q` (times in whole nanoseconds), rounding adds an error that is the same in every
//! build and that no repetition averages out: up to `q/2`, assumed uniform. So `SE_D² ≥ ((q/x_A)² + (q/x_B)²) / 12`,
//! and a difference of no more than half a step of each version, `(q/x_A + q/x_B) / 2`, is no difference: `p` is 1, and
//! no interval is narrower.
//!
//! Without variance and without a known step, the precision of times is unknown, and they are refused. Metrics that are
//! the same in every execution (bytes, instructions) may have an `SE_D` of 0: then any difference is certain (`p = 0`),
//! and equal values have `p = 1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    components::{Interval, or_infinite},
    distribution::{t_quantile, t_survival},
    error::StatsError,
    estimator::Estimator,
    matching::{DifferenceShares, Matched, Method, Pairing},
    moments::Moments,
    sessions::SessionVariance,
    summary::Summary,
};
use crate::Unit;

/// A `D` up to this size comes from rounding sums, and becomes 0: the same measurements in another order are not a
/// change.
const NEGLIGIBLE: f64 = 1e-12;

/// The largest ratio of the measurements per execution of two versions at which order statistics are comparable. Within
/// 5 %, the bias is a small part of the noise.
const UNEQUAL: f64 = 1.05;

/// A relative change and its interval: 0.05 is 5 % more than the base. In JSON, an infinite number is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RelativeChange")]
pub struct Change {
    /// The relative change, `exp(D) − 1`; infinite from a count of 0, which has no percentage.
    #[serde(deserialize_with = "or_infinite")]
    #[schemars(with = "Option<f64>")]
    pub estimate: f64,
    /// The lower end of its interval.
    #[serde(deserialize_with = "or_infinite")]
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    /// The upper end of its interval.
    #[serde(deserialize_with = "or_infinite")]
    #[schemars(with = "Option<f64>")]
    pub high: f64,
}

/// The direction in which a version differs from its base. Every metric is a cost, so more is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The head costs more than the base.
    Worse,
    /// The head costs less than the base.
    Better,
}

/// The comparison of one benchmark of two versions: base (A) and head (B).
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The design: paired or not.
    pub method: Method,
    /// The number of compared builds of base and of head; equal if paired.
    pub builds: [usize; 2],
    /// `D`, the difference of the mean logarithms.
    pub log_change: f64,
    /// `SE_D`.
    pub standard_error: f64,
    /// `ν`.
    pub freedom: f64,
    /// `α`: the probability that the comparison intervals of two equal versions do not overlap.
    pub false_alarm_rate: f64,
    /// The change, with its interval at `1 − α`.
    pub change: Change,
    /// The two-sided p value of "no change".
    pub p: f64,
    /// The share of the variance of an unpaired comparison that pairing removed, `1 − sd²(d) / (Var x[A] + Var x[B])`:
    /// 0 for unrelated builds, negative if it did harm. None if unpaired, or if builds do not vary.
    pub gain: Option<f64>,
    /// The correlation of `x[A]` and `x[B]` over seeds, if defined.
    pub correlation: Option<f64>,
    /// The *comparison* interval of the base, about its geometric mean over builds.
    pub base: Interval,
    /// The *comparison* interval of the head.
    ///
    /// The two are `exp(mean x[v] ± c·s_v)` with `c = t_{1−α/2, ν} SE_D / (s_A + s_B)`, so that their failure to
    /// overlap is exactly the two-sided test at the rate `α`. They serve no other purpose: they do not contain the
    /// value of their version with 95 % confidence, but (paired, l = 10) in only 84 % of all cases where pairing gains
    /// nothing, in 70 % at a gain of .5, and in 27 % at .95. The interval of a value is [`Interval::three_level`].
    pub head: Interval,
    /// The half-width of the interval of `D` at `1 − α`.
    half_width: f64,
    rounding: Rounding,
    /// `SE_D` from the builds alone, without the variance between sessions and without the steps of values.
    error_of_builds: f64,
}

impl Comparison {
    /// Compares `head` with `base` at the false-alarm rate `alpha`.
    ///
    /// Refuses fewer than two builds of a version, different metrics or estimators, estimators other than the mean if
    /// the versions differ in measurements per execution by more than 5 %, and times that do not vary at all if their
    /// resolution is unknown.
    pub fn new(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        alpha: f64,
    ) -> Result<Self, StatsError> {
        Self::within(base, head, pairing, None, alpha)
    }

    /// Compares versions of two sessions, whose difference includes the variance between sessions.
    pub fn across(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        sessions: &SessionVariance,
        alpha: f64,
    ) -> Result<Self, StatsError> {
        Self::within(&base.by_itself(), &head.by_itself(), pairing, Some(sessions), alpha)
    }

    fn within(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        sessions: Option<&SessionVariance>,
        alpha: f64,
    ) -> Result<Self, StatsError> {
        let alpha = StatsError::unless_probability(alpha)?;
        refuse_unlike(base, head)?;
        let matched = Matched::new(base, head, pairing);
        let logs = matched.logs();
        let moments = logs.each_ref().map(|logs| Moments::compute(logs));
        let Difference { d, standard_error, freedom, gain, correlation } = match matched.method {
            Method::Paired { .. } => Difference::paired(&logs, &moments),
            Method::Welch(_) => Difference::welch(&moments),
        };
        let error_of_builds = standard_error;
        let (standard_error, freedom) = sessions.map_or((standard_error, freedom), |sessions| {
            sessions.added_to(standard_error, freedom)
        });
        let rounding = Rounding::compute([base, head], &moments);
        let standard_error = standard_error.max(rounding.standard_error);
        if standard_error <= NEGLIGIBLE && varies_by_nature(base.metric().unit) {
            return Err(StatsError::NoVariance);
        }
        let log_change = if d.abs() <= NEGLIGIBLE { 0.0 } else { d };
        let half_width = rounding.half_width(1.0 - alpha, standard_error, freedom);
        let [base_interval, head_interval] = comparison_intervals(&moments, log_change, half_width);
        let mut comparison = Self {
            method: matched.method,
            builds: moments.map(|version| version.count),
            log_change,
            standard_error,
            freedom,
            false_alarm_rate: alpha,
            change: Change::around(log_change, half_width),
            p: 1.0,
            gain,
            correlation,
            base: base_interval,
            head: head_interval,
            half_width,
            rounding,
            error_of_builds,
        };
        comparison.p = 2.0 * comparison.survival(log_change.abs());
        Ok(comparison)
    }

    /// A comparison of counts, which are no estimates: their ranges, and a change that is certain if they lie apart.
    pub(super) fn from_counts(
        builds: [usize; 2],
        change: Change,
        log_change: f64,
        apart: bool,
        [base, head]: [Interval; 2],
    ) -> Self {
        Self {
            method: Method::Paired { left_out: 0 },
            builds,
            log_change,
            standard_error: 0.0,
            freedom: 1.0,
            false_alarm_rate: 0.0,
            change,
            p: f64::from(!apart),
            gain: None,
            correlation: None,
            base,
            head,
            half_width: 0.0,
            rounding: Rounding { standard_error: 0.0, most: 0.0 },
            error_of_builds: 0.0,
        }
    }

    /// The direction of the estimate, if it is more than the steps of the values explain.
    pub fn direction(&self) -> Option<Direction> {
        Direction::from_difference(self.log_change)
            .filter(|_| self.log_change.abs() > self.rounding.most)
    }

    /// The direction of the change if the comparison intervals do not overlap.
    pub fn differs(&self) -> Option<Direction> {
        self.direction().filter(|_| self.log_change.abs() > self.half_width)
    }

    /// The half-width on the log scale of the interval of `D` at this confidence, strictly between 0 and 1 (else NaN).
    /// Counts have a range instead, which is the interval of their change: for them it is 0.
    pub fn half_width(&self, confidence: f64) -> f64 {
        self.rounding.half_width(confidence, self.standard_error, self.freedom)
    }

    /// The change with its interval at another confidence, strictly between 0 and 1 (else NaN).
    pub(super) fn change_at(&self, confidence: f64) -> Change {
        Change::around(self.log_change, self.half_width(confidence))
    }

    /// The change from all builds of two stages, with its interval. The stages have different builds, so their
    /// variances are pooled.
    pub(super) fn pooled_change(&self, other: &Self, confidence: f64) -> Change {
        let builds = [self, other].map(|one| one.builds[0].min(one.builds[1]) as f64);
        let all = builds[0] + builds[1];
        let weighted = |of: fn(&Self) -> f64, weights: [f64; 2]| {
            (weights[0] * of(self) + weights[1] * of(other)) / (weights[0] + weights[1])
        };
        let log_change = weighted(|one| one.log_change, builds);
        let freedom = self.freedom + other.freedom;
        let variance =
            |one: &Self| one.standard_error.powi(2) * one.builds[0].min(one.builds[1]) as f64;
        let variance = weighted(variance, [self.freedom, other.freedom]);
        let standard_error = (variance / all).sqrt().max(self.rounding.standard_error);
        Change::around(log_change, self.rounding.half_width(confidence, standard_error, freedom))
    }

    /// The shares of the variance of `D` from builds and from their executions, without the variance between sessions,
    /// from the summaries that were compared. None if no build has two executions, or nothing varies.
    pub fn shares(&self, [base, head]: &[Summary; 2]) -> Option<DifferenceShares> {
        // Counts, or builds that do not vary.
        if self.error_of_builds <= 0.0 {
            return None;
        }
        let pairing = match self.method {
            Method::Paired { .. } => Pairing::BySeed,
            Method::Welch(_) => Pairing::Unpaired,
        };
        DifferenceShares::estimate(&Matched::new(base, head, pairing), self.error_of_builds.powi(2))
    }

    /// The lower limit of `SE_D` for any number of builds, because values come in steps.
    pub(super) fn least_standard_error(&self) -> f64 {
        self.rounding.standard_error
    }

    /// The one-sided p value of "no change in this direction".
    pub(super) fn p_one_sided(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Worse => self.survival(self.log_change),
            Direction::Better => self.survival(-self.log_change),
        }
    }

    /// The one-sided p value of "the change is at most this difference of logarithms".
    pub(super) fn p_above(&self, log_change: f64) -> f64 {
        self.survival(self.log_change - log_change)
    }

    /// The two-sided p value of "both heads are equal", for two comparisons with the same base that was measured anew in
    /// each: Welch's test on the difference of the two changes.
    pub(super) fn p_of_equal_heads(&self, other: &Self) -> f64 {
        let difference = self.log_change - other.log_change;
        if difference.abs() <= self.rounding.most + other.rounding.most {
            return 1.0;
        }
        let squares = [self, other].map(|one| one.standard_error.powi(2));
        let square: f64 = squares.iter().sum();
        if square <= 0.0 {
            return f64::from(difference.abs() <= NEGLIGIBLE);
        }
        let freedoms = [self.freedom, other.freedom];
        let parts = squares.iter().zip(freedoms).map(|(square, freedom)| square.powi(2) / freedom);
        let freedom = square.powi(2) / parts.sum::<f64>();
        2.0 * t_survival(difference.abs() / square.sqrt(), freedom)
    }

    /// `P(T ≥ d / SE_D)`; a half where the steps of the values explain `d`.
    fn survival(&self, d: f64) -> f64 {
        if d.abs() <= self.rounding.most {
            0.5
        } else if self.standard_error > 0.0 {
            t_survival(d / self.standard_error, self.freedom)
        } else {
            f64::from(d < 0.0)
        }
    }
}

impl Direction {
    /// The direction of a difference, if there is one.
    pub(super) fn from_difference(difference: f64) -> Option<Self> {
        if difference > NEGLIGIBLE {
            Some(Self::Worse)
        } else if difference < -NEGLIGIBLE {
            Some(Self::Better)
        } else {
            None
        }
    }
}

impl Change {
    fn around(log_change: f64, half_width: f64) -> Self {
        Self {
            estimate: log_change.exp_m1(),
            low: (log_change - half_width).exp_m1(),
            high: (log_change + half_width).exp_m1(),
        }
    }
}

fn refuse_unlike(base: &Summary, head: &Summary) -> Result<(), StatsError> {
    if base.metric() != head.metric() {
        let metrics = [base.metric().clone(), head.metric().clone()];
        return Err(StatsError::Metrics(Box::new(metrics)));
    }
    if base.estimator() != head.estimator() {
        return Err(StatsError::Estimators([base.estimator(), head.estimator()]));
    }
    StatsError::unless_two(base.builds())?;
    StatsError::unless_two(head.builds())?;
    let n = [base, head].map(Summary::measurements_per_execution);
    if base.estimator() != Estimator::Mean && n[0].max(n[1]) > UNEQUAL * n[0].min(n[1]) {
        return Err(StatsError::UnequalMeasurements(n));
    }
    Ok(())
}

/// True if a metric varies from execution to execution, so that equal values mean a coarse clock.
fn varies_by_nature(unit: Unit) -> bool {
    match unit {
        Unit::Nanoseconds | Unit::Cycles => true,
        Unit::Instructions | Unit::Bytes | Unit::Allocations => false,
    }
}

/// The effect of the steps of values on the difference, on the log scale; all 0 if their size is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rounding {
    /// The standard deviation of the sum of two uniform errors.
    standard_error: f64,
    /// The largest possible sum of both errors.
    most: f64,
}

impl Rounding {
    fn compute(versions: [&Summary; 2], moments: &[Moments; 2]) -> Self {
        let step = |version: usize| versions[version].resolution() / moments[version].mean.exp();
        let (base, head) = (step(0), step(1));
        Self {
            standard_error: ((base * base + head * head) / 12.0).sqrt(),
            most: f64::midpoint(base, head),
        }
    }

    fn half_width(&self, confidence: f64, standard_error: f64, freedom: f64) -> f64 {
        let half_width = t_quantile(f64::midpoint(1.0, confidence), freedom) * standard_error;
        // Not `max`, which would hide a NaN.
        if half_width < self.most { self.most } else { half_width }
    }
}

/// The part of a comparison in which the two methods differ.
struct Difference {
    d: f64,
    standard_error: f64,
    freedom: f64,
    gain: Option<f64>,
    correlation: Option<f64>,
}

impl Difference {
    fn paired([base, head]: &[Vec<f64>; 2], [a, b]: &[Moments; 2]) -> Self {
        let differences: Vec<f64> = base.iter().zip(head).map(|(a, b)| b - a).collect();
        let d = Moments::compute(&differences);
        let l = d.count as f64;
        let unpaired = a.squares + b.squares;
        let product = (a.squares * b.squares).sqrt();
        // Var(d) = Var A + Var B − 2 Cov
        let covariance = (unpaired - d.squares) / 2.0;
        Self {
            d: d.mean,
            standard_error: (d.squares / (l - 1.0) / l).sqrt(),
            freedom: l - 1.0,
            gain: (unpaired > 0.0).then(|| 1.0 - d.squares / unpaired),
            correlation: (product > 0.0).then(|| (covariance / product).clamp(-1.0, 1.0)),
        }
    }

    fn welch(moments: &[Moments; 2]) -> Self {
        let [s_a, s_b] = moments.each_ref().map(squared_error);
        let [l_a, l_b] = moments.each_ref().map(|version| version.count as f64 - 1.0);
        let square = s_a + s_b;
        // In shares of SE_D², so that nothing overflows or vanishes.
        let share = if square > 0.0 { s_a / square } else { l_a / (l_a + l_b) };
        let freedom = 1.0 / (share * share / l_a + (1.0 - share) * (1.0 - share) / l_b);
        Self {
            d: moments[1].mean - moments[0].mean,
            standard_error: square.sqrt(),
            freedom: freedom.max(1.0),
            gain: None,
            correlation: None,
        }
    }
}

/// `s_v²`: the squared standard error of the mean.
fn squared_error(moments: &Moments) -> f64 {
    let l = moments.count as f64;
    moments.squares / (l - 1.0) / l
}

/// Intervals about both versions whose half-widths add up to `half_width` on the log scale.
fn comparison_intervals(moments: &[Moments; 2], log_change: f64, half_width: f64) -> [Interval; 2] {
    let [s_a, s_b] = moments.each_ref().map(|version| squared_error(version).sqrt());
    // Without any variance of builds, all of it comes from the sessions, half from each.
    let share = if s_a + s_b > 0.0 { s_a / (s_a + s_b) } else { 0.5 };
    let interval = |center: f64, half_width: f64| Interval {
        center: center.exp(),
        low: (center - half_width).exp(),
        high: (center + half_width).exp(),
    };
    let base = moments[0].mean;
    [interval(base, share * half_width), interval(base + log_change, (1.0 - share) * half_width)]
}

#[cfg(test)]
mod tests;
