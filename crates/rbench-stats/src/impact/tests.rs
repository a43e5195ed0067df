//! Tests of impact factors: against analytic values, and for data that have none.

use proptest::prelude::*;

use super::*;
use crate::Metric;

const SHORT: Bootstrap = Bootstrap { choose: None, repetitions: 500 };

/// Data sets of normal values about normal means.
fn normal_sets(sets: usize, values: usize, between: f64, random: &mut Random) -> Vec<Vec<f64>> {
    (0..sets)
        .map(|_| {
            let mean = 100.0 + between * random.normal();
            (0..values).map(|_| mean + random.normal()).collect()
        })
        .collect()
}

#[test]
fn impact_factor_is_near_its_analytic_value() {
    let mut random = Random::new(1);
    for (between, analytic) in [(0.0, 1.0), (1.0, 2.0_f64.sqrt()), (3.0, 10.0_f64.sqrt())] {
        let sets = normal_sets(60, 60, between, &mut random);
        let factor = impact_factor(&views(&sets), &SHORT, &mut random).unwrap();
        // The variance between 60 sets has a relative standard error of 18 %, its root of 9 %.
        assert!((factor / analytic - 1.0).abs() < 0.27, "{between}: {factor}");
        let rest = impact_factor_without_shift(&views(&sets), &SHORT, &mut random).unwrap();
        assert!((rest - 1.0).abs() < 0.05, "{between}: {rest}");
    }
}

#[test]
fn unequal_spreads_remain_without_shift() {
    // The additive model fails: one set in four is ten times as wide, so SD1 is about
    // sqrt(.25 · 100 + .75) = 5 times the SD2 of most sets.
    let mut random = Random::new(2);
    let sets: Vec<Vec<f64>> = (0..40)
        .map(|i| {
            let width = if i % 4 == 0 { 10.0 } else { 1.0 };
            (0..40).map(|_| width * random.normal()).collect()
        })
        .collect();
    let rest = impact_factor_without_shift(&views(&sets), &SHORT, &mut random).unwrap();
    assert!(rest > 3.0, "{rest}");
}

#[test]
fn constant_data_sets_give_the_factors_known_by_hand() {
    let constant: &[&[f64]] = &[&[1.0; 4], &[2.0; 4], &[3.0; 4]];
    assert_eq!(impact_factor(constant, &SHORT, &mut Random::new(3)), Ok(f64::INFINITY));
    let rest = impact_factor_without_shift(constant, &SHORT, &mut Random::new(3));
    assert_eq!(rest, Ok(1.0));
}

#[test]
fn default_choice_is_three_quarters_of_the_data_sets() {
    let values = [0.0; 200];
    let sets = |count: usize, length: usize| vec![&values[..length]; count];
    assert_eq!(Bootstrap::default().choice(&sets(150, 200)), Ok(112));
    assert_eq!(Bootstrap::default().choice(&sets(150, 50)), Ok(49));
    assert_eq!(Bootstrap::default().choice(&sets(3, 9)), Ok(2));
    let refused = NoImpact::Choose { choose: 1, sets: 2, values: 9 };
    assert_eq!(Bootstrap::default().choice(&sets(2, 9)), Err(refused));
    let nine = Bootstrap { choose: Some(9), repetitions: 1 };
    assert_eq!(nine.choice(&sets(10, 10)), Ok(9));
    assert!(nine.choice(&sets(9, 10)).is_err());
    assert!(Bootstrap { choose: Some(2), repetitions: 0 }.choice(&sets(9, 9)).is_err());
    assert!(Bootstrap::default().choice(&[]).is_err());
}

#[test]
fn execution_impact_excludes_the_effect_of_builds() {
    let mut random = Random::new(4);
    let builds: Vec<(u64, Vec<Vec<f64>>)> = (0..20)
        .map(|seed| {
            let shift = 500.0 + 30.0 * random.normal();
            let mut executions = normal_sets(5, 30, 2.0, &mut random);
            executions.iter_mut().flatten().for_each(|value| *value += shift);
            (seed, executions)
        })
        .collect();
    let data = Measurements::new(Metric::wall(), builds).unwrap();
    let executions = ImpactFactor::execution_impact(&data, &SHORT, &mut random).unwrap();
    // sqrt(1 + 4/1) = 2.24; 80 degrees of freedom: standard error of the root 8 %.
    assert!((executions.factor - 2.24).abs() < 0.55, "{executions:?}");
    assert!((executions.without_shift - 1.0).abs() < 0.1);
    let builds = ImpactFactor::build_impact(&data, Estimator::Mean, &SHORT, &mut random).unwrap();
    // sqrt(1 + 900/4) = 15, from builds of 5 executions, of which 4 are chosen.
    assert!(builds.factor > 8.0, "{builds:?}");
    assert!(builds.without_shift < 2.0);
}

proptest! {
    #[test]
    fn impact_factor_is_never_nan_and_independent_of_the_unit(
        sets in prop::collection::vec(prop::collection::vec(1e-9..1e12, 3..9), 3..9),
        exponent in -30_i32..30,
    ) {
        let short = Bootstrap { choose: Some(2), repetitions: 20 };
        let factor = |sets: &[Vec<f64>]| impact_factor(&views(sets), &short, &mut Random::new(7));
        let obtained = factor(&sets).unwrap();
        prop_assert!(obtained >= 0.0);
        // A power of two scales without rounding.
        let scaled: Vec<Vec<f64>> = sets
            .iter()
            .map(|set| set.iter().map(|value| value * 2_f64.powi(exponent)).collect())
            .collect();
        prop_assert_eq!(factor(&scaled).unwrap(), obtained);
    }
}
