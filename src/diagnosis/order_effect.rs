//! Tests whether earlier benchmarks in the same process affect this one: Gil et al. 2011, section 6.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Options, SIGNIFICANT, Warning, options::check};
use crate::stats::{
    Interval, Moments, StatsError,
    distribution::{t_quantile, t_survival},
};

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

impl OrderEffect {
    /// Estimates the effect from pairs of values in the metric's unit, `[alone, after others]`, each pair of one seed.
    /// Refuses fewer than two pairs.
    pub fn estimate(pairs: &[[f64; 2]], options: &Options) -> Result<Self, StatsError> {
        check(options)?;
        if pairs.len() < 2 {
            return Err(StatsError::TooFewBuilds { builds: pairs.len() });
        }
        let logs: Vec<f64> = pairs.iter().map(|[alone, after]| (after / alone).ln()).collect();
        let moments = Moments::compute(&logs);
        let freedom = moments.count as f64 - 1.0;
        let error = (moments.squares / freedom / moments.count as f64).sqrt();
        let half_width = t_quantile(f64::midpoint(1.0, options.confidence), freedom) * error;
        let Interval { center, low, high } = Interval::around(moments.mean, half_width);
        let change = Interval { center: center.exp_m1(), low: low.exp_m1(), high: high.exp_m1() };
        let p = if error > 0.0 {
            2.0 * t_survival((moments.mean / error).abs(), freedom)
        } else {
            f64::from(moments.mean == 0.0)
        };
        Ok(Self { pairs: pairs.len(), change, p })
    }

    /// The warning, if the effect is `min_effect` or more.
    pub fn warning(&self, options: &Options) -> Option<Warning> {
        let Self { change, p, .. } = *self;
        (p < SIGNIFICANT && change.center.abs() >= options.min_effect)
            .then_some(Warning::OrderEffect { change: change.center, p })
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
