//! Tests of explanations whose reasons are known.

use proptest::prelude::*;

use super::{
    super::testing::{code_of as set, profile},
    *,
};

fn names(explanation: &Explanation) -> Vec<&str> {
    explanation.functions.iter().map(|function| function.name.as_str()).collect()
}

fn find<'e>(explanation: &'e Explanation, name: &str) -> &'e FunctionDifference {
    explanation.functions.iter().find(|function| function.name.as_str() == name).unwrap()
}

#[track_caller]
fn assert_sums(explanation: &Explanation) {
    for of in [FunctionDifference::own, FunctionDifference::attributed] {
        let sum: f64 = explanation.functions.iter().map(of).sum();
        let total = explanation.difference();
        assert!((sum - total).abs() <= 1e-9 * total.abs().max(1.0), "{sum} {total}");
    }
}

#[test]
fn caller_of_more_calls_is_the_reason() {
    let of = |iterations: u64, calls: u64| {
        let iter = 7 * iterations;
        let below = 10 * calls * iterations;
        let caller = (20 + calls) * iterations;
        profile(
            iterations,
            &[("iter", iter), ("caller", caller), ("callee", below), ("still", 30 * iterations)],
            &[
                ("iter", "caller", iterations, caller + below),
                ("iter", "still", iterations, 30 * iterations),
                ("caller", "callee", calls * iterations, below),
            ],
        )
    };
    let (base, head) = (of(5, 4), of(9, 8));
    let base_set = set(&[("iter", 0), ("caller", 1), ("callee", 2), ("still", 3)]);
    let head_set = set(&[("iter", 0), ("caller", 9), ("callee", 2), ("still", 3)]);
    let explanation = explain([
        Side { profile: &base, functions: &base_set },
        Side { profile: &head, functions: &head_set },
    ]);
    assert_eq!(names(&explanation), ["caller", "callee", "iter", "still"]);
    assert_sums(&explanation);
    assert!((explanation.difference() - 44.0).abs() < 1e-9);
    let caller = find(&explanation, "caller");
    assert_eq!((caller.own(), caller.attributed(), caller.inclusive()), (4.0, 44.0, 44.0));
    assert!(matches!(&caller.code, Code::Changed(_)));
    let callee = find(&explanation, "callee");
    assert_eq!((callee.own(), callee.attributed(), callee.calls()), (40.0, 0.0, [4.0, 8.0]));
    assert_eq!(callee.code, Code::Same);
    assert_eq!(explanation.reasons().count(), 1);
}

#[test]
fn outlined_function_is_reported_with_its_former_caller() {
    let base = profile(1, &[("iter", 5), ("parse", 100)], &[("iter", "parse", 1, 100)]);
    let head = profile(
        1,
        &[("iter", 5), ("parse", 40), ("digit", 80)],
        &[("iter", "parse", 1, 120), ("parse", "digit", 8, 80)],
    );
    let base_set = set(&[("iter", 0), ("parse", 1)]);
    let head_set = set(&[("iter", 0), ("parse", 2), ("digit", 3)]);
    let sides = [
        Side { profile: &base, functions: &base_set },
        Side { profile: &head, functions: &head_set },
    ];
    let explanation = explain(sides);
    assert_eq!(names(&explanation), ["parse", "digit", "iter"]);
    assert_sums(&explanation);
    let parse = find(&explanation, "parse");
    assert_eq!((parse.own(), parse.attributed()), (-60.0, 20.0));
    assert_eq!(parse.callees_gained[0].name, Name::demangle("digit"));
    assert_eq!((parse.callees_gained[0].calls, parse.callees_lost.len()), (8.0, 0));
    let digit = find(&explanation, "digit");
    assert!(matches!(&digit.code, Code::OnlyHead(_)));
    assert_eq!(digit.inlined_into, Some(Name::demangle("parse")));
    assert_eq!((digit.base, digit.own()), (None, 80.0));
    // The same with both versions swapped.
    let back = explain([sides[1], sides[0]]);
    let digit = find(&back, "digit");
    assert!(matches!(&digit.code, Code::OnlyBase(_)));
    assert_eq!((digit.inlined_into.as_ref(), digit.own()), (Some(&Name::demangle("parse")), -80.0));
    assert_eq!(find(&back, "parse").callees_lost[0].name, Name::demangle("digit"));
}

#[test]
fn function_behind_a_pointer_is_its_own_reason() {
    let base = profile(1, &[("iter", 5), ("old", 50)], &[("iter", "old", 1, 50)]);
    let head = profile(1, &[("iter", 5), ("new", 70)], &[("iter", "new", 1, 70)]);
    let base_set = set(&[("iter", 0), ("old", 1)]);
    let head_set = set(&[("iter", 0), ("new", 2)]);
    let explanation = explain([
        Side { profile: &base, functions: &base_set },
        Side { profile: &head, functions: &head_set },
    ]);
    assert_eq!(names(&explanation), ["new", "old", "iter"]);
    assert!((find(&explanation, "old").attributed() + 50.0).abs() < 1e-9);
    assert_eq!(find(&explanation, "old").inlined_into, None);
    assert_sums(&explanation);
}

#[test]
fn equal_code_sorts_by_self_cost_without_reasons() {
    let of = |rounds: u64| {
        profile(
            1,
            &[("iter", 5), ("work", rounds), ("memcpy", rounds / 10)],
            &[("iter", "work", 1, rounds + rounds / 10), ("work", "memcpy", 1, rounds / 10)],
        )
    };
    let (base, head) = (of(1000), of(1200));
    let functions = set(&[("iter", 0), ("work", 1), ("memcpy", 2)]);
    let side = |profile| Side { profile, functions: &functions };
    let explanation = explain([side(&base), side(&head)]);
    assert_eq!(explanation.reasons().count(), 0);
    assert_sums(&explanation);
    assert!((find(&explanation, "work").own() - 200.0).abs() < 1e-9);
    assert_eq!(names(&explanation), ["work", "memcpy", "iter"]);
    // It has no known caller.
    assert!((find(&explanation, "iter").attributed() - 220.0).abs() < 1e-9);
}

proptest! {
    #[test]
    fn differences_sum_to_the_total(
        own in prop::collection::vec(0..100_u64, 10),
        codes in prop::collection::vec(0..3_u8, 10),
        calls in prop::collection::vec((0..5_usize, 0..5_usize, 0..4_u64, 0..99_u64), 0..12),
        iterations in (1..9_u64, 1..9_u64),
    ) {
        let names = ["a", "b", "c", "d", "e"];
        let calls: Vec<_> = calls
            .iter()
            .map(|(from, to, count, cost)| (names[*from], names[*to], *count, *cost))
            .collect();
        let of = |version: usize, iterations| {
            let own = own[5 * version..].iter();
            let functions: Vec<_> = names.iter().copied().zip(own.copied()).collect();
            profile(iterations, &functions, &calls)
        };
        let set_of = |version: usize| {
            let codes = codes[5 * version..].iter();
            let functions: Vec<_> = names.iter().copied().zip(codes.copied()).collect();
            // Some exist in one version only.
            set(&functions.into_iter().filter(|(_, code)| *code > 0).collect::<Vec<_>>())
        };
        let (base, head) = (of(0, iterations.0), of(1, iterations.1));
        let (base_set, head_set) = (set_of(0), set_of(1));
        let explanation = explain([
            Side { profile: &base, functions: &base_set },
            Side { profile: &head, functions: &head_set },
        ]);
        for difference in [FunctionDifference::own, FunctionDifference::attributed] {
            let sum: f64 = explanation.functions.iter().map(difference).sum();
            prop_assert!((sum - explanation.difference()).abs() < 1e-6);
        }
        let executed = |of: fn(&FunctionDifference) -> Option<Executed>| {
            explanation.functions.iter().filter_map(of).count()
        };
        prop_assert_eq!(executed(|one| one.base), 5);
        prop_assert_eq!(executed(|one| one.head), 5);
    }
}
