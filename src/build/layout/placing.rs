//! How many bytes stand in front of each function, so that it stands at its place.

use super::{
    position::BOUNDARY,
    slots::{Own, Slot},
};

/// A filler, which starts on the next boundary, and what stands right behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filler<'s> {
    /// Its size in bytes.
    pub size: u64,
    /// The function behind it; none at the end.
    pub before: Option<&'s Own>,
}

/// The fillers of the functions that a version has, for slots in an order with phases. What cannot be moved
/// comes behind the last.
pub fn fillers<'s>(order: &[(&'s Slot, u64)]) -> Vec<Filler<'s>> {
    let mut fillers = Vec::with_capacity(order.len() + 1);
    // Bytes from the start of the code: where the slot begins, and where this version's code ends.
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
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::build::layout::{
        Movable,
        position::in_order,
        slots::slots,
        testing::{function, seed},
    };

    /// Sizes and alignments of functions, by name.
    type Functions = BTreeMap<String, (u64, u32)>;

    fn movables(functions: &Functions) -> Vec<Movable> {
        let one = |(name, &(size, alignment)): (&String, &(u64, u32))| Movable {
            size,
            alignment: 1 << alignment,
            ..function(name, name)
        };
        functions.iter().map(one).collect()
    }

    /// Where a linker puts functions, and the end.
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
        fn versions_have_their_common_functions_at_the_same_places_and_end_at_the_same(
            base in prop::collection::btree_map("[a-e]{1,2}", (1_u64..300, 0_u32..7), 0..30),
            head in prop::collection::btree_map("[a-e]{1,2}", (1_u64..300, 0_u32..7), 0..30),
            number in 1_u32..1000,
        ) {
            let (of_base, of_head) = (movables(&base), movables(&head));
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
