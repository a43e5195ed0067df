//! Which functions of two builds have different machine code.

use std::collections::BTreeSet;

use serde::Serialize;

use super::functions::{FunctionCode, FunctionSet};
use super::name::Name;
use super::pairing::{Identified, pair};

/// The difference between the machine code of two builds, function by function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FunctionDiff {
    /// Functions that only the second build has, in the order of names.
    pub added: Vec<SizedFunction>,
    /// Functions that only the first build has, in the order of names.
    pub removed: Vec<SizedFunction>,
    /// Functions of both builds whose code differs, in the order of names.
    pub changed: Vec<ChangedFunction>,
    /// The number of functions with the same code in both.
    pub unchanged: usize,
    /// Whether inputs of either build could not be read, so that there may be other functions.
    pub incomplete: bool,
}

/// A function and its size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SizedFunction {
    /// Its demangled name.
    pub name: Name,
    /// Tells it apart from others of its name: a digest of its symbol.
    pub instance: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// A function with other code, and its sizes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ChangedFunction {
    /// Its demangled name.
    pub name: Name,
    /// Tells it apart from others of its name: a digest of its symbol in the second build.
    pub instance: u64,
    /// The same in the first build.
    pub base_instance: u64,
    /// Its size in the first build, in bytes.
    pub base_size: u64,
    /// Its size in the second build, in bytes.
    pub head_size: u64,
}

impl FunctionDiff {
    /// Whether both builds have the same functions with the same code.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// The names that several of these functions have.
    pub fn shared_names(&self) -> BTreeSet<&Name> {
        let sized = self.added.iter().chain(&self.removed).map(|function| &function.name);
        let mut met = BTreeSet::new();
        let names = self.changed.iter().map(|function| &function.name).chain(sized);
        names.filter(|name| !met.insert(*name)).collect()
    }
}

impl FunctionSet {
    /// Compares two builds.
    ///
    /// Functions are [paired](pair) by name, and those of one name by their code first.
    pub fn diff(base: &Self, head: &Self) -> FunctionDiff {
        let paired = pair(base.functions(), head.functions());
        let is_incomplete = |set: &Self| !set.not_comparable().is_empty();
        let (same, changed): (Vec<_>, Vec<_>) =
            paired.pairs.into_iter().partition(|(base, head)| base.digest == head.digest);
        let mut diff = FunctionDiff {
            added: paired.only_head.into_iter().map(SizedFunction::from).collect(),
            removed: paired.only_base.into_iter().map(SizedFunction::from).collect(),
            changed: changed.into_iter().map(ChangedFunction::from).collect(),
            unchanged: same.len(),
            incomplete: is_incomplete(base) || is_incomplete(head),
        };
        diff.added.sort_unstable();
        diff.removed.sort_unstable();
        diff.changed.sort_unstable();
        diff
    }
}

impl Identified for FunctionCode {
    fn name(&self) -> &Name {
        &self.name
    }

    fn code(&self) -> impl Ord {
        self.digest
    }

    fn instance(&self) -> impl Ord {
        self.instance
    }

    fn size(&self) -> u64 {
        self.size
    }
}

impl From<&FunctionCode> for SizedFunction {
    fn from(function: &FunctionCode) -> Self {
        Self { name: function.name.clone(), instance: function.instance, size: function.size }
    }
}

impl From<(&FunctionCode, &FunctionCode)> for ChangedFunction {
    fn from((base, head): (&FunctionCode, &FunctionCode)) -> Self {
        Self {
            name: head.name.clone(),
            instance: head.instance,
            base_instance: base.instance,
            base_size: base.size,
            head_size: head.size,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::digest::Digest;
    use super::*;

    /// Functions given by name, instance, size and what stands for their code.
    fn set(functions: &[(&str, u64, u64, u8)]) -> FunctionSet {
        let code = |&(name, instance, size, code): &(&str, u64, u64, u8)| FunctionCode {
            name: Name::of(name),
            instance,
            size,
            digest: Digest::of(&[code]),
        };
        functions.iter().map(code).collect()
    }

    fn sizes(diff: &FunctionDiff) -> Vec<(u64, u64)> {
        diff.changed.iter().map(|function| (function.base_size, function.head_size)).collect()
    }

    #[test]
    fn functions_are_added_removed_changed_and_unchanged() {
        let base = set(&[("gone", 1, 10, 0), ("same", 1, 20, 1), ("other", 1, 30, 2)]);
        let head = set(&[("new", 1, 11, 0), ("same", 1, 20, 1), ("other", 1, 33, 3)]);
        let diff = FunctionSet::diff(&base, &head);
        assert_eq!(diff.added, [SizedFunction { name: Name::of("new"), instance: 1, size: 11 }]);
        assert_eq!(diff.removed, [SizedFunction { name: Name::of("gone"), instance: 1, size: 10 }]);
        assert_eq!(sizes(&diff), [(30, 33)]);
        assert_eq!(diff.unchanged, 1);
    }

    #[test]
    fn namesakes_with_equal_code_cancel_whatever_their_symbols() {
        let base = set(&[("f", 1, 10, 1), ("f", 2, 20, 2)]);
        let head = set(&[("f", 7, 20, 2), ("f", 8, 10, 1)]);
        let diff = FunctionSet::diff(&base, &head);
        assert!(diff.is_empty());
        assert_eq!(diff.unchanged, 2);
    }

    #[test]
    fn namesakes_are_paired_by_symbol_and_then_by_size() {
        let base = set(&[("f", 1, 100, 1), ("f", 2, 200, 2), ("f", 3, 5, 3), ("f", 4, 70, 4)]);
        let head = set(&[("f", 1, 250, 5), ("f", 2, 90, 6), ("f", 8, 75, 7), ("f", 9, 7, 8)]);
        let diff = FunctionSet::diff(&base, &head);
        assert_eq!(sizes(&diff), [(100, 250), (200, 90), (70, 75), (5, 7)]);
        assert!(diff.added.is_empty() && diff.removed.is_empty());
        let instances: Vec<u64> = diff.changed.iter().map(|function| function.instance).collect();
        assert_eq!(instances, [1, 2, 8, 9]);
        assert_eq!(diff.shared_names(), [&Name::of("f")].into());
    }

    proptest! {
        #[test]
        fn every_function_is_counted_once(
            base in prop::collection::vec((0..4_u64, 0..3_u64, 1..5_u64, 0..4_u8), 0..12),
            head in prop::collection::vec((0..4_u64, 0..3_u64, 1..5_u64, 0..4_u8), 0..12),
        ) {
            let names = ["a", "b", "c", "d"];
            let set_of = |functions: &[(u64, u64, u64, u8)]| {
                let named = |&(name, instance, size, code): &(u64, u64, u64, u8)| {
                    (names[usize::try_from(name).unwrap()], instance, size, code)
                };
                set(&functions.iter().map(named).collect::<Vec<_>>())
            };
            let (base_set, head_set) = (set_of(&base), set_of(&head));
            let diff = FunctionSet::diff(&base_set, &head_set);
            let paired = diff.changed.len() + diff.unchanged;
            prop_assert_eq!(paired + diff.removed.len(), base.len());
            prop_assert_eq!(paired + diff.added.len(), head.len());
            let back = FunctionSet::diff(&head_set, &base_set);
            prop_assert_eq!(back.unchanged, diff.unchanged);
            prop_assert!(FunctionSet::diff(&base_set, &base_set).is_empty());
        }
    }
}
