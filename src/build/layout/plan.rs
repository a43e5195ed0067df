//! What the layouts of a version have in common, whatever the seed.

use object::Architecture;

use super::{
    frame::{Frame, frames},
    position::{BOUNDARY, PHASES},
    slots::{Slot, slots},
};
use crate::build::{key::KeyMaker, movable::Movables};

/// All slots together may take this many times as much as one version's own functions.
const LARGEST_UNION: f64 = 1.5;

/// Room for functions, and for sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Room for each function that this version or one that is built with it has.
    pub slots: Vec<Slot>,
    /// Where sections start, if they are to start where those of other versions do.
    pub frame: Frame,
    /// The processor that the code is for.
    pub architecture: Architecture,
}

impl Default for Plan {
    fn default() -> Self {
        Self { slots: Vec::new(), frame: Frame::default(), architecture: Architecture::Unknown }
    }
}

/// The plan for a version alone.
pub fn plan(movables: &Movables) -> Plan {
    let mut slots = slots(&[&movables.functions]);
    Plan {
        slots: slots.pop().unwrap_or_default(),
        frame: Frame::default(),
        architecture: movables.architecture(),
    }
}

/// Plans by which whatever these versions have in common stands at the same address in all of them. `None`
/// if they have too little in common: an executable has room for all of it.
pub fn plan_together(versions: &[&Movables]) -> Option<Vec<Plan>> {
    let functions: Vec<_> = versions.iter().map(|version| &*version.functions).collect();
    let slots = slots(&functions);
    let room = |slot: &Slot| (slot.size, slot.alignment);
    let code = slots.first().map_or(0, |slots| extent(slots.iter().map(room)));
    let own = functions.iter().map(|functions| {
        extent(functions.iter().map(|function| (function.size, function.alignment)))
    });
    let smallest = own.min();
    if code as f64 > LARGEST_UNION * smallest.unwrap_or(0) as f64 {
        return None;
    }
    let sections: Vec<_> = versions.iter().map(|version| &version.sections).collect();
    let fixed = versions.iter().map(|version| version.fixed).max().unwrap_or(0);
    let planned = slots.into_iter().zip(frames(&sections, code + fixed)).zip(versions);
    let planned = planned.map(|((slots, frame), version)| Plan {
        slots,
        frame,
        architecture: version.architecture(),
    });
    Some(planned.collect())
}

/// The most bytes that functions of these sizes and alignments, in bytes, take, whatever the seed.
fn extent(functions: impl Iterator<Item = (u64, u64)>) -> u64 {
    let [.., largest_phase] = PHASES;
    let most = |(size, alignment): (u64, u64)| {
        // A place is a multiple of the alignment, and slots begin at boundaries: both are powers of two.
        let before = largest_phase.next_multiple_of(alignment);
        (before + size).next_multiple_of(BOUNDARY.max(alignment))
    };
    functions.map(most).sum()
}

impl Plan {
    /// The hash of all of it.
    pub fn key(&self) -> String {
        let mut maker = KeyMaker::new("plan");
        for slot in &self.slots {
            maker.add("identity", slot.identity.as_bytes());
            maker.add("size", &slot.size.to_le_bytes());
            maker.add("alignment", &slot.alignment.to_le_bytes());
            if let Some(own) = &slot.own {
                maker.add("symbol", own.symbol.as_bytes());
                maker.add("own size", &own.size.to_le_bytes());
            }
        }
        for (section, address) in &self.frame.starts {
            maker.add("section", section.as_bytes()).add("start", &address.to_le_bytes());
        }
        for (section, size) in &self.frame.fillers {
            maker.add("section", section.as_bytes()).add("filler", &size.to_le_bytes());
        }
        maker.key()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::layout::{
        Movable,
        placing::{Filler, fillers},
        position::in_order,
        testing::{function, seed},
    };

    fn version(sizes: &[(&str, u64)]) -> Movables {
        let one = |&(name, size): &(&str, u64)| Movable { size, ..function(name, name) };
        Movables::for_tests(sizes.iter().map(one).collect())
    }

    #[test]
    fn versions_that_share_most_of_their_code_are_planned_together() {
        let (base, head) =
            (version(&[("a", 4000), ("b", 500)]), version(&[("a", 4100), ("c", 500)]));
        let plans = plan_together(&[&base, &head]).unwrap();
        assert_eq!(plans[0].slots.len(), 3);
        assert_ne!(plans[0].key(), plans[1].key());
        assert_eq!(plan(&base).slots.len(), 2);
    }

    #[test]
    fn the_same_version_twice_has_one_key() {
        let [one, other] = [version(&[("a", 40)]), version(&[("a", 40)])];
        let plans = plan_together(&[&one, &other]).unwrap();
        assert_eq!(plans[0].key(), plans[1].key());
    }

    #[test]
    fn versions_with_little_in_common_have_no_plan_together() {
        let (base, head) = (version(&[("a", 4000)]), version(&[("b", 4000)]));
        assert_eq!(plan_together(&[&base, &head]), None);
    }

    #[test]
    fn no_seed_makes_slots_larger_than_their_extent() {
        let slots = plan(&version(&[("a", 1), ("b", 64), ("c", 17), ("d", 100)])).slots;
        for number in 1..100 {
            let code = fillers(&in_order(&slots, seed(number)));
            let own = |filler: &Filler<'_>| filler.before.map_or(0, |own| own.size);
            let used: u64 = code.iter().map(|filler| filler.size + own(filler)).sum();
            assert!(used <= extent(slots.iter().map(|slot| (slot.size, slot.alignment))), "{used}");
        }
    }
}
