//! Which two versions of a range are compared next.

use std::collections::HashMap;

/// In which order the versions of a range are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each version with the one before it, the newest first.
    Adjacent,
    /// The ends first, then each half of what was compared: halves of what changed before others, and long ones
    /// before short ones. So whenever the time is over, what was not compared lies between versions that were.
    MostInformative,
}

/// The versions of a range, the oldest first, and which of them were compared.
#[derive(Clone, Debug)]
pub struct PairQueue {
    order: Order,
    /// The versions of which nothing is known that keeps them from being compared.
    usable: Vec<usize>,
    /// The pairs that were compared, and whether any benchmark changed between them.
    compared: HashMap<[usize; 2], bool>,
}

/// Versions that can be compared, by their places among those that are usable.
struct Candidate {
    places: [usize; 2],
    /// Whether they are in the half of a pair between which something changed.
    within_change: bool,
}

impl PairQueue {
    /// So many versions, of which none was compared.
    pub fn new(order: Order, versions: usize) -> Self {
        Self { order, usable: (0..versions).collect(), compared: HashMap::new() }
    }

    /// Base and head of the next comparison; none if there is nothing left to compare.
    pub fn next(&self) -> Option<[usize; 2]> {
        let mut candidates = Vec::new();
        if self.usable.len() > 1 {
            match self.order {
                Order::Adjacent => self.neighbours(&mut candidates),
                Order::MostInformative => {
                    self.halves([0, self.usable.len() - 1], false, &mut candidates);
                }
            }
        }
        // Of equals, the newest.
        let rank = |one: &Candidate| {
            let [from, to] = one.places;
            (one.within_change, to - from, to)
        };
        let best = candidates.iter().max_by_key(|one| rank(one))?;
        Some(best.places.map(|place| self.usable[place]))
    }

    /// Two versions were compared; `changed` says whether any benchmark changed.
    pub fn compared(&mut self, pair: [usize; 2], changed: bool) {
        self.compared.insert(pair, changed);
    }

    /// A version cannot be compared: those around it are neighbours now.
    pub fn lacks(&mut self, version: usize) {
        self.usable.retain(|one| *one != version);
    }

    fn neighbours(&self, candidates: &mut Vec<Candidate>) {
        for from in 0..self.usable.len() - 1 {
            let places = [from, from + 1];
            if self.pair_state(places).is_none() {
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

    /// All pairs in the order in which they are compared, if `changed` says between which something changed.
    fn all(mut agenda: PairQueue, changed: impl Fn([usize; 2]) -> bool) -> Vec<[usize; 2]> {
        let mut all = Vec::new();
        while let Some(pair) = agenda.next() {
            agenda.compared(pair, changed(pair));
            all.push(pair);
        }
        all
    }

    #[test]
    fn neighbours_are_compared_newest_first() {
        let agenda = PairQueue::new(Order::Adjacent, 4);
        assert_eq!(all(agenda, |_| false), [[2, 3], [1, 2], [0, 1]]);
        for versions in [0, 1] {
            assert_eq!(PairQueue::new(Order::Adjacent, versions).next(), None);
            assert_eq!(PairQueue::new(Order::MostInformative, versions).next(), None);
        }
    }

    #[test]
    fn those_around_a_version_that_cannot_be_compared_are_neighbours() {
        let mut agenda = PairQueue::new(Order::Adjacent, 4);
        agenda.lacks(2);
        assert_eq!(all(agenda, |_| false), [[1, 3], [0, 1]]);
    }

    #[test]
    fn halves_between_which_something_changed_come_first() {
        let slow_since =
            |commit: usize| move |[base, head]: [usize; 2]| (base < commit) && (commit <= head);
        let order = all(PairQueue::new(Order::MostInformative, 9), slow_since(2));
        assert_eq!(order[..5], [[0, 8], [4, 8], [0, 4], [2, 4], [0, 2]]);
        assert_eq!(order[5..7], [[1, 2], [0, 1]], "the change is found before the rest");
        assert_eq!(order.len(), 15);
    }

    proptest! {
        #[test]
        fn in_the_end_all_usable_neighbours_were_compared(
            versions in 2..40_usize, unusable in proptest::collection::vec(0..40_usize, 0..6), since in 0..40_usize,
        ) {
            for order in [Order::Adjacent, Order::MostInformative] {
                let mut agenda = PairQueue::new(order, versions);
                for version in &unusable {
                    agenda.lacks(*version);
                }
                let usable = agenda.usable.clone();
                let compared = all(agenda, |[base, head]| base < since && since <= head);
                for neighbours in usable.windows(2) {
                    prop_assert!(compared.iter().any(|pair| pair == neighbours));
                }
            }
        }
    }
}
