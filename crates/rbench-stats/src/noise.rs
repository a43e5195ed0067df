//! Measures the noise of a machine from comparisons of unchanged code: the smallest detectable change, the effect of
//! the order, the correlation of consecutive executions, tails, and the uniformity of p values. Pure.
//!
//! `e` is the log ratio of one pair of executions, and `d` that of one pair of builds, the mean of its `e`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Moments, Proportion, distribution::t_survival, median, power::smallest_flagged};

/// The smallest relative increase that a comparison of `builds` pairs of builds flags with a power of 80 %, for this
/// standard deviation of the differences of pairs on the log scale. NaN for fewer than 2 builds.
pub fn smallest_detectable(deviation: f64, builds: usize, false_alarm_rate: f64) -> f64 {
    let error = deviation / (builds as f64).sqrt();
    smallest_flagged(builds as f64 - 1.0, error, false_alarm_rate)
}

/// Pools the standard deviations of samples of equal size; `None` if there are none.
pub fn pooled(deviations: &[f64]) -> Option<f64> {
    let squares: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
    (!deviations.is_empty()).then(|| (squares / deviations.len() as f64).sqrt())
}

/// The effect of running second: the mean of `o·e`, where `e` is the log ratio of head to base of a pair of executions,
/// and `o` is 1 if the head ran second and -1 if it ran first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PositionEffect {
    /// The number of pairs of executions.
    pub pairs: usize,
    /// The mean slowdown of the second, on the log scale: 0.01 is 1 %.
    pub mean: f64,
    /// The mean divided by its standard error.
    pub t: f64,
    /// The two-sided p value of no effect of the order.
    #[schemars(range(min = 0, max = 1))]
    pub p: f64,
}

impl PositionEffect {
    /// Estimates the effect from pairs, each with its log ratio and true if the head ran second. `None` for fewer than
    /// 2 pairs, and for pairs that do not vary.
    pub fn estimate(pairs: impl IntoIterator<Item = (f64, bool)>) -> Option<Self> {
        let signed =
            |(ratio, is_head_second): (f64, bool)| if is_head_second { ratio } else { -ratio };
        let products: Vec<f64> = pairs.into_iter().map(signed).collect();
        let moments = Moments::compute(&products);
        let error = moments.standard_deviation()? / (moments.count as f64).sqrt();
        let (pairs, mean, t) = (moments.count, moments.mean, moments.mean / error);
        let p = || 2.0 * t_survival(t.abs(), pairs as f64 - 1.0);
        (error > 0.0).then(|| Self { pairs, mean, t, p: p() })
    }
}

/// The autocorrelation at lag 1 of separate sequences: the end of one is no neighbour of the start of the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Autocorrelation {
    /// The number of pairs of neighbours.
    pub pairs: usize,
    /// From -1 to 1.
    pub correlation: f64,
    /// The approximate limit that the absolute correlation of independent neighbours stays below in 95 % of all cases.
    #[schemars(range(min = 0))]
    pub by_chance: f64,
}

impl Autocorrelation {
    /// `Σ (x[i] − mean) (x[i + 1] − mean) / Σ (x[i] − mean)²`, each sequence about its own mean. `None` without
    /// neighbours or without variance.
    pub fn estimate(sequences: &[Vec<f64>]) -> Option<Self> {
        let (mut products, mut squares, mut neighbours) = (0.0, 0.0, 0);
        for sequence in sequences {
            let mean = sequence.iter().sum::<f64>() / sequence.len() as f64;
            squares += sequence.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
            products += sequence.windows(2).map(|x| (x[0] - mean) * (x[1] - mean)).sum::<f64>();
            neighbours += sequence.len().saturating_sub(1);
        }
        let varies = neighbours > 0 && squares > 0.0;
        varies.then(|| Self {
            pairs: neighbours,
            correlation: products / squares,
            by_chance: 1.96 / (neighbours as f64).sqrt(),
        })
    }
}

/// A value this many median absolute deviations from the median is far: 0.07 % of a normal sample.
pub const FAR: f64 = 5.0;

/// The sample as distances from its median, in units of its median absolute deviation. `None` where that is 0.
pub fn scaled(sample: &[f64]) -> Option<Vec<f64>> {
    let center = median(&mut sample.to_vec());
    let mut deviations: Vec<f64> = sample.iter().map(|x| (x - center).abs()).collect();
    let unit = median(&mut deviations);
    (unit > 0.0).then(|| sample.iter().map(|x| (x - center) / unit).collect())
}

/// Counts the values more than [`FAR`] from the median of their own sample. Samples with a median absolute deviation of
/// 0 are skipped.
pub fn far_from_median(samples: &[Vec<f64>]) -> Proportion {
    let scaled = samples.iter().filter_map(|sample| scaled(sample)).flatten();
    Proportion::count(scaled, |x| x.abs() > FAR)
}

/// The distance of the distribution of p values from the uniform one, by Kolmogorov and Smirnov.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Uniformity {
    /// N: the number of p values.
    pub count: usize,
    /// √N·D, where D is the larger of both distances; above 1.36 for 5 % of uniform samples.
    #[schemars(range(min = 0))]
    pub statistic: f64,
    /// D⁺: the largest excess of the share of p values below a limit. Small p values are false alarms.
    #[schemars(range(min = 0, max = 1))]
    pub too_small: f64,
    /// D⁻: the largest deficit of that share.
    #[schemars(range(min = 0, max = 1))]
    pub too_large: f64,
}

impl Uniformity {
    /// For large N, √N·D exceeds this for one uniform sample in 20.
    pub const USUAL: f64 = 1.36;

    /// Tests these p values; `None` if there are none.
    pub fn test(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let steps = (1_u32..).map(f64::from).zip(&sorted);
        let excess =
            steps.map(|(rank, p)| [rank / count as f64 - p, p - (rank - 1.0) / count as f64]);
        let largest =
            excess.fold([0.0_f64; 2], |most, one| [most[0].max(one[0]), most[1].max(one[1])]);
        let [too_small, too_large] = largest;
        let statistic = (count as f64).sqrt() * too_small.max(too_large);
        (count > 0).then_some(Self { count, statistic, too_small, too_large })
    }

    /// True if there are too many small p values, rather than too many large ones.
    pub fn has_small_ones(&self) -> bool {
        self.too_small > self.too_large
    }

    /// The probability of this many small p values under uniformity: Smirnov's exp(−2 N D⁺²), which is correct for
    /// large N and too large for a small one.
    pub fn p_of_small_ones(&self) -> f64 {
        (-2.0 * self.count as f64 * self.too_small.powi(2)).exp()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Random,
        distribution::normal_quantile,
        power::{POWER, two_sided_power},
    };

    #[test]
    fn smallest_detectable_of_ten_pairs_is_about_one_sd() {
        // The effect that ten pairs detect with a power of 80 %, from tables of the paired t test: 1.00.
        let deviation = 1e-4;
        let found = smallest_detectable(deviation, 10, 0.05) / deviation;
        assert!((found - 1.0).abs() < 0.005, "{found}");
        assert!(smallest_detectable(deviation, 1, 0.05).is_nan());
    }

    #[test]
    fn pooled_averages_squared_deviations() {
        assert!((pooled(&[1.0, 7.0]).unwrap() - 5.0).abs() < 1e-12);
        assert_eq!(pooled(&[]), None);
    }

    proptest! {
        #[test]
        fn smallest_detectable_change_has_the_stated_power(
            deviation in 1e-5..0.1_f64, builds in 3..60_usize, rate in 0.001..0.2_f64,
        ) {
            let log_change = smallest_detectable(deviation, builds, rate).ln_1p();
            let noncentrality = log_change / deviation * (builds as f64).sqrt();
            let power = two_sided_power(builds as f64 - 1.0, noncentrality, rate);
            prop_assert!((power - POWER).abs() < 1e-6);
        }
    }

    #[test]
    fn position_effect_is_found_for_either_version() {
        // o·e = 3, 1, 2: mean 2, sd 1, so t = 2·sqrt(3).
        let effect = PositionEffect::estimate([(3.0, true), (-1.0, false), (2.0, true)]).unwrap();
        assert!((effect.mean - 2.0).abs() < 1e-12);
        assert!((effect.t - 12.0_f64.sqrt()).abs() < 1e-12);
        // Two-sided, 2 degrees of freedom: 1 - t / sqrt(2 + t²).
        assert!((effect.p - (1.0 - (12.0_f64 / 14.0).sqrt())).abs() < 1e-9);
    }

    #[test]
    fn position_effect_ignores_a_change_of_the_head() {
        let effect =
            PositionEffect::estimate([(5.0, true), (5.0, false), (4.0, true), (4.0, false)]);
        assert_eq!(effect.unwrap().mean, 0.0);
        assert_eq!(PositionEffect::estimate([(1.0, true)]), None);
        assert_eq!(PositionEffect::estimate([(1.0, true), (1.0, true)]), None);
    }

    proptest! {
        #[test]
        fn position_effect_is_negated_by_the_opposite_order(
            pairs in prop::collection::vec((-1.0..1.0_f64, any::<bool>()), 3..20),
        ) {
            let turned = pairs.iter().map(|(ratio, second)| (*ratio, !second));
            let (one, other) = (PositionEffect::estimate(pairs.clone()), PositionEffect::estimate(turned));
            if let (Some(one), Some(other)) = (one, other) {
                prop_assert!((one.mean + other.mean).abs() < 1e-12);
                prop_assert!((one.p - other.p).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn autocorrelation_matches_textbook_examples() {
        let ramp = |end: u32| (1..=end).map(f64::from).collect::<Vec<_>>();
        let of = |sequence| Autocorrelation::estimate(&[sequence]).unwrap().correlation;
        assert!((of(ramp(5)) - 0.4).abs() < 1e-12);
        assert!((of(ramp(10)) - 0.7).abs() < 1e-12);
        assert!((of(vec![1.0, -1.0, 1.0, -1.0]) + 0.75).abs() < 1e-12);
    }

    #[test]
    fn autocorrelation_keeps_sequences_apart() {
        let two = Autocorrelation::estimate(&[vec![1.0, -1.0], vec![7.0, 5.0]]).unwrap();
        assert_eq!((two.correlation, two.pairs), (-0.5, 2));
        assert_eq!(Autocorrelation::estimate(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(Autocorrelation::estimate(&[vec![1.0, 1.0]]), None);
        assert_eq!(Autocorrelation::estimate(&[]), None);
    }

    proptest! {
        #[test]
        fn autocorrelation_is_independent_of_scale_and_origin(
            sequence in prop::collection::vec(-1.0..1.0_f64, 3..30), scale in 0.1..9.0_f64,
        ) {
            let moved = sequence.iter().map(|x| scale * x + 3.0).collect();
            if let (Some(one), Some(other)) = (Autocorrelation::estimate(&[sequence]), Autocorrelation::estimate(&[moved])) {
                prop_assert!((one.correlation - other.correlation).abs() < 1e-9);
                prop_assert!(one.correlation.abs() <= 1.0 + 1e-12);
            }
        }
    }

    #[test]
    fn far_from_median_uses_the_scale_of_each_sample() {
        // Medians 3 and 30, median absolute deviations 1 and 10.
        let samples = [vec![1.0, 2.0, 3.0, 4.0, 9.0], vec![10.0, 20.0, 30.0, 40.0, 80.0]];
        assert_eq!(far_from_median(&samples), Proportion { count: 1, of: 10 });
        assert_eq!(far_from_median(&[vec![1.0, 1.0, 1.0, 2.0]]), Proportion::default());
        assert_eq!(far_from_median(&[]), Proportion::default());
    }

    #[test]
    fn far_from_median_is_rare_in_normal_samples() {
        let mut random = Random::new(1);
        let mut normal = || {
            let uniform = (random.bits() >> 11) as f64 / (1_u64 << 53) as f64;
            normal_quantile(uniform.max(1e-12))
        };
        let far = far_from_median(&[(0..100_000).map(|_| normal()).collect()]);
        // The expected number is 74.5.
        assert!((45..110).contains(&far.count), "{far:?}");
    }

    proptest! {
        #[test]
        fn far_from_median_is_independent_of_scale_and_origin(
            sample in prop::collection::vec(-1.0..1.0_f64, 3..30), scale in 0.5..8.0_f64,
        ) {
            let moved: Vec<f64> = sample.iter().map(|x| scale * x + 3.0).collect();
            let close = |one: &f64, other: &f64| (one - other).abs() < 1e-6 * one.abs().max(1.0);
            if let (Some(one), Some(other)) = (scaled(&sample), scaled(&moved)) {
                prop_assert!(one.iter().zip(&other).all(|(one, other)| close(one, other)));
            }
        }
    }

    #[test]
    fn uniformity_matches_a_textbook_example() {
        // Banks, Carson, Nelson and Nicol, Discrete-Event System Simulation: D+ = .26, D- = .21.
        let found = Uniformity::test(&[0.44, 0.81, 0.14, 0.05, 0.93]).unwrap();
        assert!((found.too_small - 0.26).abs() < 1e-12, "{found:?}");
        assert!((found.too_large - 0.21).abs() < 1e-12, "{found:?}");
        assert!((found.statistic - 5.0_f64.sqrt() * 0.26).abs() < 1e-12);
        assert!(found.has_small_ones());
    }

    #[test]
    fn uniformity_distinguishes_small_from_large_p_values() {
        let small = Uniformity::test(&[0.01; 30]).unwrap();
        assert!(small.statistic > Uniformity::USUAL && small.has_small_ones());
        assert!(small.p_of_small_ones() < 1e-20);
        let large = Uniformity::test(&[1.0; 30]).unwrap();
        assert!(large.statistic > Uniformity::USUAL && !large.has_small_ones());
        assert_eq!(large.p_of_small_ones(), 1.0);
        assert_eq!(Uniformity::test(&[]), None);
    }

    proptest! {
        #[test]
        fn uniformity_is_best_for_evenly_spread_values(count in 1..200_u32) {
            let values: Vec<f64> =
                (0..count).map(|at| (f64::from(at) + 0.5) / f64::from(count)).collect();
            let found = Uniformity::test(&values).unwrap();
            prop_assert!((found.too_small - 0.5 / f64::from(count)).abs() < 1e-12);
            prop_assert!((found.too_large - 0.5 / f64::from(count)).abs() < 1e-12);
        }
    }
}
