//! The address of each function in a build, and the agreement between two builds.

use super::digest::Digest;
use super::format::Unreadable;
use super::linked::{LinkedFunction, kept_functions};
use super::name::{Name, stable_symbol};
use super::pairing::{Identified, pair};

/// The size of a cache line and of the blocks in which a processor fetches code, in bytes: two functions of equal
/// phase are divided at the same offsets.
const LINE: u64 = 64;

/// A function with its address in a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFunction {
    /// Its exact symbol.
    pub symbol: String,
    /// Its name across versions.
    pub name: Name,
    /// Its symbol in an input of the link, without the numbers of link-time optimisation.
    pub instance: String,
    /// The digest of its machine code before any layout, if known.
    pub code: Option<Digest>,
    /// Its position among functions that nothing else distinguishes.
    pub order: usize,
    /// The number of functions with a smaller address.
    pub rank: usize,
    /// Its address, relative to the load address of the executable, in bytes.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
}

impl PlacedFunction {
    /// Its address modulo 64 bytes.
    pub const fn phase(&self) -> u64 {
        self.address % LINE
    }
}

impl Identified for PlacedFunction {
    fn name(&self) -> &Name {
        &self.name
    }

    /// Without the code's digest the size has to do, because the bytes themselves contain addresses.
    fn code(&self) -> impl Ord {
        (self.code, self.size)
    }

    fn instance(&self) -> impl Ord {
        &self.instance
    }

    fn size(&self) -> u64 {
        self.size
    }
}

/// The addresses of all functions of a build, in the order of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    functions: Vec<PlacedFunction>,
}

impl Placement {
    /// Reads the addresses from a linked executable.
    ///
    /// # Errors
    /// As [`kept_functions`].
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        Ok(Self::new(&kept_functions(bytes)?))
    }

    /// The placement of these functions, given in the order of addresses.
    ///
    /// Namesakes that link-time optimisation numbered are in the order of their numbers: a longer number is a larger
    /// one.
    pub fn new(kept: &[LinkedFunction]) -> Self {
        let mut by_number: Vec<usize> = (0..kept.len()).collect();
        by_number.sort_by_key(|&index| (kept[index].symbol.len(), &kept[index].symbol));
        let mut orders = vec![0; kept.len()];
        for (order, index) in by_number.into_iter().enumerate() {
            orders[index] = order;
        }
        let placed = |(rank, function): (usize, &LinkedFunction)| PlacedFunction {
            symbol: function.symbol.clone(),
            name: function.name.clone(),
            instance: stable_symbol(&function.symbol).into_owned(),
            code: None,
            order: orders[rank],
            rank,
            address: function.address,
            size: function.size,
        };
        Self { functions: kept.iter().enumerate().map(placed).collect() }
    }

    /// Completes the identification of functions: `known` changes the identifying fields of a function, which it
    /// finds by its symbol.
    #[must_use]
    pub fn identified(mut self, known: impl Fn(&mut PlacedFunction)) -> Self {
        self.functions.iter_mut().for_each(known);
        self
    }

    /// The functions, sorted so that those that nothing else distinguishes have the same order in every version.
    fn in_order(&self) -> Vec<&PlacedFunction> {
        let mut functions: Vec<&PlacedFunction> = self.functions.iter().collect();
        functions.sort_by_key(|placed| placed.order);
        functions
    }
}

/// The agreement between two builds about the addresses of their common functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Functions that both builds have.
    pub common: usize,
    /// The number of common functions with the same address.
    pub same_address: usize,
    /// The number of common functions with the same address modulo 64 bytes.
    pub same_phase: usize,
    /// The number of common functions in the same order: the length of the longest common subsequence of the two
    /// orders.
    pub same_order: usize,
}

impl Agreement {
    /// The share of common functions with the same address; 1 if there are none.
    pub fn same_address_share(&self) -> f64 {
        self.share(self.same_address)
    }

    /// The share of common functions with the same address modulo 64 bytes; 1 if there are none.
    pub fn same_phase_share(&self) -> f64 {
        self.share(self.same_phase)
    }

    /// The share of common functions in the same order; 1 if there are none.
    pub fn same_order_share(&self) -> f64 {
        self.share(self.same_order)
    }

    fn share(&self, part: usize) -> f64 {
        if self.common == 0 { 1.0 } else { part as f64 / self.common as f64 }
    }
}

/// Compares the addresses in two builds, function by function, [paired](pair) by name.
pub fn agreement(a: &Placement, b: &Placement) -> Agreement {
    let mut pairs = pair(a.in_order(), b.in_order()).pairs;
    pairs.sort_by_key(|(in_a, _)| in_a.rank);
    let order_in_b: Vec<usize> = pairs.iter().map(|(_, in_b)| in_b.rank).collect();
    let count = |is_same: fn(&PlacedFunction, &PlacedFunction) -> bool| {
        pairs.iter().filter(|(in_a, in_b)| is_same(in_a, in_b)).count()
    };
    Agreement {
        common: pairs.len(),
        same_address: count(|in_a, in_b| in_a.address == in_b.address),
        same_phase: count(|in_a, in_b| in_a.phase() == in_b.phase()),
        same_order: longest_increasing(&order_in_b),
    }
}

/// The length of the longest increasing subsequence, by patience sorting: `tops[i]` is the smallest
/// value that ends an increasing subsequence of length `i + 1`.
fn longest_increasing(values: &[usize]) -> usize {
    let mut tops: Vec<usize> = Vec::new();
    for &value in values {
        let pile = tops.partition_point(|&top| top < value);
        match tops.get_mut(pile) {
            Some(top) => *top = value,
            None => tops.push(value),
        }
    }
    tops.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Functions `symbol` at `address`, in the order of addresses; the name is the text before a `#`.
    fn placement(functions: &[(&str, u64)]) -> Placement {
        let kept = |&(symbol, address): &(&str, u64)| LinkedFunction {
            symbol: symbol.to_owned(),
            name: Name::demangle(symbol.split('#').next().unwrap()),
            address,
            size: 1,
            aliases: Vec::new(),
        };
        Placement::new(&functions.iter().map(kept).collect::<Vec<_>>())
    }

    #[test]
    fn agreement_of_a_build_with_itself_is_complete() {
        let build = placement(&[("a", 0), ("b", 16), ("c#1", 70), ("c#2", 80)]);
        let all = Agreement { common: 4, same_address: 4, same_phase: 4, same_order: 4 };
        assert_eq!(agreement(&build, &build), all);
    }

    #[test]
    fn agreement_keeps_order_and_phase_with_an_added_function() {
        let base = placement(&[("a", 0), ("b", 16), ("c", 64)]);
        let head = placement(&[("a", 0), ("new", 16), ("b", 32), ("c", 128)]);
        let expected = Agreement { common: 3, same_address: 1, same_phase: 2, same_order: 3 };
        assert_eq!(agreement(&base, &head), expected);
    }

    #[test]
    fn agreement_in_order_drops_by_one_for_one_moved_function() {
        let base = placement(&[("a", 0), ("b", 1), ("c", 2), ("d", 3)]);
        let head = placement(&[("b", 0), ("c", 1), ("d", 2), ("a", 3)]);
        assert_eq!(agreement(&base, &head).same_order, 3);
    }

    #[test]
    fn agreement_pairs_namesakes_by_symbol_first() {
        let base = placement(&[("f#2", 0), ("f#3", 16)]);
        let head = placement(&[("f#1", 5), ("f#2", 64), ("f#3", 80)]);
        let expected = Agreement { common: 2, same_address: 0, same_phase: 2, same_order: 2 };
        assert_eq!(agreement(&base, &head), expected);
    }

    #[test]
    fn agreement_pairs_lto_namesakes_by_number() {
        let base = placement(&[("f.9", 0), ("f.10", 16)]);
        let head = placement(&[("f.99", 64), ("f.100", 80)]);
        let expected = Agreement { common: 2, same_address: 0, same_phase: 2, same_order: 2 };
        assert_eq!(agreement(&base, &head), expected);
    }

    #[test]
    fn agreement_pairs_foreign_namesakes_in_symbol_order() {
        let base = placement(&[("f#a", 0), ("f#b", 16)]);
        let head = placement(&[("f#y", 64), ("f#z", 80)]);
        let expected = Agreement { common: 2, same_address: 0, same_phase: 2, same_order: 2 };
        assert_eq!(agreement(&base, &head), expected);
    }

    fn longest_by_definition(values: &[usize]) -> usize {
        let mut best = vec![1; values.len()];
        for end in 0..values.len() {
            for start in 0..end {
                if values[start] < values[end] {
                    best[end] = best[end].max(best[start] + 1);
                }
            }
        }
        best.into_iter().max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn longest_increasing_agrees_with_its_definition(order in Just((0..24).collect::<Vec<usize>>()).prop_shuffle()) {
            prop_assert_eq!(longest_increasing(&order), longest_by_definition(&order));
        }

        #[test]
        fn agreement_is_symmetric(
            x in prop::collection::vec((0..6_u8, 0..4_u8), 0..12),
            y in prop::collection::vec((0..6_u8, 0..4_u8), 0..12),
        ) {
            let build = |functions: &[(u8, u8)]| {
                let symbols: Vec<String> =
                    functions.iter().map(|(name, hash)| format!("f{name}#{hash}")).collect();
                let places: Vec<_> = symbols.iter().map(String::as_str).zip((0..).step_by(16)).collect();
                placement(&places)
            };
            let (x, y) = (build(&x), build(&y));
            prop_assert_eq!(agreement(&x, &y), agreement(&y, &x));
        }
    }
}
