//! Pairs the functions of two builds by name.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, VecDeque},
};

use super::name::Name;

/// The properties of a function that distinguish it from others.
pub trait Identified {
    /// Identifies it across versions, unless another function has the same name.
    fn name(&self) -> &Name;

    /// Equal for functions with the same machine code, if the code is known.
    fn code(&self) -> impl Ord;

    /// Equal for functions with the same symbol, ignoring the numbers of link-time optimisation.
    fn instance(&self) -> impl Ord;

    /// Its size in bytes.
    fn size(&self) -> u64;
}

/// The pairs of two lists of functions.
pub struct Paired<'f, F> {
    /// Functions in both lists.
    pub pairs: Vec<(&'f F, &'f F)>,
    /// Functions only in the first list.
    pub only_base: Vec<&'f F>,
    /// Functions only in the second list.
    pub only_head: Vec<&'f F>,
}

/// Pairs functions by name. Among functions of one name, those with equal code and equal symbols are paired first,
/// then those with equal code, then those with equal symbols, then the largest with the largest; equal ones in their
/// order.
pub fn pair<'f, F: Identified>(
    base: impl IntoIterator<Item = &'f F>,
    head: impl IntoIterator<Item = &'f F>,
) -> Paired<'f, F> {
    let mut groups: HashMap<&Name, [Vec<&'f F>; 2]> = HashMap::new();
    for function in base {
        groups.entry(function.name()).or_default()[0].push(function);
    }
    for function in head {
        groups.entry(function.name()).or_default()[1].push(function);
    }
    let mut paired = Paired { pairs: Vec::new(), only_base: Vec::new(), only_head: Vec::new() };
    for (_, [mut base, mut head]) in groups {
        let pairs = &mut paired.pairs;
        if base.len() > 1 || head.len() > 1 {
            pairs.extend(take_pairs(&mut base, &mut head, |one| (one.code(), one.instance())));
            pairs.extend(take_pairs(&mut base, &mut head, Identified::code));
            pairs.extend(take_pairs(&mut base, &mut head, Identified::instance));
            base.sort_by_key(|one| Reverse(one.size()));
            head.sort_by_key(|one| Reverse(one.size()));
        }
        let both = base.len().min(head.len());
        pairs.extend(base.drain(..both).zip(head.drain(..both)));
        paired.only_base.append(&mut base);
        paired.only_head.append(&mut head);
    }
    paired
}

/// Removes the pairs with equal keys from two lists. Among equal keys the first is paired with the first; the rest
/// keeps its order.
fn take_pairs<'f, T, K: Ord>(
    base: &mut Vec<&'f T>,
    head: &mut Vec<&'f T>,
    key: impl Fn(&'f T) -> K,
) -> Vec<(&'f T, &'f T)> {
    let mut in_head: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
    for (index, function) in head.iter().enumerate() {
        in_head.entry(key(function)).or_default().push_back(index);
    }
    let mut is_taken = vec![false; head.len()];
    let mut pairs = Vec::new();
    base.retain(|function| {
        let partner = in_head.get_mut(&key(function)).and_then(VecDeque::pop_front);
        if let Some(index) = partner {
            pairs.push((*function, head[index]));
            is_taken[index] = true;
        }
        partner.is_none()
    });
    let mut is_taken = is_taken.into_iter();
    head.retain(|_| !is_taken.next().unwrap_or_default());
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Function(Name, char, u8, u64);

    impl Identified for Function {
        fn name(&self) -> &Name {
            &self.0
        }

        fn code(&self) -> impl Ord {
            self.1
        }

        fn instance(&self) -> impl Ord {
            self.2
        }

        fn size(&self) -> u64 {
            self.3
        }
    }

    /// Pairs functions of one name, given by code, instance and size; returns the indices of the pairs.
    fn pairs(base: &[(char, u8, u64)], head: &[(char, u8, u64)]) -> Vec<(usize, usize)> {
        let functions = |given: &[(char, u8, u64)]| -> Vec<Function> {
            let all = given.iter();
            all.map(|&(code, instance, size)| Function(Name::demangle("f"), code, instance, size))
                .collect()
        };
        let (base, head) = (functions(base), functions(head));
        let place = |all: &[Function], one| all.iter().position(|other| std::ptr::eq(other, one));
        let paired = pair(&base, &head).pairs.into_iter();
        let mut found: Vec<_> = paired
            .map(|(one, other)| (place(&base, one).unwrap(), place(&head, other).unwrap()))
            .collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn namesakes_with_equal_code_are_paired_first() {
        assert_eq!(
            pairs(&[('a', 1, 5), ('b', 2, 5)], &[('b', 1, 5), ('a', 2, 5)]),
            [(0, 1), (1, 0)]
        );
    }

    #[test]
    fn namesakes_with_equal_code_are_paired_by_symbol() {
        assert_eq!(
            pairs(&[('a', 1, 5), ('a', 2, 5)], &[('a', 2, 5), ('a', 1, 5)]),
            [(0, 1), (1, 0)]
        );
    }

    #[test]
    fn namesakes_with_other_code_are_paired_by_symbol_then_size() {
        let base = [('a', 1, 5), ('b', 2, 9), ('c', 3, 4)];
        assert_eq!(
            pairs(&base, &[('x', 7, 3), ('y', 8, 8), ('z', 1, 1)]),
            [(0, 2), (1, 1), (2, 0)]
        );
    }

    #[test]
    fn unique_name_pairs_functions_with_any_code() {
        assert_eq!(pairs(&[('a', 1, 5)], &[('z', 9, 100)]), [(0, 0)]);
    }

    #[test]
    fn take_pairs_is_stable() {
        let mut base = vec![&30, &11, &21, &41];
        let mut head = vec![&55, &51, &17, &61, &19];
        let pairs = take_pairs(&mut base, &mut head, |number| number % 10);
        assert_eq!(pairs, [(&11, &51), (&21, &61)]);
        assert_eq!((base, head), (vec![&30, &41], vec![&55, &17, &19]));
    }
}
