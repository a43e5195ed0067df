//! Attributes instructions to the functions that cause them. Pure.
//!
//! A function whose code differs causes its own instructions. A function with the same code only does what its callers
//! ask: its instructions belong to its callers, in proportion to the instructions of their calls, and so on, up to
//! functions whose code differs. Instructions of functions without callers stay where they are.

use std::collections::BTreeMap;

use super::{graph::components, sum::Profile};

/// The instructions that each function causes, in all iterations. `is_reason` marks the functions that cause their own.
/// The sum is that of the profile.
pub(super) fn attributed(profile: &Profile, is_reason: &[bool]) -> Vec<f64> {
    let is_asked = |function: usize| !is_reason.get(function).copied().unwrap_or_default();
    let asked = profile.calls.keys().copied().filter(|(from, to)| is_asked(*from) && is_asked(*to));
    let cycles = components(profile.functions.len(), asked);
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for function in (0..profile.functions.len()).filter(|function| is_asked(*function)) {
        members.entry(cycles[function]).or_default().push(function);
    }
    // The instructions of the calls of each caller into each cycle.
    let mut callers: BTreeMap<usize, BTreeMap<usize, f64>> = BTreeMap::new();
    for ((from, to), calls) in &profile.calls {
        let is_within = is_asked(*from) && cycles[*from] == cycles[*to];
        if is_asked(*to) && !is_within && calls.count > 0 {
            // A call without instructions still counts.
            let weight = (calls.inclusive as f64).max(f64::MIN_POSITIVE);
            *callers.entry(cycles[*to]).or_default().entry(*from).or_default() += weight;
        }
    }
    let mut amounts: Vec<f64> = profile.own.iter().map(|own| *own as f64).collect();
    // Callees come before their callers.
    for (cycle, members) in members {
        let Some(callers) = callers.get(&cycle) else { continue };
        let all: f64 = callers.values().sum();
        let amount: f64 = members.iter().map(|member| std::mem::take(&mut amounts[*member])).sum();
        for (caller, weight) in callers {
            amounts[*caller] += amount * (weight / all);
        }
    }
    amounts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{output::Calls, testing::profile},
        *,
    };

    #[test]
    fn same_function_is_attributed_to_its_callers() {
        let profile = profile(
            1,
            &[("iter", 5), ("changed", 10), ("other", 20), ("same", 90), ("below", 60)],
            &[
                ("iter", "changed", 1, 110),
                ("iter", "other", 1, 70),
                ("changed", "same", 2, 100),
                ("other", "same", 1, 50),
                ("same", "below", 3, 60),
            ],
        );
        let is_reason = [false, true, true, false, false];
        assert_eq!(attributed(&profile, &is_reason), [5.0, 110.0, 70.0, 0.0, 0.0]);
        let none = [false; 5];
        assert_eq!(attributed(&profile, &none), [185.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn cycle_is_attributed_to_its_callers() {
        let profile = profile(
            1,
            &[("changed", 1), ("walk", 30), ("step", 20)],
            &[("changed", "walk", 1, 50), ("walk", "step", 5, 90), ("step", "walk", 4, 80)],
        );
        assert_eq!(attributed(&profile, &[true, false, false]), [51.0, 0.0, 0.0]);
        // A function that is called from both functions belongs to both.
        let [rest, walk, step] = attributed(&profile, &[false, false, true])[..] else { panic!() };
        assert!(walk == 0.0 && step > 20.0 && rest > 1.0 && (rest + step - 51.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn attribution_keeps_the_total(
            own in prop::collection::vec(0..1000_u64, 6),
            calls in prop::collection::btree_map(
                (0..6_usize, 0..6_usize),
                (0..5_u64, 0..1000_u64).prop_map(|(count, inclusive)| Calls { count, inclusive }),
                0..12,
            ),
            is_reason in prop::collection::vec(any::<bool>(), 6),
        ) {
            let names: [(&str, u64); 6] = ["a", "b", "c", "d", "e", "f"].map(|name| (name, 0));
            let profile = Profile { own, calls, ..profile(1, &names, &[]) };
            let sum: f64 = attributed(&profile, &is_reason).iter().sum();
            prop_assert!((sum - profile.total() as f64).abs() < 1e-6);
        }
    }
}
