//! The interval of one version: where its value lies, over all the layouts it might have had.

use super::{
    components::Components,
    distribution::{normal_quantile, t_quantile},
    refusal::Refusal,
    summary::Summary,
};

/// A closed interval about an estimate, in the metric's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub center: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The three-level interval `g ± t_{1−α/2, l−1} · sqrt(S_V² / l)`, where `confidence` is `1 − α`.
    ///
    /// `S_V²` is the sample variance of the build values `b[k]`, `g` their mean. `Var(g)` is exactly
    /// `E[S_V²] / l`, so this one number carries all three levels, for any estimator and also where
    /// executions are not equally many (the builds then have unequal variances, and the interval
    /// is slightly conservative).
    pub fn three_level(summary: &Summary, confidence: f64) -> Result<Self, Refusal> {
        let confidence = Refusal::unless_probability(confidence)?;
        let l = Refusal::unless_two(summary.builds())?.len() as f64;
        let values = summary.values();
        let t = t_quantile(f64::midpoint(1.0, confidence), l - 1.0);
        Ok(Self::about(values.mean, t * (values.squares / (l - 1.0) / l).sqrt()))
    }

    /// The interval (17) of Kalibera et al. 2006, verbatim and therefore of means, whatever the
    /// estimator of the summary: `Ȳ ± u_{1−α/2} · sqrt(S_E²/(lmn) + S_B²/(lm) + S_V²/l)`.
    ///
    /// It counts `B` twice and `E` three times and takes the normal quantile, so it is too wide for many
    /// builds and too narrow for few: offered to compare methods. Where executions or measurements
    /// are not equally many, `1/m` and `1/(mn)` are the variances of build means that they stand for,
    /// `mean_k(1/m_k)` and `mean_k(mean_j(1/n_kj)/m_k)`, and `Ȳ` is the mean of build means. A level of
    /// which nothing is known adds nothing.
    pub fn paper(summary: &Summary, confidence: f64) -> Result<Self, Refusal> {
        let confidence = Refusal::unless_probability(confidence)?;
        let builds = Refusal::unless_two(summary.builds())?;
        let l = builds.len() as f64;
        let s = Components::of(summary).s;
        let over_builds = |weight: &dyn Fn(&super::BuildSummary) -> f64| {
            builds.iter().map(weight).sum::<f64>() / l
        };
        let over_m = over_builds(&|build| 1.0 / build.executions as f64);
        let over_mn = over_builds(&|build| build.inverse_measurements / build.executions as f64);
        let variance = s.execution.unwrap_or(0.0) * over_mn / l
            + s.build.unwrap_or(0.0) * over_m / l
            + s.version.unwrap_or(0.0) / l;
        let u = normal_quantile(f64::midpoint(1.0, confidence));
        Ok(Self::about(summary.means().mean, u * variance.sqrt()))
    }

    /// The interval that reaches `half_width` to both sides of `center`.
    pub fn about(center: f64, half_width: f64) -> Self {
        Self { center, low: center - half_width, high: center + half_width }
    }

    /// Half the length of the interval.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// True if and only if the two intervals have a point in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}
