//! Gathers what the functions of a build refer to, and what that refers to in turn.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use super::digest::Digest;
use super::name::{Name, stable_symbol};
use super::owners::{Owner, Owners};
use super::references::{Body, Contents, Data, Reference, References, To, number};
use super::relocatable::Relocatable;
use super::relocation::Relocation;
use super::target::{Piece, SymbolPlace, Targets};
use super::unreferenced;

impl References {
    /// What these functions refer to, given in the order of the set. `is_certain` tells which objects are
    /// linked in any case, since they are in no archive.
    pub(super) fn gather<'data>(
        objects: &[Relocatable<'data>],
        is_certain: &[bool],
        promoted: &HashMap<&'data [u8], SymbolPlace>,
        functions: &[Piece],
    ) -> Self {
        let reader = Reader {
            objects,
            targets: Targets::new(objects, promoted),
            owners: Owners::new(objects, is_certain, functions),
            unwinding: unwinding_tables(objects),
        };
        let mut numbers = Numbers::default();
        let read: Vec<_> = functions.par_iter().map(|&piece| reader.read_function(piece)).collect();
        let functions = read.into_iter().map(|read| numbers.contents(objects, read)).collect();
        let mut unreferenced: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (section, piece) in unreferenced::pieces(objects) {
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
            // The order of functions to call, and of what is collected, is one that the program sees.
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
    /// The sections that tell unwinding where a function goes on, by object and symbol of the function.
    unwinding: HashMap<(usize, &'data [u8]), usize>,
}

/// The unwinding tables that objects have for single functions. (Where all functions of an object share one
/// table, it is passed over: which calls have which landing pads is part of the functions' source, and shows
/// in their code but for the rarest cases.)
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
    /// The body of a function, and what its relocations refer to, and its unwinding table.
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

    /// The body of a piece, and what its relocations refer to.
    fn read(&self, piece: Piece) -> (Body, Vec<Owner>) {
        let object = &self.objects[piece.object];
        let relocations = object.relocations_in(piece.section, piece.start, piece.end);
        let mut told = self.targets.masked(piece);
        for Relocation { offset, kind, .. } in relocations {
            told.extend_from_slice(&(offset - piece.start).to_le_bytes());
            told.extend_from_slice(&kind.0.to_le_bytes());
        }
        let owners = relocations.iter().map(|relocation| self.owners.owner(piece, relocation));
        (Body::of(&told), owners.collect())
    }

    /// The same of data, with its name, and with what tells it apart from others if it is a variable.
    fn read_data(&self, piece: Piece) -> ((Body, Vec<Owner>), Option<Name>, Option<u64>) {
        let section = &self.objects[piece.object].sections[piece.section];
        let mut symbols = self.owners.symbols_of(piece);
        let symbol = symbols.next().map(|symbol| String::from_utf8_lossy(symbol.name));
        let name = match (&symbol, symbols.next()) {
            (None, _) => None,
            (Some(symbol), None) => Some(Name::of(symbol)),
            (Some(_), Some(_)) => Some(Name::of(&String::from_utf8_lossy(section.name))),
        };
        let variable = is_variable(section.name, section.writable).then(|| {
            symbol.map_or(0, |symbol| Digest::of(stable_symbol(&symbol).as_bytes()).first_bits())
        });
        (self.read(piece), name, variable)
    }
}

/// Whether the program may write to a section after it started.
fn is_variable(section: &[u8], writable: bool) -> bool {
    const FIXED: [&[u8]; 6] =
        [b".data.rel.ro", b".init_array", b".fini_array", b".preinit_array", b".ctors", b".dtors"];
    writable && !FIXED.iter().any(|prefix| section.starts_with(prefix))
}

/// Numbers for what is referred to, in the order in which it is met.
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
                Reference { to: To::Entry(index), distance }
            }
            Owner::Function { index, at_start: false, distance } => {
                Reference { to: To::Inside(index), distance }
            }
            Owner::Piece(piece, distance) => {
                Reference { to: To::Data(self.piece(piece)), distance }
            }
            Owner::Outside(place, distance) => {
                Reference { to: To::Outside(self.outside(objects, place)), distance }
            }
            Owner::Nowhere => Reference { to: To::Nowhere, distance: 0 },
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
            // That of an absolute symbol is an address of its own, or a number.
            self.outside.push(match symbol.value {
                0 => name.into_owned(),
                value => format!("{name} = {value:#x}"),
            });
            next
        })
    }
}
