//! Attributes instructions to the functions that cause them. Pure.
//!
//! A function whose code differs causes its own instructions. A function with the same code only does what its callers
//! ask: its instructions belong to its callers, in proportion to the instructions of their calls, and so on, up to
//! functions whose code differs. Instructions of functions without callers stay where they are.
//! Functions that call each other in a cycle share their inclusive cost.

use std::collections::BTreeMap;

use super::sum::Profile;

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

/// The strongly connected component of each of `count` nodes. Components are numbered so that every edge between two
/// leads from a larger number to a smaller one: callees come before their callers.
pub(super) fn components(
    count: usize,
    edges: impl IntoIterator<Item = (usize, usize)>,
) -> Vec<usize> {
    let mut callees = vec![Vec::new(); count];
    for (from, to) in edges {
        callees[from].push(to);
    }
    let mut search = Search {
        callees,
        met: vec![None; count],
        low: vec![0; count],
        component: vec![None; count],
        open: Vec::new(),
        next: 0,
        components: 0,
    };
    for node in 0..count {
        if search.met[node].is_none() {
            search.visit(node);
        }
    }
    search.component.into_iter().map(Option::unwrap_or_default).collect()
}

/// Tarjan's search with an explicit stack, because calls may be nested deeply.
struct Search {
    callees: Vec<Vec<usize>>,
    /// The order in which each node was visited.
    met: Vec<Option<usize>>,
    /// The earliest visited node that each can reach.
    low: Vec<usize>,
    component: Vec<Option<usize>>,
    /// Visited nodes whose component is still unknown.
    open: Vec<usize>,
    next: usize,
    components: usize,
}

impl Search {
    fn visit(&mut self, root: usize) {
        // The nodes being visited, each with the number of its visited callees.
        let mut path = vec![(root, 0)];
        self.meet(root);
        while let Some((node, done)) = path.pop() {
            let Some(&callee) = self.callees[node].get(done) else {
                self.leave(node);
                if let Some(&(caller, _)) = path.last() {
                    self.low[caller] = self.low[caller].min(self.low[node]);
                }
                continue;
            };
            path.push((node, done + 1));
            match self.met[callee] {
                None => {
                    self.meet(callee);
                    path.push((callee, 0));
                }
                Some(met) if self.component[callee].is_none() => {
                    self.low[node] = self.low[node].min(met);
                }
                Some(_) => {}
            }
        }
    }

    fn meet(&mut self, node: usize) {
        self.met[node] = Some(self.next);
        self.low[node] = self.next;
        self.next += 1;
        self.open.push(node);
    }

    /// Closes the component that starts at `node`, if one does.
    fn leave(&mut self, node: usize) {
        if self.met[node] != Some(self.low[node]) {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.component[member] = Some(self.components);
            if member == node {
                break;
            }
        }
        self.components += 1;
    }
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

#[cfg(test)]
mod graph_tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn components_join_cycles_and_order_callees_first() {
        let found = components(5, [(0, 1), (1, 2), (2, 1), (2, 3), (0, 4)]);
        assert_eq!(found[1], found[2]);
        assert!(found[0] > found[1] && found[1] > found[3] && found[0] > found[4]);
    }

    #[test]
    fn components_of_a_long_chain_need_no_deep_stack() {
        let count = 200_000;
        let found = components(count, (1..count).map(|node| (node - 1, node)));
        assert_eq!((found[0], found[count - 1]), (count - 1, 0));
    }

    proptest! {
        #[test]
        fn components_join_mutually_reachable_nodes(
            edges in prop::collection::vec((0..8_usize, 0..8_usize), 0..20),
        ) {
            let mut reaches = [[false; 8]; 8];
            for (node, reached) in reaches.iter_mut().enumerate() {
                reached[node] = true;
            }
            for &(from, to) in &edges {
                reaches[from][to] = true;
            }
            for by in 0..8 {
                for from in 0..8 {
                    for to in 0..8 {
                        reaches[from][to] |= reaches[from][by] && reaches[by][to];
                    }
                }
            }
            let found = components(8, edges.iter().copied());
            for one in 0..8 {
                for other in 0..8 {
                    let together = reaches[one][other] && reaches[other][one];
                    prop_assert_eq!(found[one] == found[other], together);
                    if reaches[one][other] {
                        prop_assert!(found[one] >= found[other]);
                    }
                }
            }
        }
    }
}
