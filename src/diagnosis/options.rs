//! The parameters of a diagnosis besides the measurements.

use crate::stats::{Estimator, StatsError, plan::Cost};

/// A warning needs a p value below this, because one benchmark undergoes many tests.
pub const SIGNIFICANT: f64 = 0.001;

/// The parameters of a diagnosis besides the measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// δ₀: the smallest relative difference of interest, .01 for 1 %.
    pub min_effect: f64,
    /// The estimator of executions, for comparisons that use one.
    pub estimator: Estimator,
    /// The confidence of all intervals, .95 for 95 %.
    pub confidence: f64,
    /// The seed of all random choices: the same seed gives the same diagnosis.
    pub seed: u64,
    /// `K`: the number of repetitions of the bootstrap of an impact factor.
    pub repetitions: usize,
    /// The costs of builds and executions, in measurements. Without them there is no [`Advice`](super::Advice).
    pub cost: Option<Cost>,
}

impl Default for Options {
    /// 1 %, the minimum, 95 %, seed 0, 10,000 repetitions as in the paper of 2005, and no costs.
    fn default() -> Self {
        Self {
            min_effect: 0.01,
            estimator: Estimator::default(),
            confidence: 0.95,
            seed: 0,
            repetitions: 10_000,
            cost: None,
        }
    }
}

/// Refuses invalid options.
pub(super) fn check(options: &Options) -> Result<(), StatsError> {
    let Options { min_effect, confidence, .. } = *options;
    if !(min_effect >= 0.0 && min_effect.is_finite()) {
        Err(StatsError::NotAnEffect(min_effect))
    } else if !(confidence > 0.0 && confidence < 1.0) {
        Err(StatsError::NotAProbability(confidence))
    } else {
        Ok(())
    }
}
