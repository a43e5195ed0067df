//! Chooses the two versions of a range to compare next. Pure: it knows only indexes and answers, no results.

use std::collections::{HashMap, HashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each version with its predecessor, the newest first.
    Adjacent,
    /// The ends first, then halves of compared pairs: halves of changed pairs first, and long ones before short ones.
    /// Whenever the time is over, every version that was not compared is between two that were.
    MostInformative,
}

/// The versions of a range, the oldest first, and the pairs compared so far.
#[derive(Clone, Debug)]
pub struct PairQueue {
    order: Order,
    /// The versions that are not known to be unusable.
    usable: Vec<usize>,
    /// The compared pairs, each with whether any benchmark changed.
    compared: HashMap<[usize; 2], bool>,
    /// The heads of comparisons that other machines make.
    of_others: HashSet<usize>,
}

/// A pair that can be compared next, as indexes into the usable versions.
struct Candidate {
    places: [usize; 2],
    /// True if it is half of a pair in which a benchmark changed.
    within_change: bool,
}

impl PairQueue {
    pub fn new(order: Order, versions: usize) -> Self {
        let (usable, compared, of_others) =
            ((0..versions).collect(), HashMap::new(), HashSet::new());
        Self { order, usable, compared, of_others }
    }

    /// Leaves the comparison of a version with its predecessor to another machine. Only for adjacent pairs.
    pub fn leave_to_others(&mut self, head: usize) {
        self.of_others.insert(head);
    }

    /// Returns base and head of the next comparison, or `None` if none is left.
    pub fn next(&self) -> Option<[usize; 2]> {
        let mut candidates = Vec::new();
        if self.usable.len() > 1 {
            match self.order {
                Order::Adjacent => self.neighbors(&mut candidates),
                Order::MostInformative => {
                    self.halves([0, self.usable.len() - 1], false, &mut candidates);
                }
            }
        }
        // Of equally good pairs, the newest.
        let rank = |one: &Candidate| {
            let [from, to] = one.places;
            (one.within_change, to - from, to)
        };
        let best = candidates.iter().max_by_key(|one| rank(one))?;
        Some(best.places.map(|place| self.usable[place]))
    }

    /// Records a comparison, and whether any benchmark changed.
    pub fn compared(&mut self, pair: [usize; 2], changed: bool) {
        self.compared.insert(pair, changed);
    }

    /// Records that a version is unusable: its neighbors are compared with each other instead.
    pub fn lacks(&mut self, version: usize) {
        self.usable.retain(|one| *one != version);
    }

    fn neighbors(&self, candidates: &mut Vec<Candidate>) {
        for from in 0..self.usable.len() - 1 {
            let places = [from, from + 1];
            let is_own = !self.of_others.contains(&self.usable[from + 1]);
            if is_own && self.pair_state(places).is_none() {
                candidates.push(Candidate { places, within_change: false });
            }
        }
    }

    fn halves(
        &self,
        places @ [from, to]: [usize; 2],
        within_change: bool,
        candidates: &mut Vec<Candidate>,
    ) {
        match self.pair_state(places) {
            None => candidates.push(Candidate { places, within_change }),
            Some(changed) if to - from > 1 => {
                let middle = from.midpoint(to);
                self.halves([from, middle], changed, candidates);
                self.halves([middle, to], changed, candidates);
            }
            Some(_) => {}
        }
    }

    fn pair_state(&self, places: [usize; 2]) -> Option<bool> {
        self.compared.get(&places.map(|place| self.usable[place])).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Partition, Version};

    /// Returns all pairs in the order of comparison; `changed` is the answer for each.
    fn all(mut queue: PairQueue, changed: impl Fn([usize; 2]) -> bool) -> Vec<[usize; 2]> {
        let mut all = Vec::new();
        while let Some(pair) = queue.next() {
            queue.compared(pair, changed(pair));
            all.push(pair);
        }
        all
    }

    #[test]
    fn adjacent_order_compares_the_newest_first() {
        let queue = PairQueue::new(Order::Adjacent, 4);
        assert_eq!(all(queue, |_| false), [[2, 3], [1, 2], [0, 1]]);
        for versions in [0, 1] {
            assert_eq!(PairQueue::new(Order::Adjacent, versions).next(), None);
            assert_eq!(PairQueue::new(Order::MostInformative, versions).next(), None);
        }
    }

    #[test]
    fn neighbors_of_an_unusable_version_are_compared() {
        let mut queue = PairQueue::new(Order::Adjacent, 4);
        queue.lacks(2);
        assert_eq!(all(queue, |_| false), [[1, 3], [0, 1]]);
    }

    #[test]
    fn halves_of_changed_pairs_come_first() {
        let slow_since =
            |commit: usize| move |[base, head]: [usize; 2]| (base < commit) && (commit <= head);
        let order = all(PairQueue::new(Order::MostInformative, 9), slow_since(2));
        assert_eq!(order[..5], [[0, 8], [4, 8], [0, 4], [2, 4], [0, 2]]);
        assert_eq!(order[5..7], [[1, 2], [0, 1]], "the change is found before the rest");
        assert_eq!(order.len(), 15);
    }

    /// Returns the pairs of a part, on a machine that learns which versions are unusable when it tries them.
    fn of_part(part: Partition, versions: usize, unusable: &[usize]) -> Vec<[usize; 2]> {
        let mut queue = PairQueue::new(Order::Adjacent, versions);
        for head in 1..versions {
            let version = Version { tree: head.to_string(), ..Version::default() };
            if !part.has_head(&version) {
                queue.leave_to_others(head);
            }
        }
        let mut all = Vec::new();
        while let Some(pair) = queue.next() {
            if let Some(lacking) = pair.iter().rev().find(|version| unusable.contains(version)) {
                queue.lacks(*lacking);
            } else {
                queue.compared(pair, false);
                all.push(pair);
            }
        }
        all
    }

    proptest! {
        #[test]
        fn each_comparison_is_in_exactly_one_part(
            versions in 0..40_usize, of in 1..60_u32, unusable in proptest::collection::vec(0..40_usize, 0..6),
        ) {
            let parts = (1..=of).flat_map(|part| of_part(Partition { part, of }, versions, &unusable));
            let mut all: Vec<_> = parts.collect();
            all.sort_unstable();
            let usable: Vec<_> = (0..versions).filter(|version| !unusable.contains(version)).collect();
            let neighbors = usable.windows(2).map(|pair| [pair[0], pair[1]]);
            prop_assert_eq!(all, neighbors.collect::<Vec<_>>());
        }

        #[test]
        fn all_usable_neighbors_are_compared_in_the_end(
            versions in 2..40_usize, unusable in proptest::collection::vec(0..40_usize, 0..6), since in 0..40_usize,
        ) {
            for order in [Order::Adjacent, Order::MostInformative] {
                let mut queue = PairQueue::new(order, versions);
                for version in &unusable {
                    queue.lacks(*version);
                }
                let usable = queue.usable.clone();
                let compared = all(queue, |[base, head]| base < since && since <= head);
                for neighbors in usable.windows(2) {
                    prop_assert!(compared.iter().any(|pair| pair == neighbors));
                }
            }
        }
    }
}
