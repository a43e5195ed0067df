//! The functions that an object defines: which bytes of which section, under which symbols.

use super::name::Name;
use super::relocatable::{Kind, Relocatable};

/// A function in an object.
pub(super) struct DefinedFunction {
    pub(super) section: usize,
    /// Its code is `start..end` of the section.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Its symbols: indices into the object's table, at least one, in the order of names.
    pub(super) symbols: Vec<usize>,
}

/// The functions of an object that have a symbol which is wanted, with only those symbols.
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
                (Name::of(&symbol), symbol.into_owned())
            });
            let end = end.min(contents.size).max(start);
            functions.push(DefinedFunction { section, start, end, symbols });
        }
    }
    functions
}
