//! Gives local functions of one name distinct names, so that the linker can put each anywhere.
//!
//! A compiler leaves copies of an inline function in many objects, as local symbols of one name; a
//! symbol ordering file can only name all of them at once. A local symbol's name means nothing to
//! the rest of the link, so each copy gets another one: a tail of the old name, which is already in
//! the string table. Nothing in the object moves, and no code changes.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use object::{
    LittleEndian as LE,
    elf::{FileHeader64, STB_LOCAL, STT_FUNC, Sym64},
    read::{
        archive::ArchiveFile,
        elf::{FileHeader, Sym},
    },
};

/// Shorter tails of a name are not used.
const SHORTEST: usize = 8;
/// Where the name's offset is in a symbol table entry, in bytes.
const NAME_OFFSET: usize = std::mem::offset_of!(Sym64<LE>, st_name);

/// A function that got another symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The symbol that it had.
    pub old: String,
    /// The symbol that it has now.
    pub new: String,
}

/// Gives the local functions whose names are in `ambiguous` names of their own, in one input of a
/// link: an object, or an archive of objects. Returns what was renamed.
///
/// `taken` has the names given so far, over all inputs. Which tail a copy gets depends on its
/// object's name, so that a copy that comes or goes renames few others.
pub fn distinguish(
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

/// The objects in a file: the name, if it is an archive, and range of bytes.
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

/// One symbol table entry that is to be changed.
struct Renaming {
    /// Where in the object its four bytes for the name are.
    position: usize,
    /// The place of the new name in the string table.
    name: u32,
    old: String,
    new: String,
}

/// What is to be renamed in an object. None for anything that is not an ELF object.
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
        // The table was parsed in place: its entries lie inside `object`.
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

/// How many bytes to skip at the front of `name` for a name that nobody has.
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
