//! Tests whether earlier benchmarks in the same process affect this one: Gil et al. 2011, section 6.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Options, SIGNIFICANT, Warning, values::mean_interval};
use crate::{Interval, StatsError};

/// The same benchmark alone in a process and after others, paired by layout seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OrderEffect {
    /// The number of pairs.
    pub pairs: usize,
    /// The slowdown after others, relative (.01 is 1 %), with its interval by Student's t of log ratios.
    pub change: Interval,
    /// The two-sided p value of "no change".
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
}

/// The effects of the benchmarks that run before one in the same process.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OrderEffects {
    /// The ids of the others, in their order.
    pub others: Vec<String>,
    /// The effect of all of them together.
    #[serde(flatten)]
    pub after_all: OrderEffect,
    /// The relative slowdown of each measurement after the others, by its index: medians over the pairs.
    pub by_index: Vec<f64>,
    /// The effect of each of them alone, if that was measured.
    pub after_each: Vec<AfterOne>,
}

/// The effect of one benchmark that runs before.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AfterOne {
    /// Its id.
    pub other: String,
    /// Its effect.
    #[serde(flatten)]
    pub effect: OrderEffect,
}

impl OrderEffect {
    /// Estimates the effect from pairs of values in the metric's unit, `[alone, after others]`, each pair of one seed.
    /// Refuses fewer than two pairs.
    pub fn estimate(pairs: &[[f64; 2]], options: &Options) -> Result<Self, StatsError> {
        options.check()?;
        if pairs.len() < 2 {
            return Err(StatsError::TooFewBuilds { builds: pairs.len() });
        }
        let logs: Vec<f64> = pairs.iter().map(|[alone, after]| (after / alone).ln()).collect();
        let (Interval { center, low, high }, p) = mean_interval(&logs, options.confidence);
        let change = Interval { center: center.exp_m1(), low: low.exp_m1(), high: high.exp_m1() };
        Ok(Self { pairs: pairs.len(), change, p })
    }

    /// The warning, if the effect is `min_effect` or more.
    pub fn warning(&self, options: &Options) -> Option<Warning> {
        let Self { pairs, change, p } = *self;
        (p < SIGNIFICANT && change.center.abs() >= options.min_effect)
            .then_some(Warning::OrderEffect { change: change.center, pairs, p })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_effect_is_the_mean_log_ratio_with_its_t_interval() {
        let pairs = [[100.0, 130.0], [200.0, 262.0], [50.0, 64.0], [10.0, 13.1]];
        let found = OrderEffect::estimate(&pairs, &Options::default()).unwrap();
        let logs = pairs.map(|[alone, after]| (after / alone).ln());
        let mean = logs.iter().sum::<f64>() / 4.0;
        assert!((found.change.center - mean.exp_m1()).abs() < 1e-12);
        assert!(found.change.low > 0.27 && found.change.high < 0.33, "{found:?}");
        assert!(found.p < 0.001);
        assert!(matches!(found.warning(&Options::default()), Some(Warning::OrderEffect { .. })));
        let large = Options { min_effect: 0.5, ..Options::default() };
        assert_eq!(found.warning(&large), None);
    }

    #[test]
    fn order_effect_needs_two_pairs_and_a_difference() {
        let same = OrderEffect::estimate(&[[1.0, 1.0]; 5], &Options::default()).unwrap();
        assert_eq!((same.change.center, same.p), (0.0, 1.0));
        assert!(OrderEffect::estimate(&[[1.0, 2.0]], &Options::default()).is_err());
    }
}
