//! Joins functions that only one version calls with the caller into which the other version inlines them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    profile::{SampledState, SampledThread},
    tally::{Key, Tally},
};
use crate::{elf::Name, matching::is_about_opposite};

/// A function whose time counts as its caller's, because one version seems to inline it there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Inlined {
    /// Its demangled name.
    pub name: Name,
    /// True if the head inlines it, false if the base does.
    pub in_head: bool,
}

/// For each such function: the index of its caller, and whether the head inlines it.
///
/// A function that was sampled in one version only counts for the nearest caller of both versions, from which most of its
/// time is called, if that caller's self time changes by about as much in the other direction.
pub fn inlined_functions([base, head]: [&Tally<'_>; 2]) -> BTreeMap<usize, (usize, bool)> {
    let [of_base, of_head] = [base, head].map(|tally| {
        let on_stacks = tally.inclusive.keys();
        on_stacks.filter(|(thread, _)| *thread == SampledThread::Measuring).map(|(_, one)| *one)
    });
    let [of_base, of_head]: [BTreeSet<usize>; 2] = [of_base.collect(), of_head.collect()];
    let both: BTreeSet<usize> = of_base.intersection(&of_head).copied().collect();
    let mut joined = BTreeMap::new();
    for (tally, in_head) in [(base, true), (head, false)] {
        for (caller, functions) in callees_of_one_version(tally, &both) {
            let sum = |tally: &Tally<'_>, function: usize| mean(tally.own.get(&key(function)));
            let gone: f64 = functions.iter().map(|function| sum(tally, *function)).sum();
            let lost = if in_head { -gone } else { gone };
            if is_about_opposite(sum(head, caller) - sum(base, caller), lost) {
                joined.extend(functions.into_iter().map(|function| (function, (caller, in_head))));
            }
        }
    }
    joined
}

/// The functions of this version alone that spend time themselves, by the caller of both versions from which most of it
/// is called.
fn callees_of_one_version(
    tally: &Tally<'_>,
    both: &BTreeSet<usize>,
) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut callers: BTreeMap<usize, BTreeMap<usize, f64>> = BTreeMap::new();
    for (stack, time) in tally.stacks() {
        let mut outwards = tally.functions(stack).rev();
        let Some(innermost) = outwards.next() else { continue };
        let is_own =
            stack.thread == SampledThread::Measuring && stack.state == SampledState::Working;
        if let Some(caller) = outwards.find(|function| both.contains(function))
            && is_own
            && !both.contains(&innermost)
        {
            *callers.entry(innermost).or_default().entry(caller).or_default() += time;
        }
    }
    let mut by_caller: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (function, callers) in callers {
        let most = callers.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        if let Some((caller, _)) = most {
            by_caller.entry(caller).or_default().insert(function);
        }
    }
    by_caller
}

/// The measuring thread's own work in a function.
pub const fn key(function: usize) -> Key {
    (SampledThread::Measuring, SampledState::Working, function)
}

/// The mean over pairs; 0 without any.
pub fn mean(values: Option<&Vec<f64>>) -> f64 {
    values.map_or(0.0, |values| values.iter().sum::<f64>() / values.len() as f64)
}
