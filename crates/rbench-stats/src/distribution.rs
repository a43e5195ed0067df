//! Quantiles and tail probabilities of the normal, t, chi-squared, F and beta distributions, for real degrees of
//! freedom.
//!
//! Thin wrappers around `statrs` 0.19, tested against values computed with 30 digits. Arguments outside a function's
//! domain give NaN.

use statrs::distribution::{
    Beta, ChiSquared, Continuous as _, ContinuousCDF as _, FisherSnedecor, Normal, StudentsT,
};

/// The standard normal quantile: the `x` with P(Z <= x) = `probability`.
pub fn normal_quantile(probability: f64) -> f64 {
    if !(0.0..=1.0).contains(&probability) {
        return f64::NAN;
    }
    Normal::standard().inverse_cdf(probability)
}

/// P(Z <= x) of the standard normal distribution.
pub(super) fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// P(|Z| > |x|) of the standard normal distribution, accurate in the far tail.
pub fn normal_two_sided(x: f64) -> f64 {
    2.0 * Normal::standard().sf(x.abs())
}

/// The quantile of Student's t with `df` degrees of freedom, any positive number (Welch's are not integers); the normal
/// quantile for infinite `df`.
///
/// `statrs` alone is accurate to 1e-13 in the usual range of tests (tails of .5-5 %, 1-60 degrees of freedom), but only
/// to 2e-6 at a million degrees of freedom and to 2e-5 near the median. One Newton step improves that to 1e-10.
pub fn t_quantile(probability: f64, df: f64) -> f64 {
    if !(0.0..=1.0).contains(&probability) {
        return f64::NAN;
    }
    if df == f64::INFINITY {
        return normal_quantile(probability);
    }
    let Ok(t) = StudentsT::new(0.0, 1.0, df) else { return f64::NAN };
    let rough = t.inverse_cdf(probability);
    // One Newton step, from the tail in which `rough` lies so that nothing cancels.
    let excess =
        if rough > 0.0 { (1.0 - probability) - t.sf(rough) } else { t.cdf(rough) - probability };
    let step = excess / t.pdf(rough);
    if step.is_finite() { rough - step } else { rough }
}

/// P(T > x) of Student's t with `df` degrees of freedom, accurate in the far tail.
pub fn t_survival(x: f64, df: f64) -> f64 {
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |t| t.sf(x))
}

/// P(X > x) of the chi-squared distribution with `df` degrees of freedom.
pub fn chi_squared_survival(x: f64, df: f64) -> f64 {
    ChiSquared::new(df).map_or(f64::NAN, |chi_squared| chi_squared.sf(x))
}

/// The quantile of the chi-squared distribution with `df` degrees of freedom.
pub fn chi_squared_quantile(probability: f64, df: f64) -> f64 {
    if !(0.0..=1.0).contains(&probability) {
        return f64::NAN;
    }
    ChiSquared::new(df).map_or(f64::NAN, |chi_squared| chi_squared.inverse_cdf(probability))
}

/// P(X <= x) of the chi-squared distribution with `df` degrees of freedom.
pub(super) fn chi_squared_cdf(x: f64, df: f64) -> f64 {
    ChiSquared::new(df).map_or(f64::NAN, |chi_squared| chi_squared.cdf(x))
}

/// P(F > x) of Fisher's F with `df1` and `df2` degrees of freedom.
pub fn f_survival(x: f64, df1: f64, df2: f64) -> f64 {
    FisherSnedecor::new(df1, df2).map_or(f64::NAN, |f| f.sf(x))
}

/// P(X <= x) of the beta distribution with these shapes.
pub(super) fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    Beta::new(a, b).map_or(f64::NAN, |beta| beta.cdf(x))
}

/// The quantile of the beta distribution with these shapes.
///
/// By bisection, to the last digit that [`beta_cdf`] distinguishes: it is rarely needed.
pub(super) fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    let Ok(beta) = Beta::new(a, b) else { return f64::NAN };
    if !(0.0..=1.0).contains(&probability) {
        return f64::NAN;
    }
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if beta.cdf(middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative_error(obtained: f64, exact: f64) -> f64 {
        ((obtained - exact) / exact).abs()
    }

    /// (probability, degrees of freedom, quantile to 17 digits by 30-digit arithmetic)
    const T_QUANTILES: [(f64, f64, f64); 21] = [
        (0.975, 1.0, 12.706_204_736_174_705),
        (0.975, 2.0, 4.302_652_729_749_464),
        (0.975, 2.5, 3.574_654_842_003_683),
        (0.975, 4.0, 2.776_445_105_197_794_4),
        (0.975, 4.7, 2.620_726_075_353_170_4),
        (0.975, 9.0, 2.262_157_162_798_205_5),
        (0.975, 11.3, 2.193_876_896_339_163),
        (0.975, 17.9, 2.101_763_658_067_677_1),
        (0.975, 58.0, 2.001_717_484_145_236),
        (0.995, 4.0, 4.604_094_871_349_993),
        (0.995, 9.0, 3.249_835_541_592_126_3),
        (0.995, 18.0, 2.878_440_472_738_608),
        (0.9999, 3.0, 22.203_742_273_204_183),
        (0.999_999, 9.0, 10.720_160_409_909_5),
        (0.999_999, 1.2, 40_205.493_141_070_2),
        (0.99, 1e6, 2.326_351_603_120_805_4),
        (0.6, 9.0, 0.260_955_336_473_911),
        (0.51, 9.0, 0.025_774_047_507_690_49),
        (0.500_001, 9.0, 2.577_087_723_651_046_8e-6),
        (0.975, 0.5, 164.557_673_680_488_53),
        (0.999_999_999, 9.0, 23.729_919_819_378_5),
    ];

    #[test]
    fn t_quantiles_agree_with_the_table() {
        for (probability, df, exact) in T_QUANTILES {
            let obtained = t_quantile(probability, df);
            assert!(relative_error(obtained, exact) < 4e-9, "{probability} {df}: {obtained}");
            let mirrored = t_quantile(1.0 - probability, df);
            assert!(relative_error(mirrored, -exact) < 1e-6, "{probability} {df}: {mirrored}");
        }
    }

    #[test]
    fn t_quantiles_of_usual_tests_have_twelve_digits() {
        for (probability, df, exact) in &T_QUANTILES[..12] {
            assert!(relative_error(t_quantile(*probability, *df), *exact) < 1e-12);
        }
    }

    #[test]
    fn t_with_infinite_degrees_of_freedom_is_normal() {
        assert!(relative_error(t_quantile(0.975, f64::INFINITY), 1.959_963_984_540_054_2) < 1e-14);
        assert!((t_survival(-1.0, f64::INFINITY) - 0.841_344_746_068_542_9).abs() < 1e-10);
    }

    #[test]
    fn t_tail_probabilities_agree_with_the_table() {
        let table = [
            (10.0, 9.0, 1.789_118_715_962_367_9e-6),
            (50.0, 9.0, 1.284_476_455_437_399e-12),
            (3.0, 2.5, 0.036_288_047_774_515_92),
            (1e6, 1.3, 5.496_168_864_956_971e-9),
            (1e-8, 9.0, 0.499_999_996_119_650_9),
            (-2.0, 5.0, 0.949_030_260_585_070_8),
        ];
        for (x, df, exact) in table {
            assert!(relative_error(t_survival(x, df), exact) < 1e-8, "{x} {df}");
            let other_side = 1.0 - t_survival(-x, df);
            assert!((other_side - exact).abs() < 1e-8, "{x} {df}");
        }
    }

    #[test]
    fn f_tail_probabilities_agree_with_the_table() {
        let table = [
            (2.5, 9.0, 40.0, 0.022_585_656_582_757_745),
            (17.0, 19.0, 80.0, 1.166_505_467_466_088_5e-20),
            (391.0, 19.0, 100.0, 6.467_566_448_165_685e-85),
            (0.5, 3.0, 3.0, 0.708_208_594_209_071_2),
            (1.0, 1.0, 1.0, 0.5),
        ];
        for (x, df1, df2, exact) in table {
            assert!(relative_error(f_survival(x, df1, df2), exact) < 1e-12, "{x} {df1} {df2}");
        }
    }

    #[test]
    fn normal_quantiles_and_probabilities_agree_with_the_table() {
        let quantiles = [
            (0.975, 1.959_963_984_540_054_2),
            (0.995, 2.575_829_303_548_901),
            (0.001, -3.090_232_306_167_813_5),
            (1e-10, -6.361_340_902_404_057),
        ];
        for (probability, exact) in quantiles {
            assert!(relative_error(normal_quantile(probability), exact) < 1e-14);
        }
        let probabilities = [
            (-8.0, 6.220_960_574_271_784e-16),
            (-1.96, 0.024_997_895_148_220_434),
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9),
        ];
        for (x, exact) in probabilities {
            assert!(relative_error(normal_cdf(x), exact) < 1e-10, "{x}");
        }
    }

    #[test]
    fn beta_has_its_closed_forms_and_quantiles_invert_it() {
        for x in [0.01, 0.2, 0.5, 0.97] {
            assert!(relative_error(beta_cdf(x, 3.0, 1.0), x.powi(3)) < 1e-12, "{x}");
            assert!(relative_error(beta_cdf(x, 1.0, 4.0), 1.0 - (1.0 - x).powi(4)) < 1e-12, "{x}");
            assert!(relative_error(beta_quantile(x, 3.0, 1.0), x.powf(1.0 / 3.0)) < 1e-10, "{x}");
            let there = beta_quantile(x, 6.0, 115.0);
            assert!(relative_error(beta_cdf(there, 6.0, 115.0), x) < 1e-10, "{x}");
        }
    }

    #[test]
    fn arguments_outside_the_domain_give_nan() {
        assert!(beta_cdf(0.5, 0.0, 1.0).is_nan());
        assert!(beta_quantile(0.5, 1.0, -1.0).is_nan());
        assert!(beta_quantile(f64::NAN, 1.0, 1.0).is_nan());
        assert!(t_quantile(1.5, 3.0).is_nan());
        assert!(t_quantile(0.5, 0.0).is_nan());
        assert!(t_quantile(0.5, f64::NAN).is_nan());
        assert!(t_survival(1.0, -1.0).is_nan());
        assert!(f_survival(1.0, 0.0, 3.0).is_nan());
        assert!(normal_quantile(f64::NAN).is_nan());
    }
}
