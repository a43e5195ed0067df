//! Recommends the numbers of builds, executions and measurements of an experiment. Pure.
//!
//! Equations (18)-(23) of Kalibera et al. 2006 with the unbiased components `T²` instead of `S²`: `S_B²` contains `E/n`
//! and `S_V²` contains `B/m`, so with them the optimum would depend on the sample sizes of the experiment it was
//! estimated from.
//!
//! These equations are about *means*, for which `n` measurements of one execution leave `E/n` of their variance. They
//! do not hold for other estimators: the minimum in particular falls with every further measurement, and how fast its
//! variance falls depends on the shape of its tail. For those, `n0` is a guess, while `m0` and the number of builds hold
//! with the variance of the executions' estimates instead of `B + E/n`.

use super::{components::Levels, distribution::t_quantile, moments::whole, power::smallest};
use crate::SampleSizes;

/// The costs of an experiment, in units of the time of one measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// `b`: the cost of one build.
    pub build: f64,
    /// `w`: the cost of starting and warming up one execution.
    pub execution: f64,
    /// `q`: the time of everything that a repetition must repeat, divided by the time of the measured operation; 1 if
    /// all of it is measured.
    pub repeat: f64,
}

impl Cost {
    /// `(b + (w + n)·m·q)·l`, equation (22).
    pub fn total(&self, dimensions: SampleSizes) -> f64 {
        let SampleSizes { builds, executions, measurements, .. } = dimensions;
        let per_build = (self.execution + measurements as f64) * executions as f64 * self.repeat;
        (self.build + per_build) * builds as f64
    }
}

/// The best number of repetitions at one level, before rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimum {
    /// The level above does not vary, so every repetition here helps as much as the one before: take as many as time
    /// allows.
    Unlimited,
    /// Neither this level nor the one above varies, so the number makes no difference: take one.
    Indifferent,
    /// This number, approximately. Below 1 it means one: spend on the level above.
    About(f64),
}

impl Optimum {
    /// `sqrt(price · below / above)`: repetitions of a level with variance `below` under one with variance `above`,
    /// whose repetition costs `price` as much. Components that are not positive count as absent.
    fn new(price: f64, below: f64, above: f64) -> Self {
        match (below > 0.0, above > 0.0) {
            (_, true) => Self::About((price * below.max(0.0) / above).sqrt()),
            (true, false) => Self::Unlimited,
            (false, false) => Self::Indifferent,
        }
    }

    /// Rounds to a whole number from 1 to `cap` (or 1, if that is 0): up, as in (8) of the 2005 paper.
    pub fn at_most(self, cap: usize) -> usize {
        let cap = cap.max(1);
        match self {
            Self::About(number) => whole(number.ceil()).clamp(1, cap),
            Self::Unlimited => cap,
            Self::Indifferent => 1,
        }
    }
}

/// `m0 = sqrt((b/w) · T_B² / T_V²) / sqrt(q)`, equation (23): executions per build.
pub fn best_executions(components: &Levels<f64>, cost: &Cost) -> Optimum {
    let price = cost.build / cost.execution / cost.repeat;
    Optimum::new(price, components.build, components.version)
}

/// `n0 = sqrt(w · T_E² / T_B²)`, equation (23): measurements per execution. Equation (8) of Kalibera et al. 2005 is the
/// same for two levels, where builds do not vary.
///
/// (23) assumes `m0` executions. Where `m0` is 1 or less (executions hardly vary, or a build is cheap) there is one
/// execution of each build, both are repeated together, and (20) with `m = 1` is least at `n0 = sqrt((b/q + w) · T_E² /
/// (T_V² + T_B²))`.
pub fn best_measurements(components: &Levels<f64>, cost: &Cost) -> Optimum {
    let Levels { execution, build, version } = *components;
    match best_executions(components, cost) {
        Optimum::About(executions) if executions <= 1.0 => {
            let above = version.max(0.0) + build.max(0.0);
            Optimum::new(cost.build / cost.repeat + cost.execution, execution, above)
        }
        _ => Optimum::new(cost.execution, execution, build),
    }
}

/// The variance of the mean of an experiment, `V/l + B/(lm) + E/(lmn)`: equation (19) with unbiased components.
/// Components below 0 count as 0.
pub fn variance(components: &Levels<f64>, dimensions: SampleSizes) -> f64 {
    let SampleSizes { builds, executions, measurements, .. } = dimensions;
    let (l, m, n) = (builds as f64, executions as f64, measurements as f64);
    let Levels { execution, build, version } = *components;
    (version.max(0.0) + (build.max(0.0) + execution.max(0.0) / n) / m) / l
}

/// The approximate half-width of the three-level interval of an experiment: `t_{1−α/2, l−1} · sqrt(V/l + B/(lm) +
/// E/(lmn))`. Infinite for fewer than 2 builds.
pub fn half_width(components: &Levels<f64>, dimensions: SampleSizes, confidence: f64) -> f64 {
    if dimensions.builds < 2 {
        return f64::INFINITY;
    }
    let t = t_quantile(f64::midpoint(1.0, confidence), dimensions.builds as f64 - 1.0);
    t * variance(components, dimensions).sqrt()
}

/// The smallest number of builds, 2 or more, with which [`half_width`] is at most `wanted`; none if `most` builds are
/// not enough.
pub fn builds_for_half_width(
    components: &Levels<f64>,
    executions: usize,
    measurements: usize,
    confidence: f64,
    wanted: f64,
    most: usize,
) -> Option<usize> {
    let sizes = |builds| SampleSizes { first_analysis: None, builds, executions, measurements };
    smallest(2..=most, |builds| half_width(components, sizes(builds), confidence) <= wanted)
}

/// `τ_acc`: an upper bound on the error of the clock, in nanoseconds.
const CLOCK_ACCURACY: f64 = 1000.0;

/// `τ_prec`: the resolution of the clock, in nanoseconds.
const CLOCK_PRECISION: f64 = 1.0;

/// j: with more iterations than this, the error of the clock is below its resolution.
const MOST_ITERATIONS: f64 = 1000.0;

/// The number of iterations that the clock's accuracy requires of a measurement: ν(t) of Chen & Revels 2016, equation
/// (11), with `a = 0.009 / τ_prec` and `b = 0.5`. About 1,000 iterations for a routine of no time at all, falling to 1
/// as `t` (nanoseconds for an iteration) exceeds the accuracy of the clock. `rbench-harness` starts from it, before it
/// raises iterations to the minimum time.
pub fn oracle(t: f64) -> u64 {
    let logistic = 1.0
        + (MOST_ITERATIONS - 1.0)
            / (1.0 + (0.009 / CLOCK_PRECISION * (t - 0.5 * CLOCK_ACCURACY)).exp());
    whole(logistic) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn components(version: f64, build: f64, execution: f64) -> Levels<f64> {
        Levels { execution, build, version }
    }

    const COST: Cost = Cost { build: 300.0, execution: 100.0, repeat: 1.0 };

    fn rounded(optimum: Optimum) -> f64 {
        let Optimum::About(number) = optimum else { panic!("{optimum:?}") };
        number
    }

    #[test]
    fn optimum_needs_unbiased_components() {
        let unbiased = components(1.0, 1.0, 25.0);
        assert!((rounded(best_measurements(&unbiased, &COST)) - 50.0).abs() < 1e-12);
        assert!((rounded(best_executions(&unbiased, &COST)) - 3.0_f64.sqrt()).abs() < 1e-12);
        // With m = 2, n = 5: S_B² = 1 + 25/5, S_V² = 1 + 6/2.
        let squares = components(4.0, 6.0, 25.0);
        assert!((rounded(best_measurements(&squares, &COST)) - 20.41).abs() < 0.005);
        assert!((rounded(best_executions(&squares, &COST)) - 2.12).abs() < 0.005);
    }

    #[test]
    fn repeated_setup_lowers_the_best_number_of_executions() {
        let costly = Cost { build: 3000.0, ..COST };
        let dearer = Cost { repeat: 4.0, ..costly };
        let unbiased = components(1.0, 1.0, 25.0);
        assert_eq!(best_measurements(&unbiased, &dearer), best_measurements(&unbiased, &costly));
        let halved = rounded(best_executions(&unbiased, &dearer));
        assert!((halved - 30.0_f64.sqrt() / 2.0).abs() < 1e-12);
    }

    #[test]
    fn constant_level_above_leaves_the_number_to_the_cap() {
        let no_layout = components(-0.1, 1.0, 25.0);
        assert_eq!(best_executions(&no_layout, &COST), Optimum::Unlimited);
        assert_eq!(best_executions(&no_layout, &COST).at_most(20), 20);
        let equal_executions = components(1.0, 0.0, 25.0);
        assert_eq!(best_executions(&equal_executions, &COST), Optimum::About(0.0));
        assert_eq!(best_executions(&equal_executions, &COST).at_most(20), 1);
        let constant = components(0.0, 0.0, 0.0);
        assert_eq!(best_executions(&constant, &COST), Optimum::Indifferent);
        assert_eq!(best_measurements(&constant, &COST).at_most(20), 1);
    }

    #[test]
    fn two_levels_round_up_like_the_2005_paper() {
        let two_levels = components(0.0, 4.0, 9.0);
        let optimum = best_measurements(&two_levels, &Cost { execution: 10.0, ..COST });
        assert!((rounded(optimum) - 22.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(optimum.at_most(1000), 5);
        assert_eq!(optimum.at_most(3), 3);
    }

    #[test]
    fn single_executions_weigh_measurements_against_builds() {
        // Equal executions: (b + w) E / V, independent of the cap.
        for build in [0.0, -0.3] {
            let equal_executions = components(1.0, build, 25.0);
            let optimum = best_measurements(&equal_executions, &COST);
            assert!((rounded(optimum) - 100.0).abs() < 1e-12, "{optimum:?}");
        }
        // A build that is a link: b = 10, w = 100, so m0 = sqrt(.1).
        let link = Cost { build: 10.0, ..COST };
        let optimum = best_measurements(&components(1.0, 1.0, 25.0), &link);
        assert!((rounded(optimum) - (110.0 * 25.0 / 2.0_f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn cost_and_half_width_match_a_case_computed_by_hand() {
        let dimensions =
            SampleSizes { first_analysis: None, builds: 5, executions: 3, measurements: 10 };
        assert_eq!(Cost { repeat: 2.0, ..COST }.total(dimensions), (300.0 + 110.0 * 6.0) * 5.0);
        let unbiased = components(1.0, 3.0, 60.0);
        // (1 + (3 + 6)/3)/5 = .8; t_{.975, 4} = 2.776445.
        assert!((variance(&unbiased, dimensions) - 0.8).abs() < 1e-12);
        let expected = 2.776_445 * 0.8_f64.sqrt();
        assert!((half_width(&unbiased, dimensions, 0.95) - expected).abs() < 1e-5);
    }

    #[test]
    fn builds_for_half_width_finds_the_smallest_number() {
        let unbiased = components(1.0, 0.0, 0.0);
        // t_{.975, l−1} / sqrt(l): l = 6 1.049, l = 7 .925.
        assert_eq!(builds_for_half_width(&unbiased, 1, 1, 0.95, 1.0, 100), Some(7));
        assert_eq!(builds_for_half_width(&unbiased, 1, 1, 0.95, 1.0, 7), Some(7));
        assert_eq!(builds_for_half_width(&unbiased, 1, 1, 0.95, 1.0, 6), None);
        assert_eq!(builds_for_half_width(&unbiased, 1, 1, 0.95, 0.0, 1000), None);
        assert_eq!(builds_for_half_width(&unbiased, 1, 1, 0.95, f64::NAN, 1000), None);
        assert_eq!(builds_for_half_width(&components(0.0, 0.0, 0.0), 1, 1, 0.95, 0.0, 9), Some(2));
        assert_eq!(builds_for_half_width(&unbiased, 1, 1, 0.95, 100.0, 1), None);
    }

    #[test]
    fn half_width_of_one_build_is_infinite() {
        let one = SampleSizes { first_analysis: None, builds: 1, executions: 9, measurements: 9 };
        assert_eq!(half_width(&components(1.0, 1.0, 1.0), one, 0.95), f64::INFINITY);
    }

    proptest! {
        /// (23) minimises the variance for a given cost: no neighbour is better.
        #[test]
        fn optimum_has_no_better_neighbour(
            version in 0.1..10.0, build in 0.1..10.0, execution in 0.1..100.0,
            b in 1.0..1e4, w in 1.0..1e3, q in 1.0..9.0,
            factor in prop::sample::select(vec![0.9, 0.99, 1.01, 1.1]),
        ) {
            let components = components(version, build, execution);
            let cost = Cost { build: b, execution: w, repeat: q };
            let n = rounded(best_measurements(&components, &cost));
            let m = rounded(best_executions(&components, &cost)).max(1.0);
            // Variance times cost of one build, which (20) minimises, for real m of 1 or more and real n.
            let loss = |m: f64, n: f64| {
                (b + (w + n) * m * q) * (version + build / m + execution / (m * n))
            };
            let other_m = (m * factor).max(1.0);
            prop_assert!(loss(m, n) <= loss(other_m, n) * (1.0 + 1e-12));
            prop_assert!(loss(m, n) <= loss(m, n * factor) * (1.0 + 1e-12));
        }

        #[test]
        fn builds_for_half_width_is_minimal(wanted in 0.05..5.0) {
            let components = components(1.0, 0.5, 2.0);
            let width = |builds| {
                half_width(&components, SampleSizes { first_analysis: None, builds, executions: 2, measurements: 5 }, 0.95)
            };
            let builds = builds_for_half_width(&components, 2, 5, 0.95, wanted, 1_000_000).unwrap();
            prop_assert!(width(builds) <= wanted);
            prop_assert!(builds == 2 || width(builds - 1) > wanted);
        }
    }

    #[test]
    fn oracle_falls_from_a_thousand_to_one() {
        assert_eq!([0.0, 500.0, 1000.0, 1e6, 1e12].map(oracle), [989, 500, 11, 1, 1]);
    }
}
