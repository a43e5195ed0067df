//! Tests of every verdict with its reason, and of properties of all verdicts.

use proptest::prelude::*;

use super::*;
use crate::{Estimator, Measurements, Metric, Pairing, Rule, StatsError, Summary};

const SINGLE: Criteria = Criteria { confirm: false, ..DEFAULT };
const DEFAULT: Criteria = Criteria {
    estimator: None,
    rule: Rule::Paired,
    false_alarm_rate: 0.05,
    comparisons: 1,
    confidence: 0.95,
    min_effect: 0.01,
    limits: crate::MetricLimits::DEFAULT,
    confirm: true,
    seed: 1,
};

fn version(values: &[f64]) -> Summary {
    let builds = (0..).zip(values.iter().map(|&value| [[value]]));
    Summary::compute(&Measurements::new(Metric::wall(), builds).unwrap(), Estimator::Mean)
}

/// A stage of ten builds whose changes are `percent` ± `spread` percent.
fn stage(percent: f64, spread: f64) -> Assessment {
    let base = [98.0, 101.0, 103.0, 99.0, 100.0, 97.0, 102.0, 100.5, 99.5, 100.0];
    let signs = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
    let change = |sign: f64| (1.0 + percent / 100.0) * (sign * spread / 100.0).exp();
    let head: Vec<f64> = base.iter().zip(signs).map(|(b, sign)| b * change(sign)).collect();
    Assessment::new(&version(&base), &version(&head), Pairing::BySeed, &DEFAULT).unwrap()
}

fn of(first: &Assessment, second: Option<&Assessment>) -> Verdict {
    Verdict::decide(first, second, 50, &DEFAULT)
}

fn reason(verdict: &Verdict) -> InconclusiveReason {
    match verdict {
        Verdict::Inconclusive { reason, .. } => *reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn confirmed_change_is_that_of_the_fresh_builds() {
    let (first, second) = (stage(8.0, 2.0), stage(5.0, 2.0));
    assert!(first.needs_confirmation(&DEFAULT));
    let verdict = of(&first, Some(&second));
    let Verdict::Regressed { change, evidence: Evidence::Confirmed { p, needed } } = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!(change, second.change);
    assert_eq!(needed, 0.02);
    assert!(p < needed);
    assert_eq!(of(&stage(-8.0, 2.0), Some(&stage(-5.0, 2.0))).name(), "improved");
}

#[test]
fn flagged_change_waits_for_fresh_builds() {
    assert_eq!(reason(&of(&stage(5.0, 2.0), None)), InconclusiveReason::Unconfirmed);
}

#[test]
fn flagged_change_counts_at_once_without_confirmation() {
    let stage = stage(5.0, 2.0);
    assert!(!stage.needs_confirmation(&SINGLE));
    let verdict = Verdict::decide(&stage, None, 50, &SINGLE);
    assert!(
        matches!(verdict, Verdict::Regressed { evidence: Evidence::OneStage, .. }),
        "{verdict:?}"
    );
}

#[test]
fn fresh_builds_in_the_other_direction_contradict() {
    let first = stage(5.0, 2.0);
    let verdict = of(&first, Some(&stage(-5.0, 2.0)));
    assert_eq!(reason(&verdict), InconclusiveReason::Contradicted { first: first.change.estimate });
}

#[test]
fn noisy_fresh_builds_do_not_confirm() {
    let verdict = of(&stage(5.0, 2.0), Some(&stage(5.0, 20.0)));
    let InconclusiveReason::Weak { p, needed, .. } = reason(&verdict) else {
        panic!("{verdict:?}")
    };
    assert!(p > needed);
}

#[test]
fn change_that_shrinks_below_min_effect_is_not_reported() {
    let verdict = of(&stage(5.0, 2.0), Some(&stage(0.9, 0.6)));
    assert!(matches!(reason(&verdict), InconclusiveReason::Shrunk { .. }), "{verdict:?}");
    let verdict = Verdict::decide(&stage(0.9, 0.6), None, 50, &SINGLE);
    assert_eq!(reason(&verdict), InconclusiveReason::Small { min_effect: 0.01 });
}

#[test]
fn equivalent_versions_are_unchanged_without_fresh_builds() {
    let surely_small = stage(0.5, 0.2);
    assert!(surely_small.flag.is_some());
    assert!(!surely_small.needs_confirmation(&DEFAULT));
    for verdict in [of(&surely_small, None), of(&stage(5.0, 2.0), Some(&stage(0.1, 0.2)))] {
        let Verdict::Unchanged { change, min_effect, .. } = verdict else { panic!("{verdict:?}") };
        assert!(-min_effect < change.low && change.high < min_effect);
    }
}

#[test]
fn small_difference_is_reported_with_its_evidence() {
    let difference = |verdict: Verdict| match verdict {
        Verdict::Unchanged { difference, .. } => difference,
        other => panic!("{other:?}"),
    };
    let (flagged, small) = (stage(5.0, 2.0), stage(0.8, 0.1));
    let confirmed = difference(of(&flagged, Some(&small)));
    assert!(matches!(confirmed, Some(Evidence::Confirmed { .. })), "{confirmed:?}");
    // Too small to be measured again.
    assert!(!small.needs_confirmation(&DEFAULT));
    assert_eq!(difference(of(&small, None)), Some(Evidence::OneStage));
    assert_eq!(difference(Verdict::decide_stored(&small, 50, &DEFAULT)), Some(Evidence::OneStage));
    // Fresh builds that show nothing, or the opposite, confirm nothing.
    assert_eq!(difference(of(&flagged, Some(&stage(0.01, 0.2)))), None);
    assert_eq!(difference(of(&flagged, Some(&stage(-0.8, 0.1)))), None);
    assert_eq!(difference(of(&stage(0.01, 0.2), None)), None);
}

/// The 95 % interval extends 2.262 standard errors to each side, the 90 % interval 1.833.
#[test]
fn two_analyses_use_their_95_percent_intervals_for_unchanged() {
    let upper = |stage: &Assessment, t: f64| {
        stage.comparison.log_change + t * stage.comparison.standard_error
    };
    let border = stage(0.9, 0.15);
    assert!(upper(&border, 1.833) < DEFAULT.min_log_change());
    assert!(upper(&border, 2.262) > DEFAULT.min_log_change());
    assert!(!border.equivalent);
}

#[test]
fn inconclusive_verdict_has_the_smallest_reported_change() {
    let stage = stage(1.0, 10.0);
    let power = Power::estimate(&stage, 50, &DEFAULT);
    let verdict = of(&stage, None).with_power(power.as_ref());
    let Verdict::Inconclusive { detectable, reason, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(reason, InconclusiveReason::NotFlagged);
    assert_eq!(detectable, power.map(|power| power.smallest_reported()));
    assert!(detectable > stage.smallest_flagged(), "{detectable:?}");
}

#[test]
fn verdict_covers_each_outcome_of_the_stages() {
    let verdicts = [
        of(&stage(8.0, 2.0), Some(&stage(5.0, 2.0))),
        Verdict::decide(&stage(-5.0, 2.0), None, 50, &SINGLE),
        of(&stage(0.1, 0.2), None),
        of(&stage(5.0, 2.0), Some(&stage(0.8, 0.1))),
        of(&stage(0.8, 0.1), None),
        of(&stage(1.0, 10.0), None),
        of(&stage(5.0, 2.0), None),
        of(&stage(5.0, 2.0), Some(&stage(-5.0, 2.0))),
        of(&stage(5.0, 2.0), Some(&stage(5.0, 20.0))),
        of(&stage(5.0, 2.0), Some(&stage(0.9, 0.6))),
        Verdict::decide(&stage(0.9, 0.6), None, 50, &SINGLE),
    ];
    let ground = |verdict: &Verdict| match verdict {
        Verdict::Regressed { evidence, .. } | Verdict::Improved { evidence, .. } => {
            format!("{evidence:?}")
        }
        Verdict::Unchanged { difference, .. } => format!("{difference:?}"),
        Verdict::Inconclusive { reason, .. } => format!("{reason:?}"),
    };
    let first_word = |text: String| text.split([' ', '{']).next().unwrap_or_default().to_owned();
    let outcomes = verdicts.map(|one| format!("{} {}", one.name(), first_word(ground(&one))));
    assert_eq!(
        outcomes,
        [
            "regressed Confirmed",
            "improved OneStage",
            "unchanged None",
            "unchanged Some(Confirmed",
            "unchanged Some(OneStage)",
            "inconclusive NotFlagged",
            "inconclusive Unconfirmed",
            "inconclusive Contradicted",
            "inconclusive Weak",
            "inconclusive Shrunk",
            "inconclusive Small",
        ]
    );
}

/// Times in whole nanoseconds cannot distinguish 3.49 from 3.51 ns.
#[test]
fn one_step_of_coarse_times_is_no_regression() {
    let nanoseconds = |value: f64| {
        let builds = (0..10).map(|seed| (seed, [[value]]));
        let data = Measurements::new(Metric::wall(), builds).unwrap().with_resolution(1.0);
        Summary::compute(&data, Estimator::Mean)
    };
    let stage = |base: f64, head: f64| {
        let (base, head) = (nanoseconds(base), nanoseconds(head));
        Assessment::new(&base, &head, Pairing::BySeed, &DEFAULT).unwrap()
    };
    for (base, head) in [(3.0, 4.0), (4.0, 3.0), (100.0, 101.0)] {
        let one_step = stage(base, head);
        let Verdict::Inconclusive { change, .. } = of(&one_step, Some(&one_step)) else {
            panic!("{base} -> {head}")
        };
        assert!(change.low < 0.0 && change.high > 0.0, "{change:?}");
    }
    let twice = stage(3.0, 6.0);
    let verdict = of(&twice, Some(&twice));
    let Verdict::Regressed { evidence: Evidence::Confirmed { p, .. }, .. } = verdict else {
        panic!("{verdict:?}")
    };
    assert!(p > 0.0);
    // Whole nanoseconds cannot show that 100 ns are unchanged by 1 %, but that 10 µs are.
    assert_eq!(of(&stage(100.0, 100.0), None).name(), "inconclusive");
    assert_eq!(of(&stage(10_000.0, 10_000.0), None).name(), "unchanged");
}

#[test]
fn invalid_criteria_are_refused() {
    let base = version(&[1.0, 2.0]);
    let criteria = Criteria { min_effect: f64::INFINITY, ..DEFAULT };
    let refusal = Assessment::new(&base, &base, Pairing::BySeed, &criteria).unwrap_err();
    assert_eq!(refusal, StatsError::NotAnEffect(f64::INFINITY));
}

#[test]
fn false_alarm_rate_above_the_power_detects_everything() {
    let criteria = Criteria { false_alarm_rate: 0.9, ..DEFAULT };
    let (base, head) = (version(&[1.0, 2.0, 3.0]), version(&[1.1, 2.5, 2.9]));
    let stage = Assessment::new(&base, &head, Pairing::BySeed, &criteria).unwrap();
    assert_eq!(stage.smallest_flagged(), Some(0.0));
}

proptest! {
    #[test]
    fn swapping_versions_swaps_only_regressed_and_improved(
        base in prop::collection::vec(0.9..1.1, 2..9),
        head in prop::collection::vec(0.9..1.1, 2..9),
        shift in 0.8..1.2,
        rule in prop::sample::select(&Rule::ALL),
        min_effect in 0.0..0.3,
        paired in any::<bool>(),
    ) {
        let criteria = Criteria { rule, min_effect, ..SINGLE };
        let head: Vec<f64> = head.iter().map(|value| value * shift).collect();
        let (base, head) = (version(&base), version(&head));
        let pairing = if paired { Pairing::BySeed } else { Pairing::Unpaired };
        let decide = |base: &Summary, head: &Summary| {
            let stage = Assessment::new(base, head, pairing, &criteria).unwrap();
            Verdict::decide(&stage, None, 1, &criteria)
        };
        let swapped = match decide(&base, &head).name() {
            "regressed" => "improved",
            "improved" => "regressed",
            other => other,
        };
        prop_assert_eq!(decide(&head, &base).name(), swapped);
    }
}

#[test]
fn slowdown_regresses_only_above_its_limit() {
    let (first, second) = (stage(8.0, 2.0), stage(5.0, 2.0));
    let Verdict::Regressed { evidence, .. } = of(&first, Some(&second)) else { panic!() };
    // The estimate is above the second limit, but within noise.
    for limit in [0.08, 0.045] {
        assert_eq!(evidence.beyond_limit(limit, &second, &DEFAULT), None);
    }
    let beyond = evidence.beyond_limit(0.02, &second, &DEFAULT);
    let Some(Evidence::BeyondLimit { ceiling, p, needed }) = beyond else { panic!("{beyond:?}") };
    assert!(p <= needed, "{p}");
    assert_eq!(ceiling, 0.02);
    // One in 50 verdicts at 5 %, for any first stage.
    assert!((needed - 0.05 / 50.0).abs() < 1e-12, "{needed}");
}

#[test]
fn limit_of_one_stage_uses_its_rate() {
    let stage = stage(5.0, 2.0);
    let beyond = Evidence::OneStage.beyond_limit(0.02, &stage, &SINGLE);
    let Some(Evidence::BeyondLimit { needed, .. }) = beyond else { panic!("{beyond:?}") };
    assert_eq!(needed, stage.alpha.flag / 2.0);
    let Verdict::Regressed { evidence, .. } = Verdict::decide_stored(&stage, 50, &DEFAULT) else {
        panic!()
    };
    assert_eq!(evidence.beyond_limit(0.08, &stage, &DEFAULT), None);
}

#[test]
fn slowdown_at_its_limit_regresses_as_rarely_as_no_change() {
    // Random fresh builds after any first stage, here one that shows a slowdown.
    let first = stage(8.0, 0.5);
    let mut state = 88_172_645_463_325_252_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut normal =
        || (-2.0 * uniform().max(1e-300).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    let criteria = Criteria { false_alarm_rate: 0.4, ..DEFAULT };
    let (rounds, benchmarks) = (40_000, 2);
    let mut regressed = 0;
    for _ in 0..rounds {
        let base = vec![100.0; 6];
        let head: Vec<f64> = base.iter().map(|b| b * 1.08 * (0.01 * normal()).exp()).collect();
        let second =
            Assessment::new(&version(&base), &version(&head), Pairing::BySeed, &criteria).unwrap();
        let verdict = Verdict::decide(&first, Some(&second), benchmarks, &criteria);
        if let Verdict::Regressed { evidence, .. } = verdict {
            regressed += u32::from(evidence.beyond_limit(0.08, &second, &criteria).is_some());
        }
    }
    let rate = f64::from(regressed) / f64::from(rounds);
    // α/G is 20 %, and `α₁/2 · α₂` is 35 % of 2.5 %.
    assert!((0.0074..0.0101).contains(&rate), "{rate}");
}
