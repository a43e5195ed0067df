//! What each function executed in the parts of a dump that are measured.

use std::collections::{BTreeMap, HashMap};

use super::{
    callgrind::{Calls, Dump},
    function::Function,
    graph::components,
};

/// What functions executed, in so many iterations of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The functions, in the order of their first appearance; places in the other fields refer to them.
    pub functions: Vec<Function>,
    /// The instructions that each of them executed itself.
    pub own: Vec<u64>,
    /// The calls between them, from caller to callee.
    pub calls: BTreeMap<(usize, usize), Calls>,
    /// The iterations of the benchmark that all of this is of.
    pub iterations: u64,
}

impl Profile {
    /// Adds up these parts of a dump, which so many iterations executed.
    pub fn of_parts(
        dump: &Dump,
        parts: impl IntoIterator<Item = usize>,
        iterations: u64,
        named: impl Fn(&super::Symbol) -> Function,
    ) -> Self {
        let mut profile = Self { iterations, ..Self::default() };
        let mut places = HashMap::new();
        let mut known: Vec<Option<usize>> = vec![None; dump.symbols.len()];
        let mut place_of = |index: usize, profile: &mut Self| -> usize {
            *known[index].get_or_insert_with(|| {
                let function = named(&dump.symbols[index]);
                *places.entry(function).or_insert_with_key(|function: &Function| {
                    profile.functions.push(function.clone());
                    profile.own.push(0);
                    profile.functions.len() - 1
                })
            })
        };
        for part in parts.into_iter().filter_map(|part| dump.parts.get(part)) {
            for (&index, &own) in &part.own {
                let place = place_of(index, &mut profile);
                profile.own[place] = profile.own[place].saturating_add(own);
            }
            for (&(from, to), calls) in &part.calls {
                let (from, to) = (place_of(from, &mut profile), place_of(to, &mut profile));
                let sum = profile.calls.entry((from, to)).or_default();
                sum.count = sum.count.saturating_add(calls.count);
                sum.inclusive = sum.inclusive.saturating_add(calls.inclusive);
            }
        }
        profile
    }

    /// The instructions that were executed, of all iterations.
    pub fn total(&self) -> u64 {
        self.own.iter().fold(0, |sum, own| sum.saturating_add(*own))
    }

    /// The instructions that each function executed together with what it called. Functions that call each other
    /// in a circle have what the circle executed.
    pub fn inclusive(&self) -> Vec<u64> {
        let circles = components(self.functions.len(), self.calls.keys().copied());
        let mut sums = vec![0_u64; self.functions.len()];
        for (function, own) in self.own.iter().enumerate() {
            let sum = &mut sums[circles[function]];
            *sum = sum.saturating_add(*own);
        }
        for ((from, to), calls) in &self.calls {
            if circles[*from] != circles[*to] {
                let sum = &mut sums[circles[*from]];
                *sum = sum.saturating_add(calls.inclusive);
            }
        }
        circles.into_iter().map(|circle| sums[circle]).collect()
    }

    /// How often each function was called by another one, or by itself.
    pub fn call_counts(&self) -> Vec<u64> {
        let mut counts = vec![0_u64; self.functions.len()];
        for ((_, to), calls) in &self.calls {
            counts[*to] = counts[*to].saturating_add(calls.count);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::profile;

    #[test]
    fn inclusive_costs_are_those_of_a_function_and_of_what_it_called() {
        let profile =
            profile(1, &[("a", 10), ("b", 20), ("c", 5)], &[("a", "b", 2, 25), ("b", "c", 1, 5)]);
        assert_eq!(profile.inclusive(), [35, 25, 5]);
        assert_eq!(profile.call_counts(), [0, 2, 1]);
        assert_eq!(profile.total(), 35);
    }

    #[test]
    fn functions_that_call_each_other_in_a_circle_have_what_the_circle_executed() {
        let profile = profile(
            1,
            &[("walk", 100), ("step", 60), ("leaf", 7), ("main", 1)],
            &[
                ("main", "walk", 1, 167),
                ("walk", "step", 5, 400),
                ("step", "walk", 4, 300),
                ("walk", "walk", 4, 200),
                ("step", "leaf", 7, 7),
            ],
        );
        assert_eq!(profile.inclusive(), [167, 167, 7, 168]);
    }
}
