//! Tests of whole diagnoses: a steady benchmark has no warnings, an unsteady one has.

use proptest::prelude::*;

use super::{
    testing::{Truth, simulated},
    *,
};
use crate::{Measurements, Metric, Random};

const SHAPE: [usize; 3] = [5, 4, 200];
const RUNS: u64 = 5;

fn quick() -> Options {
    Options { repetitions: 100, ..Options::default() }
}

/// The warnings of several runs of a benchmark whose measurements vary by half a percent, builds and executions by a
/// tenth.
fn warnings(more: fn(usize, usize, &mut Random) -> f64) -> Vec<Vec<Warning>> {
    let truth = Truth { version: 1.0, build: 1.0, execution: 25.0, more: Some(more) };
    let run = |stream| {
        let data = simulated(truth, SHAPE, &mut Random::stream(7, stream));
        diagnose(&data, &quick()).unwrap().warnings
    };
    (0..RUNS).map(run).collect()
}

/// Asserts that every run has such a warning.
fn assert_named(more: fn(usize, usize, &mut Random) -> f64, is: fn(&Warning) -> bool) {
    for warnings in warnings(more) {
        assert!(warnings.iter().any(is), "{warnings:?}");
    }
}

#[test]
fn steady_benchmark_has_no_warning() {
    let steady: [fn(usize, usize, &mut Random) -> f64; 4] = [
        |_, _, _| 0.0,
        // Skewed.
        |_, _, random| -0.01 * (1.0 - random.unit()).ln(),
        // Occasional far outliers.
        |_, _, random| if random.chance(0.03) { 0.5 * random.unit() } else { 0.0 },
        // Slower by a tenth of the relevant size.
        |index, count, _| 0.001 * index as f64 / count as f64,
    ];
    for more in steady {
        for warnings in warnings(more) {
            assert_eq!(warnings, []);
        }
    }
}

#[test]
fn warm_up_and_slow_down_are_warned_about() {
    let is_warm_up = |warning: &Warning| matches!(warning, Warning::WarmUp { .. });
    assert_named(|index, _, _| 0.05 * (-(index as f64) / 20.0).exp(), is_warm_up);
    assert_named(|index, _, _| if index < 3 { 0.3 } else { 0.0 }, is_warm_up);
    let is_slow_down = |warning: &Warning| matches!(warning, Warning::SlowDown { .. });
    assert_named(|index, count, _| 0.02 * index as f64 / count as f64, is_slow_down);
}

#[test]
fn level_shifts_are_warned_about() {
    let is = |warning: &Warning| matches!(warning, Warning::LevelShifts { .. });
    assert_named(|index, count, _| if index > count / 3 { 0.03 } else { 0.0 }, is);
    assert_named(|index, _, _| if (80..120).contains(&index) { 0.03 } else { 0.0 }, is);
}

#[test]
fn simultaneous_states_are_warned_about() {
    let is = |warning: &Warning| matches!(warning, Warning::SimultaneousStates { .. });
    assert_named(|index, _, _| if index % 2 == 0 { 0.03 } else { 0.0 }, is);
    assert_named(|_, _, random| if random.chance(0.3) { 0.05 } else { 0.0 }, is);
}

#[test]
fn differing_executions_and_layouts_are_warned_about() {
    let at = |truth: Truth| {
        let data = simulated(truth, [8, 5, 100], &mut Random::new(3));
        diagnose(&data, &quick()).unwrap().warnings
    };
    let executions = at(Truth { build: 400.0, execution: 25.0, ..Truth::default() });
    assert!(matches!(
        executions[..],
        [Warning::Influence { level: Level::Executions, .. }, Warning::SeveralSteadyStates { .. }]
    ));
    let layouts = at(Truth { version: 900.0, execution: 25.0, ..Truth::default() });
    assert!(matches!(layouts[..], [Warning::Influence { level: Level::Builds, .. }]));
}

#[test]
fn small_data_and_invalid_options_are_refused() {
    let one = Measurements::new(Metric::wall(), [(1, vec![vec![5.0, 5.0]])]).unwrap();
    let found = diagnose(&one, &Options::default()).unwrap();
    assert_eq!(found.variance, Err(InsufficientData::Variance));
    assert_eq!(found.level_shifts, Err(InsufficientData::Measurements { needed: 200, found: 2 }));
    assert_eq!(found.warnings, []);
    for options in [
        Options { min_effect: f64::NAN, ..quick() },
        Options { min_effect: -0.1, ..quick() },
        Options { confidence: 1.0, ..quick() },
    ] {
        assert!(diagnose(&one, &options).is_err());
    }
}

fn ragged() -> impl Strategy<Value = Vec<Vec<Vec<f64>>>> {
    let value = prop_oneof![10.0..11.0, Just(10.0), -9.0..12.0_f64];
    let value = value.prop_map(|value| if value < 10.0 { 10.0_f64.powf(value) } else { value });
    prop::collection::vec(prop::collection::vec(prop::collection::vec(value, 1..30), 1..4), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn accepted_data_are_diagnosed_independent_of_scale(
        builds in ragged(),
        exponent in -20..20,
    ) {
        // A power of two scales without rounding.
        let scale = 2.0_f64.powi(exponent);
        let of = |scale: f64| {
            let scaled = |values: &Vec<f64>| values.iter().map(|value| value * scale).collect::<Vec<_>>();
            let builds = builds.iter().map(|build| build.iter().map(scaled).collect::<Vec<_>>());
            let data = Measurements::new(Metric::wall(), (0..).zip(builds)).unwrap();
            diagnose(&data, &Options { repetitions: 20, ..quick() }).unwrap()
        };
        let (one, other) = (of(1.0), of(scale));
        prop_assert_eq!(&one.warnings, &other.warnings);
        prop_assert_eq!(&one.trend, &other.trend);
        prop_assert_eq!(one.autocorrelation, other.autocorrelation);
        prop_assert_eq!(one.executions.is_ok(), other.executions.is_ok());
    }
}
