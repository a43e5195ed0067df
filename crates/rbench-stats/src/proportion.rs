//! A count of events among trials, and the rates that it allows. Pure.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::{beta_cdf, beta_quantile};

/// A number of events out of a number of trials. In JSON, with the 95 % interval of the true rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "Rate")]
pub struct Proportion {
    /// The number of events.
    pub count: usize,
    /// The number of trials.
    pub of: usize,
}

/// A proportion, with the 95 % interval of Clopper and Pearson of the true rate.
#[derive(Serialize, JsonSchema)]
struct Rate {
    count: usize,
    of: usize,
    #[schemars(range(min = 0, max = 1))]
    low: f64,
    #[schemars(range(min = 0, max = 1))]
    high: f64,
}

impl From<Proportion> for Rate {
    fn from(proportion: Proportion) -> Self {
        let [low, high] = proportion.interval(Proportion::CONFIDENCE);
        Self { count: proportion.count, of: proportion.of, low, high }
    }
}

impl Proportion {
    /// The confidence of the interval of a rate in reports.
    pub const CONFIDENCE: f64 = 0.95;

    /// Counts the things for which `is_so` is true.
    pub fn count<T>(things: impl IntoIterator<Item = T>, is_so: impl Fn(&T) -> bool) -> Self {
        things.into_iter().fold(Self::default(), |so_far, thing| Self {
            count: so_far.count + usize::from(is_so(&thing)),
            of: so_far.of + 1,
        })
    }

    /// The share; `None` without trials.
    pub fn share(self) -> Option<f64> {
        (self.of > 0).then(|| self.count as f64 / self.of as f64)
    }

    /// The interval of Clopper and Pearson (1934) for the rate, which covers the true rate with at least this
    /// confidence. All rates, without trials.
    pub fn interval(self, confidence: f64) -> [f64; 2] {
        let (count, rest) = (self.count as f64, self.of.saturating_sub(self.count) as f64);
        let tail = (1.0 - confidence) / 2.0;
        let low = if count > 0.0 { beta_quantile(tail, count, rest + 1.0) } else { 0.0 };
        let high = if rest > 0.0 { beta_quantile(1.0 - tail, count + 1.0, rest) } else { 1.0 };
        [low, high]
    }

    /// The probability of this count or a larger one at this rate.
    pub fn at_least(self, rate: f64) -> f64 {
        if self.count == 0 {
            return 1.0;
        }
        beta_cdf(rate, self.count as f64, (self.of.saturating_sub(self.count) + 1) as f64)
    }
}

impl fmt::Display for Proportion {
    /// `29 of 30`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.count, self.of)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn proportion(count: usize, of: usize) -> Proportion {
        Proportion { count, of }
    }

    #[test]
    fn intervals_agree_with_published_ones() {
        for (count, of, expected) in [
            // (1 - 0.025^(1/10), and the usual tables)
            (0, 10, [0.0, 0.308_497_1]),
            (1, 10, [0.002_528_6, 0.445_016_1]),
            (5, 10, [0.187_086_0, 0.812_914_0]),
            (10, 10, [0.691_502_9, 1.0]),
            (4, 20, [0.057_334_0, 0.436_614_4]),
        ] {
            let interval = proportion(count, of).interval(0.95);
            for (found, expected) in interval.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{count} of {of}: {interval:?}");
            }
        }
    }

    #[test]
    fn interval_without_trials_has_all_rates() {
        assert_eq!(proportion(0, 0).interval(0.95), [0.0, 1.0]);
        assert_eq!(proportion(0, 0).share(), None);
        assert_eq!(proportion(0, 9).at_least(0.05), 1.0);
    }

    #[test]
    fn count_counts_matching_things() {
        assert_eq!(Proportion::count([1, 5, 7], |number| *number > 4), proportion(2, 3));
    }

    /// P(K <= count) of the binomial distribution, term by term.
    fn at_most(count: usize, of: usize, rate: f64) -> f64 {
        let mut term = (1.0 - rate).powi(i32::try_from(of).unwrap());
        let mut total = term;
        for index in 0..count {
            term *= (of - index) as f64 / (index + 1) as f64 * rate / (1.0 - rate);
            total += term;
        }
        total
    }

    proptest! {
        /// This property defines the interval.
        #[test]
        fn interval_bounds_have_half_the_error_rate_in_each_tail(
            of in 1..80_usize, part in 0.0..1.0_f64, confidence in 0.5..0.99_f64,
        ) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of it")]
            let count = (part * of as f64) as usize;
            let [low, high] = proportion(count, of).interval(confidence);
            let tail = (1.0 - confidence) / 2.0;
            prop_assert!((at_most(count, of, high) - tail).abs() < 1e-9);
            prop_assert!(low <= part && part <= high || of < 2 || part * of as f64 > count as f64);
            if count > 0 {
                prop_assert!((1.0 - at_most(count - 1, of, low) - tail).abs() < 1e-9);
                prop_assert!((proportion(count, of).at_least(low) - tail).abs() < 1e-9);
            }
        }
    }
}
