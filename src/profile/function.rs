//! Functions that were executed, by what is the same in every version that has them.

use std::collections::HashMap;

use super::callgrind::Symbol;
use crate::code::{KeptFunction, Name, instance_of};

/// A function that was executed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// Its demangled name; `code without a symbol` for all code of a place that has none.
    pub name: Name,
    /// Where it is.
    pub place: Place,
}

/// Where a function is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// In the executable, with what tells it apart from others of its name: a digest of its symbol.
    Program(u64),
    /// In a shared library, whose file has this name.
    Library(String),
}

/// What code is called that has no symbol: its address differs between versions.
const NO_SYMBOL: &str = "code without a symbol";

/// What names the functions of an executable and of the libraries that it loads.
pub struct Functions<'p> {
    /// The path of the executable, as callgrind writes it.
    program: &'p str,
    /// The first symbol of each function, by all that it has.
    symbols: HashMap<&'p str, &'p str>,
}

impl<'p> Functions<'p> {
    /// Those of the executable at this path, with the functions that the linker kept.
    pub fn new(program: &'p str, kept: &'p [KeptFunction]) -> Self {
        let of = |function: &'p KeptFunction| {
            function.symbols().map(|symbol| (symbol, function.symbol.as_str()))
        };
        Self { program, symbols: kept.iter().flat_map(of).collect() }
    }

    /// The function that callgrind names so.
    pub fn named(&self, symbol: &Symbol) -> Function {
        let name = without_level(&symbol.name);
        if symbol.object == self.program {
            let name = self.symbols.get(name).copied().unwrap_or(name);
            let name = if is_address(name) { NO_SYMBOL } else { name };
            return Function { name: Name::of(name), place: Place::Program(instance_of(name)) };
        }
        let file = symbol.object.rsplit('/').next().unwrap_or_default();
        let name = if is_address(name) { NO_SYMBOL } else { name };
        Function { name: Name::of(name), place: Place::Library(file.to_owned()) }
    }
}

/// A symbol without the level of a function that has called itself: `walk'2`.
fn without_level(name: &str) -> &str {
    match name.rsplit_once('\'') {
        Some((name, level)) if level.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Whether this is where the code of a function is, for want of a name.
fn is_address(name: &str) -> bool {
    name.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_program_are_told_by_their_first_symbol_and_others_by_their_library() {
        let kept = [KeptFunction {
            symbol: "_ZN4work5parse17h0123456789abcdefE".to_owned(),
            name: Name::of("_ZN4work5parse17h0123456789abcdefE"),
            address: 16,
            size: 4,
            aliases: vec!["alias".to_owned()],
        }];
        let functions = Functions::new("/tmp/work", &kept);
        let named = |object: &str, name: &str| {
            functions.named(&Symbol { object: object.to_owned(), name: name.to_owned() })
        };
        let parse = named("/tmp/work", "alias");
        assert_eq!(parse.name.as_str(), "work::parse");
        assert_eq!(parse.place, Place::Program(instance_of(&kept[0].symbol)));
        assert_eq!(parse, named("/tmp/work", &kept[0].symbol));
        assert_eq!(parse, named("/tmp/work", "alias'2"));
        let memcpy = named("/usr/lib/libc.so.6", "memcpy");
        assert_eq!(memcpy.place, Place::Library("libc.so.6".to_owned()));
        assert_eq!(named("/tmp/work", "0x00001230"), named("/tmp/work", "0x00001240"));
    }
}
