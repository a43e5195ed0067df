//! Every verdict with its reason, and the properties that a verdict must have.

use proptest::prelude::*;

use super::*;
use crate::{
    model::Metric,
    stats::{Estimator, Measurements, Pairing, Rule, Summary},
};

const SINGLE: Criteria = Criteria { confirm: false, ..DEFAULT };
const DEFAULT: Criteria = Criteria {
    estimator: Estimator::Mean,
    rule: Rule::Overlap,
    false_alarm_rate: 0.05,
    confidence: 0.95,
    min_effect: 0.01,
    confirm: true,
    seed: 1,
};

fn version(values: &[f64]) -> Summary {
    let builds = (0..).zip(values.iter().map(|&value| [[value]]));
    Summary::of(&Measurements::new(Metric::wall(), builds).unwrap(), DEFAULT.estimator)
}

/// A stage of ten builds whose changes are `percent`, give or take `spread` percent.
fn stage(percent: f64, spread: f64) -> Assessment {
    let base = [98.0, 101.0, 103.0, 99.0, 100.0, 97.0, 102.0, 100.5, 99.5, 100.0];
    let signs = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
    let change = |sign: f64| (1.0 + percent / 100.0) * (sign * spread / 100.0).exp();
    let head: Vec<f64> = base.iter().zip(signs).map(|(b, sign)| b * change(sign)).collect();
    Assessment::new(&version(&base), &version(&head), Pairing::BySeed, &DEFAULT).unwrap()
}

fn of(first: &Assessment, second: Option<&Assessment>) -> Verdict {
    Verdict::of(first, second, 50, &DEFAULT)
}

fn doubt(verdict: &Verdict) -> Doubt {
    match verdict {
        Verdict::Inconclusive { doubt, .. } => *doubt,
        other => panic!("{other}"),
    }
}

#[test]
fn a_change_that_fresh_builds_confirm_is_reported_as_the_fresh_builds_see_it() {
    let (first, second) = (stage(8.0, 2.0), stage(5.0, 2.0));
    assert!(first.needs_confirmation(&DEFAULT));
    let verdict = of(&first, Some(&second));
    let Verdict::Regressed { change, basis: Basis::Confirmed { p, needed } } = verdict else {
        panic!("{verdict}")
    };
    assert_eq!(change, second.comparison.change);
    assert_eq!(needed, 0.04);
    assert!(p < needed);
    assert_eq!(of(&stage(-8.0, 2.0), Some(&stage(-5.0, 2.0))).name(), "improved");
}

#[test]
fn a_flagged_change_waits_for_fresh_builds() {
    assert_eq!(doubt(&of(&stage(5.0, 2.0), None)), Doubt::Unconfirmed);
}

#[test]
fn without_confirmation_a_flagged_change_counts_at_once() {
    let stage = stage(5.0, 2.0);
    assert!(!stage.needs_confirmation(&SINGLE));
    let verdict = Verdict::of(&stage, None, 50, &SINGLE);
    assert!(matches!(verdict, Verdict::Regressed { basis: Basis::OneStage, .. }), "{verdict}");
}

#[test]
fn fresh_builds_that_point_the_other_way_contradict() {
    let first = stage(5.0, 2.0);
    let verdict = of(&first, Some(&stage(-5.0, 2.0)));
    assert_eq!(doubt(&verdict), Doubt::Contradicted { first: first.comparison.change.estimate });
}

#[test]
fn fresh_builds_that_scatter_too_much_do_not_confirm() {
    let verdict = of(&stage(5.0, 2.0), Some(&stage(5.0, 20.0)));
    let Doubt::Weak { p, needed, .. } = doubt(&verdict) else { panic!("{verdict}") };
    assert!(p > needed);
}

#[test]
fn a_change_that_shrinks_below_the_smallest_of_interest_is_not_reported() {
    let verdict = of(&stage(5.0, 2.0), Some(&stage(0.9, 0.6)));
    assert!(matches!(doubt(&verdict), Doubt::Shrunk { .. }), "{verdict}");
    let verdict = Verdict::of(&stage(0.9, 0.6), None, 50, &SINGLE);
    assert_eq!(doubt(&verdict), Doubt::Small { min_effect: 0.01 });
}

#[test]
fn versions_shown_to_be_equivalent_are_unchanged_and_need_no_fresh_builds() {
    let surely_small = stage(0.5, 0.2);
    assert!(surely_small.flag.is_some());
    assert!(!surely_small.needs_confirmation(&DEFAULT));
    for verdict in [of(&surely_small, None), of(&stage(5.0, 2.0), Some(&stage(0.1, 0.2)))] {
        let Verdict::Unchanged { change, min_effect } = verdict else { panic!("{verdict}") };
        assert!(-min_effect < change.low && change.high < min_effect);
    }
}

#[test]
fn what_is_neither_flagged_nor_equivalent_is_inconclusive_and_says_what_would_have_shown() {
    let verdict = of(&stage(1.0, 10.0), None);
    let Verdict::Inconclusive { detectable, doubt, .. } = verdict else { panic!("{verdict}") };
    assert_eq!(doubt, Doubt::NotFlagged);
    // 1.00 sd of d for ten pairs; the sd of ±10 % is 10.54 %.
    assert!((detectable.ln_1p() - 0.1054).abs() < 0.001, "{detectable}");
}

#[test]
fn each_verdict_is_a_sentence_with_its_reason() {
    let sentences = [
        of(&stage(8.0, 2.0), Some(&stage(5.0, 2.0))),
        Verdict::of(&stage(-5.0, 2.0), None, 50, &SINGLE),
        of(&stage(0.1, 0.2), None),
        of(&stage(1.0, 10.0), None),
        of(&stage(5.0, 2.0), None),
        of(&stage(5.0, 2.0), Some(&stage(-5.0, 2.0))),
        of(&stage(5.0, 2.0), Some(&stage(5.0, 20.0))),
        of(&stage(5.0, 2.0), Some(&stage(0.9, 0.6))),
        Verdict::of(&stage(0.9, 0.6), None, 50, &SINGLE),
        Verdict::Identical,
        Verdict::Failed { reason: "exited with code 101".to_owned() },
        Verdict::NotComparable { reason: "another CPU".to_owned() },
    ]
    .map(|verdict| verdict.to_string());
    assert_eq!(
        sentences,
        [
            "regressed: +5.00 % (+3.43 % to +6.60 %), confirmed by fresh builds (one-sided p 2e-5, \
             needed 0.040)",
            "improved: -5.00 % (-6.42 % to -3.56 %), by one stage alone",
            "unchanged: +0.10 % (-0.02 % to +0.22 %): with 90 % confidence less than 1.00 % either way",
            "inconclusive: +1.00 % (-6.34 % to +8.91 %), not flagged: chance can explain it; a change of \
             11.07 % would show with 80 % power",
            "inconclusive: +5.00 % (+3.43 % to +6.60 %), flagged, but not yet confirmed by fresh builds; \
             a change of 2.12 % would show with 80 % power",
            "inconclusive: -5.00 % (-6.42 % to -3.56 %), which contradicts the +5.00 % of the first \
             stage; a change of 2.12 % would show with 80 % power",
            "inconclusive: +5.00 % (-9.70 % to +22.09 %), which does not confirm the +5.00 % of the first \
             stage (one-sided p 0.241, needed 0.040); a change of 23.36 % would show with 80 % power",
            "inconclusive: +0.90 % (+0.44 % to +1.36 %), less than 1.00 %, after +5.00 % in the first \
             stage; a change of 0.63 % would show with 80 % power",
            "inconclusive: +0.90 % (+0.44 % to +1.36 %), flagged, but less than 1.00 %; a change of \
             0.63 % would show with 80 % power",
            "identical: both versions have the same machine code",
            "failed: exited with code 101",
            "not-comparable: another CPU",
        ]
    );
}

#[test]
fn two_builds_see_almost_nothing_and_the_sentence_stays_readable() {
    let (base, head) = (version(&[100.0, 130.0]), version(&[140.0, 105.0]));
    let stage = Assessment::new(&base, &head, Pairing::BySeed, &DEFAULT).unwrap();
    assert_eq!(
        of(&stage, None).to_string(),
        "inconclusive: +6.34 % (-96.77 % to +3402 %), not flagged: chance can explain it; a \
         change of more than 1000 % would show with 80 % power"
    );
}

#[test]
fn criteria_that_make_no_sense_are_refused() {
    let base = version(&[1.0, 2.0]);
    let criteria = Criteria { min_effect: f64::INFINITY, ..DEFAULT };
    let refusal = Assessment::new(&base, &base, Pairing::BySeed, &criteria).unwrap_err();
    assert_eq!(refusal, Refusal::NotAnEffect(f64::INFINITY));
}

#[test]
fn a_false_alarm_rate_above_the_power_sees_everything() {
    let criteria = Criteria { false_alarm_rate: 0.9, ..DEFAULT };
    let (base, head) = (version(&[1.0, 2.0, 3.0]), version(&[1.1, 2.5, 2.9]));
    let stage = Assessment::new(&base, &head, Pairing::BySeed, &criteria).unwrap();
    assert_eq!(stage.smallest_detectable(), 0.0);
}

#[test]
fn what_is_refused_has_failed_or_is_not_comparable() {
    let one_build = Verdict::refused(&Refusal::TooFewBuilds { builds: 1 });
    assert_eq!(
        one_build.to_string(),
        "failed: at least 2 builds of each version are needed, and one has 1"
    );
    let unequal = Verdict::refused(&Refusal::UnequalMeasurements([10.0, 30.0]));
    assert_eq!(unequal.name(), "not-comparable");
}

proptest! {
    #[test]
    fn swapping_the_versions_swaps_regressed_and_improved_and_changes_no_other_verdict(
        base in prop::collection::vec(0.9..1.1, 2..9),
        head in prop::collection::vec(0.9..1.1, 2..9),
        shift in 0.8..1.2,
        rule in prop::sample::select(&[Rule::Overlap, Rule::Overlap95, Rule::Permutation]),
        min_effect in 0.0..0.3,
        paired in any::<bool>(),
    ) {
        let criteria = Criteria { rule, min_effect, ..SINGLE };
        let head: Vec<f64> = head.iter().map(|value| value * shift).collect();
        let (base, head) = (version(&base), version(&head));
        let pairing = if paired { Pairing::BySeed } else { Pairing::Unpaired };
        let judge = |base: &Summary, head: &Summary| {
            let stage = Assessment::new(base, head, pairing, &criteria).unwrap();
            Verdict::of(&stage, None, 1, &criteria)
        };
        let swapped = match judge(&base, &head).name() {
            "regressed" => "improved",
            "improved" => "regressed",
            other => other,
        };
        prop_assert_eq!(judge(&head, &base).name(), swapped);
    }
}
