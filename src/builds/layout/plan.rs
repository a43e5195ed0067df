//! The part of a version's layouts that is independent of the seed: room for each function, and the start of sections,
//! which is at the same addresses in all versions that are built together.
//! Identities distinguish the functions of one version and stay the same in the others.

use std::collections::HashMap;

use object::Architecture;

use super::{BOUNDARY, PHASES};
use crate::{
    builds::{
        key::KeyMaker,
        placeable::{PlaceableFunction, PlaceableFunctions},
    },
    elf::{Identified, LoadedSection, Name, Sections, pair},
};

/// All slots together may be this many times as large as one version's own functions.
const LARGEST_UNION: f64 = 1.5;

/// The room for functions and for sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// A slot for each function of this version or of one that is built together with it.
    pub slots: Vec<Slot>,
    /// The start of sections, if it must be the same as in other versions.
    pub frame: Frame,
    /// The architecture of the code.
    pub architecture: Architecture,
}

impl Default for Plan {
    fn default() -> Self {
        Self { slots: Vec::new(), frame: Frame::default(), architecture: Architecture::Unknown }
    }
}

/// The plan for a single version.
pub fn plan(placeable: &PlaceableFunctions) -> Plan {
    let mut slots = slots(&[&placeable.functions]);
    Plan {
        slots: slots.pop().unwrap_or_default(),
        frame: Frame::default(),
        architecture: placeable.architecture(),
    }
}

/// Plans that give everything that these versions have in common the same address in all of them. `None` if they have
/// too little in common, since each executable needs room for the functions of all.
pub fn plan_together(versions: &[&PlaceableFunctions]) -> Option<Vec<Plan>> {
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

/// The most bytes that functions of these sizes and alignments, in bytes, occupy with any seed.
fn extent(functions: impl Iterator<Item = (u64, u64)>) -> u64 {
    let [.., largest_phase] = PHASES;
    let most = |(size, alignment): (u64, u64)| {
        // An address is a multiple of the alignment, and slots begin at boundaries: both are powers of two.
        let before = largest_phase.next_multiple_of(alignment);
        (before + size).next_multiple_of(BOUNDARY.max(alignment))
    };
    functions.map(most).sum()
}

impl Plan {
    /// The hash of the complete plan.
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

/// The bytes before the first section for additions of the linker to the headers: a segment for each section with a
/// given address.
const HEADERS: u64 = 1024;
/// A section may grow by its size divided by this, and by [`SMALLEST_ROOM`].
const ROOM: u64 = 16;
/// The constant part of the room, in bytes; see [`ROOM`].
const SMALLEST_ROOM: u64 = 64;
/// Sections of data that others follow and whose size differs between versions.
const FILLED: [&str; 2] = [".data.rel.ro", ".data"];

/// The settings for one version's link that make its sections start where those of the other versions do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The addresses of the sections that are not written to, the same for all versions.
    pub starts: Vec<(String, u64)>,
    /// The number of filler bytes for each of the other sections.
    pub fillers: Vec<(String, u64)>,
}

/// The frame of each version. `code` is the most that all code occupies, in bytes.
///
/// Sections that are not written to get given addresses: linkers put such sections before all others. Those that are
/// written to follow at the next page; they are filled up to one size.
pub fn frames(versions: &[&Sections], code: u64) -> Vec<Frame> {
    let starts = starts(versions, code);
    let frame =
        |version: &&Sections| Frame { starts: starts.clone(), fillers: fillers(versions, version) };
    versions.iter().map(frame).collect()
}

fn starts(versions: &[&Sections], code: u64) -> Vec<(String, u64)> {
    let Some(first) = versions.first() else { return Vec::new() };
    let begin = versions.iter().filter_map(|version| version.all.first());
    let mut address = begin.map(|section| section.span.address).max().unwrap_or(0) + HEADERS;
    let page = versions.iter().map(|version| version.page).max().unwrap_or(1);
    let mut was_code = false;
    let mut starts = Vec::new();
    for section in first.all.iter().take_while(|section| !section.writable) {
        let others = versions.iter().filter_map(|version| find(version, &section.name));
        let (size, alignment) = others.fold((0, 1), |(size, alignment), other| {
            (other.span.size.max(size), other.span.alignment.max(alignment))
        });
        let boundary = if section.executable == was_code { SMALLEST_ROOM } else { page };
        was_code = section.executable;
        address = address.next_multiple_of(boundary.max(alignment));
        starts.push((section.name.clone(), address));
        let size = if section.name == ".text" { code } else { size };
        address += size + size / ROOM + SMALLEST_ROOM;
    }
    starts
}

fn fillers(versions: &[&Sections], own: &Sections) -> Vec<(String, u64)> {
    let size = |version: &Sections, name: &str| find(version, name).map_or(0, |one| one.span.size);
    let fillers = FILLED.iter().map(|name| {
        let largest = versions.iter().map(|version| size(version, name)).max().unwrap_or(0);
        ((*name).to_owned(), largest - size(own, name))
    });
    fillers.filter(|(_, missing)| *missing > 0).collect()
}

fn find<'s>(version: &'s Sections, name: &str) -> Option<&'s LoadedSection> {
    version.all.iter().find(|section| section.name == name)
}

/// Room for a function that at least one of the versions has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The identity, from which its position is derived together with the seed.
    pub identity: String,
    /// The largest size in any version, in bytes.
    pub size: u64,
    /// The largest alignment that any version requires, in bytes.
    pub alignment: u64,
    /// The function in this version, if the version has it.
    pub own: Option<OwnSection>,
}

/// A function in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSection {
    /// Its symbol, exactly as the linker sees it.
    pub symbol: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The slots of each version: the same in number, identity, size and alignment, in the same order.
pub fn slots(versions: &[&[PlaceableFunction]]) -> Vec<Vec<Slot>> {
    let mut functions: Vec<Function<'_>> = Vec::new();
    for (version, placeable) in versions.iter().enumerate() {
        let numbered = |(number, function)| Numbered { number, function };
        let known: Vec<_> =
            functions.iter().map(|one| one.first).enumerate().map(numbered).collect();
        let own: Vec<_> = placeable.iter().enumerate().map(numbered).collect();
        let paired = pair(&known, &own);
        for (known, own) in paired.pairs {
            functions[known.number].selves[version] = Some(own.function);
        }
        let identities = identities(placeable);
        let mut added = paired.only_head;
        added.sort_unstable_by_key(|one| one.number);
        for Numbered { number, function } in added {
            let mut selves = vec![None; versions.len()];
            selves[version] = Some(*function);
            let identity = identities[*number].clone();
            functions.push(Function { first: function, identity, selves });
        }
    }
    functions.sort_by(|one, other| one.identity.cmp(&other.identity));
    let of_version = |version| functions.iter().map(|function| function.slot(version)).collect();
    (0..versions.len()).map(of_version).collect()
}

/// A function with its form in each version; at least one version has it.
struct Function<'m> {
    first: &'m PlaceableFunction,
    identity: String,
    selves: Vec<Option<&'m PlaceableFunction>>,
}

impl Function<'_> {
    fn slot(&self, version: usize) -> Slot {
        let selves = self.selves.iter().flatten();
        Slot {
            identity: self.identity.clone(),
            size: selves.clone().map(|one| one.size).max().unwrap_or(0),
            alignment: selves.map(|one| one.alignment).max().unwrap_or(1),
            own: self.selves[version]
                .map(|own| OwnSection { symbol: own.symbol.clone(), size: own.size }),
        }
    }
}

/// A function of a list, with its index.
struct Numbered<'m> {
    number: usize,
    function: &'m PlaceableFunction,
}

impl Identified for Numbered<'_> {
    fn name(&self) -> &Name {
        &self.function.name
    }

    fn code(&self) -> impl Ord {
        self.function.code
    }

    fn instance(&self) -> impl Ord {
        &self.function.instance
    }

    fn size(&self) -> u64 {
        self.function.size
    }
}

/// The identity of each function.
///
/// The identity is the name, if no other function has it. Among several with one name (instances of a generic
/// function, in symbols that leave the types to the hash), it is the symbol without the numbers of link-time
/// optimisation: versions compiled at one path agree in the hash, and an added or removed instance changes no other.
/// Among several with one such symbol, it is the machine code, and among those with equal code, the position in the
/// link.
pub fn identities(functions: &[PlaceableFunction]) -> Vec<String> {
    let mut names: HashMap<&str, u32> = HashMap::with_capacity(functions.len());
    let mut instances: HashMap<&str, u32> = HashMap::with_capacity(functions.len());
    for function in functions {
        *names.entry(function.name.as_str()).or_default() += 1;
        *instances.entry(&function.instance).or_default() += 1;
    }
    let mut met: HashMap<String, u32> = HashMap::new();
    let identity = |function: &PlaceableFunction| {
        if names[function.name.as_str()] == 1 {
            return function.name.as_str().to_owned();
        }
        if instances[&*function.instance] == 1 {
            return function.instance.clone();
        }
        let code = function.code.map_or(String::new(), |code| code.to_string());
        let of_code = format!("{} {code}", function.instance);
        let before = met.entry(of_code.clone()).or_default();
        *before += 1;
        format!("{of_code} {before}")
    };
    functions.iter().map(identity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        builds::{
            layout::{
                Filler, fillers, in_order,
                testing::{function, seed},
            },
            placeable::PlaceableFunction,
        },
        elf::Span,
    };

    fn version(sizes: &[(&str, u64)]) -> PlaceableFunctions {
        let one = |&(name, size): &(&str, u64)| PlaceableFunction { size, ..function(name, name) };
        PlaceableFunctions::for_tests(sizes.iter().map(one).collect())
    }

    #[test]
    fn plan_together_accepts_versions_with_mostly_common_code() {
        let (base, head) =
            (version(&[("a", 4000), ("b", 500)]), version(&[("a", 4100), ("c", 500)]));
        let plans = plan_together(&[&base, &head]).unwrap();
        assert_eq!(plans[0].slots.len(), 3);
        assert_ne!(plans[0].key(), plans[1].key());
        assert_eq!(plan(&base).slots.len(), 2);
    }

    #[test]
    fn plans_of_the_same_version_have_the_same_key() {
        let [one, other] = [version(&[("a", 40)]), version(&[("a", 40)])];
        let plans = plan_together(&[&one, &other]).unwrap();
        assert_eq!(plans[0].key(), plans[1].key());
    }

    #[test]
    fn plan_together_refuses_versions_with_little_in_common() {
        let (base, head) = (version(&[("a", 4000)]), version(&[("b", 4000)]));
        assert_eq!(plan_together(&[&base, &head]), None);
    }

    #[test]
    fn extent_is_an_upper_bound_for_any_seed() {
        let slots = plan(&version(&[("a", 1), ("b", 64), ("c", 17), ("d", 100)])).slots;
        for number in 1..100 {
            let code = fillers(&in_order(&slots, seed(number)));
            let own = |filler: &Filler<'_>| filler.before.map_or(0, |own| own.size);
            let used: u64 = code.iter().map(|filler| filler.size + own(filler)).sum();
            assert!(used <= extent(slots.iter().map(|slot| (slot.size, slot.alignment))), "{used}");
        }
    }

    fn sections(sizes: [u64; 4]) -> Sections {
        let mut address = 0x2e0;
        let names =
            [(".rodata", false, false), (".text", false, true), (".data.rel.ro", true, false)];
        let all = names.into_iter().chain([(".data", true, false)]).zip(sizes);
        let all = all.map(|((name, writable, executable), size)| {
            let span = Span { address, size, alignment: 16 };
            address += size;
            LoadedSection { name: name.to_owned(), span, writable, executable }
        });
        Sections { all: all.collect(), page: 4096 }
    }

    #[test]
    fn frames_start_equally_with_room_for_the_larger_version() {
        let (base, head) = (sections([100, 5000, 64, 32]), sections([900, 4000, 60, 40]));
        let [of_base, of_head] = frames(&[&base, &head], 6000).try_into().unwrap();
        assert_eq!(of_base.starts, of_head.starts);
        let [(rodata, at), (text, code)] = of_base.starts.try_into().unwrap();
        assert_eq!((rodata.as_str(), text.as_str()), (".rodata", ".text"));
        assert!(at >= 0x2e0 + HEADERS && code >= at + 900, "{at} {code}");
        assert_eq!(code % 4096, 0, "code is in pages of its own");
        assert_eq!(of_base.fillers, [(".data".to_owned(), 8)]);
        assert_eq!(of_head.fillers, [(".data.rel.ro".to_owned(), 4)]);
    }
}

#[cfg(test)]
mod slots_tests {
    use super::*;
    use crate::{builds::layout::testing::function, elf::Digest};

    fn sized(name: &str, size: u64) -> PlaceableFunction {
        PlaceableFunction { size, ..function(name, name) }
    }

    fn own(symbol: &str, size: u64) -> OwnSection {
        OwnSection { symbol: symbol.to_owned(), size }
    }

    #[test]
    fn slot_fits_the_largest_version_and_exists_in_all() {
        let (base, head) = ([sized("a", 10), sized("b", 70)], [sized("c", 5), sized("a", 30)]);
        let [of_base, of_head] = slots(&[&base, &head]).try_into().unwrap();
        let shape = |slots: &[Slot]| -> Vec<(String, u64)> {
            slots.iter().map(|slot| (slot.identity.clone(), slot.size)).collect()
        };
        assert_eq!(shape(&of_base), [("a".into(), 30), ("b".into(), 70), ("c".into(), 5)]);
        assert_eq!(shape(&of_head), shape(&of_base));
        let owns: Vec<_> = of_base.into_iter().map(|slot| slot.own).collect();
        assert_eq!(owns, [Some(own("a", 10)), Some(own("b", 70)), None]);
        let owns: Vec<_> = of_head.into_iter().map(|slot| slot.own).collect();
        assert_eq!(owns, [Some(own("a", 30)), None, Some(own("c", 5))]);
    }

    #[test]
    fn slot_is_the_same_for_a_changed_symbol() {
        let (base, head) = ([function("_ZN1f17h1E", "f")], [function("_ZN1f17h2E", "f")]);
        let [of_base, of_head] = slots(&[&base, &head]).try_into().unwrap();
        assert_eq!(of_base[0].identity, of_head[0].identity);
        assert_eq!(of_head[0].own.as_ref().unwrap().symbol, "_ZN1f17h2E");
    }

    #[test]
    fn slots_are_independent_of_the_order_of_versions() {
        let (base, head) = ([sized("a", 10), sized("b", 70)], [sized("c", 5), sized("a", 30)]);
        let mut swapped = slots(&[&head, &base]);
        swapped.reverse();
        assert_eq!(slots(&[&base, &head]), swapped);
    }

    #[test]
    fn identity_of_a_unique_name_is_the_name() {
        let functions = [function("_ZN1f17h1E", "f"), function("g.7", "g")];
        assert_eq!(identities(&functions), ["f", "g"]);
    }

    #[test]
    fn identities_of_namesakes_use_symbol_code_and_position() {
        let of_code = |symbol: &str, code: u8| PlaceableFunction {
            code: Some(Digest::compute(&[code])),
            ..function(symbol, "f")
        };
        let base =
            [of_code("f_a", 1), of_code("f_b.1", 2), of_code("f_b.2", 3), of_code("f_b.3", 3)];
        let head =
            [of_code("f_a", 1), of_code("f_b.7", 3), of_code("f_b.8", 2), of_code("f_b.9", 3)];
        let (base, head) = (identities(&base), identities(&head));
        assert_eq!(base[0], "f_a");
        assert_eq!([&head[2], &head[1], &head[3]], [&base[1], &base[2], &base[3]]);
    }
}
