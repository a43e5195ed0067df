//! How much two versions differ, how surely, and the intervals that show it.
//!
//! With `x[v][k] = ln b[v][k]`, the change is `exp(D) − 1` for `D = mean x[head] − mean x[base]`: on
//! logs a change is a difference, and swapping the versions negates it.
//!
//! - *Paired*, `d[k] = x[head][k] − x[base][k]`: `SE_D = sd(d) / sqrt(l)`, `ν = l − 1`.
//! - *Welch*: `SE_D² = s_A² + s_B²` with `s_v² = Var(x[v]) / l_v`, and Welch's
//!   `ν = SE_D⁴ / (s_A⁴ / (l_A − 1) + s_B⁴ / (l_B − 1))`.
//!
//! Versions of two sessions have the variance [between sessions](super::sessions) in `SE_D` and `ν` as well.
//!
//! Where builds do not vary at all, `SE_D` is 0: then any difference is certain (`p = 0`), and none is
//! none (`p = 1`).

use super::{
    distribution::{t_quantile, t_survival},
    estimator::Estimator,
    interval::Interval,
    matching::{Matched, Method, Pairing},
    moments::Moments,
    refusal::Refusal,
    sessions::SessionVariance,
    summary::Summary,
};

/// A `D` up to here is rounding, and becomes 0: the same measurements in another order are not a change.
const ROUNDING: f64 = 1e-12;

/// How far the measurements per execution of two versions may differ, as a factor, before order
/// statistics are not comparable. Within 5 %, the bias is a small part of the noise.
const UNEQUAL: f64 = 1.05;

/// A relative change and its interval: 0.05 is 5 % more than the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// `exp(D) − 1`.
    pub estimate: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Which way a version differs from its base. Every metric is a cost, so more is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The head costs more than the base.
    Worse,
    /// The head costs less than the base.
    Better,
}

/// The comparison of one benchmark of two versions: base (A) and head (B).
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// How builds were set against each other.
    pub method: Method,
    /// How many builds of base and of head take part; equal if paired.
    pub builds: [usize; 2],
    /// `D`, the difference of the mean logarithms.
    pub log_change: f64,
    /// `SE_D`.
    pub standard_error: f64,
    /// `ν`.
    pub freedom: f64,
    /// `α`: how often the comparison intervals of two equal versions fail to overlap.
    pub false_alarm_rate: f64,
    /// The change, with its interval at `1 − α`.
    pub change: Change,
    /// The two-sided p value of "no change".
    pub p: f64,
    /// How much of the variance of an unpaired comparison the pairing took away,
    /// `1 − sd²(d) / (Var x[A] + Var x[B])`: 0 for unrelated builds, negative if it did harm. None if
    /// unpaired, or if builds do not vary.
    pub gain: Option<f64>,
    /// The correlation of `x[A]` and `x[B]` over seeds, where there is one.
    pub correlation: Option<f64>,
    /// The comparison interval of the base.
    pub base: Interval,
    /// The comparison interval of the head.
    ///
    /// The two are `exp(mean x[v] ± c·s_v)` with `c = t_{1−α/2, ν} SE_D / (s_A + s_B)`, so that their
    /// failure to overlap is exactly the two-sided test at the rate `α`.
    pub head: Interval,
    /// `t_{1−α/2, ν} SE_D`.
    reach: f64,
    /// `x[A]` and `x[B]`.
    pub(super) logs: [Vec<f64>; 2],
}

impl Comparison {
    /// Compares `head` with `base` at the false-alarm rate `alpha`.
    ///
    /// Refuses less than two builds of a version, different metrics or estimators, and estimators other
    /// than the mean if the versions differ in measurements per execution by more than 5 %.
    pub fn new(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        alpha: f64,
    ) -> Result<Self, Refusal> {
        Self::within(base, head, pairing, None, alpha)
    }

    /// Compares versions of two sessions, whose difference contains what differs between sessions.
    pub fn across(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        sessions: &SessionVariance,
        alpha: f64,
    ) -> Result<Self, Refusal> {
        Self::within(base, head, pairing, Some(sessions), alpha)
    }

    fn within(
        base: &Summary,
        head: &Summary,
        pairing: Pairing,
        sessions: Option<&SessionVariance>,
        alpha: f64,
    ) -> Result<Self, Refusal> {
        let alpha = Refusal::unless_probability(alpha)?;
        refuse_unlike(base, head)?;
        let Matched { method, base, head } = Matched::of(base, head, pairing);
        let moments = [Moments::of(&base), Moments::of(&head)];
        let Difference { d, standard_error, freedom, gain, correlation } = match method {
            Method::Paired { .. } => Difference::paired(&base, &head, &moments),
            Method::Welch(_) => Difference::welch(&moments),
        };
        let (standard_error, freedom) = sessions.map_or((standard_error, freedom), |sessions| {
            sessions.added_to(standard_error, freedom)
        });
        let log_change = if d.abs() <= ROUNDING { 0.0 } else { d };
        let t = t_quantile(1.0 - alpha / 2.0, freedom);
        let reach = t * standard_error;
        let [base_interval, head_interval] = comparison_intervals(&moments, log_change, reach);
        let mut comparison = Self {
            method,
            builds: [base.len(), head.len()],
            log_change,
            standard_error,
            freedom,
            false_alarm_rate: alpha,
            change: Change::about(log_change, reach),
            p: 1.0,
            gain,
            correlation,
            base: base_interval,
            head: head_interval,
            reach,
            logs: [base, head],
        };
        comparison.p = 2.0 * comparison.survival(log_change.abs());
        Ok(comparison)
    }

    /// The direction of the change if the comparison intervals do not overlap.
    pub fn differs(&self) -> Option<Direction> {
        Direction::of(self.log_change).filter(|_| self.log_change.abs() > self.reach)
    }

    /// The change with its interval at another confidence, strictly between 0 and 1 (else NaN).
    pub fn change_at(&self, confidence: f64) -> Change {
        let t = t_quantile(f64::midpoint(1.0, confidence), self.freedom);
        Change::about(self.log_change, t * self.standard_error)
    }

    /// The one-sided p value of "no change in this direction".
    pub fn p_one_sided(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Worse => self.survival(self.log_change),
            Direction::Better => self.survival(-self.log_change),
        }
    }

    /// `P(T ≥ d / SE_D)`.
    fn survival(&self, d: f64) -> f64 {
        if self.standard_error > 0.0 {
            t_survival(d / self.standard_error, self.freedom)
        } else if d == 0.0 {
            0.5
        } else {
            f64::from(d < 0.0)
        }
    }
}

impl Direction {
    /// The direction of a difference, if there is one.
    pub(super) fn of(difference: f64) -> Option<Self> {
        if difference > ROUNDING {
            Some(Self::Worse)
        } else if difference < -ROUNDING {
            Some(Self::Better)
        } else {
            None
        }
    }
}

impl Change {
    fn about(log_change: f64, reach: f64) -> Self {
        Self {
            estimate: log_change.exp_m1(),
            low: (log_change - reach).exp_m1(),
            high: (log_change + reach).exp_m1(),
        }
    }
}

fn refuse_unlike(base: &Summary, head: &Summary) -> Result<(), Refusal> {
    if base.metric() != head.metric() {
        let metrics = [base.metric().clone(), head.metric().clone()];
        return Err(Refusal::Metrics(Box::new(metrics)));
    }
    if base.estimator() != head.estimator() {
        return Err(Refusal::Estimators([base.estimator(), head.estimator()]));
    }
    Refusal::unless_two(base.builds())?;
    Refusal::unless_two(head.builds())?;
    let n = [base, head].map(Summary::measurements_per_execution);
    if base.estimator() != Estimator::Mean && n[0].max(n[1]) > UNEQUAL * n[0].min(n[1]) {
        return Err(Refusal::UnequalMeasurements(n));
    }
    Ok(())
}

/// What the two methods compute differently.
struct Difference {
    d: f64,
    standard_error: f64,
    freedom: f64,
    gain: Option<f64>,
    correlation: Option<f64>,
}

impl Difference {
    fn paired(base: &[f64], head: &[f64], [a, b]: &[Moments; 2]) -> Self {
        let differences: Vec<f64> = base.iter().zip(head).map(|(a, b)| b - a).collect();
        let d = Moments::of(&differences);
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

/// Intervals about both versions whose half-widths add up to `reach` on the log scale.
fn comparison_intervals(moments: &[Moments; 2], log_change: f64, reach: f64) -> [Interval; 2] {
    let [s_a, s_b] = moments.each_ref().map(|version| squared_error(version).sqrt());
    // Without any variance of builds, what there is comes from the sessions, half of it from each.
    let share = if s_a + s_b > 0.0 { s_a / (s_a + s_b) } else { 0.5 };
    let interval = |center: f64, half_width: f64| Interval {
        center: center.exp(),
        low: (center - half_width).exp(),
        high: (center + half_width).exp(),
    };
    let base = moments[0].mean;
    [interval(base, share * reach), interval(base + log_change, (1.0 - share) * reach)]
}

#[cfg(test)]
mod tests;
