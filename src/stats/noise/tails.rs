//! How much of a sample lies far from its median.

use crate::stats::{Proportion, median};

/// So many median absolute deviations are far: of a normal sample, 0.07 % lies beyond.
pub const FAR: f64 = 5.0;

/// The sample in units of its median absolute deviation from its median. `None` where that is 0.
pub fn scaled(sample: &[f64]) -> Option<Vec<f64>> {
    let center = median(&mut sample.to_vec());
    let mut deviations: Vec<f64> = sample.iter().map(|x| (x - center).abs()).collect();
    let unit = median(&mut deviations);
    (unit > 0.0).then(|| sample.iter().map(|x| (x - center) / unit).collect())
}

/// How many of some samples lie more than [`FAR`] from the median of their own sample. Those without a median
/// absolute deviation do not count.
pub fn far_from_median(samples: &[Vec<f64>]) -> Proportion {
    let scaled = samples.iter().filter_map(|sample| scaled(sample)).flatten();
    Proportion::of(scaled, |x| x.abs() > FAR)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::{Random, distribution::normal_quantile};

    #[test]
    fn what_is_far_is_counted_in_units_of_its_own_sample() {
        // Medians 3 and 30, median absolute deviations 1 and 10.
        let samples = [vec![1.0, 2.0, 3.0, 4.0, 9.0], vec![10.0, 20.0, 30.0, 40.0, 80.0]];
        assert_eq!(far_from_median(&samples), Proportion { count: 1, of: 10 });
        assert_eq!(far_from_median(&[vec![1.0, 1.0, 1.0, 2.0]]), Proportion::default());
        assert_eq!(far_from_median(&[]), Proportion::default());
    }

    #[test]
    fn hardly_anything_of_a_normal_sample_is_far() {
        let mut random = Random::new(1);
        let mut normal = || {
            let uniform = (random.bits() >> 11) as f64 / (1_u64 << 53) as f64;
            normal_quantile(uniform.max(1e-12))
        };
        let far = far_from_median(&[(0..100_000).map(|_| normal()).collect()]);
        // 74.5 are due.
        assert!((45..110).contains(&far.count), "{far:?}");
    }

    proptest! {
        #[test]
        fn neither_scale_nor_origin_matters(
            sample in prop::collection::vec(-1.0..1.0_f64, 3..30), scale in 0.5..8.0_f64,
        ) {
            let moved: Vec<f64> = sample.iter().map(|x| scale * x + 3.0).collect();
            let close = |one: &f64, other: &f64| (one - other).abs() < 1e-6 * one.abs().max(1.0);
            if let (Some(one), Some(other)) = (scaled(&sample), scaled(&moved)) {
                prop_assert!(one.iter().zip(&other).all(|(one, other)| close(one, other)));
            }
        }
    }
}
