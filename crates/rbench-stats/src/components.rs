//! Estimates the variance that each level adds: measurements, executions, builds. Pure.
//!
//! The papers' `S_E²`, `S_B²`, `S_V²` (Kalibera et al. 2006, (14)-(16)) each contain what the level below adds; the
//! unbiased components `T_E²`, `T_B²`, `T_V²` (Kalibera & Jones 2013) do not.
//!
//! # Unequal numbers of executions and measurements
//!
//! Build `k` has `m_k` executions, its execution `j` has `n_kj` measurements. With the true components `E`, `B`, `V`,
//! the mean of an execution has variance `B + E / n_kj` about the mean of its build.
//!
//! - `S_E²` pools the variances within executions by their degrees of freedom, `Σ (n_kj − 1) s²_kj / Σ (n_kj − 1)`.
//!   Each has expectation `E`, so `S_E²` has too.
//! - `S_B²` pools the variances of execution means within builds, `Σ (m_k − 1) s²_k / Σ (m_k − 1)`. The sample variance
//!   of independent values of one mean has the average of their variances as expectation, so `E[S_B²] = B + E·h_B` with
//!   `h_B = Σ (m_k − 1) mean_j(1 / n_kj) / Σ (m_k − 1)`.
//! - `S_V²` is the sample variance of the build means, every build counting once. That of build `k` has variance `V + B
//!   / m_k + E·mean_j(1 / n_kj) / m_k`, so `E[S_V²] = V + B·h_1 + E·h_2` with `h_1 = mean_k(1 / m_k)` and `h_2 =
//!   mean_k(mean_j(1 / n_kj) / m_k)`.
//!
//! Solving these gives components that are exactly unbiased: `T_E² = S_E²`, `T_B² = S_B² − T_E²·h_B`, `T_V² = S_V² −
//! T_B²·h_1 − T_E²·h_2`. Where all `m_k = m` and `n_kj = n`, they are the balanced `S_B² − S_E² / n` and `S_V² − S_B² /
//! m`.
//!
//! # Limits of a design
//!
//! If no execution has two measurements, `E` cannot be distinguished from `B`, and the component of the builds contains
//! it (exactly, for then every `n_kj` is 1). If no build has two executions, the component of the version contains `B`.
//! If there is one build, nothing is known of `V`. An unknown component is `None`.
//!
//! The interval of one version: the range of its value over all possible layouts. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    distribution::{f_survival, normal_quantile, t_quantile},
    error::StatsError,
    summary::Summary,
};

/// A standard deviation below this share of the mean is the rounding of means, not variance.
const ROUNDING: f64 = 1e-13;

/// One value for each level, named by what varies: the papers' `E`, `B` and `V`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Levels<T> {
    /// Between the measurements of an execution: `E`.
    #[serde(rename = "measurements")]
    pub execution: T,
    /// Between the executions of a build: `B`.
    #[serde(rename = "executions")]
    pub build: T,
    /// Between the builds of a version: `V`.
    #[serde(rename = "builds")]
    pub version: T,
}

/// The variance at each level, always of *means*, whatever the estimator of executions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// `S_E²`, `S_B²`, `S_V²`, in the squared unit of the metric.
    pub s: Levels<Option<f64>>,
    /// `T_E²`, `T_B²`, `T_V²`, in the squared unit of the metric. They may be negative: clamping them
    /// would bias them.
    pub t: Levels<Option<f64>>,
    /// The test of `V = 0`, that builds differ by no more than their executions explain; none if the design has no such
    /// test.
    ///
    /// `F = m S_V² / S_B²` with the harmonic mean of the `m_k` as `m`, and `l − 1` and `Σ (m_k − 1)` degrees of freedom;
    /// exact for normal data with equal `m_k`, close otherwise.
    pub layout: Option<FTest>,
    /// The degrees of freedom of `s`: `Σ (n_kj − 1)`, `Σ (m_k − 1)`, `l − 1`.
    pub freedom: Levels<f64>,
    /// The shares of lower components in the squares.
    pub weights: Weights,
}

/// An F test of two mean squares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FTest {
    /// The statistic: infinite, and null in JSON, where there is no variance below.
    #[schemars(with = "Option<f64>")]
    pub f: f64,
    /// The degrees of freedom above and below.
    #[serde(rename = "degrees_of_freedom")]
    pub freedom: [f64; 2],
    /// The p value of `f`, if the upper level had no effect.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
}

impl FTest {
    /// Tests `f`. None if it is NaN.
    pub fn new(f: f64, freedom: [f64; 2]) -> Option<Self> {
        if f.is_nan() || freedom.iter().any(|freedom| *freedom < 1.0) {
            return None;
        }
        let p = if f.is_infinite() { 0.0 } else { f_survival(f, freedom[0], freedom[1]) };
        Some(Self { f, freedom, p })
    }
}

impl Components {
    pub fn estimate(summary: &Summary) -> Self {
        let builds = summary.builds();
        let means = summary.means();
        let floor = (ROUNDING * means.mean).powi(2);
        let variance = |squares: f64, freedom: f64| {
            let square = squares / freedom;
            (freedom > 0.0).then_some(if square < floor { 0.0 } else { square })
        };
        let mut within = (0.0, 0.0);
        let mut between = (0.0, 0.0);
        let (mut e_in_b, mut b_in_v, mut e_in_v) = (0.0, 0.0, 0.0);
        for build in builds {
            let executions = build.executions as f64;
            within.0 += build.squares_within_executions;
            within.1 += build.measurements as f64 - executions;
            between.0 += build.squares_between_executions;
            between.1 += executions - 1.0;
            e_in_b += (executions - 1.0) * build.inverse_measurements;
            b_in_v += 1.0 / executions;
            e_in_v += build.inverse_measurements / executions;
        }
        let l = builds.len() as f64;
        // Without a second execution anywhere there is no S_B² for h_B to weigh.
        let weights =
            Weights { e_in_b: e_in_b / between.1.max(1.0), b_in_v: b_in_v / l, e_in_v: e_in_v / l };
        let s = Levels {
            execution: variance(within.0, within.1),
            build: variance(between.0, between.1),
            version: variance(means.squares, l - 1.0),
        };
        let freedom = Levels { execution: within.1, build: between.1, version: l - 1.0 };
        let layout = s.build.zip(s.version).and_then(|(below, above)| {
            FTest::new(above / (weights.b_in_v * below), [freedom.version, freedom.build])
        });
        Self { s, t: weights.unbiased(&s), layout, freedom, weights }
    }
}

/// The shares of `E` and `B` in the squares above them; see the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// `h_B`: `1 / n` where all `n_kj = n`.
    pub e_in_b: f64,
    /// `h_1`: `1 / m` where all `m_k = m`.
    pub b_in_v: f64,
    /// `h_2`: `1 / (m n)` where both.
    pub e_in_v: f64,
}

impl Weights {
    /// Computes the unbiased components `T²` from squares `S²`. An unknown square counts as 0 in the levels above it.
    pub fn unbiased(&self, s: &Levels<Option<f64>>) -> Levels<Option<f64>> {
        let e = s.execution.unwrap_or(0.0);
        let build = s.build.map(|s_b| s_b - e * self.e_in_b);
        let b = build.unwrap_or(0.0);
        let version = s.version.map(|s_v| s_v - b * self.b_in_v - e * self.e_in_v);
        Levels { execution: s.execution, build, version }
    }
}

/// An estimate with its closed interval. In JSON, an infinite one is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The estimate, in the metric's unit.
    #[serde(rename = "estimate")]
    #[schemars(with = "Option<f64>")]
    pub center: f64,
    /// The lower end.
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    /// The upper end.
    #[schemars(with = "Option<f64>")]
    pub high: f64,
}

/// Reads a number that is null in JSON because it is infinite.
pub fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

impl Interval {
    /// The three-level interval `g ± t_{1−α/2, l−1} · sqrt(S_V² / l)`, where `confidence` is `1 − α`.
    ///
    /// `S_V²` is the sample variance of the build values `b[k]`, `g` their mean. `Var(g)` is exactly `E[S_V²] / l`, so
    /// this one number covers all three levels, for any estimator and any numbers of executions (with unequal numbers,
    /// builds have unequal variances, and the interval is slightly conservative).
    pub fn three_level(summary: &Summary, confidence: f64) -> Result<Self, StatsError> {
        let confidence = StatsError::unless_probability(confidence)?;
        let l = StatsError::unless_two(summary.builds())?.len() as f64;
        let values = summary.values();
        let t = t_quantile(f64::midpoint(1.0, confidence), l - 1.0);
        Ok(Self::around(values.mean, t * (values.squares / (l - 1.0) / l).sqrt()))
    }

    /// The interval (17) of Kalibera et al. 2006, verbatim and therefore of means, whatever the estimator of the
    /// summary: `Ȳ ± u_{1−α/2} · sqrt(S_E²/(lmn) + S_B²/(lm) + S_V²/l)`.
    ///
    /// It counts `B` twice and `E` three times and uses the normal quantile, so it is too wide for many builds and too
    /// narrow for few; the rule `overlap` offers it for comparing methods. For unequal numbers of executions or
    /// measurements, `1/m` and `1/(mn)` are replaced by the variances of build means that they stand for,
    /// `mean_k(1/m_k)` and `mean_k(mean_j(1/n_kj)/m_k)`, and `Ȳ` is the mean of build means. An unknown level adds
    /// nothing.
    pub fn paper(summary: &Summary, confidence: f64) -> Result<Self, StatsError> {
        let confidence = StatsError::unless_probability(confidence)?;
        let l = StatsError::unless_two(summary.builds())?.len() as f64;
        let Components { s, weights, .. } = Components::estimate(summary);
        let variance = s.execution.unwrap_or(0.0) * weights.e_in_v / l
            + s.build.unwrap_or(0.0) * weights.b_in_v / l
            + s.version.unwrap_or(0.0) / l;
        let u = normal_quantile(f64::midpoint(1.0, confidence));
        Ok(Self::around(summary.means().mean, u * variance.sqrt()))
    }

    /// The interval of `half_width` on both sides of `center`.
    pub fn around(center: f64, half_width: f64) -> Self {
        Self { center, low: center - half_width, high: center + half_width }
    }

    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// True if and only if the two intervals have a point in common.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

#[cfg(test)]
mod interval_tests {
    use super::*;
    use crate::{Estimator, Measurements, Metric};

    fn summary(builds: &[&[&[f64]]], estimator: Estimator) -> Summary {
        let builds = (0..).zip(builds.iter().map(|executions| executions.iter()));
        Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), estimator)
    }

    fn assert_close(obtained: f64, expected: f64) {
        assert!((obtained / expected - 1.0).abs() < 1e-12, "{obtained} instead of {expected}");
    }

    #[test]
    fn three_level_interval_is_the_t_interval_of_build_values() {
        // Build values 3, 4, 8: mean 5, variance 7; t_{.975, 2} = 4.302652729749464.
        let data = summary(&[&[&[2.0], &[4.0]], &[&[3.0, 5.0]], &[&[8.0]]], Estimator::Mean);
        let interval = Interval::three_level(&data, 0.95).unwrap();
        assert_close(interval.center, 5.0);
        assert_close(interval.half_width(), 4.302_652_729_749_464 * (7.0f64 / 3.0).sqrt());
    }

    #[test]
    fn three_level_interval_uses_the_chosen_estimator() {
        let data = summary(&[&[&[1.0, 9.0]], &[&[3.0, 30.0]]], Estimator::Minimum);
        assert_close(Interval::three_level(&data, 0.5).unwrap().center, 2.0);
    }

    #[test]
    fn paper_interval_adds_all_three_squares_of_means() {
        // S_E² = 2 (every execution ±1), S_B² = 8, S_V² = 18; l = m = n = 2.
        let data = summary(
            &[&[&[3.0, 5.0], &[7.0, 9.0]], &[&[9.0, 11.0], &[13.0, 15.0]]],
            Estimator::Minimum,
        );
        let interval = Interval::paper(&data, 0.95).unwrap();
        assert_close(interval.center, 9.0);
        let variance: f64 = 2.0 / 8.0 + 8.0 / 4.0 + 18.0 / 2.0;
        assert_close(interval.half_width(), 1.959_963_984_540_054 * variance.sqrt());
    }

    #[test]
    fn single_build_is_refused() {
        let data = summary(&[&[&[1.0, 2.0], &[3.0]]], Estimator::Mean);
        for interval in [Interval::three_level, Interval::paper] {
            assert_eq!(interval(&data, 0.95), Err(StatsError::TooFewBuilds { builds: 1 }));
        }
    }

    #[test]
    fn confidence_outside_zero_to_one_is_refused() {
        let data = summary(&[&[&[1.0]], &[&[2.0]]], Estimator::Mean);
        for confidence in [0.0, 1.0, -0.5, 95.0] {
            let refusal = StatsError::NotAProbability(confidence);
            assert_eq!(Interval::three_level(&data, confidence), Err(refusal.clone()));
            assert_eq!(Interval::paper(&data, confidence), Err(refusal));
        }
        assert!(Interval::three_level(&data, f64::NAN).is_err());
    }

    #[test]
    fn touching_intervals_overlap() {
        let low = Interval::around(1.0, 0.5);
        assert!(low.overlaps(&Interval::around(2.0, 0.5)));
        assert!(!low.overlaps(&Interval::around(2.0, 0.49)));
        assert!(low.overlaps(&low));
    }
}

#[cfg(test)]
mod tests;
