//! Compares functions of two builds by their contents and by everything that these refer to, directly or indirectly.
//!
//! Two functions are the same if their bytes are, and if each reference leads to functions that are partners or the
//! same, to data that is the same, or to the same external symbol. The same rule holds for data. So that cycles of
//! references have an answer, pairs count as the same until a difference is found.
//!
//! Partners need not be the same, since an execution shows whether it enters them. Functions that are not partners
//! have to be: codegen units often contain copies of one function. An added copy changes which of them are partners,
//! while their callers do the same as before.

use std::collections::{HashMap, HashSet, VecDeque};

use super::name::Name;
use super::references::{Contents, Data, Reference, References, Referent, number};

/// Compares functions and data of two builds.
pub(super) struct Comparer<'r> {
    base: &'r References,
    head: &'r References,
    /// The head's partner of each function of the base.
    partners: &'r [Option<u32>],
    numbers: HashMap<(Item, Item), usize>,
    pairs: Vec<Pair>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    /// The contents of a function, regardless of its partner.
    Function(u32),
    Data(u32),
}

/// Two items that must be the same for others to be the same.
struct Pair {
    items: (Item, Item),
    differs: bool,
    /// True if the items differ themselves, and not only in something that they refer to.
    by_itself: bool,
    refers_to: Vec<usize>,
}

/// Marks two references that differ themselves.
struct Differs;

/// The reason why two functions are not the same.
pub(super) enum Difference<'r> {
    /// Their code differs, or the functions that it refers to.
    Code,
    /// Data that they refer to has other contents; the name of the data, if it has one.
    Data(Option<&'r Name>),
}

impl<'r> Comparer<'r> {
    /// Compares the functions of the base with their partners, and the pieces that nothing refers to.
    pub(super) fn new(
        base: &'r References,
        head: &'r References,
        partners: &'r [Option<u32>],
    ) -> Self {
        let (numbers, pairs) = (HashMap::new(), Vec::new());
        let mut comparison = Self { base, head, partners, numbers, pairs };
        for (function, partner) in partners.iter().enumerate() {
            if let Some(partner) = *partner {
                comparison.pair(Item::Function(number(function)), Item::Function(partner));
            }
        }
        for (section, own) in &base.unreferenced {
            for (own, other) in own.iter().zip(unreferenced_in(head, section)) {
                comparison.pair(Item::Data(*own), Item::Data(*other));
            }
        }
        // The comparison appends new pairs to this list, so the loop ends when all of them are compared.
        let mut next = 0;
        while next < comparison.pairs.len() {
            comparison.compare(next);
            next += 1;
        }
        comparison.distinguish_variables();
        comparison.spread();
        comparison
    }

    /// The difference between a function of the base and its partner, if there is one.
    pub(super) fn difference(&self, base: u32, head: u32) -> Option<Difference<'r>> {
        let items = (Item::Function(base), Item::Function(head));
        let Some(&pair) = self.numbers.get(&items) else { return Some(Difference::Code) };
        match self.pairs[pair] {
            Pair { differs: false, .. } => None,
            Pair { by_itself: true, .. } => Some(Difference::Code),
            _ => Some(self.first_difference(pair)),
        }
    }

    /// Phrases for the sections in which unreferenced pieces differ.
    pub(super) fn unreferenced(&self) -> impl Iterator<Item = &'r str> {
        let is_same = |section: &str| {
            let own = unreferenced_in(self.base, section);
            let other = unreferenced_in(self.head, section);
            own.len() == other.len()
                && own.iter().zip(other).all(|(&own, &other)| {
                    let pair = self.numbers.get(&(Item::Data(own), Item::Data(other)));
                    pair.is_some_and(|&pair| !self.pairs[pair].differs)
                })
        };
        let only_head = self.head.unreferenced.iter();
        let only_head =
            only_head.filter(|(section, _)| unreferenced_in(self.base, section).is_empty());
        let all = self.base.unreferenced.iter().chain(only_head);
        all.map(|(section, _)| section.as_str()).filter(move |section| !is_same(section))
    }

    /// The number of a pair; adds it if it is new.
    fn pair(&mut self, base: Item, head: Item) -> usize {
        *self.numbers.entry((base, head)).or_insert_with(|| {
            let items = (base, head);
            let refers_to = Vec::new();
            self.pairs.push(Pair { items, differs: false, by_itself: false, refers_to });
            self.pairs.len() - 1
        })
    }

    fn compare(&mut self, index: usize) {
        let (base, head) = self.pairs[index].items;
        let both = self.base.contents(base).zip(self.head.contents(head));
        let is_alike = match (base, head) {
            (Item::Function(_), Item::Function(_)) => true,
            (Item::Data(base), Item::Data(head)) => {
                self.base.data(base).zip(self.head.data(head)).is_some_and(|(base, head)| {
                    // Variables with equal contents are different variables if their names differ.
                    base.variable.is_some() == head.variable.is_some()
                        && (base.variable.is_none() || base.name == head.name)
                })
            }
            _ => false,
        };
        let alike = both.filter(|(base, head)| {
            is_alike && base.body == head.body && base.references.len() == head.references.len()
        });
        let needed = alike.ok_or(Differs).and_then(|(base, head)| {
            let both = base.references.iter().zip(&head.references);
            both.map(|(base, head)| self.needed(base, head)).collect::<Result<Vec<_>, Differs>>()
        });
        if let Ok(needed) = needed {
            let needed = needed.into_iter().flatten();
            let mut refers_to: Vec<_> = needed.map(|(base, head)| self.pair(base, head)).collect();
            refers_to.sort_unstable();
            refers_to.dedup();
            self.pairs[index].refers_to = refers_to;
        } else {
            self.pairs[index].differs = true;
            self.pairs[index].by_itself = true;
        }
    }

    /// The items that must be the same for two references to be the same, if there are any.
    fn needed(&self, base: &Reference, head: &Reference) -> Result<Option<(Item, Item)>, Differs> {
        if base.distance != head.distance {
            return Err(Differs);
        }
        match (base.to, head.to) {
            (Referent::Entry(base), Referent::Entry(head)) => {
                let partner = self.partners.get(base as usize).copied().flatten();
                let items = (Item::Function(base), Item::Function(head));
                Ok((partner != Some(head)).then_some(items))
            }
            // A jump there bypasses the start of the function, where an execution would be noticed.
            (Referent::Inside(base), Referent::Inside(head)) => {
                Ok(Some((Item::Function(base), Item::Function(head))))
            }
            (Referent::Data(base), Referent::Data(head)) => {
                Ok(Some((Item::Data(base), Item::Data(head))))
            }
            (Referent::Outside(base), Referent::Outside(head)) => {
                let symbols = self.base.symbol(base).zip(self.head.symbol(head));
                let is_same = symbols.is_some_and(|(base, head)| base == head);
                if is_same { Ok(None) } else { Err(Differs) }
            }
            _ => Err(Differs),
        }
    }

    /// Finds variables that some functions pair with one variable of the other build, and some with another. Then only
    /// the variable with the same symbol is the same, provided that its symbol is unique.
    fn distinguish_variables(&mut self) {
        let mut of_base: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut of_head: HashMap<u32, Vec<usize>> = HashMap::new();
        for (index, pair) in self.pairs.iter().enumerate().filter(|(_, pair)| !pair.differs) {
            let (Item::Data(base), Item::Data(head)) = pair.items else { continue };
            if self.base.data(base).is_some_and(|data| data.variable.is_some()) {
                of_base.entry(base).or_default().push(index);
                of_head.entry(head).or_default().push(index);
            }
        }
        let shared = of_base.into_values().chain(of_head.into_values()).filter(|all| all.len() > 1);
        for all in shared {
            let (same, mut others): (Vec<usize>, Vec<usize>) =
                all.into_iter().partition(|&index| self.have_one_symbol(index));
            if same.len() > 1 {
                others.extend(same);
            }
            for index in others {
                self.pairs[index].differs = true;
                self.pairs[index].by_itself = true;
            }
        }
    }

    fn have_one_symbol(&self, pair: usize) -> bool {
        let (Item::Data(base), Item::Data(head)) = self.pairs[pair].items else { return false };
        let symbol = |data: Option<&Data>| data?.variable.filter(|&symbol| symbol != 0);
        let base = symbol(self.base.data(base));
        base.is_some() && base == symbol(self.head.data(head))
    }

    /// Marks every pair as different that refers to a different pair.
    fn spread(&mut self) {
        let mut referred_by: Vec<Vec<usize>> = vec![Vec::new(); self.pairs.len()];
        for (index, pair) in self.pairs.iter().enumerate() {
            for &other in &pair.refers_to {
                referred_by[other].push(index);
            }
        }
        let mut new: Vec<usize> =
            (0..self.pairs.len()).filter(|&index| self.pairs[index].differs).collect();
        while let Some(index) = new.pop() {
            for &other in &referred_by[index] {
                if !self.pairs[other].differs {
                    self.pairs[other].differs = true;
                    new.push(other);
                }
            }
        }
    }

    /// The nearest differing data with a name that a pair refers to. A reference to another function counts as a
    /// difference in code.
    fn first_difference(&self, pair: usize) -> Difference<'r> {
        let mut waiting = VecDeque::from([pair]);
        let mut met = HashSet::from([pair]);
        while let Some(index) = waiting.pop_front() {
            for &other in self.pairs[index].refers_to.iter().filter(|&&one| self.pairs[one].differs)
            {
                match self.pairs[other].items {
                    (Item::Data(base), Item::Data(head)) => {
                        let name = |data: Option<&'r Data>| data?.name.as_ref();
                        let (base, head) = (name(self.base.data(base)), name(self.head.data(head)));
                        if let Some(name) = head.or(base) {
                            return Difference::Data(Some(name));
                        }
                    }
                    _ if index == pair => return Difference::Code,
                    _ => continue,
                }
                if met.insert(other) {
                    waiting.push_back(other);
                }
            }
        }
        Difference::Data(None)
    }
}

impl References {
    fn contents(&self, item: Item) -> Option<&Contents> {
        match item {
            Item::Function(index) => self.functions.get(index as usize),
            Item::Data(index) => Some(&self.data(index)?.contents),
        }
    }

    fn data(&self, index: u32) -> Option<&Data> {
        self.data.get(index as usize)
    }

    /// The name of the symbol with this number, which no input defines.
    pub(super) fn symbol(&self, index: u32) -> Option<&str> {
        self.outside.get(index as usize).map(String::as_str)
    }
}

fn unreferenced_in<'r>(references: &'r References, section: &str) -> &'r [u32] {
    let all = &references.unreferenced;
    let found = all.binary_search_by(|(name, _)| name.as_str().cmp(section));
    found.map_or(&[], |place| &all[place].1)
}
