//! Divides the variance of a value or of a change into the shares of builds and of executions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    stats::{DifferenceShares, Moments, Summary},
    verdict::DecidedStage,
};

/// The head of a column of shares: of builds and of executions.
pub const HEAD: &str = "variance b/e";

/// The shares of builds and executions in a variance, which add up to 1. More executions of each
/// build reduce only the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    #[schemars(range(min = 0, max = 1))]
    builds: f64,
    /// The share of the executions, for the number of executions there were of each build, with
    /// their measurements.
    #[schemars(range(min = 0, max = 1))]
    executions: f64,
}

impl Shares {
    /// The share of the builds.
    pub const fn builds(&self) -> f64 {
        self.builds
    }

    /// The shares of the variance of a change; `None` if no build was executed twice, or nothing
    /// varies.
    pub fn change_shares(DecidedStage { summaries, assessment }: &DecidedStage) -> Option<Self> {
        let DifferenceShares { builds, executions } = assessment.comparison.shares(summaries)?;
        Some(Self { builds, executions })
    }

    /// The shares of the variance of one version's value, in the estimator in use; `None` if no
    /// build was executed twice, or nothing varies.
    ///
    /// Of `S_V²`, the sample variance of the build values, `S_B² · mean_k(1 / m_k)` comes from
    /// executions, where `S_B²` pools the variance of their estimates within builds ((15) and (16)
    /// of Kalibera et al. 2006).
    pub fn version_shares(summary: &Summary) -> Option<Self> {
        let (mut squares, mut freedom, mut inverses) = (0.0, 0, 0.0);
        for build in summary.builds() {
            let estimates: Vec<f64> = build.estimates.iter().map(|one| one.value).collect();
            squares += Moments::compute(&estimates).squares;
            freedom += estimates.len().saturating_sub(1);
            inverses += 1.0 / estimates.len().max(1) as f64;
        }
        let values = summary.values();
        let l = values.count as f64;
        let variance = values.squares / (l - 1.0);
        let of_executions = squares / freedom as f64 * inverses / l;
        let executions = (of_executions / variance).min(1.0);
        (freedom > 0 && variance > 0.0).then_some(Self { builds: 1.0 - executions, executions })
    }
}

/// The shares in percent: `96/4 %`; empty if unknown.
pub fn text(shares: Option<Shares>) -> String {
    shares.map_or_else(String::new, |Shares { builds, .. }| {
        let builds = (100.0 * builds).round();
        format!("{builds:.0}/{:.0} %", 100.0 - builds)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Metric,
        stats::{Estimator, Measurements},
    };

    fn share(builds: [&[f64]; 2]) -> String {
        let builds = (0..).zip(builds.map(|executions| executions.iter().map(|one| [*one])));
        let data = Measurements::new(Metric::wall(), builds).unwrap();
        text(Shares::version_shares(&Summary::compute(&data, Estimator::Minimum)))
    }

    #[test]
    fn shares_attribute_execution_noise_to_executions() {
        // Build values 2 and 8, so S_V² = 18; executions ±1 about them, so S_B² / m = 1.
        assert_eq!(share([&[1.0, 3.0], &[7.0, 9.0]]), "94/6 %");
        assert_eq!(share([&[1.0, 3.0], &[1.2, 3.0]]), "0/100 %");
    }

    #[test]
    fn shares_need_repeated_executions() {
        assert_eq!(share([&[1.0], &[8.0]]), "");
        assert_eq!(share([&[1.0, 1.0], &[1.0, 1.0]]), "");
    }
}
