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
pub fn inlined_functions(tally: &Tally<'_>) -> BTreeMap<usize, (usize, bool)> {
    let in_both = tally.inclusive.iter().filter(|((thread, _), times)| {
        let is_sampled = |times: &Vec<f64>| times.iter().any(|time| *time > 0.0);
        *thread == SampledThread::Measuring && times.iter().all(is_sampled)
    });
    let both: BTreeSet<usize> = in_both.map(|((_, function), _)| *function).collect();
    let change = |function: usize| {
        let own = tally.own.get(&key(function));
        own.map_or(0.0, |[base, head]| mean(head) - mean(base))
    };
    let mut joined = BTreeMap::new();
    for (version, in_head) in [(0, true), (1, false)] {
        let mut callees: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (own, caller) in tally.nearest(version, |function| both.contains(&function)) {
            let (.., function) = own;
            if own == key(function) && !both.contains(&function) {
                callees.entry(caller).or_default().push(function);
            }
        }
        for (caller, functions) in callees {
            let lost = functions.iter().map(|function| change(*function)).sum();
            if is_about_opposite(change(caller), lost) {
                joined.extend(functions.into_iter().map(|function| (function, (caller, in_head))));
            }
        }
    }
    joined
}

/// The measuring thread's own work in a function.
pub const fn key(function: usize) -> Key {
    (SampledThread::Measuring, SampledState::Working, function)
}

/// The mean over pairs.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
