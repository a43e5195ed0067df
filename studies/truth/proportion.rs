//! So many of so many, and what that says of the share.

use std::fmt;

use statrs::distribution::{Beta, ContinuousCDF};

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proportion {
    /// How many have it.
    pub with: usize,
    /// How many there are.
    pub of: usize,
}

impl Proportion {
    /// How many of these have it.
    pub fn of<T>(all: impl IntoIterator<Item = T>, has: impl Fn(T) -> bool) -> Self {
        let mut counted = Self::default();
        for one in all {
            counted.of += 1;
            counted.with += usize::from(has(one));
        }
        counted
    }

    /// The share; none of nothing.
    pub fn share(self) -> f64 {
        self.with as f64 / self.of.max(1) as f64
    }

    /// Whether at least this share of something has it.
    pub fn is_at_least(self, share: f64) -> bool {
        self.of > 0 && self.with as f64 >= share * self.of as f64
    }

    /// The interval of Clopper and Pearson at 95 %, for independent rows.
    pub fn interval(self) -> [f64; 2] {
        let quantile = |a: usize, b: usize, probability| {
            Beta::new(a as f64, b as f64).map_or(f64::NAN, |beta| beta.inverse_cdf(probability))
        };
        let (with, without) = (self.with, self.of - self.with);
        let low = if with == 0 { 0.0 } else { quantile(with, without + 1, 0.025) };
        let high = if without == 0 { 1.0 } else { quantile(with + 1, without, 0.975) };
        [low, high]
    }
}

impl fmt::Display for Proportion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.with, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(with: usize, of: usize) -> [f64; 2] {
        Proportion { with, of }.interval()
    }

    #[test]
    fn the_interval_is_the_exact_one() {
        let [low, high] = interval(0, 420);
        assert!(low == 0.0 && (high - (1.0 - 0.025_f64.powf(1.0 / 420.0))).abs() < 1e-6);
        let [low, high] = interval(30, 30);
        assert!((low - 0.025_f64.powf(1.0 / 30.0)).abs() < 1e-6 && high == 1.0);
        // Clopper and Pearson 1934: 2 of 10.
        let [low, high] = interval(2, 10);
        assert!((low - 0.0252).abs() < 1e-4 && (high - 0.5561).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn nothing_has_at_least_no_share_and_an_interval_of_everything() {
        assert!(!Proportion::default().is_at_least(0.0));
        assert_eq!(interval(0, 0), [0.0, 1.0]);
        assert!(Proportion { with: 27, of: 30 }.is_at_least(0.9));
    }
}
