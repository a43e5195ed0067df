//! Finds the functions of a link that can be moved, and gives each a unique symbol.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    path::Path,
};

use object::{
    Architecture, LittleEndian as LE, Object, ObjectSymbol, SymbolKind,
    elf::{FileHeader64, STB_LOCAL, STT_FUNC, Sym64},
    read::{
        archive::ArchiveFile,
        elf::{FileHeader, Sym},
    },
};
use rbench_code::elf::{
    self, Digest, LinkMap, LinkedFunction, Name, Sections, Span, stable_symbol,
};
use serde::{Deserialize, Serialize};

use super::{
    default_link::{DefaultLink, read_inputs},
    files,
    inputs::InputFile,
    linker::Linker,
    recipe::Recipe,
};
use crate::error::{Context, Exit, Result};

/// The directory of copies of inputs, in that of the recipe.
const DISTINCT: &str = "distinct";

/// Raise this when the cached data for the same link changes.
const RULES: u32 = 4;

/// A function that the linker can place at any address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceableFunction {
    /// Its symbol, exactly as the linker sees it.
    pub symbol: String,
    /// Its name without parts that change between versions for no reason: hashes and crate disambiguators.
    pub name: Name,
    /// Its symbol without the numbers of link-time optimisation.
    pub instance: String,
    /// The digest of its machine code before any layout, if known.
    pub code: Option<Digest>,
    /// The size, in bytes, of the section that moves with it.
    pub size: u64,
    /// The alignment that this section requires, in bytes.
    pub alignment: u64,
    /// The group of sections by which a linker would place it: the section's name without the function's.
    pub group: String,
}

/// The functions of an executable that the linker can place at any address, and the rest of its contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceableFunctions {
    pub functions: Vec<PlaceableFunction>,
    /// The number of bytes of code that cannot be moved, at most.
    pub fixed: u64,
    /// The sections, in the linker's default order.
    pub sections: Sections,
    /// True for x86-64, false for aarch64.
    is_x86_64: bool,
}

impl PlaceableFunctions {
    pub fn architecture(&self) -> Architecture {
        if self.is_x86_64 { Architecture::X86_64 } else { Architecture::Aarch64 }
    }
}

#[cfg(test)]
impl PlaceableFunctions {
    /// Only these functions, without sections.
    pub fn for_tests(functions: Vec<PlaceableFunction>) -> Self {
        let sections = Sections { all: Vec::new(), page: 4096 };
        Self { functions, fixed: 0, sections, is_x86_64: true }
    }
}

#[derive(Serialize, Deserialize)]
struct PlaceableCache {
    rules: u32,
    linker: String,
    /// The recipe's arguments, with copies in place of inputs with ambiguous symbols.
    arguments: Vec<String>,
    copies: Vec<InputFile>,
    functions: PlaceableFunctions,
}

/// Finds the functions that the link of `recipe` keeps, and caches them in `home`. If several have one symbol, changes
/// the recipe to link copies of its inputs, also kept there, in which each has its own symbol.
///
/// Only the linker knows which functions are kept, so it links once in its default order, and again if symbols had to
/// be renamed.
pub fn placeable_functions(
    recipe: &mut Recipe,
    linker: &Linker,
    home: &Path,
) -> Result<PlaceableFunctions> {
    let memory = home.join("placeable.json");
    if let Some(PlaceableCache { rules: RULES, linker: by, arguments, copies, functions }) =
        files::read_json(&memory)
        && by == linker.version
        && copies.iter().all(InputFile::is_whole)
    {
        recipe.arguments = arguments;
        return Ok(functions);
    }
    let functions = find_out(recipe, linker, home)?;
    let (linker, arguments) = (linker.version.clone(), recipe.arguments.clone());
    let place = home.join(DISTINCT);
    let copies = arguments.iter().map(Path::new).filter(|input| input.starts_with(&place));
    let copies = copies.map(InputFile::by_contents).collect::<Result<_>>()?;
    let remembered = PlaceableCache { rules: RULES, linker, arguments, copies, functions };
    files::write_json(&memory, &remembered)?;
    Ok(remembered.functions)
}

fn find_out(recipe: &mut Recipe, linker: &Linker, home: &Path) -> Result<PlaceableFunctions> {
    let default_link = DefaultLink::find_or_link(recipe, linker, home)?;
    let inputs = read_inputs(recipe)?;
    let named = inputs.iter().map(|(name, bytes)| (name, bytes.as_slice()));
    let (kept, printed) = (default_link.kept(recipe)?, default_link.printed(recipe)?);
    let code = elf::code_by_definition(named, &kept, &printed);
    let ambiguous = ambiguous_symbols(&default_link.executable);
    let copies = Copies::make(recipe, inputs, &ambiguous, &home.join(DISTINCT))?;
    if copies.originals.is_empty() {
        return read(recipe, &default_link, &code, &copies);
    }
    // Nothing reads this link again.
    let place = home.join("default-distinct");
    files::create_directory(&place)?;
    let distinct = DefaultLink::from_executable(recipe, linker, &place.join("default"))?;
    files::remove_directory(&place)?;
    read(recipe, &distinct, &code, &copies)
}

/// The symbols that several functions of an executable share.
fn ambiguous_symbols(executable: &[u8]) -> HashSet<Vec<u8>> {
    let Ok(file) = object::File::parse(executable) else { return HashSet::new() };
    let mut count: HashMap<&[u8], usize> = HashMap::new();
    for symbol in file.symbols() {
        if symbol.kind() == SymbolKind::Text
            && symbol.is_definition()
            && let Ok(name) = symbol.name_bytes()
        {
            *count.entry(name).or_default() += 1;
        }
    }
    count.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name.to_vec()).collect()
}

/// Copies of inputs in which functions have other symbols.
struct Copies {
    /// The path of the original input of each copy.
    originals: HashMap<String, String>,
    /// The original symbol of each renamed function, by its new symbol.
    old: HashMap<String, String>,
}

impl Copies {
    /// Makes the recipe link copies of those inputs that have ambiguous symbols.
    fn make(
        recipe: &mut Recipe,
        inputs: Vec<(String, Vec<u8>)>,
        ambiguous: &HashSet<Vec<u8>>,
        place: &Path,
    ) -> Result<Self> {
        let mut copies = Self { originals: HashMap::new(), old: HashMap::new() };
        if ambiguous.is_empty() {
            return Ok(copies);
        }
        files::create_directory(place)?;
        let mut taken = HashSet::new();
        let arguments = recipe.arguments.iter_mut().filter(|argument| Recipe::is_input(argument));
        for (index, (argument, (original, mut bytes))) in arguments.zip(inputs).enumerate() {
            let name = Path::new(&original).file_name().unwrap_or_default().to_string_lossy();
            let renamed = distinguish(&name, &mut bytes, ambiguous, &mut taken);
            if renamed.is_empty() {
                continue;
            }
            let copy = place.join(format!("{index}-{name}"));
            files::write_whole(&copy, &bytes)?;
            *argument = copy.display().to_string();
            copies.originals.insert(argument.clone(), original);
            copies.old.extend(renamed.into_iter().map(|Renamed { old, new }| (new, old)));
        }
        Ok(copies)
    }

    /// The input and symbol that define a function, before inputs were copied: the input's name, with `(member)` if it
    /// is an archive, and the symbol.
    fn original(&self, origin: &str, symbol: &str) -> (String, String) {
        let (file, member) = match origin.rsplit_once('(') {
            _ if self.originals.contains_key(origin) => (origin, ""),
            Some((file, _)) => origin.split_at(file.len()),
            None => (origin, ""),
        };
        let file = self.originals.get(file).map_or(file, String::as_str);
        let symbol = self.old.get(symbol).map_or(symbol, String::as_str);
        (format!("{file}{member}"), symbol.to_owned())
    }
}

fn read(
    recipe: &Recipe,
    linked: &DefaultLink,
    code: &HashMap<(String, String), Digest>,
    copies: &Copies,
) -> Result<PlaceableFunctions> {
    let what = || format!("cannot list the functions of {}", recipe.output.display());
    let kept = linked.kept(recipe)?;
    let architecture = object::File::parse(&*linked.executable)
        .map(|file| file.architecture())
        .context(Exit::Build, what)?;
    let map = LinkMap::parse(&linked.map).context(Exit::Build, what)?;
    let sections = Sections::read(&linked.executable).context(Exit::Build, what)?;
    let functions = placeable_from_map(&kept, &map, |origin, symbol| {
        let (origin, symbol) = copies.original(origin, symbol);
        let code = code.get(&(origin, symbol.clone())).copied();
        (symbol, code)
    });
    let moved: u64 = functions.iter().map(|function| function.size).sum();
    let all = map.section(".text").map_or(&[][..], |text| &text.inputs).iter();
    let all: u64 = all.map(|section| section.span.size + section.span.alignment).sum();
    let is_x86_64 = architecture == Architecture::X86_64;
    Ok(PlaceableFunctions { functions, fixed: all.saturating_sub(moved), sections, is_x86_64 })
}

/// The first function of each section of code that the linker got. It represents the whole section, which moves with
/// it. Both are in the order of addresses. A function without a unique symbol cannot be named to the linker.
/// `original` gives a function's symbol in its input, and its code.
fn placeable_from_map(
    kept: &[LinkedFunction],
    map: &LinkMap,
    original: impl Fn(&str, &str) -> (String, Option<Digest>),
) -> Vec<PlaceableFunction> {
    let mut count: HashMap<&str, u32> = HashMap::with_capacity(kept.len());
    for symbol in kept.iter().flat_map(LinkedFunction::symbols) {
        *count.entry(symbol).or_default() += 1;
    }
    let mut sections = map.section(".text").map_or(&[][..], |text| &text.inputs).iter().peekable();
    let mut functions = Vec::with_capacity(kept.len());
    for function in kept {
        while sections.next_if(|section| section.span.end() <= function.address).is_some() {}
        let is_in = |span: Span| span.address <= function.address && function.address < span.end();
        let Some(section) = sections.next_if(|section| is_in(section.span)) else { continue };
        let Some(symbol) = function.symbols().find(|symbol| count[symbol] == 1) else { continue };
        let (old, code) = original(&section.origin, symbol);
        functions.push(PlaceableFunction {
            symbol: symbol.to_owned(),
            name: Name::demangle(&old),
            instance: stable_symbol(&old).into_owned(),
            code,
            size: section.span.size,
            alignment: section.span.alignment,
            group: elf::code_group(&section.name).to_owned(),
        });
    }
    functions
}

/// The shortest tail of a name that may be used.
const SHORTEST: usize = 8;
/// The offset of the name in a symbol table entry, in bytes.
const NAME_OFFSET: usize = std::mem::offset_of!(Sym64<LE>, st_name);

/// A function with a changed symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Renamed {
    old: String,
    new: String,
}

/// Gives the local functions whose names are in `ambiguous` unique names, in one input of a link: an object, or an
/// archive of objects. Returns the renamed functions.
///
/// A compiler leaves copies of an inline function in many objects, as local symbols of one name; a symbol ordering
/// file can only name all of them at once. A local symbol's name means nothing to the rest of the link, so each copy
/// gets another one: a tail of the old name, which is already in the string table. Nothing in the object moves, and no
/// code changes.
///
/// `taken` has the names used so far, over all inputs. The tail for a copy depends on its object's name, so that an
/// added or removed copy renames few others.
fn distinguish(
    file_name: &str,
    bytes: &mut [u8],
    ambiguous: &HashSet<Vec<u8>>,
    taken: &mut HashSet<Vec<u8>>,
) -> Vec<Renamed> {
    let mut all = Vec::new();
    for (member, range) in members(bytes) {
        let Some(object) = bytes.get_mut(range) else { continue };
        let object_name = member.as_deref().unwrap_or(file_name);
        for Renaming { position, name, old, new } in
            renamings(object_name, object, ambiguous, taken)
        {
            object[position..position + 4].copy_from_slice(&name.to_le_bytes());
            all.push(Renamed { old, new });
        }
    }
    all
}

/// The objects in a file: the member's name, if it is an archive, and the range of bytes.
fn members(bytes: &[u8]) -> Vec<(Option<String>, Range<usize>)> {
    let Ok(archive) = ArchiveFile::parse(bytes) else { return vec![(None, 0..bytes.len())] };
    archive
        .members()
        .filter_map(Result::ok)
        .filter_map(|member| {
            let (start, size) = member.file_range();
            let start = usize::try_from(start).ok()?;
            let end = start.checked_add(usize::try_from(size).ok()?)?;
            Some((Some(String::from_utf8_lossy(member.name()).into_owned()), start..end))
        })
        .collect()
}

/// A change of one symbol table entry.
struct Renaming {
    /// The position in the object of the entry's four-byte name field.
    position: usize,
    /// The offset of the new name in the string table.
    name: u32,
    old: String,
    new: String,
}

/// The changes for an object; `None` for anything that is not an ELF object.
fn renamings(
    object_name: &str,
    object: &[u8],
    ambiguous: &HashSet<Vec<u8>>,
    taken: &mut HashSet<Vec<u8>>,
) -> Vec<Renaming> {
    let mut found = Vec::new();
    let Ok(header) = FileHeader64::<LE>::parse(object) else { return found };
    let Ok(symbols) = header
        .sections(LE, object)
        .and_then(|sections| sections.symbols(LE, object, object::elf::SHT_SYMTAB))
    else {
        return found;
    };
    let base = object.as_ptr() as usize;
    let mut copies: HashMap<&[u8], u32> = HashMap::new();
    for symbol in symbols.iter() {
        if symbol.st_bind() != STB_LOCAL || symbol.st_type() != STT_FUNC {
            continue;
        }
        let Ok(name) = symbols.symbol_name(LE, symbol) else { continue };
        if !ambiguous.contains(name) {
            continue;
        }
        let copy = copies.entry(name).or_default();
        let Some(skip) = free_tail(object_name, *copy, name, taken) else { continue };
        *copy += 1;
        // The table was parsed in place, so its entries are inside `object`.
        let position = std::ptr::from_ref(symbol) as usize - base + NAME_OFFSET;
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        found.push(Renaming {
            position,
            name: symbol.st_name(LE) + skip,
            old: text(name),
            new: text(name.get(skip as usize..).unwrap_or_default()),
        });
    }
    found
}

/// The number of bytes to skip at the front of `name` for a name that is still free.
fn free_tail(
    object_name: &str,
    copy: u32,
    name: &[u8],
    taken: &mut HashSet<Vec<u8>>,
) -> Option<u32> {
    let choices = name.len().checked_sub(SHORTEST).filter(|choices| *choices > 0)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(object_name.as_bytes());
    hasher.update(&copy.to_le_bytes());
    let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
    let first = u32::from_le_bytes([a, b, c, d]) as usize % choices;
    let skip = (0..choices)
        .map(|step| 1 + (first + step) % choices)
        .find(|skip| !taken.contains(&name[*skip..]))?;
    taken.insert(name[skip..].to_vec());
    u32::try_from(skip).ok()
}

#[cfg(test)]
mod tests {
    use rbench_code::elf::{InputSection, OutputSection};

    use super::*;

    fn kept(symbol: &str, address: u64, aliases: &[&str]) -> LinkedFunction {
        let aliases = aliases.iter().map(ToString::to_string).collect();
        LinkedFunction {
            symbol: symbol.to_owned(),
            name: Name::demangle(symbol),
            address,
            size: 9,
            aliases,
        }
    }

    fn map(sections: &[(u64, u64)]) -> LinkMap {
        let input = |&(address, size): &(u64, u64)| InputSection {
            origin: "a.o".to_owned(),
            name: ".text".to_owned(),
            span: Span { address, size, alignment: 16 },
        };
        let inputs = sections.iter().map(input).collect();
        LinkMap { sections: vec![OutputSection { name: ".text".to_owned(), inputs }] }
    }

    fn placeable(kept: &[LinkedFunction], map: &LinkMap) -> Vec<(String, u64)> {
        let functions = placeable_from_map(kept, map, |_, symbol| (symbol.to_owned(), None));
        functions.into_iter().map(|function| (function.symbol, function.size)).collect()
    }

    #[test]
    fn first_function_represents_its_whole_section() {
        let kept = [kept("a", 0, &[]), kept("b", 32, &[]), kept("c", 48, &[]), kept("d", 96, &[])];
        let map = map(&[(0, 20), (32, 40), (80, 0), (96, 9)]);
        assert_eq!(placeable(&kept, &map), [("a".into(), 20), ("b".into(), 40), ("d".into(), 9)]);
    }

    #[test]
    fn symbol_of_two_functions_names_neither() {
        let kept = [kept("a", 0, &[]), kept("a", 16, &["own"]), kept("b", 32, &[])];
        let map = map(&[(0, 9), (16, 9), (32, 9)]);
        assert_eq!(placeable(&kept, &map), [("own".into(), 9), ("b".into(), 9)]);
    }

    #[test]
    fn renamed_function_is_found_in_its_original_input() {
        let pairs = |given: &[(&str, &str)]| {
            given.iter().map(|(one, other)| (one.to_string(), other.to_string())).collect()
        };
        let copies = Copies {
            originals: pairs(&[
                ("/copies/0-a (x).o", "/in/a (x).o"),
                ("/copies/1-b.rlib", "/in/b.rlib"),
            ]),
            old: pairs(&[("unction", "function")]),
        };
        let original = |origin, symbol| copies.original(origin, symbol);
        let expected = |origin: &str, symbol: &str| (origin.to_owned(), symbol.to_owned());
        assert_eq!(original("/copies/0-a (x).o", "unction"), expected("/in/a (x).o", "function"));
        assert_eq!(original("/copies/1-b.rlib(m.o)", "f"), expected("/in/b.rlib(m.o)", "f"));
        assert_eq!(original("/in/c.rlib(m.o)", "f"), expected("/in/c.rlib(m.o)", "f"));
    }
}
