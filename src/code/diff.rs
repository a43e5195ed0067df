//! Which functions of two builds have other machine code.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::functions::{FunctionCode, FunctionSet};
use super::name::Name;

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
}

/// A function and its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizedFunction {
    /// Its demangled name.
    pub name: Name,
    /// Its size in bytes.
    pub size: u64,
}

/// A function with other code, and its sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFunction {
    /// Its demangled name.
    pub name: Name,
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
}

impl FunctionSet {
    /// Compares two builds.
    ///
    /// Functions are matched by name. Of several that share one, those with equal code are matched
    /// first, then those with the same symbol, then the largest with the largest.
    pub fn diff(base: &Self, head: &Self) -> FunctionDiff {
        let mut groups: BTreeMap<&Name, [Vec<&FunctionCode>; 2]> = BTreeMap::new();
        for (side, set) in [base, head].into_iter().enumerate() {
            for function in set.functions() {
                groups.entry(&function.name).or_default()[side].push(function);
            }
        }
        let mut diff = FunctionDiff::default();
        for (name, [mut base, mut head]) in groups {
            diff.unchanged += take_pairs(&mut base, &mut head, |function| function.digest).len();
            let mut pairs = take_pairs(&mut base, &mut head, |function| function.instance);
            base.sort_by_key(|function| Reverse(function.size));
            head.sort_by_key(|function| Reverse(function.size));
            let paired = base.len().min(head.len());
            pairs.extend(base.drain(..paired).zip(head.drain(..paired)));

            diff.changed.extend(pairs.into_iter().map(|(base, head)| ChangedFunction {
                name: name.clone(),
                base_size: base.size,
                head_size: head.size,
            }));
            let sized =
                |function: &FunctionCode| SizedFunction { name: name.clone(), size: function.size };
            diff.removed.extend(base.into_iter().map(sized));
            diff.added.extend(head.into_iter().map(sized));
        }
        diff
    }
}

/// Takes out of two groups the pairs that have the same key.
fn take_pairs<'f, K: Ord>(
    base: &mut Vec<&'f FunctionCode>,
    head: &mut Vec<&'f FunctionCode>,
    key: impl Fn(&FunctionCode) -> K,
) -> Vec<(&'f FunctionCode, &'f FunctionCode)> {
    let mut in_head: BTreeMap<K, Vec<&FunctionCode>> = BTreeMap::new();
    for function in head.drain(..).rev() {
        in_head.entry(key(function)).or_default().push(function);
    }
    let mut pairs = Vec::new();
    base.retain(|function| match in_head.get_mut(&key(function)).and_then(Vec::pop) {
        Some(partner) => {
            pairs.push((*function, partner));
            false
        }
        None => true,
    });
    head.extend(in_head.into_values().flatten());
    pairs
}
