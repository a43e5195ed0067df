//! Gathers the direct and indirect references of a build's functions: to functions of the set, and to pieces of
//! sections.
//!
//! Compilers refer to data through nearby addresses, for instance one element before a table, and linkers move whole
//! sections. A piece of data is therefore a whole section of an object, or a part that the linker may merge; only in a
//! section without contents is it a single variable.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use rayon::prelude::*;

use super::{
    defined,
    digest::Digest,
    link_map::code_group,
    name::{Name, stable_symbol},
    references::{Body, Contents, Data, Reference, References, Referent, number},
    relocatable::{Kind, Merging, Relocatable, Relocation, Symbol},
    source_location::PrintedLocations,
    target::{Piece, SymbolPlace, Targets, is_anonymous},
};

impl References {
    /// Gathers the references of these functions, given in the order of the set. `is_certain` is true for objects that
    /// are linked in any case, since they are in no archive.
    pub(super) fn gather<'data>(
        objects: &[Relocatable<'data>],
        is_certain: &[bool],
        promoted: &HashMap<&'data [u8], SymbolPlace>,
        printed: &PrintedLocations,
        functions: &[Piece],
    ) -> Self {
        let reader = Reader {
            objects,
            targets: Targets::new(objects, promoted, printed),
            owners: Owners::new(objects, is_certain, functions),
            unwinding: unwinding_tables(objects),
        };
        let mut numbers = Numbers::default();
        let read: Vec<_> = functions.par_iter().map(|&piece| reader.read_function(piece)).collect();
        let functions = read.into_iter().map(|read| numbers.contents(objects, read)).collect();
        let mut unreferenced: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (section, piece) in defined::unreferenced_pieces(objects) {
            unreferenced.entry(section).or_default().push(numbers.piece(piece));
        }
        let mut data: Vec<Data> = Vec::new();
        while data.len() < numbers.pieces.len() {
            let new = &numbers.pieces[data.len()..];
            let read: Vec<_> = new.par_iter().map(|&piece| reader.read_data(piece)).collect();
            for (read, name, variable) in read {
                let contents = numbers.contents(objects, read);
                data.push(Data { contents, name, variable });
            }
        }
        for pieces in unreferenced.values_mut() {
            // The program sees the order of functions to call and of collected items.
            let is_code = |&index: &u32| {
                let Piece { object, section, .. } = numbers.pieces[index as usize];
                objects[object].sections[section].code
            };
            if pieces.iter().all(is_code) {
                pieces.sort_by_key(|&index| data[index as usize].contents.body);
            }
        }
        let unreferenced = unreferenced.into_iter().collect();
        let mut references = Self { functions, data, outside: numbers.outside, unreferenced };
        references.tidy();
        references
    }
}

struct Reader<'o, 'data> {
    objects: &'o [Relocatable<'data>],
    targets: Targets<'o, 'data>,
    owners: Owners<'o, 'data>,
    /// The unwinding tables of functions, by object and symbol of the function.
    unwinding: HashMap<(usize, &'data [u8]), usize>,
}

/// The unwinding tables that objects have for single functions. (A table that all functions of an object share is
/// ignored: which calls have which landing pads is part of the functions' source, and shows in their code in all but
/// the rarest cases.)
fn unwinding_tables<'data>(objects: &[Relocatable<'data>]) -> HashMap<(usize, &'data [u8]), usize> {
    let mut tables = HashMap::new();
    for (object, Relocatable { sections, .. }) in objects.iter().enumerate() {
        for (index, section) in sections.iter().enumerate() {
            if let Some(function) = section.name.strip_prefix(b".gcc_except_table.") {
                tables.insert((object, function), index);
            }
        }
    }
    tables
}

impl Reader<'_, '_> {
    /// The body of a function, the targets of its relocations, and its unwinding table.
    fn read_function(&self, piece: Piece) -> (Body, Vec<Owner>) {
        let (body, mut owners) = self.read(piece);
        let Relocatable { sections, symbols, .. } = &self.objects[piece.object];
        let symbols = sections[piece.section].symbols.iter().map(|&index| &symbols[index]);
        let table = symbols
            .filter(|symbol| symbol.value == piece.start)
            .find_map(|symbol| self.unwinding.get(&(piece.object, symbol.name)));
        if let Some(&section) = table {
            let end = sections[section].size;
            owners.push(Owner::Piece(Piece { object: piece.object, section, start: 0, end }, 0));
        }
        (body, owners)
    }

    /// The body of a piece, which includes its alignment and the group of its code, and the targets of its relocations.
    ///
    /// The alignment is that of the section, which an object states for all that it contains. It decides how many cache
    /// lines and pages data occupies, unlike an address, which neighbours move too.
    fn read(&self, piece: Piece) -> (Body, Vec<Owner>) {
        let object = &self.objects[piece.object];
        let relocations = object.relocations_in(piece.section, piece.start, piece.end);
        let mut description = self.targets.masked(piece);
        let section = &object.sections[piece.section];
        description.extend_from_slice(&section.required().to_le_bytes());
        if section.code {
            let name = String::from_utf8_lossy(section.name);
            description.extend_from_slice(code_group(&name).as_bytes());
            description.push(0);
        }
        for Relocation { offset, kind, .. } in relocations {
            description.extend_from_slice(&(offset - piece.start).to_le_bytes());
            description.extend_from_slice(&kind.0.to_le_bytes());
        }
        let owners = relocations.iter().map(|relocation| self.owners.owner(piece, relocation));
        (Body::new(&description), owners.collect())
    }

    /// The body and references of data, its name, and for a variable a digest that distinguishes it from others.
    fn read_data(&self, piece: Piece) -> ((Body, Vec<Owner>), Option<Name>, Option<u64>) {
        let section = &self.objects[piece.object].sections[piece.section];
        let mut symbols = self.owners.symbols_of(piece);
        let symbol = symbols.next().map(|symbol| String::from_utf8_lossy(symbol.name));
        let name = match (&symbol, symbols.next()) {
            (None, _) => None,
            (Some(symbol), None) => Some(Name::demangle(symbol)),
            (Some(_), Some(_)) => Some(Name::demangle(&String::from_utf8_lossy(section.name))),
        };
        let variable = is_variable(section.name, section.writable).then(|| {
            symbol
                .map_or(0, |symbol| Digest::compute(stable_symbol(&symbol).as_bytes()).first_bits())
        });
        (self.read(piece), name, variable)
    }
}

/// True if the program may write to a section after its start.
fn is_variable(section: &[u8], writable: bool) -> bool {
    const FIXED: [&[u8]; 6] =
        [b".data.rel.ro", b".init_array", b".fini_array", b".preinit_array", b".ctors", b".dtors"];
    writable && !FIXED.iter().any(|prefix| section.starts_with(prefix))
}

/// Numbers for the targets of references, in the order of their first appearance.
#[derive(Default)]
struct Numbers<'data> {
    pieces: Vec<Piece>,
    piece_numbers: HashMap<Piece, u32>,
    outside: Vec<String>,
    outside_numbers: HashMap<(&'data [u8], u64), u32>,
}

impl<'data> Numbers<'data> {
    fn contents(
        &mut self,
        objects: &[Relocatable<'data>],
        (body, owners): (Body, Vec<Owner>),
    ) -> Contents {
        let reference = |owner| match owner {
            Owner::Function { index, at_start: true, distance } => {
                Reference { to: Referent::Entry(index), distance }
            }
            Owner::Function { index, at_start: false, distance } => {
                Reference { to: Referent::Inside(index), distance }
            }
            Owner::Piece(piece, distance) => {
                Reference { to: Referent::Data(self.piece(piece)), distance }
            }
            Owner::Outside(place, distance) => {
                Reference { to: Referent::Outside(self.outside(objects, place)), distance }
            }
            Owner::Nowhere => Reference { to: Referent::Nowhere, distance: 0 },
        };
        Contents { body, references: owners.into_iter().map(reference).collect() }
    }

    fn piece(&mut self, piece: Piece) -> u32 {
        let next = number(self.pieces.len());
        *self.piece_numbers.entry(piece).or_insert_with(|| {
            self.pieces.push(piece);
            next
        })
    }

    fn outside(&mut self, objects: &[Relocatable<'data>], (object, symbol): SymbolPlace) -> u32 {
        let symbol = &objects[object].symbols[symbol];
        let next = number(self.outside.len());
        *self.outside_numbers.entry((symbol.name, symbol.value)).or_insert_with(|| {
            let name = String::from_utf8_lossy(symbol.name);
            let name = stable_symbol(&name);
            // An absolute symbol's address is unique to it, or is a number. That of common data is its alignment.
            self.outside.push(match (symbol.value, symbol.size) {
                (0, _) => name.into_owned(),
                (value, size) => format!("{name} = {value:#x}, {size} bytes"),
            });
            next
        })
    }
}

/// Finds the targets of relocations in the objects of a link.
struct Owners<'o, 'data> {
    objects: &'o [Relocatable<'data>],
    /// The functions of the set, by object and section, in the order of their starts.
    functions: HashMap<(usize, usize), Vec<(Piece, u32)>>,
    /// The definition of each symbol that other objects see.
    global: HashMap<&'data [u8], SymbolPlace>,
}

/// The target of a relocation, and the distance from its start.
enum Owner {
    Function { index: u32, at_start: bool, distance: i64 },
    Piece(Piece, i64),
    Outside(SymbolPlace, i64),
    Nowhere,
}

impl<'o, 'data> Owners<'o, 'data> {
    /// `functions` are those of the set, in its order; `is_certain` is true for objects that are linked in any case,
    /// since they are in no archive.
    fn new(objects: &'o [Relocatable<'data>], is_certain: &[bool], functions: &[Piece]) -> Self {
        let mut by_section: HashMap<(usize, usize), Vec<(Piece, u32)>> = HashMap::new();
        for (index, &function) in functions.iter().enumerate() {
            let section = by_section.entry((function.object, function.section)).or_default();
            section.push((function, number(index)));
        }
        for section in by_section.values_mut() {
            section.sort_by_key(|(function, _)| function.start);
        }
        let mut owners = Self { objects, functions: by_section, global: HashMap::new() };
        owners.global = owners.definitions(is_certain);
        owners
    }

    /// The definition of each symbol that the linker chose, as far as that is known: that of a function of the set,
    /// else one in an object that is linked in any case, else a strong one, else the first.
    fn definitions(&self, is_certain: &[bool]) -> HashMap<&'data [u8], SymbolPlace> {
        type Rank = (bool, bool, bool, Reverse<SymbolPlace>);
        let mut best: HashMap<&'data [u8], Rank> = HashMap::new();
        for (object, Relocatable { symbols, .. }) in self.objects.iter().enumerate() {
            let is_certain = is_certain.get(object).copied().unwrap_or_default();
            for (index, symbol) in symbols.iter().enumerate() {
                let Some(section) = symbol.section.filter(|_| is_global(symbol)) else { continue };
                let is_kept = self.function_at(object, section, symbol.value).is_some();
                let rank = (is_kept, is_certain, !symbol.weak, Reverse((object, index)));
                let entry = best.entry(symbol.name).or_insert(rank);
                *entry = rank.max(*entry);
            }
        }
        best.into_iter().map(|(name, (.., Reverse(place)))| (name, place)).collect()
    }

    /// The target of a relocation in a piece of an object.
    fn owner(&self, from: Piece, relocation: &Relocation) -> Owner {
        let object = &self.objects[from.object];
        let Some(symbol) = object.symbols.get(relocation.symbol) else { return Owner::Nowhere };
        let own = (from.object, relocation.symbol);
        let defined = if is_global(symbol) {
            self.global.get(symbol.name).copied()
        } else {
            symbol.section.map(|_| own)
        };
        // A distance in a table of constants is relative to the table.
        let shift = if relocation.relative && !object.sections[from.section].code {
            let (table, _) = object.piece_at(from.section, relocation.offset);
            relocation.offset.saturating_sub(table).cast_signed().wrapping_neg()
        } else {
            0
        };
        let distance = relocation.addend.wrapping_add(shift);
        let reach = object.reach(from.section, relocation);
        let place = defined.and_then(|(index, symbol)| {
            let symbol = self.objects[index].symbols.get(symbol)?;
            Some((index, symbol, symbol.section?))
        });
        let Some((index, symbol, section)) = place else { return Owner::Outside(own, distance) };
        let target = symbol.value.saturating_add_signed(distance.saturating_add(reach));
        let is_code = self.objects[index].sections[section].code;
        let by_place = symbol.kind == Kind::Section || (is_code && is_anonymous(symbol));
        let owner = if by_place { target } else { symbol.value };
        let distance_from =
            |start: u64| symbol.value.wrapping_sub(start).cast_signed().wrapping_add(distance);
        if is_code && let Some((function, at)) = self.function_at(index, section, owner) {
            let at_start = target == function.start;
            return Owner::Function {
                index: at,
                at_start,
                distance: distance_from(function.start),
            };
        }
        let piece = self.piece(index, section, owner);
        Owner::Piece(piece, distance_from(piece.start))
    }

    /// The function of the set that contains this byte.
    fn function_at(&self, object: usize, section: usize, offset: u64) -> Option<(Piece, u32)> {
        let functions = self.functions.get(&(object, section))?;
        let behind = functions.partition_point(|(function, _)| function.start <= offset);
        let last = functions.get(behind.checked_sub(1)?)?;
        let holds = |one: &&(Piece, u32)| offset < one.0.end || offset == one.0.start;
        Some(*last).filter(|last| holds(&last)).or_else(|| {
            // An earlier function may be longer and contain the byte.
            functions[..behind].iter().rev().find(holds).copied()
        })
    }

    /// The piece of a section that contains this byte, outside of the functions of the set.
    fn piece(&self, index: usize, section: usize, offset: u64) -> Piece {
        let object = &self.objects[index];
        let contents = &object.sections[section];
        let (start, end) = if contents.code {
            self.between_functions(index, section, offset)
        } else if contents.merging != Merging::None {
            object.piece_at(section, offset.min(contents.size.saturating_sub(1)))
        } else if contents.bytes.is_empty() {
            match object.symbol_at(section, offset) {
                Some(symbol) => {
                    let Symbol { value, size, .. } = object.symbols[symbol];
                    (value, value.saturating_add(size))
                }
                None => object.piece_at(section, offset),
            }
        } else {
            (0, contents.size)
        };
        let end = end.min(contents.size);
        Piece { object: index, section, start: start.min(end), end }
    }

    /// The code around this byte, up to the neighbouring functions of the set.
    fn between_functions(&self, object: usize, section: usize, offset: u64) -> (u64, u64) {
        let functions = self.functions.get(&(object, section)).map_or(&[][..], Vec::as_slice);
        let behind = functions.partition_point(|(function, _)| function.start <= offset);
        let ends = functions[..behind].iter().map(|(function, _)| function.end);
        let next = functions.get(behind).map(|(function, _)| function.start);
        let size = self.objects[object].sections[section].size;
        (ends.max().unwrap_or(0), next.unwrap_or(size))
    }

    /// The symbols of a piece under which programmers know it, in the order of offsets.
    fn symbols_of(&self, piece: Piece) -> impl Iterator<Item = &'o Symbol<'data>> {
        let Relocatable { sections, symbols, .. } = &self.objects[piece.object];
        let inside = &sections[piece.section].symbols;
        let first = inside.partition_point(|&index| symbols[index].value < piece.start);
        let inside = inside[first..].iter().map(|&index| &symbols[index]);
        inside
            .take_while(move |symbol| symbol.value < piece.end || symbol.value == piece.start)
            .filter(|symbol| !is_anonymous(symbol))
    }
}

/// True if other objects see the symbol.
fn is_global(symbol: &Symbol<'_>) -> bool {
    !symbol.local && symbol.kind != Kind::Section && !symbol.name.is_empty()
}
