//! The power of a t test, and the smallest change that it detects with a given power. Pure.
//!
//! An effect enters as its *noncentrality*: the true difference divided by its standard error. With `l` builds per
//! version that is `√l` times the effect in standard deviations of the paired differences, or, unpaired, `√(l/2)` times
//! the effect in standard deviations of the build means.

use std::ops::RangeInclusive;

use super::distribution::{chi_squared_cdf, normal_cdf, normal_quantile, t_quantile};

/// The power for which the smallest visible change is reported.
pub(super) const POWER: f64 = 0.80;

/// P(T <= `x`) of the noncentral t distribution, for `df` of 1 or more; NaN below.
///
/// `T = (Z + noncentrality) / S` with `Z` normal and `S = √(χ²/df)`. Up to a noncentrality of 10 it is
/// the mean of Φ(x·S − noncentrality) over `S`, above the mean of P(S >= (Z + noncentrality) / x) over
/// `Z`: of the two, the one whose integrand is smooth.
pub fn noncentral_t_cdf(x: f64, df: f64, noncentrality: f64) -> f64 {
    if !(df >= 1.0 && x.is_finite() && noncentrality.is_finite()) {
        f64::NAN
    } else if df == f64::INFINITY {
        normal_cdf(x - noncentrality)
    } else if noncentrality > LARGE {
        mean_over_z(x, df, noncentrality)
    } else if noncentrality < -LARGE {
        1.0 - mean_over_z(-x, df, -noncentrality)
    } else {
        mean_over_s(df, noncentrality, |s| x * s)
    }
}

/// A noncentrality that keeps `Z + noncentrality` positive for all practical purposes.
const LARGE: f64 = 10.0;

/// The largest practical distance of a normal number from 0: Φ(−9) is 1e-19.
const FAR: f64 = 9.0;

/// The mean of Φ(`bound`(S) − noncentrality) over the density of `S`.
///
/// With `u = ln S` that density is proportional to exp(df·(u − e^2u/2)), an entire function that decays
/// on both sides, for which the plain trapezoid rule converges faster than any power of the step; its
/// sum of weights is the normalising constant.
fn mean_over_s(df: f64, noncentrality: f64, bound: impl Fn(f64) -> f64) -> f64 {
    // Points with a smaller exponent are skipped: e^-34 is 2e-15.
    const NEGLIGIBLE: f64 = -34.0;
    // A quarter of the narrowest feature: the density is 1/√df wide, the step of Φ 1/noncentrality.
    let step = 0.25 / df.sqrt().max(noncentrality.abs());
    let (mut weights, mut total) = (0.0, 0.0);
    let mut add = |u: f64| {
        let exponent = df * (u - f64::exp_m1(2.0 * u) / 2.0);
        let weight = exponent.exp();
        weights += weight;
        total += weight * normal_cdf(bound(u.exp()) - noncentrality);
        exponent > NEGLIGIBLE
    };
    let mut steps = 0.0;
    while add(steps * step) {
        steps += 1.0;
    }
    steps = -1.0;
    while add(steps * step) {
        steps -= 1.0;
    }
    total / weights
}

/// The mean of P(S >= (Z + noncentrality) / x) over the normal density of `Z`, also by the trapezoid
/// rule; for a noncentrality above [`LARGE`].
fn mean_over_z(x: f64, df: f64, noncentrality: f64) -> f64 {
    // S is never that large, so T is never that small.
    if x <= (noncentrality - FAR) / (1.0 + FAR / df.sqrt()) {
        return 0.0;
    }
    // A quarter of the narrower of the two: the normal density, the step of the probability.
    let step = 0.25 * (x / df.sqrt()).min(1.0);
    let (mut weights, mut total) = (0.0, 0.0);
    let mut z = -FAR;
    while z <= FAR {
        let weight = (-z * z / 2.0).exp();
        let s = (z + noncentrality) / x;
        weights += weight;
        total += weight * (1.0 - chi_squared_cdf(df * s * s, df));
        z += step;
    }
    total / weights
}

/// The probability that a one-sided t test at rate `alpha` detects an effect of this noncentrality in its direction
/// *and* estimates it to be at least `least`, in standard errors.
///
/// With `S = √(χ²/df)` it is the mean of 1 − Φ(max(t·S, least) − noncentrality) over `S`.
pub fn power_to_report(df: f64, noncentrality: f64, alpha: f64, least: f64) -> f64 {
    let critical = t_quantile(1.0 - alpha, df);
    if !(df >= 1.0 && critical.is_finite() && noncentrality.is_finite()) {
        return f64::NAN;
    }
    if least <= 0.0 {
        return 1.0 - noncentral_t_cdf(critical, df, noncentrality);
    }
    1.0 - mean_over_s(df, noncentrality, |s| (critical * s).max(least))
}

/// The probability that a two-sided t test at rate `alpha` flags an effect of this noncentrality, in
/// either direction.
pub fn two_sided_power(df: f64, noncentrality: f64, alpha: f64) -> f64 {
    let critical = t_quantile(1.0 - alpha / 2.0, df);
    1.0 - noncentral_t_cdf(critical, df, noncentrality)
        + noncentral_t_cdf(-critical, df, noncentrality)
}

/// The smallest relative increase that a two-sided t test at rate `alpha` flags with a power of 80 %, where the
/// change has this standard error on the log scale; 0 if the rate alone is 80 %, NaN unless `df` is at least 1.
pub(super) fn smallest_flagged(df: f64, standard_error: f64, alpha: f64) -> f64 {
    if alpha >= POWER {
        return 0.0;
    }
    (noncentrality_for(df, alpha, POWER) * standard_error).exp_m1()
}

/// The noncentrality that a two-sided t test at rate `alpha` flags with probability `power`: times the standard error
/// of a change, this is the smallest change that an experiment can detect.
///
/// NaN unless `df` is at least 1 and 0 < `alpha` < `power` < 1.
pub(super) fn noncentrality_for(df: f64, alpha: f64, power: f64) -> f64 {
    if !(df >= 1.0 && alpha > 0.0 && alpha < power && power < 1.0) {
        return f64::NAN;
    }
    let excess = |noncentrality| two_sided_power(df, noncentrality, alpha) - power;
    let (mut low, mut below) = (0.0, alpha - power);
    // Exact for infinite `df`, and the right order of magnitude for any.
    let mut high = t_quantile(1.0 - alpha / 2.0, df) + normal_quantile(power).max(1.0);
    let mut above = excess(high);
    while above < 0.0 {
        (low, below) = (high, above);
        high *= 2.0;
        above = excess(high);
    }
    // Regula falsi; where one end stays, its weight is halved (the Illinois rule), or convergence would be slow. The
    // power is needed to 1e-10.
    let mut last_was_low = None;
    loop {
        let between = (low * above - high * below) / (above - below);
        let value = excess(between);
        let is_close = value.abs() < 1e-10 || high - low < 1e-12 * high;
        if is_close || value.is_nan() {
            return between;
        }
        let is_low = value < 0.0;
        let again = last_was_low == Some(is_low);
        if is_low {
            (low, below) = (between, value);
            above = if again { above / 2.0 } else { above };
        } else {
            (high, above) = (between, value);
            below = if again { below / 2.0 } else { below };
        }
        last_was_low = Some(is_low);
    }
}

/// The smallest of these numbers that satisfies a condition which every larger number then satisfies too.
pub(super) fn smallest(
    numbers: RangeInclusive<usize>,
    is_enough: impl Fn(usize) -> bool,
) -> Option<usize> {
    let (mut low, mut high) = (*numbers.start(), numbers.end() + 1);
    while low < high {
        let middle = usize::midpoint(low, high);
        if is_enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    numbers.contains(&low).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::super::distribution::t_survival;
    use super::*;

    #[test]
    fn noncentral_t_without_an_effect_is_students_t() {
        for (x, df) in [(-3.0, 1.0), (0.5, 1.5), (2.0, 9.0), (1.0, 58.0), (12.7, 1.0)] {
            let obtained = noncentral_t_cdf(x, df, 0.0);
            assert!((obtained - t_survival(-x, df)).abs() < 1e-9, "{x} {df} {obtained}");
        }
    }

    /// Values of the defining integral by adaptive quadrature with 20 digits.
    #[test]
    fn noncentral_t_agrees_with_twenty_digit_arithmetic() {
        let table = [
            (2.262, 9.0, 3.5, 0.125_208_013_042_28),
            (12.7, 1.0, 30.0, 0.018_526_905_621_726),
            (40.0, 1.0, 30.0, 0.453_395_809_186),
            (25.0, 9.0, 20.0, 0.760_578_429_98),
            (12.0, 1000.0, 11.0, 0.832_211_302_651),
            (-25.0, 9.0, -20.0, 0.239_421_570_02),
            (-1.0, 4.7, 0.5, 0.083_398_677_795_107),
            (2.0, 58.0, 2.0, 0.496_588_150_106_45),
            (4.3, 2.0, 6.0, 0.163_931_262_450_76),
            (0.5, 1.5, 1.0, 0.289_101_414_496_61),
        ];
        for (x, df, noncentrality, exact) in table {
            let obtained = noncentral_t_cdf(x, df, noncentrality);
            assert!((obtained - exact).abs() < 1e-8, "{x} {df} {noncentrality}: {obtained}");
        }
    }

    #[test]
    fn two_sided_power_of_no_effect_is_the_rate_of_the_test() {
        assert!((two_sided_power(9.0, 0.0, 0.05) - 0.05).abs() < 1e-9);
    }

    /// In standard deviations of d, with a power of 80 %.
    fn detectable_paired(builds: u32, alpha: f64) -> f64 {
        let builds = f64::from(builds);
        noncentrality_for(builds - 1.0, alpha, 0.8) / builds.sqrt()
    }

    /// In standard deviations of the build means, by the pooled t test. Welch's test, which does not assume equal
    /// spreads, has 2.3 percentage points less power at 5 builds, half a point less at 10.
    fn detectable_unpaired(builds: u32) -> f64 {
        let builds = f64::from(builds);
        noncentrality_for(2.0 * (builds - 1.0), 0.05, 0.8) * (2.0 / builds).sqrt()
    }

    #[test]
    fn smallest_detectable_paired_change_is_as_tabulated() {
        let table = [
            (3, 3.27),
            (4, 2.13),
            (5, 1.68),
            (6, 1.44),
            (8, 1.16),
            (10, 1.00),
            (12, 0.89),
            (15, 0.78),
            (20, 0.66),
            (30, 0.53),
            (50, 0.41),
        ];
        for (builds, expected) in table {
            let obtained = detectable_paired(builds, 0.05);
            assert!((obtained - expected).abs() < 0.006, "{builds}: {obtained}");
        }
        for (builds, expected) in [(5, 2.63), (10, 1.33), (20, 0.84)] {
            let obtained = detectable_paired(builds, 0.01);
            assert!((obtained - expected).abs() < 0.006, "{builds}: {obtained}");
        }
    }

    #[test]
    fn smallest_detectable_unpaired_change_is_as_tabulated() {
        let table =
            [(3, 3.07), (5, 2.02), (8, 1.51), (10, 1.32), (20, 0.91), (30, 0.74), (50, 0.57)];
        for (builds, expected) in table {
            let obtained = detectable_unpaired(builds);
            assert!((obtained - expected).abs() < 0.006, "{builds}: {obtained}");
        }
    }

    #[test]
    fn both_integrals_agree_where_they_meet() {
        for (x, df) in [(9.0, 1.0), (30.0, 1.0), (11.0, 9.0), (8.0, 4.7), (10.0, 300.0)] {
            let (s, z) = (mean_over_s(df, 10.0, |s| x * s), mean_over_z(x, df, 10.0));
            assert!((s - z).abs() < 1e-9, "{x} {df}: {s} {z}");
        }
    }

    #[test]
    fn extreme_tests_have_finite_answers() {
        // One degree of freedom at a rate of 1e-9: the critical value is 6e8.
        let obtained = noncentrality_for(1.0, 1e-9, 0.8);
        assert!((two_sided_power(1.0, obtained, 1e-9) - 0.8).abs() < 1e-6, "{obtained}");
        let normal = noncentrality_for(f64::INFINITY, 0.05, 0.8);
        assert!((normal - (1.959_964 + 0.841_621)).abs() < 1e-4, "{normal}");
    }

    #[test]
    fn arguments_without_an_answer_give_nan() {
        assert!(detectable_paired(1, 0.05).is_nan());
        assert!(noncentrality_for(9.0, 0.05, 1.0).is_nan());
        assert!(noncentrality_for(9.0, 0.9, 0.8).is_nan());
        assert!(noncentral_t_cdf(f64::NAN, 9.0, 1.0).is_nan());
    }
}
