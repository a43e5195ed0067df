//! Compares two builds function by function. Also finds callees that only one version of a function refers to, which
//! shows inlining, and differences outside of functions.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    comparison::{Comparer, Difference},
    digest::Digest,
    format::Unreadable,
    functions::{FunctionCode, FunctionSet, NotComparable},
    name::Name,
    pairing::{Identified, pair},
    references::{Referent, number},
};

/// The difference between the machine code of two builds, function by function.
///
/// If an execution of the first build enters no changed or removed function, and one of the second no changed or added
/// function, and nothing differs `elsewhere`, then both execute the same instructions on the same initial data, except
/// for addresses and for source lines and columns in messages. (Files that are loaded with the executable, and its
/// input, are not compared.)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionDiff {
    /// Functions that only the second build has, in the order of names.
    pub added: Vec<SizedFunction>,
    /// Functions that only the first build has, in the order of names.
    pub removed: Vec<SizedFunction>,
    /// Functions of both builds whose code, or data that they refer to, differs; in the order of names.
    pub changed: Vec<ChangedFunction>,
    /// The number of functions with the same code in both builds that refer to the same data.
    pub unchanged: usize,
    /// Phrases that name other differences, or possible differences, in executed code or data.
    pub elsewhere: Vec<String>,
    /// True if inputs of either build could not be read, so that functions may be missing.
    pub incomplete: bool,
}

/// A function and its size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SizedFunction {
    /// Its demangled name.
    pub name: Name,
    /// Distinguishes functions of one name: a digest of its symbol.
    #[serde(serialize_with = "hash::serialize")]
    #[schemars(with = "String", regex(pattern = HASH))]
    pub instance: u64,
    /// Its size in bytes.
    #[serde(rename = "size_bytes")]
    pub size: u64,
    /// The size of its stack frame in bytes, if known.
    #[serde(rename = "stack_bytes")]
    pub stack: Option<u64>,
}

/// A function whose code or data changed, and its sizes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ChangedFunction {
    /// Its demangled name.
    pub name: Name,
    /// Distinguishes functions of one name: a digest of its symbol in the head.
    #[serde(serialize_with = "hash::serialize")]
    #[schemars(with = "String", regex(pattern = HASH))]
    pub instance: u64,
    /// The digest of its symbol in the base.
    #[serde(serialize_with = "hash::serialize")]
    #[schemars(with = "String", regex(pattern = HASH))]
    pub base_instance: u64,
    /// Its size in the base, in bytes.
    #[serde(rename = "base_bytes")]
    pub base_size: u64,
    /// Its size in the head, in bytes.
    #[serde(rename = "head_bytes")]
    pub head_size: u64,
    /// The size of its stack frame in the base in bytes, if known.
    #[serde(rename = "base_stack_bytes")]
    pub base_stack: Option<u64>,
    /// The size of its stack frame in the head.
    #[serde(rename = "head_stack_bytes")]
    pub head_stack: Option<u64>,
    /// The kind of the difference.
    #[serde(flatten)]
    pub cause: Cause,
    /// The functions that only the head refers to here, in the order of names: it calls them, or it already
    /// did so in a function that is inlined now.
    pub callees_gained: Vec<Name>,
    /// The functions that only the base refers to here, in the order of names: inlined, or no longer called.
    pub callees_lost: Vec<Name>,
}

/// The kind of a function's difference.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "differs", content = "data", rename_all = "snake_case")]
pub enum Cause {
    /// Its code, or the functions that it refers to.
    #[default]
    Code,
    /// Only the contents of data that it refers to; the name of the static, if it has one.
    Data(Option<Name>),
}

/// The schema of a hash of 64 bits.
pub const HASH: &str = "^[0-9a-f]{16}$";

/// Writes a hash of 64 bits as hexadecimal digits: as a number, readers of JSON would round it.
pub mod hash {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    /// Writes the digits.
    pub fn serialize<S: Serializer>(hash: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{hash:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        u64::from_str_radix(&String::deserialize(from)?, 16).map_err(D::Error::custom)
    }
}

impl FunctionDiff {
    /// True if both builds have the same functions with the same code and data.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// The names that several of these functions share.
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
    /// Functions are [paired](pair) by name, and those of one name first by their code. A pair is the same if its
    /// bytes are, and if everything that these refer to is: the same pairs of functions, equal data, and the same
    /// external symbols.
    pub fn diff(base: &Self, head: &Self) -> FunctionDiff {
        let (of_base, of_head) = (numbered(base), numbered(head));
        let paired = pair(&of_base, &of_head);
        let mut partners = vec![None; of_base.len()];
        for (base, head) in &paired.pairs {
            partners[base.index as usize] = Some(head.index);
        }
        let comparison = Comparer::new(base.references(), head.references(), &partners);
        let changed = |(own, other): &(&Numbered, &Numbered)| {
            let cause = match comparison.difference(own.index, other.index)? {
                Difference::Code => Cause::Code,
                Difference::Data(name) => Cause::Data(name.cloned()),
            };
            Some(ChangedFunction {
                name: other.code.name.clone(),
                instance: other.code.instance,
                base_instance: own.code.instance,
                base_size: own.code.size,
                head_size: other.code.size,
                base_stack: own.code.stack,
                head_stack: other.code.stack,
                cause,
                callees_gained: callees_gained((base, own.index), (head, other.index), &partners),
                callees_lost: callees_lost((base, own.index), (head, other.index), &partners),
            })
        };
        let is_incomplete = |set: &Self| !set.not_comparable().is_empty();
        let sized = |functions: Vec<&Numbered>| -> Vec<SizedFunction> {
            let mut sized: Vec<_> =
                functions.into_iter().map(|function| SizedFunction::from(function.code)).collect();
            sized.sort_unstable();
            sized
        };
        let mut changed: Vec<_> = paired.pairs.iter().filter_map(changed).collect();
        changed.sort_unstable();
        FunctionDiff {
            added: sized(paired.only_head),
            removed: sized(paired.only_base),
            unchanged: paired.pairs.len() - changed.len(),
            changed,
            elsewhere: elsewhere(base, head, &comparison),
            incomplete: is_incomplete(base) || is_incomplete(head),
        }
    }
}

fn numbered(set: &FunctionSet) -> Vec<Numbered<'_>> {
    let functions = set.functions().iter().enumerate();
    functions.map(|(index, code)| Numbered { index: number(index), code }).collect()
}

/// A function and its index in its set.
struct Numbered<'f> {
    index: u32,
    code: &'f FunctionCode,
}

impl Identified for Numbered<'_> {
    fn name(&self) -> &Name {
        self.code.name()
    }

    fn code(&self) -> impl Ord {
        self.code.code()
    }

    fn instance(&self) -> impl Ord {
        self.code.instance()
    }

    fn size(&self) -> u64 {
        self.code.size()
    }
}

impl From<&FunctionCode> for SizedFunction {
    fn from(function: &FunctionCode) -> Self {
        let FunctionCode { name, instance, size, stack, .. } = function;
        Self { name: name.clone(), instance: *instance, size: *size, stack: *stack }
    }
}

/// A function, as its set and its index there.
type Place<'s> = (&'s FunctionSet, u32);

/// The functions that only the second function refers to, in the order of names. `partners` holds the second set's
/// partner of each function of the first.
fn callees_gained(base: Place<'_>, head: Place<'_>, partners: &[Option<u32>]) -> Vec<Name> {
    let partner = |index: u32| partners.get(index as usize).copied().flatten();
    let known: BTreeSet<u32> = functions(base).filter_map(partner).collect();
    let outside: BTreeSet<&str> = outside(base).collect();
    names(head, |index| known.contains(&index), |symbol| outside.contains(symbol))
}

/// The functions that only the first function refers to, in the order of names.
fn callees_lost(base: Place<'_>, head: Place<'_>, partners: &[Option<u32>]) -> Vec<Name> {
    let partner = |index: u32| partners.get(index as usize).copied().flatten();
    let known: BTreeSet<u32> = functions(head).collect();
    let outside: BTreeSet<&str> = outside(head).collect();
    names(
        base,
        |index| partner(index).is_some_and(|partner| known.contains(&partner)),
        |symbol| outside.contains(symbol),
    )
}

/// The names of everything that a function refers to, except itself and what is known.
fn names(
    place: Place<'_>,
    is_known: impl Fn(u32) -> bool,
    is_known_outside: impl Fn(&str) -> bool,
) -> Vec<Name> {
    let (set, own) = place;
    let inside = functions(place).filter(|&index| index != own && !is_known(index));
    let inside = inside.filter_map(|index| Some(set.functions().get(index as usize)?.name.clone()));
    let outside = outside(place).filter(|symbol| !is_known_outside(symbol)).map(Name::demangle);
    let names: BTreeSet<Name> = inside.chain(outside).collect();
    names.into_iter().collect()
}

/// The indices of the functions of the set that a function refers to.
fn functions(place: Place<'_>) -> impl Iterator<Item = u32> {
    references(place).filter_map(|to| match to {
        Referent::Entry(index) | Referent::Inside(index) => Some(index),
        Referent::Data(_) | Referent::Outside(_) | Referent::Nowhere => None,
    })
}

/// The symbols that a function refers to and no input defines: functions of shared libraries, and a few of their
/// variables.
fn outside((set, index): Place<'_>) -> impl Iterator<Item = &str> {
    references((set, index)).filter_map(|to| match to {
        Referent::Outside(index) => {
            set.references().symbol(index).filter(|symbol| !symbol.is_empty())
        }
        Referent::Entry(_) | Referent::Inside(_) | Referent::Data(_) | Referent::Nowhere => None,
    })
}

fn references((set, index): Place<'_>) -> impl Iterator<Item = Referent> {
    let function = set.references().functions.get(index as usize);
    function.into_iter().flat_map(|function| &function.references).map(|reference| reference.to)
}

/// Phrases that name differences, or possible differences, outside of the sets' functions.
fn elsewhere(base: &FunctionSet, head: &FunctionSet, comparison: &Comparer<'_>) -> Vec<String> {
    let mut phrases: Vec<String> = comparison.unreferenced().map(str::to_owned).collect();
    phrases.extend(unread(base, head));
    phrases.extend(unseen(base, head));
    phrases.sort_unstable();
    phrases.dedup();
    phrases
}

/// The inputs that could not be read, except those with the same bytes in both builds.
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
        // The code made from bitcode depends on all of the bitcode.
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

/// Functions without code in any input, except those that both builds have with equal sizes. These belong to the
/// toolchain, which is the same for both.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::elf::digest::Digest;

    /// Functions given by name, instance, size and a number in place of their code.
    fn set(functions: &[(&str, u64, u64, u8)]) -> FunctionSet {
        let code = |&(name, instance, size, code): &(&str, u64, u64, u8)| FunctionCode {
            name: Name::demangle(name),
            instance,
            size,
            digest: Digest::compute(&[code]),
            stack: None,
        };
        functions.iter().map(code).collect()
    }

    fn sizes(diff: &FunctionDiff) -> Vec<(u64, u64)> {
        diff.changed.iter().map(|function| (function.base_size, function.head_size)).collect()
    }

    #[test]
    fn diff_has_added_removed_and_changed_functions() {
        let base = set(&[("gone", 1, 10, 0), ("same", 1, 20, 1), ("other", 1, 30, 2)]);
        let head = set(&[("new", 1, 11, 0), ("same", 1, 20, 1), ("other", 1, 33, 3)]);
        let diff = FunctionSet::diff(&base, &head);
        assert_eq!(
            diff.added,
            [SizedFunction { name: Name::demangle("new"), instance: 1, size: 11, stack: None }]
        );
        assert_eq!(
            diff.removed,
            [SizedFunction { name: Name::demangle("gone"), instance: 1, size: 10, stack: None }]
        );
        assert_eq!(sizes(&diff), [(30, 33)]);
        assert_eq!(diff.unchanged, 1);
    }

    #[test]
    fn diff_pairs_namesakes_with_equal_code_first() {
        let base = set(&[("f", 1, 10, 1), ("f", 2, 20, 2)]);
        let head = set(&[("f", 7, 20, 2), ("f", 8, 10, 1)]);
        let diff = FunctionSet::diff(&base, &head);
        assert!(diff.is_empty());
        assert_eq!(diff.unchanged, 2);
    }

    #[test]
    fn diff_pairs_namesakes_by_symbol_and_then_by_size() {
        let base = set(&[("f", 1, 100, 1), ("f", 2, 200, 2), ("f", 3, 5, 3), ("f", 4, 70, 4)]);
        let head = set(&[("f", 1, 250, 5), ("f", 2, 90, 6), ("f", 8, 75, 7), ("f", 9, 7, 8)]);
        let diff = FunctionSet::diff(&base, &head);
        assert_eq!(sizes(&diff), [(100, 250), (200, 90), (70, 75), (5, 7)]);
        assert!(diff.added.is_empty() && diff.removed.is_empty());
        let instances: Vec<u64> = diff.changed.iter().map(|function| function.instance).collect();
        assert_eq!(instances, [1, 2, 8, 9]);
        assert_eq!(diff.shared_names(), [&Name::demangle("f")].into());
    }

    proptest! {
        #[test]
        fn diff_counts_every_function_once(
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
