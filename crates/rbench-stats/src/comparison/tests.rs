//! Tests of comparisons: small cases computed by hand, and properties of every comparison.

use proptest::prelude::*;

use super::*;
use crate::{Measurements, Metric, Unpaired};

/// A version with one execution per build, whose builds (seeds 0, 1, …) have these logarithms.
fn version(logs: &[f64]) -> Summary {
    let builds = (0..).zip(logs.iter().map(|log| [[log.exp()]]));
    Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
}

/// A version of a metric that is the same in every execution.
fn bytes(logs: &[f64]) -> Summary {
    let metric = Metric::peak_memory();
    let builds = (0..).zip(logs.iter().map(|log| [[log.exp()]]));
    Summary::compute(&Measurements::new(metric, builds).unwrap(), Estimator::Mean)
}

fn compare_bytes(base: &[f64], head: &[f64], pairing: Pairing) -> Comparison {
    Comparison::new(&bytes(base), &bytes(head), pairing, 0.05).unwrap()
}

fn compare(base: &[f64], head: &[f64], pairing: Pairing) -> Comparison {
    Comparison::new(&version(base), &version(head), pairing, 0.05).unwrap()
}

fn assert_close(obtained: f64, expected: f64) {
    assert!((obtained - expected).abs() < 1e-9 * expected.abs(), "{obtained}, not {expected}");
}

const BASE: [f64; 3] = [1.0, 2.0, 6.0];
const HEAD: [f64; 3] = [3.0, 3.0, 9.0];

#[test]
fn paired_comparison_is_the_t_test_on_differences() {
    // d = 2, 1, 3: mean 2, variance 1.
    let comparison = compare(&BASE, &HEAD, Pairing::BySeed);
    assert_eq!(comparison.method, Method::Paired { left_out: 0 });
    assert_close(comparison.log_change, 2.0);
    assert_close(comparison.standard_error, (1.0f64 / 3.0).sqrt());
    assert_eq!(comparison.freedom, 2.0);
    // With two degrees of freedom, P(|T| > t) = 1 − t / sqrt(t² + 2), and t = sqrt(12).
    assert_close(comparison.p, 1.0 - (12.0f64 / 14.0).sqrt());
    assert_close(comparison.p_one_sided(Direction::Worse), comparison.p / 2.0);
    assert_close(comparison.p_one_sided(Direction::Better), 1.0 - comparison.p / 2.0);
    // Var x[A] = 7, Var x[B] = 12, Cov = (7 + 12 − 1) / 2.
    assert_close(comparison.gain.unwrap(), 1.0 - 1.0 / 19.0);
    assert_close(comparison.correlation.unwrap(), 9.0 / 84.0f64.sqrt());
    let half_width = 4.302_652_729_749_464 * (1.0f64 / 3.0).sqrt();
    assert_close(comparison.change.estimate, 2.0f64.exp() - 1.0);
    assert_close(comparison.change.low, (2.0 - half_width).exp() - 1.0);
    assert_close(comparison.change.high, (2.0 + half_width).exp() - 1.0);
}

#[test]
fn welch_uses_all_builds_and_his_degrees_of_freedom() {
    let comparison = compare(&BASE, &[3.0, 3.0, 9.0, 5.0], Pairing::Unpaired);
    assert_eq!(comparison.method, Method::Welch(Unpaired::ByDesign));
    assert_eq!(comparison.builds, [3, 4]);
    assert_close(comparison.log_change, 2.0);
    // Var x[A] = 7, Var x[B] = 24/3
    let (a, b) = (7.0 / 3.0, 8.0 / 4.0);
    assert_close(comparison.standard_error, f64::sqrt(a + b));
    assert_close(comparison.freedom, (a + b) * (a + b) / (a * a / 2.0 + b * b / 3.0));
    assert_eq!((comparison.gain, comparison.correlation), (None, None));
}

#[test]
fn comparison_intervals_split_the_width_by_standard_error() {
    let comparison = compare(&BASE, &HEAD, Pairing::BySeed);
    let half = |interval: Interval| (interval.high / interval.low).ln() / 2.0;
    let half_width = 4.302_652_729_749_464 * (1.0f64 / 3.0).sqrt();
    assert_close(half(comparison.base) + half(comparison.head), half_width);
    assert_close(half(comparison.head) / half(comparison.base), (12.0f64 / 7.0).sqrt());
    assert_close(comparison.base.center, 3.0f64.exp());
    assert_close(comparison.head.center, 5.0f64.exp());
}

#[test]
fn constant_difference_of_bytes_is_certain() {
    for pairing in [Pairing::BySeed, Pairing::Unpaired] {
        let comparison = compare_bytes(&[1.0; 3], &[1.5; 3], pairing);
        assert_eq!((comparison.p, comparison.differs()), (0.0, Some(Direction::Worse)));
        assert_eq!(comparison.p_one_sided(Direction::Better), 1.0);
        assert_eq!(comparison.gain, None);
        assert!(!comparison.base.overlaps(&comparison.head));
    }
}

#[test]
fn equal_constants_are_no_change() {
    let comparison = compare_bytes(&[1.0; 3], &[1.0; 4], Pairing::Unpaired);
    assert_eq!((comparison.p, comparison.differs()), (1.0, None));
    assert_eq!(comparison.change, Change { estimate: 0.0, low: 0.0, high: 0.0 });
    assert!(comparison.base.overlaps(&comparison.head));
}

#[test]
fn difference_by_rounding_is_no_change() {
    let head = [1.0 + 2e-15, 1.0 + 2e-15, 1.0 + 2e-15];
    let comparison = compare_bytes(&[1.0; 3], &head, Pairing::BySeed);
    assert_eq!((comparison.log_change, comparison.differs()), (0.0, None));
    assert!(comparison.base.overlaps(&comparison.head));
}

#[test]
fn constant_times_of_unknown_resolution_are_refused() {
    for pairing in [Pairing::BySeed, Pairing::Unpaired] {
        for head in [1.0, 1.5] {
            let (base, head) = (version(&[1.0; 3]), version(&[head; 3]));
            let refusal = Comparison::new(&base, &head, pairing, 0.05).unwrap_err();
            assert_eq!(refusal, StatsError::NoVariance);
        }
    }
}

#[test]
fn standard_error_is_at_least_that_of_rounding() {
    let version = |values: &[f64], resolution: f64| {
        let builds = (0..).zip(values.iter().map(|value| [[*value]]));
        let data = Measurements::new(Metric::wall(), builds).unwrap();
        Summary::compute(&data.with_resolution(resolution), Estimator::Mean)
    };
    let compare = |base: &[f64], head: &[f64], resolution| {
        let (base, head) = (version(base, resolution), version(head, resolution));
        Comparison::new(&base, &head, Pairing::BySeed, 0.05).unwrap()
    };
    let coarse = compare(&[10.0; 4], &[20.0; 4], 1.0);
    assert_close(coarse.standard_error, ((0.01 + 0.0025) / 12.0f64).sqrt());
    assert!(coarse.p > 0.0 && coarse.differs() == Some(Direction::Worse));
    // Rounding can explain up to half of each of the two steps, 10 % and 1/11.
    let one_step = compare(&[10.0; 100], &[11.0; 100], 1.0);
    assert_eq!((one_step.p, one_step.differs()), (1.0, None));
    assert_eq!(one_step.p_one_sided(Direction::Better), 0.5);
    let half_steps = f64::midpoint(0.1, 1.0 / 11.0);
    assert_close(one_step.change.high.ln_1p() - one_step.log_change, half_steps);
    assert!(one_step.base.overlaps(&one_step.head));
    // Where builds scatter by more than a step, the step does not matter.
    let scattered = [[10.0, 20.0, 30.0], [25.0, 15.0, 40.0]];
    let with = |resolution| compare(&scattered[0], &scattered[1], resolution);
    assert_eq!(with(1.0).standard_error, with(0.0).standard_error);
}

#[test]
fn incomparable_versions_are_refused_with_the_reason() {
    let in_bytes = Metric::peak_memory();
    let of = |metric: Metric, estimator: Estimator, builds: &[(u64, Vec<Vec<f64>>)]| {
        let data = Measurements::new(metric, builds.iter().cloned()).unwrap();
        Summary::compute(&data, estimator)
    };
    let two = [(1, vec![vec![1.0, 2.0]]), (2, vec![vec![1.0, 3.0]])];
    let long = [(1, vec![vec![1.0, 2.0, 3.0]]), (2, vec![vec![1.0, 3.0, 2.0]])];
    let wall = |estimator, builds: &[_]| of(Metric::wall(), estimator, builds);
    let compare = |base: &Summary, head: &Summary| {
        Comparison::new(base, head, Pairing::BySeed, 0.05).map_err(|refusal| refusal.to_string())
    };
    let mean = wall(Estimator::Mean, &two);
    let refused = |head: &Summary| compare(&mean, head).unwrap_err();
    assert_eq!(
        refused(&of(in_bytes, Estimator::Mean, &two)),
        "wall [ns] cannot be compared with peak-memory [bytes]"
    );
    assert_eq!(
        refused(&wall(Estimator::Median, &two)),
        "executions estimated by mean cannot be compared with those by median"
    );
    assert_eq!(
        refused(&wall(Estimator::Mean, &two[..1])),
        "at least 2 builds of each version are needed, and one has 1"
    );
    assert!(compare(&mean, &wall(Estimator::Mean, &long)).is_ok());
    assert_eq!(
        compare(&wall(Estimator::Minimum, &two), &wall(Estimator::Minimum, &long)).unwrap_err(),
        "executions of 2.0 measurements on average cannot be compared with those of 3.0 \
         unless by the mean"
    );
    let rate = Comparison::new(&mean, &mean, Pairing::BySeed, 1.0).unwrap_err();
    assert_eq!(rate.to_string(), "1 is not a rate strictly between 0 and 1");
}

fn logs(builds: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-3.0..3.0, builds)
}

fn pairings() -> impl Strategy<Value = Pairing> {
    prop::sample::select(&[Pairing::BySeed, Pairing::Unpaired])
}

proptest! {
    #[test]
    fn comparison_intervals_overlap_unless_the_test_rejects(
        base in logs(2..8),
        head in logs(2..8),
        shift in -6.0..6.0,
        pairing in pairings(),
    ) {
        let head: Vec<f64> = head.iter().map(|log| log + shift).collect();
        let comparison = compare(&base, &head, pairing);
        // Nearer to the border than this, rounding decides.
        prop_assume!((comparison.p - 0.05).abs() > 1e-9);
        let differs = comparison.differs().is_some();
        prop_assert_eq!(differs, comparison.p < 0.05);
        prop_assert_eq!(differs, !comparison.base.overlaps(&comparison.head));
        let excludes_none = comparison.change.low > 0.0 || comparison.change.high < 0.0;
        prop_assert_eq!(differs, excludes_none);
    }

    #[test]
    fn swapping_versions_negates_the_change_and_keeps_p(
        base in logs(2..8),
        head in logs(2..8),
        pairing in pairings(),
    ) {
        let there = compare(&base, &head, pairing);
        let back = compare(&head, &base, pairing);
        prop_assert!((there.log_change + back.log_change).abs() < 1e-12);
        prop_assert!((there.standard_error - back.standard_error).abs() < 1e-12);
        prop_assert!((there.p - back.p).abs() < 1e-9);
        prop_assert!((there.freedom - back.freedom).abs() < 1e-9);
    }
}
