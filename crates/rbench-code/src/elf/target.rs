//! Describes the targets of relocations independently of the rest of the program.
//!
//! Compilers number their constants, so an additional constant changes the names of all that follow. A constant is
//! therefore described by its content, including its references, and everything else by name.

use std::collections::HashMap;

use super::name::Name;
use super::relocatable::Relocation;
use super::relocatable::{Kind, Relocatable, Symbol};
use super::source_location::{IN_TEST, LOCATION, PrintedLocations, is_in_test};

/// The depth to which nested constants are followed: a table of format strings, and one more.
const DEPTH: u8 = 4;

/// A symbol, as the index of its object and its index there.
pub(super) type SymbolPlace = (usize, usize);

/// Finds the targets of relocations in the objects of one link.
pub(super) struct Targets<'o, 'data> {
    objects: &'o [Relocatable<'data>],
    promoted: &'o HashMap<&'data [u8], SymbolPlace>,
    printed: &'o PrintedLocations,
    names: HashMap<SymbolPlace, blake3::Hash>,
    contents: HashMap<(Piece, u8), blake3::Hash>,
}

/// A range of bytes of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    pub(super) object: usize,
    pub(super) section: usize,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// The target of a relocation, and the distance from its start.
enum Target {
    Named(SymbolPlace, i64),
    Constant(Piece, i64),
    /// An offset in no section: a damaged object.
    Nowhere,
}

impl Piece {
    /// A sort key that is unique for each piece and follows the order of objects.
    pub(super) const fn in_order(&self) -> (usize, usize, u64, u64) {
        (self.object, self.section, self.start, self.end)
    }
}

impl<'o, 'data> Targets<'o, 'data> {
    pub(super) fn new(
        objects: &'o [Relocatable<'data>],
        promoted: &'o HashMap<&'data [u8], SymbolPlace>,
        printed: &'o PrintedLocations,
    ) -> Self {
        Self { objects, promoted, printed, names: HashMap::new(), contents: HashMap::new() }
    }

    /// The digest of a function's code: its bytes with relocated fields masked, and the place, kind and target of each
    /// relocation.
    pub(super) fn function(&mut self, function: Piece) -> blake3::Hash {
        let description = self.describe(function, DEPTH);
        blake3::hash(&description)
    }

    /// The digest of a constant's content, which follows references `depth` constants deep.
    fn constant(&mut self, constant: Piece, depth: u8) -> blake3::Hash {
        if let Some(&known) = self.contents.get(&(constant, depth)) {
            return known;
        }
        let digest = blake3::hash(&self.describe(constant, depth));
        self.contents.insert((constant, depth), digest);
        digest
    }

    /// All relevant properties of a piece, as bytes.
    fn describe(&mut self, piece: Piece, depth: u8) -> Vec<u8> {
        let object = &self.objects[piece.object];
        let mut description = self.masked(piece);
        for relocation in object.relocations_in(piece.section, piece.start, piece.end) {
            description.extend_from_slice(&(relocation.offset - piece.start).to_le_bytes());
            description.extend_from_slice(&relocation.kind.0.to_le_bytes());
            self.describe_target(piece, relocation, depth, &mut description);
        }
        description
    }

    /// The size and the bytes of a piece, with relocated fields masked, and without lines and columns that only locate
    /// something in the source.
    pub(super) fn masked(&self, piece: Piece) -> Vec<u8> {
        let object = &self.objects[piece.object];
        let section = &object.sections[piece.section];
        let relocations = object.relocations_in(piece.section, piece.start, piece.end);
        let mut description = (piece.end - piece.start).to_le_bytes().to_vec();
        let header = description.len();
        description.extend_from_slice(section.slice(piece.start, piece.end));
        for relocation in relocations {
            let field = header.saturating_add(offset_in(piece, relocation));
            relocation.mask(description.get_mut(field..).unwrap_or_default());
        }
        // Lines and columns change when code above them does.
        if let [file] = relocations
            && self.is_printed_location(piece, file)
        {
            description.truncate(header + 16);
        }
        for file in relocations {
            let start = header.saturating_add(offset_in(piece, file));
            let word = |offset: i64| {
                let start = start.checked_add_signed(isize::try_from(offset).ok()?)?;
                Some(u64::from_le_bytes(
                    description.get(start..start.checked_add(8)?)?.try_into().ok()?,
                ))
            };
            if is_in_test(word) && self.path(piece, file).is_some() {
                description[start..][IN_TEST.start as usize..IN_TEST.end as usize].fill(0);
            }
        }
        description
    }

    fn describe_target(
        &mut self,
        from: Piece,
        relocation: &Relocation,
        depth: u8,
        description: &mut Vec<u8>,
    ) {
        let (tag, digest, distance) = match self.target(from, relocation) {
            Target::Named(symbol, distance) => (b'n', Some(self.name(symbol)), distance),
            Target::Constant(piece, distance) => {
                let deeper = depth.checked_sub(1);
                (b'c', deeper.map(|depth| self.constant(piece, depth)), distance)
            }
            Target::Nowhere => (b'x', None, 0),
        };
        description.push(tag);
        description.extend_from_slice(digest.as_ref().map_or(&[], |digest| digest.as_bytes()));
        description.extend_from_slice(&distance.to_le_bytes());
    }

    fn target(&self, from: Piece, relocation: &Relocation) -> Target {
        let object = &self.objects[from.object];
        let Some(symbol) = object.symbols.get(relocation.symbol) else { return Target::Nowhere };
        let place = (from.object, relocation.symbol);
        // A distance in a table of constants is relative to the table.
        let in_code = object.sections[from.section].code;
        let shift = if relocation.relative && !in_code {
            (relocation.offset - from.start).cast_signed().wrapping_neg()
        } else {
            0
        };
        let distance = relocation.addend.wrapping_add(shift);
        let Some(section) = symbol.section else {
            return match self.promoted.get(symbol.name) {
                Some(&defined) => self.anonymous(defined, distance),
                None => Target::Named(place, distance),
            };
        };
        let by_place =
            symbol.kind == Kind::Section || (is_anonymous(symbol) && object.sections[section].code);
        if by_place {
            let reach = object.reach(from.section, relocation);
            self.resolve(from.object, section, symbol.value, distance, reach)
        } else if is_anonymous(symbol) {
            self.anonymous(place, distance)
        } else {
            Target::Named(place, distance)
        }
    }

    /// The target at `base + distance` in a section, where the distance is relative to a point `reach` bytes further
    /// on.
    fn resolve(
        &self,
        index: usize,
        section: usize,
        base: u64,
        distance: i64,
        reach: i64,
    ) -> Target {
        let object = &self.objects[index];
        let offset = base.saturating_add_signed(distance.saturating_add(reach));
        let offset = offset.min(object.sections[section].size);
        let distance_from =
            |start: u64| base.wrapping_sub(start).cast_signed().wrapping_add(distance);
        match object.symbol_at(section, offset) {
            Some(symbol) if is_anonymous(&object.symbols[symbol]) => {
                let start = object.symbols[symbol].value;
                self.anonymous((index, symbol), distance_from(start))
            }
            Some(symbol) => {
                Target::Named((index, symbol), distance_from(object.symbols[symbol].value))
            }
            None => {
                let (start, end) = object.piece_at(section, offset);
                let piece = Piece { object: index, section, start, end };
                Target::Constant(piece, distance_from(start))
            }
        }
    }

    /// The constant with this symbol, which must be defined.
    fn anonymous(&self, place: SymbolPlace, distance: i64) -> Target {
        let (index, symbol) = place;
        let object = &self.objects[index];
        let Symbol { section: Some(section), value, size, .. } = object.symbols[symbol] else {
            return Target::Named(place, distance);
        };
        let end = match size {
            0 => object.piece_at(section, value).1,
            _ => value.saturating_add(size),
        };
        let end = end.min(object.sections[section].size).max(value);
        Target::Constant(Piece { object: index, section, start: value, end }, distance)
    }

    /// True if a constant is a source location that the program only prints.
    fn is_printed_location(&self, piece: Piece, file: &Relocation) -> bool {
        let section = &self.objects[piece.object].sections[piece.section];
        piece.end - piece.start == LOCATION
            && file.offset == piece.start
            && self.path(piece, file).is_some_and(|path| {
                self.printed.contains(path, section.slice(piece.start + 16, piece.end))
            })
    }

    /// The path of a source file that a relocation in a constant refers to, and whose length follows.
    fn path(&self, piece: Piece, file: &Relocation) -> Option<&'data [u8]> {
        if !file.is_pointer() {
            return None;
        }
        let Target::Constant(name, distance) = self.target(piece, file) else { return None };
        let bytes = |piece: Piece| {
            self.objects[piece.object].sections[piece.section].slice(piece.start, piece.end)
        };
        let place = offset_in(piece, file);
        let length = bytes(piece).get(place.checked_add(8)?..place.checked_add(16)?)?;
        let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
        let path = bytes(name).get(usize::try_from(distance).ok()?..)?.get(..length)?;
        path.ends_with(b".rs").then_some(path)
    }

    /// The digest of a symbol's name, which is the same in every version. (The parts into which an optimiser splits a
    /// static are numbered too, and so share one name.)
    fn name(&mut self, (object, index): SymbolPlace) -> blake3::Hash {
        let objects = self.objects;
        *self.names.entry((object, index)).or_insert_with(|| {
            let symbol = &objects[object].symbols[index];
            let text = String::from_utf8_lossy(symbol.name);
            blake3::hash(Name::demangle(&text).as_str().as_bytes())
        })
    }
}

fn offset_in(piece: Piece, relocation: &Relocation) -> usize {
    usize::try_from(relocation.offset - piece.start).unwrap_or(usize::MAX)
}

/// True if a compiler numbered the symbol's name, so that its content has to identify it.
pub(super) fn is_anonymous(symbol: &Symbol<'_>) -> bool {
    let name = symbol.name;
    let numbered = |prefix: &[u8]| {
        let number = name.strip_prefix(prefix).unwrap_or_default();
        number.first().is_some_and(u8::is_ascii_digit)
    };
    symbol.kind != Kind::Function
        && (name.is_empty()
            || name.starts_with(b".L")
            || name.starts_with(b"anon.")
            || name.starts_with(b"switch.table.")
            || numbered(b"__unnamed_")
            || numbered(b"vtable.")
            || numbered(b"str."))
}
