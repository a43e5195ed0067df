//! Pairs the functions of two builds by what they have in common.

use std::collections::{BTreeMap, VecDeque};

/// Takes out of two lists the pairs that have the same key. Of several with one key the first goes
/// with the first; what remains keeps its order.
pub(super) fn take_pairs<'f, T, K: Ord>(
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

    #[test]
    fn the_first_goes_with_the_first_and_the_rest_keeps_its_order() {
        let mut base = vec![&30, &11, &21, &41];
        let mut head = vec![&55, &51, &17, &61, &19];
        let pairs = take_pairs(&mut base, &mut head, |number| number % 10);
        assert_eq!(pairs, [(&11, &51), (&21, &61)]);
        assert_eq!((base, head), (vec![&30, &41], vec![&55, &17, &19]));
    }
}
