//! What a relocation refers to: which function of the set, or which piece of a section.
//!
//! Compilers refer to data by a place near it, for instance one element before a table, and linkers move whole
//! sections. A piece of data is therefore a section of an object, or what the linker may merge; only in a
//! section without contents it is one variable.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::references::number;
use super::relocatable::{Kind, Merging, Relocatable, Symbol};
use super::relocation::Relocation;
use super::target::{Piece, SymbolPlace, is_anonymous};

/// Tells what relocations of the objects of a link refer to.
pub(super) struct Owners<'o, 'data> {
    objects: &'o [Relocatable<'data>],
    /// The functions of the set, by object and section, in the order of their starts.
    functions: HashMap<(usize, usize), Vec<(Piece, u32)>>,
    /// The definition that other objects see of each symbol.
    global: HashMap<&'data [u8], SymbolPlace>,
}

/// What a relocation refers to, and how far from its start.
pub(super) enum Owner {
    Function {
        index: u32,
        at_start: bool,
        distance: i64,
    },
    Piece(Piece, i64),
    /// A symbol that no object defines.
    Outside(SymbolPlace, i64),
    Nowhere,
}

impl<'o, 'data> Owners<'o, 'data> {
    /// `functions` are those of the set, in its order; `is_certain` tells which objects are linked in any case,
    /// since they are in no archive.
    pub(super) fn new(
        objects: &'o [Relocatable<'data>],
        is_certain: &[bool],
        functions: &[Piece],
    ) -> Self {
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

    /// Of several definitions of one symbol the one that the linker chose, as far as that is known: that of a
    /// function of the set, else one in an object that is linked in any case, else a strong one, else the
    /// first.
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

    /// What a relocation in a piece of an object refers to.
    pub(super) fn owner(&self, from: Piece, relocation: &Relocation) -> Owner {
        let object = &self.objects[from.object];
        let Some(symbol) = object.symbols.get(relocation.symbol) else { return Owner::Nowhere };
        let own = (from.object, relocation.symbol);
        let defined = if is_global(symbol) {
            self.global.get(symbol.name).copied()
        } else {
            symbol.section.map(|_| own)
        };
        // A distance in a table of constants counts from the table.
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

    /// The function of the set that has this byte.
    fn function_at(&self, object: usize, section: usize, offset: u64) -> Option<(Piece, u32)> {
        let functions = self.functions.get(&(object, section))?;
        let behind = functions.partition_point(|(function, _)| function.start <= offset);
        let last = functions.get(behind.checked_sub(1)?)?;
        let holds = |one: &&(Piece, u32)| offset < one.0.end || offset == one.0.start;
        Some(*last).filter(|last| holds(&last)).or_else(|| {
            // One that starts before and goes on for longer.
            functions[..behind].iter().rev().find(holds).copied()
        })
    }

    /// The piece of a section, outside of the functions of the set, that has this byte.
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

    /// The code around this byte, up to the next functions of the set.
    fn between_functions(&self, object: usize, section: usize, offset: u64) -> (u64, u64) {
        let functions = self.functions.get(&(object, section)).map_or(&[][..], Vec::as_slice);
        let behind = functions.partition_point(|(function, _)| function.start <= offset);
        let ends = functions[..behind].iter().map(|(function, _)| function.end);
        let next = functions.get(behind).map(|(function, _)| function.start);
        let size = self.objects[object].sections[section].size;
        (ends.max().unwrap_or(0), next.unwrap_or(size))
    }

    /// The symbols of a piece by which programmers know it, in the order of offsets.
    pub(super) fn symbols_of(&self, piece: Piece) -> impl Iterator<Item = &'o Symbol<'data>> {
        let Relocatable { sections, symbols, .. } = &self.objects[piece.object];
        let inside = &sections[piece.section].symbols;
        let first = inside.partition_point(|&index| symbols[index].value < piece.start);
        let inside = inside[first..].iter().map(|&index| &symbols[index]);
        inside
            .take_while(move |symbol| symbol.value < piece.end || symbol.value == piece.start)
            .filter(|symbol| !is_anonymous(symbol))
    }
}

/// Whether other objects see a symbol.
fn is_global(symbol: &Symbol<'_>) -> bool {
    !symbol.local && symbol.kind != Kind::Section && !symbol.name.is_empty()
}
