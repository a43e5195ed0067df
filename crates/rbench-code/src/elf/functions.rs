//! Reads the machine code of each function of a build from the objects among the link inputs (separate files and
//! members of archives), before any layout, and pairs it with the functions of another build.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use object::read::archive::ArchiveFile;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    defined::{DefinedFunction, defined_functions},
    digest::Digest,
    format::Unreadable,
    frames::frame_sizes,
    name::{Name, stable_symbol},
    pairing::{Identified, pair},
    placement::LinkedFunction,
    references::References,
    relocatable::Relocatable,
    source_location::PrintedLocations,
    target::{Piece, SymbolPlace, Targets, is_anonymous},
};

/// The stored form of a function: a list without field names, because there are many functions.
type Stored = (Name, u64, u64, Digest, Option<u64>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct FunctionCode {
    /// Identifies it across versions, together with `instance`.
    pub name: Name,
    /// Distinguishes functions of one name as long as their symbols stay the same: a digest of the symbol.
    pub instance: u64,
    /// The size of its code in bytes.
    pub size: u64,
    /// The digest of its code with relocated fields masked, and of the targets of its relocations: their stable names,
    /// or the contents of constants.
    pub digest: Digest,
    /// The size of its stack frame in bytes, if known: the largest distance of the stack pointer from its value before
    /// the call, including a return address that the call pushes.
    pub stack: Option<u64>,
}

/// The code of all functions of a build, as a summary small enough to store beside the build.
///
/// Stored with the version of the digest rules. Sets made by other rules are refused when read, since they cannot be
/// compared.
///
/// ```
/// use rbench_code::elf::{FunctionSet, PrintedLocations};
///
/// let printed = PrintedLocations::default();
/// let none = FunctionSet::from_link_inputs([("empty.o", &[][..])], &[], &printed);
/// assert_eq!(none.functions().len(), 0);
/// assert_eq!(none.not_comparable()[0].input, "empty.o");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FunctionSet {
    rules: Rules,
    functions: Vec<FunctionCode>,
    not_comparable: Vec<NotComparable>,
    /// The digests of the inputs that could not be read, in the order of `not_comparable`.
    unread: Vec<Digest>,
    /// The functions of the executable that no input has, with their sizes.
    unseen: Vec<(Name, u64)>,
    references: References,
}

/// The version of the digest rules: [`Rules::CURRENT`] increases whenever the digest of some function changes, or any
/// other stored property of functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
struct Rules;

impl Rules {
    const CURRENT: u32 = 4;
}

impl TryFrom<u32> for Rules {
    type Error = String;

    fn try_from(rules: u32) -> Result<Self, String> {
        let current = Self::CURRENT;
        match rules {
            Self::CURRENT => Ok(Self),
            _ => Err(format!("functions were digested by rules {rules}, not {current}")),
        }
    }
}

impl From<Rules> for u32 {
    fn from(_: Rules) -> Self {
        Rules::CURRENT
    }
}

impl FunctionSet {
    /// Reads the functions that the linker kept from its inputs: objects and archives, each with a name for messages.
    /// The order of inputs is that of the link line.
    ///
    /// Shared objects are skipped, since their code is not in the executable. Unreadable inputs are listed in
    /// [`FunctionSet::not_comparable`]. `printed` has the source locations whose lines and columns do not count.
    pub fn from_link_inputs<'data, N: AsRef<str>>(
        inputs: impl IntoIterator<Item = (N, &'data [u8])>,
        kept: &[LinkedFunction],
        printed: &PrintedLocations,
    ) -> Self {
        let wanted = wanted(kept);
        let definitions = Definitions::read(inputs, &wanted, printed);
        let unseen = unseen(kept, &definitions.instances);
        let mut not_comparable = definitions.not_comparable;
        not_comparable.sort_unstable();
        let (not_comparable, unread) = not_comparable.into_iter().unzip();
        let mut selected = select(definitions.instances, &wanted);
        selected.sort_unstable_by(|(one, at), (other, there)| {
            one.cmp(other).then_with(|| at.in_order().cmp(&there.in_order()))
        });
        let (mut functions, pieces): (Vec<_>, Vec<_>) = selected.into_iter().unzip();
        let stacks = frame_sizes(&definitions.objects, &pieces);
        for (function, stack) in functions.iter_mut().zip(stacks) {
            function.stack = stack;
        }
        let references = References::gather(
            &definitions.objects,
            &definitions.is_certain,
            &promoted_constants(&definitions.objects),
            printed,
            &pieces,
        );
        Self { rules: Rules, functions, not_comparable, unread, unseen, references }
    }

    /// The functions in the order of their names.
    pub fn functions(&self) -> &[FunctionCode] {
        &self.functions
    }

    /// The inputs that could not be read.
    pub fn not_comparable(&self) -> &[NotComparable] {
        &self.not_comparable
    }

    /// The functions of the executable that are in no input, with their sizes in bytes: start-up code that the
    /// linker's driver adds, or code from inputs that could not be read.
    pub fn unseen(&self) -> &[(Name, u64)] {
        &self.unseen
    }

    /// The inputs that could not be read, with the digests of their bytes.
    pub(super) fn unread(&self) -> impl Iterator<Item = (&NotComparable, Digest)> {
        self.not_comparable.iter().zip(self.unread.iter().copied())
    }

    pub(super) fn references(&self) -> &References {
        &self.references
    }
}

/// The code digest of each function that the linker kept, for every input that defines it. The key is the input's
/// name, with `(member)` if it is an archive, and the function's symbol. Otherwise as
/// [`FunctionSet::from_link_inputs`].
pub fn code_by_definition<'data, N: AsRef<str>>(
    inputs: impl IntoIterator<Item = (N, &'data [u8])>,
    kept: &[LinkedFunction],
    printed: &PrintedLocations,
) -> HashMap<(String, String), Digest> {
    let instances = Definitions::read(inputs, &wanted(kept), printed).instances.into_iter();
    let by_symbol = instances.flat_map(|Instance { origin, symbols, digest, .. }| {
        symbols.into_iter().map(move |symbol| {
            ((origin.to_string(), String::from_utf8_lossy(symbol).into_owned()), digest)
        })
    });
    by_symbol.collect()
}

/// The symbols of kept functions, each with the sizes of the functions under that symbol.
type Wanted<'k> = HashMap<&'k [u8], Vec<u64>>;

/// Everything that the inputs of a link define.
struct Definitions<'data> {
    objects: Vec<Relocatable<'data>>,
    /// For each object, true if it is linked in any case, since it is in no archive.
    is_certain: Vec<bool>,
    instances: Vec<Instance<'data>>,
    not_comparable: Vec<Unread>,
}

impl<'data> Definitions<'data> {
    fn read<N: AsRef<str>>(
        inputs: impl IntoIterator<Item = (N, &'data [u8])>,
        wanted: &Wanted<'_>,
        printed: &PrintedLocations,
    ) -> Self {
        let (members, mut not_comparable) = members(inputs);
        let parsed: Vec<_> = members.par_iter().map(parse).collect();
        let (mut objects, mut origins) = (Vec::new(), Vec::new());
        let mut is_certain = Vec::new();
        for (member, parsed) in members.into_iter().zip(parsed) {
            match parsed {
                Ok(Some(object)) => {
                    objects.push(object);
                    is_certain.push(!member.archived);
                    origins.push(Arc::from(member.origin));
                }
                Ok(None) => {}
                Err(reason) => {
                    let unread = NotComparable { input: member.origin, reason };
                    not_comparable.push((unread, Digest::compute(member.bytes)));
                }
            }
        }
        let promoted = promoted_constants(&objects);
        let instances = (0..objects.len())
            .into_par_iter()
            .flat_map_iter(|index| {
                let targets = Targets::new(&objects, &promoted, printed);
                instances(&objects[index], &origins[index], index, targets, wanted)
            })
            .collect();
        Self { objects, is_certain, instances, not_comparable }
    }
}

struct Instance<'data> {
    origin: Arc<str>,
    /// Its wanted symbols, at least one; the first one identifies it.
    symbols: Vec<&'data [u8]>,
    weak: bool,
    size: u64,
    digest: Digest,
    piece: Piece,
}

fn wanted(kept: &[LinkedFunction]) -> Wanted<'_> {
    let mut wanted = Wanted::new();
    for function in kept {
        for symbol in function.symbols() {
            wanted.entry(symbol.as_bytes()).or_default().push(function.size);
        }
    }
    wanted
}

/// Parses a member, unless it is a shared object.
fn parse<'data>(member: &Member<'data>) -> Result<Option<Relocatable<'data>>, Unreadable> {
    const SHARED_OBJECT: u16 = 3;
    match Relocatable::parse(member.bytes) {
        Err(Unreadable::Type(SHARED_OBJECT)) => Ok(None),
        object => object.map(Some),
    }
}

/// The constants that thin LTO made visible to other objects, by symbol.
fn promoted_constants<'data>(objects: &[Relocatable<'data>]) -> HashMap<&'data [u8], SymbolPlace> {
    let mut promoted = HashMap::new();
    for (index, object) in objects.iter().enumerate() {
        for (place, symbol) in object.symbols.iter().enumerate() {
            if symbol.section.is_some() && !symbol.local && is_anonymous(symbol) {
                promoted.entry(symbol.name).or_insert((index, place));
            }
        }
    }
    promoted
}

/// The wanted functions that an object defines, with their digests.
fn instances<'data>(
    object: &Relocatable<'data>,
    origin: &Arc<str>,
    index: usize,
    mut targets: Targets<'_, 'data>,
    wanted: &Wanted<'_>,
) -> Vec<Instance<'data>> {
    let symbols = &object.symbols;
    defined_functions(object, |symbol| wanted.contains_key(symbol))
        .into_iter()
        .map(|DefinedFunction { section, start, end, symbols: aliases }| {
            let piece = Piece { object: index, section, start, end };
            Instance {
                origin: Arc::clone(origin),
                weak: symbols[aliases[0]].weak,
                symbols: aliases.into_iter().map(|alias| symbols[alias].name).collect(),
                size: end - start,
                digest: targets.function(piece).into(),
                piece,
            }
        })
        .collect()
}

/// Selects as many definitions of each symbol as the linker kept: those of the right sizes first, strong ones before
/// weak ones, then in the order of inputs.
fn select(instances: Vec<Instance<'_>>, wanted: &Wanted<'_>) -> Vec<(FunctionCode, Piece)> {
    let mut by_symbol: HashMap<&[u8], Vec<Instance<'_>>> = HashMap::new();
    for instance in instances {
        by_symbol.entry(instance.symbols[0]).or_default().push(instance);
    }
    let mut functions = Vec::new();
    for (symbol, mut candidates) in by_symbol {
        let sizes = wanted.get(symbol).map(Vec::as_slice).unwrap_or_default();
        let text = String::from_utf8_lossy(symbol);
        let (name, instance) = (Name::demangle(&text), instance_of(&text));
        candidates.sort_by_key(|candidate| candidate.weak);
        let mut missing = 0;
        let mut chosen = Vec::new();
        for &size in sizes {
            match candidates.iter().position(|candidate| candidate.size == size) {
                Some(position) => chosen.push(candidates.remove(position)),
                None => missing += 1,
            }
        }
        chosen.extend(candidates.into_iter().take(missing));
        functions.extend(chosen.into_iter().map(|Instance { size, digest, piece, .. }| {
            (FunctionCode { name: name.clone(), instance, size, digest, stack: None }, piece)
        }));
    }
    functions
}

/// The [`FunctionCode::instance`] of a symbol: the first 64 bits of its digest, which distinguish functions of one
/// name as long as symbols stay the same.
pub fn instance_of(symbol: &str) -> u64 {
    Digest::compute(stable_symbol(symbol).as_bytes()).first_bits()
}

fn unseen(kept: &[LinkedFunction], instances: &[Instance<'_>]) -> Vec<(Name, u64)> {
    let seen: HashSet<&[u8]> =
        instances.iter().flat_map(|instance| instance.symbols.iter().copied()).collect();
    let is_seen = |function: &&LinkedFunction| {
        function.symbols().any(|symbol| seen.contains(symbol.as_bytes()))
    };
    let mut unseen: Vec<(Name, u64)> = kept
        .iter()
        .filter(|function| !is_seen(function))
        .map(|function| (function.name.clone(), function.size))
        .collect();
    unseen.sort_unstable();
    unseen
}

impl From<Stored> for FunctionCode {
    fn from((name, instance, size, digest, stack): Stored) -> Self {
        Self { name, instance, size, digest, stack }
    }
}

impl From<FunctionCode> for Stored {
    fn from(FunctionCode { name, instance, size, digest, stack }: FunctionCode) -> Self {
        (name, instance, size, digest, stack)
    }
}

impl FunctionSet {
    /// The functions that both builds have, paired as by [`FunctionSet::diff`], including changed ones.
    pub fn partners<'s>(
        base: &'s Self,
        head: &'s Self,
    ) -> Vec<(&'s FunctionCode, &'s FunctionCode)> {
        pair(base.functions(), head.functions()).pairs
    }
}

impl Identified for FunctionCode {
    fn name(&self) -> &Name {
        &self.name
    }

    fn code(&self) -> impl Ord {
        self.digest
    }

    fn instance(&self) -> impl Ord {
        self.instance
    }

    fn size(&self) -> u64 {
        self.size
    }
}

/// A link input, or a member of one, with unknown code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotComparable {
    /// The name of the input, with `(member)` if it is an archive.
    pub input: String,
    /// The reason why it cannot be read.
    pub reason: Unreadable,
}

/// An object file, or a file that should be one.
struct Member<'data> {
    origin: String,
    bytes: &'data [u8],
    /// True if it is in an archive, so that the linker may leave it out.
    archived: bool,
}

/// An input that could not be read, with the digest of its bytes.
type Unread = (NotComparable, Digest);

/// Lists the objects of link inputs, in order.
fn members<'data, N: AsRef<str>>(
    inputs: impl IntoIterator<Item = (N, &'data [u8])>,
) -> (Vec<Member<'data>>, Vec<Unread>) {
    let mut members = Vec::new();
    let mut not_comparable = Vec::new();
    for (name, bytes) in inputs {
        let name = name.as_ref();
        let expanded = match bytes {
            [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => expand(name, bytes, &mut members),
            [b'!', b'<', b't', b'h', b'i', b'n', b'>', ..] => Err(Unreadable::ThinArchive),
            _ => {
                members.push(Member { origin: name.to_owned(), bytes, archived: false });
                Ok(())
            }
        };
        if let Err(reason) = expanded {
            let unread = NotComparable { input: name.to_owned(), reason };
            not_comparable.push((unread, Digest::compute(bytes)));
        }
    }
    (members, not_comparable)
}

fn expand<'data>(
    name: &str,
    bytes: &'data [u8],
    members: &mut Vec<Member<'data>>,
) -> Result<(), Unreadable> {
    for member in ArchiveFile::parse(bytes)?.members() {
        let member = member?;
        // A crate's metadata, which rustc stores beside the objects.
        if member.name().starts_with(b"lib.rmeta") {
            continue;
        }
        let origin = format!("{name}({})", String::from_utf8_lossy(member.name()));
        members.push(Member { origin, bytes: member.data(bytes)?, archived: true });
    }
    Ok(())
}

#[cfg(test)]
impl FromIterator<FunctionCode> for FunctionSet {
    fn from_iter<I: IntoIterator<Item = FunctionCode>>(functions: I) -> Self {
        let functions: Vec<_> = functions.into_iter().collect();
        let references = References::collect(functions.iter().map(|function| function.digest));
        Self { functions, references, ..Self::default() }
    }
}

#[cfg(test)]
mod tests;
