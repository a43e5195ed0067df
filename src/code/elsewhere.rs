//! What differs between two builds besides their functions, or may differ since nothing is known about it.

use std::collections::BTreeMap;

use super::comparison::Comparison;
use super::digest::Digest;
use super::elf::Unreadable;
use super::functions::FunctionSet;
use super::members::NotComparable;

/// Phrases that name what differs, or may differ, in no function of the sets.
pub(super) fn elsewhere(
    base: &FunctionSet,
    head: &FunctionSet,
    comparison: &Comparison<'_>,
) -> Vec<String> {
    let mut phrases: Vec<String> = comparison.unreferenced().map(str::to_owned).collect();
    phrases.extend(unread(base, head));
    phrases.extend(unseen(base, head));
    phrases.sort_unstable();
    phrases.dedup();
    phrases
}

/// The inputs that could not be read, unless both builds have inputs with the same bytes.
fn unread(base: &FunctionSet, head: &FunctionSet) -> Vec<String> {
    let mut count: BTreeMap<Digest, (i64, Vec<&NotComparable>)> = BTreeMap::new();
    for (set, one) in [(base, 1), (head, -1)] {
        for (input, digest) in set.unread() {
            let (number, inputs) = count.entry(digest).or_default();
            *number += one;
            inputs.push(input);
        }
    }
    let is_open = |(number, inputs): &(i64, Vec<&NotComparable>)| {
        // What becomes of bitcode depends on all of it.
        *number != 0 || inputs.iter().any(|input| input.reason == Unreadable::Bitcode)
    };
    let inputs = count.into_values().filter(is_open).flat_map(|(_, inputs)| inputs);
    inputs
        .map(|NotComparable { input, .. }| {
            let file = input.rsplit_once('/').map_or(input.as_str(), |(_, file)| file);
            format!("the link input {file}, which could not be read")
        })
        .collect()
}

/// Functions whose code is in no input, unless both builds have them with one size. They are the toolchain's
/// own, which is the same for both.
fn unseen(base: &FunctionSet, head: &FunctionSet) -> Vec<String> {
    let mut count = BTreeMap::new();
    for (set, one) in [(base, 1), (head, -1)] {
        for function in set.unseen() {
            *count.entry(function).or_default() += one;
        }
    }
    let others = count.into_iter().filter(|&(_, number): &(_, i64)| number != 0);
    others.map(|((name, _), _)| format!("the function {name}, which is in no link input")).collect()
}
