//! The estimated change between two commits, and the arithmetic of two of them.

use crate::stats::{
    Change,
    counted::relative,
    distribution::{t_quantile, t_survival},
};

/// The remainder of a change counts as something to explain if its p value is at most this.
const LEFT: f64 = 0.05;

/// A change on the logarithmic scale with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// `D`: the difference of the mean logarithms, newer less older.
    pub log_change: f64,
    /// `SE_D`, at least 0.
    pub standard_error: f64,
    /// `ν`.
    pub freedom: f64,
}

impl Estimate {
    /// The change of the rest, where `self` is of the whole and `part` of a part of it.
    #[must_use]
    pub fn minus(self, part: Self) -> Self {
        self.weighted(1.0, part, -1.0)
    }

    /// The change of both parts together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.weighted(1.0, other, 1.0)
    }

    /// Combines two estimates of the same change, weighted by their precision.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let [own, others] = [self, other].map(|one| one.standard_error.powi(2));
        if own <= 0.0 {
            return self;
        }
        let weight = others / (own + others);
        self.weighted(weight, other, 1.0 - weight)
    }

    /// `a·self + b·other`, with Welch's degrees of freedom.
    fn weighted(self, a: f64, other: Self, b: f64) -> Self {
        let log_change = a * self.log_change + b * other.log_change;
        let [own, others] =
            [(a, self), (b, other)].map(|(weight, one)| (weight * one.standard_error).powi(2));
        let variance = own + others;
        let spread = own.powi(2) / self.freedom + others.powi(2) / other.freedom;
        let freedom =
            if spread > 0.0 { variance.powi(2) / spread } else { self.freedom.min(other.freedom) };
        Self { log_change, standard_error: variance.sqrt(), freedom }
    }

    /// The two-sided p value of "no change".
    pub fn p(self) -> f64 {
        if self.standard_error > 0.0 {
            2.0 * t_survival(self.log_change.abs() / self.standard_error, self.freedom)
        } else if self.log_change == 0.0 {
            1.0
        } else {
            0.0
        }
    }

    /// True if the change is at least `min_change`, on logarithms, with a p value of at most `rate`.
    pub fn shows(self, min_change: f64, rate: f64) -> bool {
        self.log_change.abs() >= min_change && self.p() <= rate
    }

    /// True if it is worth explaining, as the remainder of a change without its known parts.
    pub fn is_left(self, min_change: f64) -> bool {
        self.shows(min_change, LEFT)
    }

    /// The relative change with its interval at this confidence; infinite if the base is 0.
    pub fn change(self, confidence: f64) -> Change {
        let half_width =
            t_quantile(f64::midpoint(1.0, confidence), self.freedom) * self.standard_error;
        let log_change = self.log_change;
        let [estimate, low, high] =
            [log_change, log_change - half_width, log_change + half_width].map(relative);
        Change { estimate, low, high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(log_change: f64, standard_error: f64) -> Estimate {
        Estimate { log_change, standard_error, freedom: 9.0 }
    }

    #[test]
    fn minus_is_less_certain_than_whole_and_part() {
        let rest = estimate(0.05, 0.003).minus(estimate(0.02, 0.004));
        assert!((rest.log_change - 0.03).abs() < 1e-12);
        assert!((rest.standard_error - 0.005).abs() < 1e-12);
        assert!(rest.freedom > 9.0 && rest.freedom < 18.0);
    }

    #[test]
    fn with_is_more_certain_than_either_estimate() {
        let both = estimate(0.05, 0.003).with(estimate(0.02, 0.004));
        assert!(both.log_change > 0.035 && both.log_change < 0.05);
        assert!(both.standard_error < 0.003);
        assert_eq!(estimate(0.05, 0.0).with(estimate(0.02, 0.004)), estimate(0.05, 0.0));
        assert_eq!(estimate(0.05, 0.003).with(estimate(0.02, 0.0)).log_change, 0.02);
    }

    #[test]
    fn estimate_without_variance_is_certain() {
        assert_eq!([estimate(0.01, 0.0).p(), estimate(0.0, 0.0).p()], [0.0, 1.0]);
        let nothing = Change { estimate: 0.0, low: 0.0, high: 0.0 };
        assert_eq!(estimate(0.0, 0.0).change(0.95), nothing);
        assert_eq!(estimate(0.0, 0.0).minus(estimate(0.0, 0.0)).freedom, 9.0);
    }
}
