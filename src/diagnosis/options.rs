//! What a diagnosis needs to know besides the measurements.

use crate::stats::{Estimator, StatsError, plan::Cost};

/// A warning needs a p below this: so many tests are made of one benchmark.
pub const SIGNIFICANT: f64 = 0.001;

/// What a diagnosis needs to know besides the measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// δ₀: the smallest relative difference of interest, .01 for 1 %.
    pub min_effect: f64,
    /// The estimator whose executions are compared where an estimator is in use.
    pub estimator: Estimator,
    /// The confidence of all intervals, .95 for 95 %.
    pub confidence: f64,
    /// For all that is drawn at random: the same seed gives the same diagnosis.
    pub seed: u64,
    /// `K`: how often the bootstrap of an impact factor is repeated.
    pub repetitions: usize,
    /// What builds and executions cost, in measurements. Without it there is no [`Advice`](super::Advice).
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

/// Refuses options that make no sense.
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
