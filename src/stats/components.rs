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

use schemars::JsonSchema;
use serde::Serialize;

use super::{distribution::f_survival, summary::Summary};

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
    /// The components of one version.
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

#[cfg(test)]
mod tests;
