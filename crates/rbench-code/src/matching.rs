//! Pairs the functions of two profiles, of instructions or of time, and classifies the differences in their machine
//! code. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::elf::{ChangedFunction, FunctionCode, FunctionSet, HASH, Name, SizedFunction, hash};

/// The name of all code without a symbol, because its address differs between versions.
pub const NO_SYMBOL: &str = "code without a symbol";

/// A function that was executed, comparable between versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// Its demangled name; `code without a symbol` for all such code of one place.
    pub name: Name,
    pub place: Place,
}

/// Functions, each with an index that it gets when it is first met.
#[derive(Debug, Default)]
pub struct FunctionTable {
    indices: HashMap<Function, usize>,
    functions: Vec<Function>,
}

impl FunctionTable {
    /// The index of a function.
    pub fn index(&mut self, function: Function) -> usize {
        let Self { indices, functions } = self;
        *indices.entry(function).or_insert_with_key(|function| {
            functions.push(function.clone());
            functions.len() - 1
        })
    }

    /// The name of the function with an index.
    pub fn name(&self, index: usize) -> &Name {
        &self.functions[index].name
    }

    /// The functions, in the order of their indices.
    pub fn into_functions(self) -> Vec<Function> {
        self.functions
    }
}

/// The object that holds a function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub enum Place {
    /// The executable, with a digest of the symbol, which distinguishes functions of the same name.
    #[serde(rename = "instance")]
    Program(
        #[serde(serialize_with = "hash::serialize")]
        #[schemars(with = "String", regex(pattern = HASH))]
        u64,
    ),
    /// A shared library with this file name.
    #[serde(rename = "library")]
    Library(String),
}

/// The difference in the machine code of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Code {
    /// There is none.
    Same,
    /// Its code, or data that it refers to, differs.
    Changed(Box<ChangedFunction>),
    /// The head lacks it.
    OnlyBase(SizedFunction),
    /// The base lacks it.
    OnlyHead(SizedFunction),
    /// Unknown: it is in a library, or in a linker input that could not be read.
    Unknown,
}

impl Code {
    /// True if the versions are known to differ in this function, or one of them lacks it.
    pub const fn differs(&self) -> bool {
        matches!(self, Self::Changed(_) | Self::OnlyBase(_) | Self::OnlyHead(_))
    }
}

/// A function of two profiles, or of one.
pub struct Matched {
    /// The function: in the head, if it was executed there.
    pub function: Function,
    /// Its places in the profiles of base and head, if it was executed there.
    pub places: [Option<usize>; 2],
    pub code: Code,
}

impl Matched {
    /// For each function of profiles of these lengths, its index among `all`.
    pub fn indices(all: &[Self], lengths: [usize; 2]) -> [Vec<usize>; 2] {
        let mut indices = lengths.map(|length| vec![0; length]);
        for (index, one) in all.iter().enumerate() {
            for (indices, place) in indices.iter_mut().zip(one.places) {
                if let Some(place) = place {
                    indices[place] = index;
                }
            }
        }
        indices
    }
}

/// Identifies a function within one program.
type Key<'f> = (&'f Name, u64);

/// The functions of both profiles, each once; `codes` has the machine code of both programs.
pub fn matched([base, head]: [&[Function]; 2], codes: [&FunctionSet; 2]) -> Vec<Matched> {
    let known = Known::new(codes[0], codes[1]);
    let places: HashMap<&Function, usize> = head.iter().zip(0..).collect();
    let mut is_taken = vec![false; head.len()];
    let mut all = Vec::new();
    for (place, function) in base.iter().enumerate() {
        let partner = known.partner(function);
        let partner = partner.and_then(|partner| places.get(&partner).copied());
        let partner = partner.filter(|partner| !is_taken[*partner]);
        if let Some(partner) = partner {
            is_taken[partner] = true;
        }
        let code = code(function, &known.base_codes);
        let function = partner.map_or(function, |partner| &head[partner]).clone();
        all.push(Matched { function, places: [Some(place), partner], code });
    }
    for (place, function) in head.iter().enumerate() {
        if !is_taken[place] {
            let code = code(function, &known.head_codes);
            all.push(Matched { function: function.clone(), places: [None, Some(place)], code });
        }
    }
    all
}

/// The machine code of both programs, as known.
struct Known<'f> {
    /// The head's partner of each function of the base.
    partners: HashMap<Key<'f>, Key<'f>>,
    of_base: HashSet<Key<'f>>,
    base_codes: BTreeMap<(Name, u64), Code>,
    head_codes: BTreeMap<(Name, u64), Code>,
}

impl<'f> Known<'f> {
    fn new(base: &'f FunctionSet, head: &'f FunctionSet) -> Self {
        let key = |function: &'f FunctionCode| (&function.name, function.instance);
        let mut partners = HashMap::new();
        let mut pairs: Vec<_> = FunctionSet::partners(base, head)
            .into_iter()
            .map(|(base, head)| (key(base), key(head)))
            .collect();
        pairs.sort_unstable();
        for (base, head) in &pairs {
            partners.entry(*base).or_insert(*head);
        }
        let diff = FunctionSet::diff(base, head);
        let (mut base_codes, mut head_codes) = (BTreeMap::new(), BTreeMap::new());
        for (base, head) in pairs {
            base_codes.insert((base.0.clone(), base.1), Code::Same);
            head_codes.insert((head.0.clone(), head.1), Code::Same);
        }
        for changed in diff.changed {
            let code = Code::Changed(Box::new(changed.clone()));
            base_codes.insert((changed.name.clone(), changed.base_instance), code.clone());
            head_codes.insert((changed.name, changed.instance), code);
        }
        for removed in diff.removed {
            let key = (removed.name.clone(), removed.instance);
            base_codes.entry(key).or_insert(Code::OnlyBase(removed));
        }
        for added in diff.added {
            let key = (added.name.clone(), added.instance);
            head_codes.entry(key).or_insert(Code::OnlyHead(added));
        }
        let of_base = base.functions().iter().map(key).collect();
        Self { partners, of_base, base_codes, head_codes }
    }

    /// The head's partner of a function of the base; an unknown function is its own partner.
    fn partner(&self, function: &Function) -> Option<Function> {
        let Place::Program(instance) = function.place else { return Some(function.clone()) };
        let key = (&function.name, instance);
        match self.partners.get(&key) {
            Some((name, instance)) => {
                Some(Function { name: (*name).clone(), place: Place::Program(*instance) })
            }
            None if self.of_base.contains(&key) => None,
            None => Some(function.clone()),
        }
    }
}

fn code(function: &Function, codes: &BTreeMap<(Name, u64), Code>) -> Code {
    let Place::Program(instance) = function.place else { return Code::Unknown };
    codes.get(&(function.name.clone(), instance)).cloned().unwrap_or(Code::Unknown)
}

/// True if one gains about as much as the other loses. Inlined code is optimised with its surroundings, and needs
/// neither call nor return, so the amounts need not be equal.
pub fn is_about_opposite(one: f64, other: f64) -> bool {
    const LEAST: f64 = 0.25;
    const MOST: f64 = 1.5;
    one * other < 0.0 && (LEAST..=MOST).contains(&(one / other).abs())
}
