//! Layouts: linker options that place functions according to a seed.
//!
//! The position of a function depends only on its identity and the seed, so that several versions have their common
//! functions in the same order, at the same offsets from a boundary. Fillers in front of functions put them there: bytes
//! that are never executed or read, and keep other sections at their addresses.
//!
//! A part of a version's layouts is independent of the seed, the plan: room for each function, and the start of sections,
//! which is at the same addresses in all versions that are built together. Identities distinguish the functions of one
//! version and stay the same in the others.

use std::collections::HashMap;

use object::{
    Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope, elf,
    write::{Object, Symbol, SymbolSection},
};
use rbench_code::elf::{Identified, LoadedSection, Name, Sections, pair};

use super::{
    key::KeyMaker,
    linker::{Arrangement, Family, LinkerOption},
    placeable::{PlaceableFunction, PlaceableFunctions},
};
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
        for symbol in std::iter::once(symbol(sizes.len())).chain(behind) {
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
    let mut objects = among_code(&sizes, plan.architecture)?;
    if !plan.frame.fillers.is_empty() {
        objects.push(among_data(&plan.frame.fillers, plan.architecture)?);
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

/// The number of sections in one object. ELF counts differently from 65,280 on, which is more complicated and not
/// needed.
const SECTIONS_PER_OBJECT: usize = 30_000;

/// The symbol of filler `index` among code, with which the linker puts it before its function.
fn symbol(index: usize) -> String {
    format!("rbench.filler.{index}")
}

/// Objects with one filler for each of `sizes`, in bytes: a section of code that starts on a boundary, so that a
/// function directly behind it starts at this distance from the boundary.
fn among_code(
    sizes: &[u64],
    architecture: Architecture,
) -> Result<Vec<Vec<u8>>, object::write::Error> {
    // x86's breakpoint, and an undefined instruction on most other architectures.
    let byte = if architecture == Architecture::X86_64 { 0xcc } else { 0 };
    let chunks = sizes.chunks(SECTIONS_PER_OBJECT).enumerate();
    let objects = chunks.map(|(chunk, sizes)| {
        let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
        for (offset, &size) in sizes.iter().enumerate() {
            let name = symbol(chunk * SECTIONS_PER_OBJECT + offset);
            let (section, kind) = (format!(".text.{name}"), SectionKind::Text);
            let filler = FillerSection { section, kind, size, byte, alignment: BOUNDARY };
            let section = filler.add_to(&mut object);
            object.add_symbol(Symbol {
                name: name.into_bytes(),
                value: 0,
                size: 0,
                kind: SymbolKind::Label,
                scope: SymbolScope::Compilation,
                weak: false,
                section: SymbolSection::Section(section),
                flags: SymbolFlags::None,
            });
        }
        object.write()
    });
    objects.collect()
}

/// An object with fillers for sections of data, given by name and size in bytes.
fn among_data(
    sections: &[(String, u64)],
    architecture: Architecture,
) -> Result<Vec<u8>, object::write::Error> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    for (section, size) in sections {
        let (section, kind) = (section.clone(), SectionKind::Data);
        FillerSection { section, kind, size: *size, byte: 0, alignment: 1 }.add_to(&mut object);
    }
    object.write()
}

struct FillerSection {
    section: String,
    kind: SectionKind,
    size: u64,
    byte: u8,
    alignment: u64,
}

impl FillerSection {
    fn add_to(self, object: &mut Object<'_>) -> object::write::SectionId {
        let section = object.add_section(Vec::new(), self.section.into_bytes(), self.kind);
        let access =
            if self.kind == SectionKind::Text { elf::SHF_EXECINSTR } else { elf::SHF_WRITE };
        // Retained, because the linker would drop fillers, to which nothing refers.
        let sh_flags = elf::SHF_ALLOC | access | elf::SHF_GNU_RETAIN;
        object.section_mut(section).flags =
            SectionFlags::Elf { sh_type: elf::SHT_PROGBITS, sh_flags };
        let bytes = vec![self.byte; usize::try_from(self.size).unwrap_or(usize::MAX)];
        object.append_section_data(section, &bytes, self.alignment);
        section
    }
}

/// All slots together may be this many times as large as one version's own functions.
const LARGEST_UNION: f64 = 1.5;

/// The room for functions and for sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// A slot for each function of this version or of one that is built together with it.
    slots: Vec<Slot>,
    /// The start of sections, if it must be the same as in other versions.
    frame: Frame,
    pub architecture: Architecture,
}

impl Default for Plan {
    fn default() -> Self {
        Self { slots: Vec::new(), frame: Frame::default(), architecture: Architecture::Unknown }
    }
}

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

/// The number of functions of both versions that a linker without layouts would place by other rules in one than in the
/// other: they require another alignment, or belong to another group of sections.
pub fn placed_by_other_rules(base: &PlaceableFunctions, head: &PlaceableFunctions) -> usize {
    let [base, head] = [base, head].map(|version| -> Vec<Numbered<'_>> {
        let functions = version.functions.iter().enumerate();
        functions.map(|(number, function)| Numbered { number, function }).collect()
    });
    let differ = |(base, head): &(&Numbered<'_>, &Numbered<'_>)| {
        let (base, head) = (base.function, head.function);
        base.alignment != head.alignment || base.group != head.group
    };
    pair(&base, &head).pairs.iter().filter(|pair| differ(pair)).count()
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
struct Frame {
    /// The addresses of the sections that are not written to, the same for all versions.
    pub starts: Vec<(String, u64)>,
    /// The number of filler bytes for each of the other sections.
    pub fillers: Vec<(String, u64)>,
}

/// The frame of each version. `code` is the most that all code occupies, in bytes.
///
/// Sections that are not written to get given addresses: linkers put such sections before all others. Those that are
/// written to follow at the next page; they are filled up to one size.
fn frames(versions: &[&Sections], code: u64) -> Vec<Frame> {
    let starts = starts(versions, code);
    let frame = |version: &&Sections| Frame {
        starts: starts.clone(),
        fillers: frame_fillers(versions, version),
    };
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

fn frame_fillers(versions: &[&Sections], own: &Sections) -> Vec<(String, u64)> {
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
struct Slot {
    /// The identity, from which its position is derived together with the seed.
    pub identity: String,
    /// The largest size in any version, in bytes.
    pub size: u64,
    /// The largest alignment that any version requires, in bytes.
    pub alignment: u64,
    /// The function in this version, if the version has it.
    pub own: Option<OwnSection>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnSection {
    /// Its symbol, exactly as the linker sees it.
    pub symbol: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The slots of each version: the same in number, identity, size and alignment, in the same order.
fn slots(versions: &[&[PlaceableFunction]]) -> Vec<Vec<Slot>> {
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
fn identities(functions: &[PlaceableFunction]) -> Vec<String> {
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
mod testing {
    use rbench_code::elf::{Name, stable_symbol};

    use crate::builds::placeable::PlaceableFunction;
    use crate::model::LayoutSeed;

    /// A function of 16 bytes.
    pub fn function(symbol: &str, name: &str) -> PlaceableFunction {
        PlaceableFunction {
            symbol: symbol.to_owned(),
            name: Name::demangle(name),
            instance: stable_symbol(symbol).into_owned(),
            code: None,
            size: 16,
            alignment: 16,
            group: ".text".to_owned(),
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
            slots,
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

#[cfg(test)]
mod plan_tests {
    use rbench_code::elf::Span;

    use super::*;
    use crate::builds::{
        layout::{
            Filler, in_order,
            testing::{function, seed},
        },
        placeable::PlaceableFunction,
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
    use rbench_code::elf::Digest;

    use super::*;
    use crate::builds::layout::testing::function;

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

    #[test]
    fn functions_with_another_alignment_or_group_are_placed_by_other_rules() {
        let version = |alignment: u64, group: &str| {
            let moved =
                PlaceableFunction { alignment, group: group.to_owned(), ..function("f", "f") };
            PlaceableFunctions::for_tests(vec![moved, function("g", "g")])
        };
        let base = version(16, ".text");
        let count = |head| placed_by_other_rules(&base, &head);
        let heads = [version(16, ".text"), version(64, ".text"), version(16, ".text.unlikely")];
        assert_eq!(heads.map(count), [0, 1, 1]);
    }
}
