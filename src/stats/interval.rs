//! The interval of one version: the range of its value over all possible layouts. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    components::Components,
    distribution::{normal_quantile, t_quantile},
    error::StatsError,
    summary::Summary,
};

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

    /// Half the length of the interval.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// True if and only if the two intervals have a point in common.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Metric,
        stats::{Estimator, Measurements},
    };

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
