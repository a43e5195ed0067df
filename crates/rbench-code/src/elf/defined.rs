//! Finds the functions that an object defines (bytes of a section and their symbols), and the pieces that a program
//! executes or reads although no function refers to them.
//!
//! Nothing else that is loaded matters: data without a reference is never read. `.eh_frame` is only read by unwinding,
//! to restore the registers that a function saved, so it follows from the function's code; `.gcc_except_table` counts
//! as referenced by its function. Both grow with each function, so a comparison of the whole sections would differ
//! after every commit. Sections that are not loaded, such as debug info, are ignored.

use super::{
    instruction::is_padding,
    name::Name,
    relocatable::{Kind, Relocatable},
    target::Piece,
};

pub(super) struct DefinedFunction {
    pub(super) section: usize,
    /// Its code is `start..end` of the section.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Its symbols: indices into the object's symbol table, at least one, sorted by name.
    pub(super) symbols: Vec<usize>,
}

/// The functions of an object with a wanted symbol, with only their wanted symbols.
pub(super) fn defined_functions(
    object: &Relocatable<'_>,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> Vec<DefinedFunction> {
    let mut functions = Vec::new();
    for (section, contents) in object.sections.iter().enumerate() {
        if !contents.code {
            continue;
        }
        let in_order: Vec<usize> = contents
            .symbols
            .iter()
            .copied()
            .filter(|&symbol| object.symbols[symbol].kind == Kind::Function)
            .collect();
        let value = |symbol: usize| object.symbols[symbol].value;
        let mut groups =
            in_order.chunk_by(|&first, &second| value(first) == value(second)).peekable();
        while let Some(aliases) = groups.next() {
            let start = value(aliases[0]);
            let next = groups.peek().map_or(contents.size, |next| value(next[0]));
            let stated = aliases.iter().map(|&symbol| object.symbols[symbol].size).max();
            let end = match stated {
                None | Some(0) => next,
                Some(size) => start.saturating_add(size),
            };
            let mut symbols = aliases.to_vec();
            symbols.retain(|&symbol| is_wanted(object.symbols[symbol].name));
            if symbols.is_empty() {
                continue;
            }
            symbols.sort_by_cached_key(|&symbol| {
                let symbol = String::from_utf8_lossy(object.symbols[symbol].name);
                (Name::demangle(&symbol), symbol.into_owned())
            });
            let end = end.min(contents.size).max(start);
            functions.push(DefinedFunction { section, start, end, symbols });
        }
    }
    functions
}

/// These pieces of objects, in the order of objects, each with a phrase for its section.
///
/// Includes all objects, also archive members that the linker may have left out.
pub(super) fn unreferenced_pieces(objects: &[Relocatable<'_>]) -> Vec<(String, Piece)> {
    let mut pieces = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let has_code = object.sections.iter().any(|section| section.code && section.size > 0);
        for (section, contents) in object.sections.iter().enumerate() {
            if !contents.loaded || contents.code || contents.size == 0 {
                continue;
            }
            if is_found_by_name(contents.name) {
                let name = String::from_utf8_lossy(contents.name);
                let piece = Piece { object: index, section, start: 0, end: contents.size };
                pieces.push((format!("the section {name}"), piece));
            }
        }
        if has_code {
            pieces.extend(between_functions(index, object));
        }
    }
    pieces
}

/// True if the linker or the loader finds a section by its name: lists of functions to call before and after `main`,
/// and sections whose start and end have symbols, through which programs collect items from all objects.
fn is_found_by_name(name: &[u8]) -> bool {
    const LISTS: [&[u8]; 5] =
        [b".init_array", b".fini_array", b".preinit_array", b".ctors", b".dtors"];
    let is_identifier = name.first().is_some_and(|first| !first.is_ascii_digit())
        && name.iter().all(|&byte| byte == b'_' || byte.is_ascii_alphanumeric());
    is_identifier || LISTS.iter().any(|list| name.starts_with(list))
}

/// Code that belongs to no function: assembler code under labels that are not marked as functions.
fn between_functions(index: usize, object: &Relocatable<'_>) -> Vec<(String, Piece)> {
    let mut functions = defined_functions(object, |_| true);
    functions.sort_by_key(|function| (function.section, function.start));
    let mut functions = functions.iter().peekable();
    let mut pieces = Vec::new();
    for (section, contents) in object.sections.iter().enumerate().filter(|(_, one)| one.code) {
        let mut free = 0;
        let mut gap = |start: u64, end: u64| {
            let is_code = start < end
                && (!is_padding(object.machine, contents.slice(start, end))
                    || !object.relocations_in(section, start, end).is_empty());
            if is_code {
                let name = String::from_utf8_lossy(contents.name);
                let phrase = format!("code outside of functions in the section {name}");
                pieces.push((phrase, Piece { object: index, section, start, end }));
            }
        };
        while let Some(function) = functions.next_if(|function| function.section == section) {
            gap(free, function.start);
            free = free.max(function.end);
        }
        gap(free, contents.size);
    }
    pieces
}
