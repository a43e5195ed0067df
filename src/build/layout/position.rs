//! Matched positions: the place of a function depends only on its name and the seed, so that two
//! versions have their common functions at the same positions.

use std::collections::HashMap;

use crate::{code::stable_symbol, model::LayoutSeed};

/// Functions start at one of these offsets, in bytes, after a boundary of [`BOUNDARY`]: the alignments
/// that compilers give functions leave exactly these open.
pub const PHASES: [u8; 4] = [0, 16, 32, 48];

/// A cache line, in bytes.
pub const BOUNDARY: usize = 64;

/// A function that the linker can put anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Movable {
    /// Its symbol, exactly as the linker sees it.
    pub symbol: String,
    /// Its name without what changes between versions for no reason of its own: hashes and crate
    /// disambiguators.
    pub name: String,
}

/// A position in the order of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    rank: u64,
    phase: u8,
}

/// The functions in the order of their positions, each with its phase (an offset in bytes from
/// [`PHASES`]).
///
/// A name that only one function has decides its position. Several functions of one name (instances of
/// a generic function, in symbols that leave the types to the hash) are distinguished by their symbols:
/// versions compiled at one path agree in the hash, and an instance that comes or goes moves no
/// other.
pub fn in_order(functions: &[Movable], seed: LayoutSeed) -> Vec<(&Movable, u8)> {
    let mut count: HashMap<&str, usize> = HashMap::with_capacity(functions.len());
    for function in functions {
        *count.entry(&function.name).or_default() += 1;
    }
    let key = blake3::derive_key("cargo-rbench matched layout v1", &seed.get().to_le_bytes());
    let mut placed: Vec<(Position, &Movable)> = functions
        .iter()
        .map(|function| {
            let unique = count[function.name.as_str()] == 1;
            let identity =
                if unique { (&*function.name).into() } else { stable_symbol(&function.symbol) };
            (position(&key, &identity), function)
        })
        .collect();
    placed.sort_unstable();
    placed.into_iter().map(|(position, function)| (function, position.phase)).collect()
}

fn position(key: &[u8; 32], identity: &str) -> Position {
    let hash = blake3::keyed_hash(key, identity.as_bytes());
    let [a, b, c, d, e, f, g, h, phase, ..] = *hash.as_bytes();
    Position {
        rank: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        phase: PHASES[usize::from(phase) % PHASES.len()],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn function(symbol: &str, name: &str) -> Movable {
        Movable { symbol: symbol.to_owned(), name: name.to_owned() }
    }

    fn seed(seed: u32) -> LayoutSeed {
        seed.to_string().parse().unwrap()
    }

    fn unique(count: usize) -> Vec<Movable> {
        (0..count).map(|i| function(&format!("_ZN{i}17h{i:016x}E"), &format!("f{i}"))).collect()
    }

    fn names<'a>(placed: &[(&'a Movable, u8)]) -> Vec<(&'a str, u8)> {
        placed.iter().map(|(function, phase)| (function.name.as_str(), *phase)).collect()
    }

    #[test]
    fn the_hash_in_a_symbol_does_not_move_a_function() {
        let renamed: Vec<_> = unique(50)
            .into_iter()
            .map(|old| function(&old.symbol.replace("17h", "17hff"), &old.name))
            .collect();
        let functions = unique(50);
        assert_eq!(names(&in_order(&functions, seed(3))), names(&in_order(&renamed, seed(3))));
    }

    #[test]
    fn another_seed_gives_a_quarter_of_the_functions_the_same_phase() {
        let functions = unique(4000);
        let phases = |s| -> HashMap<String, u8> {
            in_order(&functions, seed(s)).iter().map(|(f, p)| (f.name.clone(), *p)).collect()
        };
        let (one, two) = (phases(1), phases(2));
        let same = one.iter().filter(|(name, phase)| two[*name] == **phase).count();
        assert!((900..1100).contains(&same), "{same} of 4000");
    }

    #[test]
    fn positions_mean_the_same_for_ever() {
        let functions = unique(4);
        let placed = in_order(&functions, seed(1));
        assert_eq!(names(&placed), [("f2", 32), ("f3", 32), ("f1", 32), ("f0", 16)]);
    }

    #[test]
    fn an_instance_that_comes_moves_no_other_instance_of_its_name() {
        let two = [function("g_a", "g"), function("g_c", "g"), function("h", "h")];
        let three = [two[0].clone(), function("g_b", "g"), two[1].clone(), two[2].clone()];
        let mut kept = in_order(&three, seed(9));
        kept.retain(|(function, _)| function.symbol != "g_b");
        assert_eq!(in_order(&two, seed(9)), kept);
    }

    #[test]
    fn the_number_of_a_module_does_not_move_an_instance() {
        let base = [function("g_a.llvm.123", "g"), function("g_b", "g")];
        let head = [function("g_a.llvm.456", "g"), function("g_b", "g")];
        assert_eq!(names(&in_order(&base, seed(5))), names(&in_order(&head, seed(5))));
    }

    proptest! {
        #[test]
        fn what_two_versions_have_in_common_keeps_its_order_and_its_phase(
            base in proptest::collection::btree_set("[a-z]{1,6}", 1..60),
            head in proptest::collection::btree_set("[a-z]{1,6}", 1..60),
            chosen in 1_u32..1000,
        ) {
            let of = |names: &std::collections::BTreeSet<String>| -> Vec<Movable> {
                names.iter().map(|name| function(name, name)).collect()
            };
            let (base_functions, head_functions) = (of(&base), of(&head));
            let common = |functions, other: &std::collections::BTreeSet<String>| {
                let mut placed = in_order(functions, seed(chosen));
                placed.retain(|(function, _)| other.contains(&function.name));
                placed
            };
            prop_assert_eq!(common(&base_functions, &head), common(&head_functions, &base));
        }
    }
}
