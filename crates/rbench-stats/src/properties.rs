//! Properties that hold for any data, from measurements to verdicts.

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};

use super::*;
use crate::Metric;

/// The measurements of the executions of the builds of a version.
type Nested = Vec<Vec<Vec<f64>>>;

/// Data with 2 to 5 builds, 1 to 3 executions each, 1 to 6 measurements each.
fn ragged(value: impl Strategy<Value = f64>) -> impl Strategy<Value = Nested> {
    vec(vec(vec(value, 1..7), 1..4), 2..6)
}

/// Values from 1e-9 to 1e12, every magnitude equally likely.
fn any_magnitude() -> impl Strategy<Value = f64> {
    (-9.0..12.0).prop_map(|exponent| 10f64.powf(exponent))
}

fn summarise(nested: &Nested, estimator: Estimator) -> Summary {
    let data = Measurements::new(Metric::wall(), (0..).zip(nested)).unwrap();
    Summary::compute(&data, estimator)
}

fn scaled(nested: &Nested, c: f64) -> Nested {
    let execution = |values: &Vec<f64>| values.iter().map(|value| value * c).collect();
    nested.iter().map(|build| build.iter().map(execution).collect()).collect()
}

fn close(one: f64, other: f64, scale: f64) -> bool {
    (one - other).abs() <= 1e-9 * scale
}

fn criteria(estimator: Estimator, rule: Rule) -> Criteria {
    Criteria {
        estimator: Some(estimator),
        rule,
        min_effect: 0.05,
        confirm: false,
        ..Criteria::default()
    }
}

/// The verdict of one stage; a refusal counts as one.
fn verdict(base: &Nested, head: &Nested, pairing: Pairing, criteria: &Criteria) -> String {
    let [base, head] = [base, head].map(|nested| summarise(nested, criteria.estimator.unwrap()));
    match Assessment::new(&base, &head, pairing, criteria) {
        Ok(stage) => Verdict::decide(&stage, None, 1, criteria).name().to_owned(),
        Err(refusal) => refusal.to_string(),
    }
}

fn pairings() -> impl Strategy<Value = Pairing> {
    select(&[Pairing::BySeed, Pairing::Unpaired])
}

proptest! {
    #[test]
    fn summary_is_independent_of_the_order(
        nested in ragged(10.0..11.0),
        estimator in select(&Estimator::ALL),
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let mut builds: Vec<(u64, Vec<Vec<f64>>)> = (0..).zip(nested.clone()).collect();
        random.shuffle(&mut builds);
        for (_, executions) in &mut builds {
            random.shuffle(executions);
            for values in executions {
                random.shuffle(values);
            }
        }
        let reordered = Measurements::new(Metric::wall(), builds).unwrap();
        let (one, other) = (summarise(&nested, estimator), Summary::compute(&reordered, estimator));
        let (a, b) = (Components::estimate(&one).t, Components::estimate(&other).t);
        for (a, b) in [(a.execution, b.execution), (a.build, b.build), (a.version, b.version)] {
            prop_assert_eq!(a.is_some(), b.is_some());
            prop_assert!(close(a.unwrap_or(0.0), b.unwrap_or(0.0), 1.0));
        }
        let interval = |of: &Summary| Interval::three_level(of, 0.95).unwrap();
        prop_assert!(close(interval(&one).low, interval(&other).low, 1.0));
        for pairing in [Pairing::BySeed, Pairing::Unpaired] {
            match Comparison::new(&one, &other, pairing, 0.05) {
                Ok(same) => prop_assert_eq!((same.log_change, same.differs()), (0.0, None)),
                Err(refusal) => prop_assert_eq!(refusal, StatsError::NoVariance),
            }
        }
    }

    #[test]
    fn scaling_scales_intervals_and_keeps_verdicts(
        base in ragged(10.0..11.0),
        head in ragged(10.0..12.0),
        c in any_magnitude(),
        estimator in select(&Estimator::ALL),
        rule in select(&Rule::ALL),
        pairing in pairings(),
    ) {
        let (large_base, large_head) = (scaled(&base, c), scaled(&head, c));
        let criteria = criteria(estimator, rule);
        prop_assert_eq!(
            verdict(&base, &head, pairing, &criteria),
            verdict(&large_base, &large_head, pairing, &criteria)
        );
        let (small, large) = (summarise(&base, estimator), summarise(&large_base, estimator));
        for interval in [Interval::three_level, Interval::paper] {
            let (small, large) = (interval(&small, 0.95).unwrap(), interval(&large, 0.95).unwrap());
            prop_assert!(close(large.center / c, small.center, 1.0));
            prop_assert!(close(large.half_width() / c, small.half_width(), 1.0));
        }
        if let (Some(small), Some(large)) =
            (Components::estimate(&small).t.version, Components::estimate(&large).t.version)
        {
            prop_assert!(close(large / c / c, small, 1.0));
        }
    }

    #[test]
    fn swapping_versions_negates_the_change(
        base in ragged(10.0..11.0),
        head in ragged(10.0..12.0),
        pairing in pairings(),
    ) {
        let (base, head) = (summarise(&base, Estimator::Mean), summarise(&head, Estimator::Mean));
        let there = Comparison::new(&base, &head, pairing, 0.05).unwrap();
        let back = Comparison::new(&head, &base, pairing, 0.05).unwrap();
        prop_assert!(close(there.log_change, -back.log_change, 1.0));
        prop_assert!(close(there.p, back.p, 1.0));
        // Reciprocal factors.
        let undone = (1.0 + there.change.low) * (1.0 + back.change.high);
        prop_assert!(close(undone, 1.0, 1.0));
    }

    #[test]
    fn ragged_formulas_match_balanced_ones_for_balanced_data(
        shape in (2..5usize, 2..5usize, 2..5usize),
        pool in vec(10.0..20.0, 64),
    ) {
        let (l, m, n) = shape;
        let y = |k: usize, j: usize| &pool[16 * k + 4 * j..][..n];
        let nested: Nested =
            (0..l).map(|k| (0..m).map(|j| y(k, j).to_vec()).collect()).collect();
        // Kalibera et al. 2006, (14)-(16), letter by letter.
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let squares = |values: &[f64]| {
            values.iter().map(|value| (value - mean(values)).powi(2)).sum::<f64>()
        };
        let (l, m, n) = (l as f64, m as f64, n as f64);
        let means: Vec<Vec<f64>> =
            nested.iter().map(|build| build.iter().map(|y| mean(y)).collect()).collect();
        let builds: Vec<f64> = means.iter().map(|executions| mean(executions)).collect();
        let s_e = nested.iter().flatten().map(|y| squares(y)).sum::<f64>() / (l * m * (n - 1.0));
        let s_b = means.iter().map(|build| squares(build)).sum::<f64>() / (l * (m - 1.0));
        let s_v = squares(&builds) / (l - 1.0);
        let Components { s, t, .. } = Components::estimate(&summarise(&nested, Estimator::Minimum));
        prop_assert!(close(s.execution.unwrap(), s_e, s_e));
        prop_assert!(close(s.build.unwrap(), s_b, s_b));
        prop_assert!(close(s.version.unwrap(), s_v, s_v));
        prop_assert!(close(t.build.unwrap(), s_b - s_e / n, s_b + s_e));
        prop_assert!(close(t.version.unwrap(), s_v - s_b / m, s_v + s_b));
    }
}

proptest! {
    // The smallest flagged change takes a millisecond or two without optimisation.
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn accepted_data_get_verdicts_without_panic_or_nan(
        base in ragged(prop_oneof![any_magnitude(), Just(1.0), Just(1e-100), Just(9e99)]),
        head in ragged(any_magnitude()),
        estimator in select(&Estimator::ALL),
        rule in select(&Rule::ALL),
        pairing in pairings(),
        confirm in any::<bool>(),
        copy in any::<Index>(),
    ) {
        let criteria = Criteria { confirm, ..criteria(estimator, rule) };
        // Sometimes a version against itself.
        let head = if copy.index(4) == 0 { base.clone() } else { head };
        let (base, head) = (summarise(&base, estimator), summarise(&head, estimator));
        let Components { s, t, layout, .. } = Components::estimate(&base);
        for component in [s.execution, s.build, s.version, t.execution, t.build, t.version] {
            prop_assert!(component.is_none_or(f64::is_finite));
        }
        prop_assert!(layout.is_none_or(|test| (0.0..=1.0).contains(&test.p)));
        for interval in [Interval::three_level, Interval::paper] {
            let Interval { low, center, high } = interval(&base, 0.95).unwrap();
            prop_assert!(low <= center && center <= high && high.is_finite());
        }
        if let Ok(stage) = Assessment::new(&base, &head, pairing, &criteria) {
            let Comparison { p, change, freedom, .. } = stage.comparison;
            prop_assert!((0.0..=1.0).contains(&p) && freedom >= 1.0, "{} {}", p, freedom);
            prop_assert!(change.low <= change.estimate && change.estimate <= change.high);
            prop_assert!(stage.smallest_flagged().is_none_or(|least| least >= 0.0));
            for second in [None, Some(&stage)] {
                let verdict = format!("{:?}", Verdict::decide(&stage, second, 3, &criteria));
                prop_assert!(!verdict.contains("NaN"), "{}", verdict);
            }
        }
    }
}
