//! Layouts: linker options that place functions according to a seed.
//!
//! Positions of functions, which depend only on a function's identity and the seed, so that several versions have
//! their common functions in the same order, at the same offsets from a boundary. Also the fillers in front of
//! functions that put them there.

mod fillers;
mod plan;

pub use plan::{Plan, plan, plan_together};

use self::plan::{OwnSection, Slot};
use super::linker::{Arrangement, Family, LinkerOption};
use crate::model::{Layout, LayoutSeed};

/// The arrangement of one build for a linker that can make the layout.
pub fn arrange(
    family: Family,
    layout: Layout,
    seed: LayoutSeed,
    plan: &Plan,
) -> Result<Arrangement, object::write::Error> {
    let flag = |text: String| LinkerOption::Flag(text);
    match layout {
        Layout::Default | Layout::Rehashed => Ok(Arrangement::default()),
        Layout::Padded => Ok(Arrangement {
            options: vec![flag(format!("--randomize-section-padding={seed}"))],
            files: Vec::new(),
        }),
        Layout::Shuffled if family == Family::Mold => Ok(Arrangement {
            options: vec![flag(format!("--shuffle-sections={seed}"))],
            files: Vec::new(),
        }),
        Layout::Shuffled => Ok(Arrangement {
            options: [".text*", ".rodata*", ".data*", ".bss*"]
                .iter()
                .map(|sections| flag(format!("--shuffle-sections={sections}={seed}")))
                .chain([flag("--no-call-graph-profile-sort".to_owned())])
                .collect(),
            files: Vec::new(),
        }),
        Layout::SameAddress | Layout::SameOrder => {
            arrange_by_name(plan, &in_order(&plan.slots, seed))
        }
        Layout::Aligned => {
            let mut order = in_order(&plan.slots, seed);
            for (_, phase) in &mut order {
                *phase = 0;
            }
            arrange_by_name(plan, &order)
        }
    }
}

/// Places every function, in the given order, directly behind a filler that brings it to its address.
fn arrange_by_name(
    plan: &Plan,
    order: &[(&Slot, u64)],
) -> Result<Arrangement, object::write::Error> {
    let mut sizes = Vec::with_capacity(order.len() + 1);
    let mut symbols = String::with_capacity(order.len() * 100);
    for Filler { size, before } in fillers(order) {
        let behind = before.into_iter().map(|own| own.symbol.clone());
        for symbol in std::iter::once(fillers::symbol(sizes.len())).chain(behind) {
            symbols.push_str(&symbol);
            symbols.push('\n');
        }
        sizes.push(size);
    }
    let order_file = "order.txt".to_owned();
    let mut arrangement = Arrangement {
        options: vec![
            LinkerOption::WithFile("--symbol-ordering-file=".to_owned(), order_file.clone()),
            // It is normal that this link drops some of the listed symbols.
            LinkerOption::Flag("--no-warn-symbol-ordering".to_owned()),
        ],
        files: vec![(order_file, symbols.into_bytes())],
    };
    for (section, address) in &plan.frame.starts {
        let start = format!("--section-start={section}={address:#x}");
        arrangement.options.push(LinkerOption::Flag(start));
    }
    let mut objects = fillers::among_code(&sizes, plan.architecture)?;
    if !plan.frame.fillers.is_empty() {
        objects.push(fillers::among_data(&plan.frame.fillers, plan.architecture)?);
    }
    for (index, object) in objects.into_iter().enumerate() {
        let name = format!("fillers-{index}.o");
        arrangement.options.push(LinkerOption::Input(name.clone()));
        arrangement.files.push((name, object));
    }
    Ok(arrangement)
}

/// The offsets in bytes from a [`BOUNDARY`] at which functions may start. The alignments that compilers give functions
/// leave exactly these possible.
const PHASES: [u64; 4] = [0, 16, 32, 48];

/// The size of a cache line, in bytes.
const BOUNDARY: u64 = 64;

/// A position in the order of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    rank: u64,
    phase: u64,
}

/// The slots in the order of their positions, each with the phase of its function (one of [`PHASES`], in bytes).
fn in_order(slots: &[Slot], seed: LayoutSeed) -> Vec<(&Slot, u64)> {
    let key = blake3::derive_key("cargo-rbench matched layout v1", &seed.get().to_le_bytes());
    let place = |(index, slot): (usize, _)| (position(&key, slot), index);
    let mut placed: Vec<(Position, usize)> = slots.iter().enumerate().map(place).collect();
    placed.sort_unstable();
    placed.into_iter().map(|(position, index)| (&slots[index], position.phase)).collect()
}

fn position(key: &[u8; 32], slot: &Slot) -> Position {
    let hash = blake3::keyed_hash(key, slot.identity.as_bytes());
    let [a, b, c, d, e, f, g, h, phase, ..] = *hash.as_bytes();
    Position {
        rank: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        phase: PHASES[usize::from(phase) % PHASES.len()],
    }
}

/// A filler, which starts on the next boundary, and the function directly behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filler<'s> {
    /// Its size in bytes.
    pub size: u64,
    /// The function behind it; `None` at the end.
    pub before: Option<&'s OwnSection>,
}

/// The fillers for a version's functions, for slots in an order with phases. Code that cannot be moved comes behind
/// the last one.
fn fillers<'s>(order: &[(&'s Slot, u64)]) -> Vec<Filler<'s>> {
    let mut fillers = Vec::with_capacity(order.len() + 1);
    // Offsets in bytes from the start of the code: the beginning of the slot, and the end of this version's code so
    // far.
    let (mut slot_begin, mut end) = (0_u64, 0_u64);
    for (slot, phase) in order {
        let place = (slot_begin + phase).next_multiple_of(slot.alignment);
        slot_begin = (place + slot.size).next_multiple_of(BOUNDARY);
        let Some(own) = &slot.own else { continue };
        let size = place - end.next_multiple_of(BOUNDARY);
        fillers.push(Filler { size, before: Some(own) });
        end = place + own.size;
    }
    let size = slot_begin - end.next_multiple_of(BOUNDARY);
    fillers.push(Filler { size, before: None });
    fillers
}

#[cfg(test)]
mod testing {
    use crate::builds::placeable::PlaceableFunction;
    use crate::{
        elf::{Name, stable_symbol},
        model::LayoutSeed,
    };

    /// A function of 16 bytes.
    pub fn function(symbol: &str, name: &str) -> PlaceableFunction {
        PlaceableFunction {
            symbol: symbol.to_owned(),
            name: Name::demangle(name),
            instance: stable_symbol(symbol).into_owned(),
            code: None,
            size: 16,
            alignment: 16,
        }
    }

    pub fn seed(number: u32) -> LayoutSeed {
        LayoutSeed::new(number).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, HashMap};

    use proptest::prelude::*;

    use super::*;
    use crate::builds::{
        layout::{
            plan::slots,
            testing::{function, seed},
        },
        placeable::PlaceableFunction,
    };

    fn unique(count: usize) -> Vec<PlaceableFunction> {
        (0..count).map(|i| function(&format!("_ZN{i}17h{i:016x}E"), &format!("f{i}"))).collect()
    }

    /// Identities and phases of one version's functions, in order.
    fn placed(functions: &[PlaceableFunction], number: u32) -> Vec<(String, u64)> {
        let slots = slots(&[functions]).remove(0);
        let placed = in_order(&slots, seed(number)).into_iter();
        placed.map(|(slot, phase)| (slot.identity.clone(), phase)).collect()
    }

    #[test]
    fn position_ignores_the_hash_in_a_symbol() {
        let functions = unique(50);
        let renamed = |old: &PlaceableFunction| {
            function(&old.symbol.replace("17h", "17hff"), old.name.as_str())
        };
        let renamed: Vec<_> = functions.iter().map(renamed).collect();
        assert_eq!(placed(&functions, 3), placed(&renamed, 3));
    }

    #[test]
    fn phase_is_the_same_for_a_quarter_with_another_seed() {
        let functions = unique(4000);
        let phases =
            |number| -> HashMap<String, u64> { placed(&functions, number).into_iter().collect() };
        let (one, two) = (phases(1), phases(2));
        let same = one.iter().filter(|(name, phase)| two[*name] == **phase).count();
        assert!((900..1100).contains(&same), "{same} of 4000");
    }

    #[test]
    fn positions_are_stable_across_versions() {
        let expected = [("f2", 32), ("f3", 32), ("f1", 32), ("f0", 16)];
        assert_eq!(placed(&unique(4), 1), expected.map(|(name, phase)| (name.to_owned(), phase)));
    }

    #[test]
    fn added_instance_moves_no_other_of_its_name() {
        let two = [function("g_a", "g"), function("g_c", "g"), function("h", "h")];
        let three = [two[0].clone(), function("g_b", "g"), two[1].clone(), two[2].clone()];
        let mut kept = placed(&three, 9);
        kept.retain(|(identity, _)| identity != "g_b");
        assert_eq!(placed(&two, 9), kept);
    }

    #[test]
    fn position_ignores_the_number_of_a_module() {
        let base = [function("g_a.llvm.123", "g"), function("g_b", "g")];
        let head = [function("g_a.llvm.456", "g"), function("g_b", "g")];
        assert_eq!(placed(&base, 5), placed(&head, 5));
    }

    proptest! {
        #[test]
        fn common_functions_keep_their_order_and_phase(
            base in proptest::collection::btree_set("[a-z]{1,6}", 1..60),
            head in proptest::collection::btree_set("[a-z]{1,6}", 1..60),
            chosen in 1_u32..1000,
        ) {
            let of = |names: &BTreeSet<String>| -> Vec<PlaceableFunction> {
                names.iter().map(|name| function(name, name)).collect()
            };
            let common = |functions: &[PlaceableFunction], other: &BTreeSet<String>| {
                let mut placed = placed(functions, chosen);
                placed.retain(|(identity, _)| other.contains(identity));
                placed
            };
            let (of_base, of_head) = (of(&base), of(&head));
            prop_assert_eq!(common(&of_base, &head), common(&of_head, &base));
        }
    }

    /// Sizes and alignments of functions, by name.
    type Functions = BTreeMap<String, (u64, u32)>;

    fn placeable_functions(functions: &Functions) -> Vec<PlaceableFunction> {
        let one = |(name, &(size, alignment)): (&String, &(u64, u32))| PlaceableFunction {
            size,
            alignment: 1 << alignment,
            ..function(name, name)
        };
        functions.iter().map(one).collect()
    }

    /// The addresses that a linker gives the functions, and the end.
    fn link(order: &[(&Slot, u64)], functions: &Functions) -> (BTreeMap<String, u64>, u64) {
        let mut places = BTreeMap::new();
        let mut end = 0_u64;
        for filler in fillers(order) {
            end = end.next_multiple_of(BOUNDARY) + filler.size;
            if let Some(own) = filler.before {
                let place = end.next_multiple_of(1 << functions[&own.symbol].1);
                places.insert(own.symbol.clone(), place);
                end = place + own.size;
            }
        }
        (places, end)
    }

    proptest! {
        #[test]
        fn common_functions_and_the_end_have_the_same_addresses(
            base in prop::collection::btree_map("[a-e]{1,2}", (1_u64..300, 0_u32..7), 0..30),
            head in prop::collection::btree_map("[a-e]{1,2}", (1_u64..300, 0_u32..7), 0..30),
            number in 1_u32..1000,
        ) {
            let (of_base, of_head) = (placeable_functions(&base), placeable_functions(&head));
            let slots = slots(&[&of_base, &of_head]);
            let orders = [in_order(&slots[0], seed(number)), in_order(&slots[1], seed(number))];
            let (base, base_end) = link(&orders[0], &base);
            let (head, head_end) = link(&orders[1], &head);
            prop_assert_eq!((base.len(), head.len()), (of_base.len(), of_head.len()));
            prop_assert_eq!(base_end, head_end);
            for (name, place) in &base {
                prop_assert!(head.get(name).is_none_or(|other| other == place));
            }
            for (slot, phase) in &orders[0] {
                if let Some(own) = slot.own.as_ref().filter(|_| slot.alignment <= 16) {
                    prop_assert_eq!(base[&own.symbol] % BOUNDARY, *phase);
                }
            }
        }
    }
}
