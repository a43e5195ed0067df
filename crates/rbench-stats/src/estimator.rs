//! Estimators: one value for an execution from its measurements.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moments;

/// The function that turns the measurements of one execution into one value, `f[k][j]` in the formulas.
///
/// Each is a legitimate observation of its execution, provided that both versions of a comparison take the same number
/// of measurements with the same number of iterations: the minimum of 30 differs from the minimum of 10 even if nothing
/// changed.
///
/// Below, `d_1 ≤ … ≤ d_k` are the sorted measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// The arithmetic mean: Kalibera et al. 2006.
    Mean,
    /// The mean without the `⌊k / 5⌋` smallest and the `⌊k / 5⌋` largest measurements: 20 % at *each* end, so up to 40
    /// % in all (the convention of R's `mean(x, trim = 0.2)`).
    TrimmedMean,
    /// `(d_⌊(k+1)/2⌋ + d_⌈(k+1)/2⌉) / 2`: Haveraaen & Hundvebakke 2001.
    Median,
    /// `(d_⌊(k+1)/4⌋ + d_⌈(k+1)/4⌉) / 2`, where `d_0` means `d_1`: Haveraaen & Hundvebakke 2001.
    LowerQuartile,
    /// `d_1`: Haveraaen & Hundvebakke 2001, Chen & Revels 2016.
    #[default]
    Minimum,
    /// For executions interleaved with one of the other version: the value is the median, and a change is the median
    /// ratio of neighbouring measurements.
    ///
    /// See [`paired_ratio`](super::paired_ratio).
    Pairwise,
}

/// Memory that [`Estimator::estimate`] reuses between executions.
#[derive(Clone, Debug, Default)]
pub struct Scratch(Vec<u64>);

impl Estimator {
    /// The estimators of executions that ran alone, in the order of help texts.
    pub const ALL: [Self; 5] =
        [Self::Mean, Self::TrimmedMean, Self::Median, Self::LowerQuartile, Self::Minimum];

    /// The name on the command line and in stored results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::TrimmedMean => "trimmed-mean",
            Self::Median => "median",
            Self::LowerQuartile => "lower-quartile",
            Self::Minimum => "minimum",
            Self::Pairwise => "pairwise",
        }
    }

    /// True if the mean of all measurements limits verdicts by this estimator, because it ignores changes of the slower
    /// ones.
    pub const fn needs_mean(self) -> bool {
        matches!(self, Self::Pairwise | Self::Minimum)
    }

    /// Estimates one execution from its measurements, in their unit.
    ///
    /// The values must be positive, as [`Measurements`](super::Measurements) guarantees. NaN without values.
    pub fn estimate(self, values: &[f64], scratch: &mut Scratch) -> f64 {
        if values.is_empty() {
            return f64::NAN;
        }
        match self {
            Self::Mean => moments::sum(values) / values.len() as f64,
            Self::TrimmedMean => trimmed_mean(values, scratch),
            Self::Median | Self::Pairwise => between(values, 2, scratch),
            Self::LowerQuartile => between(values, 4, scratch),
            Self::Minimum => values.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }
}

/// Copies the values as bits: positive numbers order like their bit patterns, and integers compare
/// faster than floats.
fn refill<'a>(scratch: &'a mut Scratch, values: &[f64]) -> &'a mut [u64] {
    scratch.0.clear();
    scratch.0.extend(values.iter().map(|value| value.to_bits()));
    &mut scratch.0
}

/// The mean without a fifth at each end.
fn trimmed_mean(values: &[f64], scratch: &mut Scratch) -> f64 {
    let cut = values.len() / 5;
    if cut == 0 {
        return moments::sum(values) / values.len() as f64;
    }
    let bits = refill(scratch, values);
    bits.select_nth_unstable(cut);
    let upper = &mut bits[cut..];
    let kept = upper.len() - cut;
    upper.select_nth_unstable(kept - 1);
    upper[..kept].iter().map(|&bits| f64::from_bits(bits)).sum::<f64>() / kept as f64
}

/// The midpoint of the order statistics below and above rank `(k + 1) / parts`.
fn between(values: &[f64], parts: usize, scratch: &mut Scratch) -> f64 {
    let ranks = values.len() + 1;
    let lower = (ranks / parts).max(1);
    let upper = ranks.div_ceil(parts);
    let (below, &mut at, _) = refill(scratch, values).select_nth_unstable(upper - 1);
    let at = f64::from_bits(at);
    match below.iter().max() {
        Some(&before) if lower < upper => f64::midpoint(f64::from_bits(before), at),
        _ => at,
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Estimator {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|estimator| estimator.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("no estimator is called `{name}`; there are {known}")
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn estimate(estimator: Estimator, values: &[f64]) -> f64 {
        estimator.estimate(values, &mut Scratch::default())
    }

    /// The definitions of the papers, on a sorted copy.
    fn by_sorting(estimator: Estimator, values: &[f64]) -> f64 {
        let mut d = values.to_vec();
        d.sort_by(f64::total_cmp);
        let k = d.len();
        let rank = |parts: usize| {
            let at = |rank: usize| d[rank.max(1) - 1];
            f64::midpoint(at((k + 1) / parts), at((k + 1).div_ceil(parts)))
        };
        let mean = |kept: &[f64]| kept.iter().sum::<f64>() / kept.len() as f64;
        match estimator {
            Estimator::Mean => mean(&d),
            Estimator::TrimmedMean => mean(&d[k / 5..k - k / 5]),
            Estimator::Median | Estimator::Pairwise => rank(2),
            Estimator::LowerQuartile => rank(4),
            Estimator::Minimum => d[0],
        }
    }

    #[test]
    fn estimators_give_the_values_computed_by_hand() {
        let values = [9.0, 1.0, 4.0, 2.0, 100.0, 3.0];
        assert_eq!(estimate(Estimator::Mean, &values), 119.0 / 6.0);
        // one cut at each end: 2, 3, 4, 9
        assert_eq!(estimate(Estimator::TrimmedMean, &values), 4.5);
        assert_eq!(estimate(Estimator::Median, &values), 3.5);
        // ranks 7/4: between d_1 and d_2
        assert_eq!(estimate(Estimator::LowerQuartile, &values), 1.5);
        assert_eq!(estimate(Estimator::Minimum, &values), 1.0);
    }

    #[test]
    fn lower_quartile_is_one_value_if_four_divides_k_plus_one() {
        assert_eq!(estimate(Estimator::LowerQuartile, &[7.0, 5.0, 3.0, 2.0, 6.0, 4.0, 1.0]), 2.0);
    }

    #[test]
    fn estimators_return_a_single_measurement() {
        for estimator in Estimator::ALL {
            assert_eq!(estimate(estimator, &[2.5]), 2.5, "{estimator}");
        }
    }

    #[test]
    fn lower_quartile_of_two_or_three_is_the_minimum() {
        assert_eq!(estimate(Estimator::LowerQuartile, &[2.0, 1.0]), 1.0);
        assert_eq!(estimate(Estimator::LowerQuartile, &[2.0, 1.0, 3.0]), 1.0);
    }

    #[test]
    fn estimate_without_values_is_nan() {
        for estimator in Estimator::ALL {
            assert!(estimate(estimator, &[]).is_nan(), "{estimator}");
        }
    }

    #[test]
    fn estimator_names_parse_and_others_are_refused() {
        for estimator in Estimator::ALL {
            assert_eq!(estimator.to_string().parse(), Ok(estimator));
        }
        assert_eq!(
            "average".parse::<Estimator>().unwrap_err(),
            "no estimator is called `average`; there are mean, trimmed-mean, median, lower-quartile, \
             minimum"
        );
    }

    proptest! {
        #[test]
        fn selection_agrees_with_sorting(
            values in prop::collection::vec(1e-9..1e12, 1..60),
            estimator in prop::sample::select(&Estimator::ALL),
        ) {
            let (selected, sorted) = (estimate(estimator, &values), by_sorting(estimator, &values));
            prop_assert!((selected / sorted - 1.0).abs() < 1e-13, "{} {}", selected, sorted);
        }
    }
}
