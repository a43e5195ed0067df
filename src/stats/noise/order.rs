//! Whether what is executed second takes longer than what is executed first.

use crate::stats::{Moments, distribution::t_survival};

/// The mean of `o·e`, where `e` is the log ratio of head to base of a pair of executions, and `o` is 1 where the
/// head went second and -1 where it went first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderEffect {
    /// How much longer the second takes: 0.01 is 1 %, on the log scale.
    pub mean: f64,
    /// The mean divided by its standard error.
    pub t: f64,
    /// How many pairs there are.
    pub pairs: usize,
}

impl OrderEffect {
    /// Of pairs, each with its log ratio and whether the head went second. `None` of fewer than 2, and of pairs
    /// that do not vary.
    pub fn of(pairs: impl IntoIterator<Item = (f64, bool)>) -> Option<Self> {
        let signed =
            |(ratio, is_head_second): (f64, bool)| if is_head_second { ratio } else { -ratio };
        let products: Vec<f64> = pairs.into_iter().map(signed).collect();
        let moments = Moments::of(&products);
        let error = moments.standard_deviation()? / (moments.count as f64).sqrt();
        (error > 0.0).then(|| Self {
            mean: moments.mean,
            t: moments.mean / error,
            pairs: moments.count,
        })
    }

    /// How likely a mean so far from 0 is where the order makes no difference.
    pub fn p(&self) -> f64 {
        2.0 * t_survival(self.t.abs(), self.pairs as f64 - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_second_that_takes_longer_is_found_whichever_version_it_is() {
        // o·e = 3, 1, 2: mean 2, sd 1, so t = 2·sqrt(3).
        let effect = OrderEffect::of([(3.0, true), (-1.0, false), (2.0, true)]).unwrap();
        assert!((effect.mean - 2.0).abs() < 1e-12);
        assert!((effect.t - 12.0_f64.sqrt()).abs() < 1e-12);
        // Two-sided, 2 degrees of freedom: 1 - t / sqrt(2 + t²).
        assert!((effect.p() - (1.0 - (12.0_f64 / 14.0).sqrt())).abs() < 1e-9);
    }

    #[test]
    fn a_change_of_the_head_is_no_effect_of_the_order() {
        let effect = OrderEffect::of([(5.0, true), (5.0, false), (4.0, true), (4.0, false)]);
        assert_eq!(effect.unwrap().mean, 0.0);
        assert_eq!(OrderEffect::of([(1.0, true)]), None);
        assert_eq!(OrderEffect::of([(1.0, true), (1.0, true)]), None);
    }

    proptest! {
        #[test]
        fn the_other_order_of_all_pairs_has_the_opposite_effect(
            pairs in prop::collection::vec((-1.0..1.0_f64, any::<bool>()), 3..20),
        ) {
            let turned = pairs.iter().map(|(ratio, second)| (*ratio, !second));
            let (one, other) = (OrderEffect::of(pairs.clone()), OrderEffect::of(turned));
            if let (Some(one), Some(other)) = (one, other) {
                prop_assert!((one.mean + other.mean).abs() < 1e-12);
                prop_assert!((one.p() - other.p()).abs() < 1e-12);
            }
        }
    }
}
