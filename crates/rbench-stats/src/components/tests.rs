//! Tests of components: small cases computed by hand, and designs that hide a level.

use super::*;
use crate::{Estimator, Measurements, Metric};

fn components(builds: &[&[&[f64]]]) -> Components {
    let builds = (0..).zip(builds.iter().map(|executions| executions.iter()));
    let data = Measurements::new(Metric::wall(), builds).unwrap();
    Components::estimate(&Summary::compute(&data, Estimator::Minimum))
}

fn assert_close(obtained: Option<f64>, expected: f64) {
    let obtained = obtained.unwrap();
    assert!((obtained - expected).abs() < 1e-12 * expected.abs(), "{obtained}, not {expected}");
}

/// Two builds of two executions of two measurements: means 4, 8 and 10, 14.
const BALANCED: [&[&[f64]]; 2] = [&[&[3.0, 5.0], &[7.0, 9.0]], &[&[9.0, 11.0], &[13.0, 15.0]]];

#[test]
fn balanced_data_give_the_papers_squares_and_components() {
    let Components { s, t, layout, .. } = components(&BALANCED);
    assert_close(s.execution, 2.0);
    assert_close(s.build, 8.0);
    assert_close(s.version, 18.0);
    assert_close(t.execution, 2.0);
    assert_close(t.build, 8.0 - 2.0 / 2.0);
    assert_close(t.version, 18.0 - 8.0 / 2.0);
    let layout = layout.unwrap();
    assert_close(Some(layout.f), 2.0 * 18.0 / 8.0);
    assert_eq!(layout.freedom, [1.0, 2.0]);
    // P(F_{1,2} > f) = 1 − sqrt(f / (f + 2))
    assert_close(Some(layout.p), 1.0 - (4.5f64 / 6.5).sqrt());
}

#[test]
fn ragged_data_are_weighted_as_documented() {
    let Components { s, t, .. } = components(&[
        &[&[3.0, 5.0], &[6.0, 8.0, 10.0], &[12.0]],
        &[&[9.0, 11.0, 13.0, 15.0], &[20.0, 24.0]],
    ]);
    // Σ squares within = 2 + 8 + 20 + 8, Σ (n − 1) = 1 + 2 + 3 + 1
    let e = 38.0 / 7.0;
    assert_close(s.execution, e);
    // Means 4, 8, 12 (squares 32) and 12, 22 (squares 50); Σ (m − 1) = 2 + 1
    assert_close(s.build, 82.0 / 3.0);
    // Build means 8 and 17
    assert_close(s.version, 40.5);
    let inverse = [(1.0 / 2.0 + 1.0 / 3.0 + 1.0) / 3.0, (1.0 / 4.0 + 2.0 / 4.0) * 0.5];
    let b = 82.0 / 3.0 - e * (2.0 * inverse[0] + inverse[1]) / 3.0;
    assert_close(t.build, b);
    let b_in_v = f64::midpoint(1.0 / 3.0, 1.0 / 2.0);
    let e_in_v = f64::midpoint(inverse[0] / 3.0, inverse[1] / 2.0);
    assert_close(t.version, 40.5 - b * b_in_v - e * e_in_v);
}

#[test]
fn single_measurements_leave_their_variance_to_builds() {
    let Components { s, t, .. } = components(&[&[&[1.0], &[3.0]], &[&[5.0], &[7.0]]]);
    assert_eq!((s.execution, t.execution), (None, None));
    assert_close(t.build, 2.0);
    assert_close(t.version, 8.0 - 2.0 / 2.0);
}

#[test]
fn single_executions_leave_their_variance_to_the_version() {
    let Components { s, t, layout, .. } = components(&[&[&[1.0, 3.0]], &[&[5.0, 7.0]]]);
    assert_eq!((s.build, t.build, layout), (None, None, None));
    assert_close(t.version, 8.0 - 2.0 / 2.0);
}

#[test]
fn one_build_leaves_the_variance_of_builds_unknown() {
    let Components { s, t, layout, .. } = components(&[&[&[1.0, 3.0], &[5.0, 7.0]]]);
    assert_eq!((s.version, t.version, layout), (None, None, None));
    assert_close(t.build, 8.0 - 2.0 / 2.0);
}

#[test]
fn negative_component_stays_negative() {
    let components = components(&[&[&[1.0, 9.0], &[2.0, 8.0]], &[&[3.0, 7.0], &[1.0, 9.0]]]);
    assert!(components.t.build.unwrap() < 0.0);
}

#[test]
fn layout_test_is_absent_without_variance() {
    let third = 1.0 / 3.0;
    let constant: [&[&[f64]]; 2] = [&[&[third; 7], &[third; 5]], &[&[third; 3], &[third; 11]]];
    let components = components(&constant);
    assert_eq!(components.s.version, Some(0.0));
    assert_eq!(components.layout, None);
}

#[test]
fn layout_test_is_certain_if_only_builds_differ() {
    let layout = components(&[&[&[1.0], &[1.0]], &[&[2.0], &[2.0]]]).layout.unwrap();
    assert_eq!((layout.f, layout.p), (f64::INFINITY, 0.0));
}
