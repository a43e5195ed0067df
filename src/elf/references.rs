//! What the functions of a build refer to: other functions, data with its initial contents, and symbols that
//! no input of the link defines.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::name::Name;

/// What functions refer to, as a graph of numbered functions and data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct References {
    /// Each function of the set, in its order.
    pub(super) functions: Vec<Contents>,
    /// The data that functions reach, and code that belongs to no function of the set.
    pub(super) data: Vec<Data>,
    /// Symbols that no input defines.
    pub(super) outside: Vec<String>,
    /// What is executed or read without any reference to it, by the section that it is in, in the order
    /// of these.
    pub(super) unreferenced: Vec<(String, Vec<u32>)>,
}

/// What a function or a piece of data consists of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(Body, Vec<Reference>)", into = "(Body, Vec<Reference>)")]
pub(super) struct Contents {
    /// Its bytes with relocated fields masked, and the place and kind of each relocation.
    pub(super) body: Body,
    /// What each relocation refers to.
    pub(super) references: Vec<Reference>,
}

/// A piece of data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(Contents, Option<Name>, Option<u64>)")]
#[serde(into = "(Contents, Option<Name>, Option<u64>)")]
pub(super) struct Data {
    pub(super) contents: Contents,
    /// What programmers call it, if it has a name.
    pub(super) name: Option<Name>,
    /// If the program can write to it, a digest of its symbol, or 0: then it matters which one it is, and not
    /// only what it contains.
    pub(super) variable: Option<u64>,
}

/// The first half of a digest: enough to tell things apart, in half of the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Body(u128);

/// One reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "(u8, u32, i64)", into = "(u8, u32, i64)")]
pub(super) struct Reference {
    pub(super) to: Referent,
    /// How far from the start of it, in bytes, and for instructions from where they count.
    pub(super) distance: i64,
}

/// What is referred to, as an index into a list of [`References`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Referent {
    /// The start of a function.
    Entry(u32),
    /// Another place in a function: whoever goes there does not pass its start.
    Inside(u32),
    Data(u32),
    Outside(u32),
    /// Nothing: a damaged object.
    Nowhere,
}

impl Body {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let digest = Digest::compute(bytes);
        let half = digest.as_bytes().iter().take(16);
        Self(half.fold(0, |number, &byte| number << 8 | u128::from(byte)))
    }
}

impl References {
    /// Merges data that is the same and can only be read, however many copies of it there are, and numbers
    /// all data and outside symbols in the order in which functions refer to them: so that equal functions
    /// have equal references.
    pub(super) fn tidy(&mut self) {
        let mut kept: Vec<u32> = (0..).take(self.data.len()).collect();
        loop {
            if !self.merge(&mut kept) {
                break;
            }
            self.renumber(
                |index| kept.get(index as usize).copied().unwrap_or(index),
                |index| index,
            );
        }
        self.order();
    }

    /// Lets each piece of data that equals one before stand for that; returns whether there was any.
    fn merge(&self, kept: &mut [u32]) -> bool {
        let mut known: HashMap<&Data, u32> = HashMap::new();
        let mut merged = false;
        for (place, data) in self.data.iter().enumerate() {
            let own = number(place);
            if kept[place] != own || data.variable.is_some() {
                continue;
            }
            kept[place] = *known.entry(data).or_insert(own);
            merged |= kept[place] != own;
        }
        merged
    }

    /// Numbers data and outside symbols in the order of references, and drops what nothing refers to.
    fn order(&mut self) {
        let mut data = Order::default();
        let mut outside = Order::default();
        let mut visit = |contents: &Contents, data: &mut Order| {
            for reference in &contents.references {
                match reference.to {
                    Referent::Data(index) => data.visit(index),
                    Referent::Outside(index) => outside.visit(index),
                    Referent::Entry(_) | Referent::Inside(_) | Referent::Nowhere => {}
                }
            }
        };
        for function in &self.functions {
            visit(function, &mut data);
        }
        for &index in self.unreferenced.iter().flat_map(|(_, indices)| indices) {
            data.visit(index);
        }
        let mut next = 0;
        while let Some(&index) = data.visited.get(next) {
            if let Some(piece) = self.data.get(index as usize) {
                visit(&piece.contents, &mut data);
            }
            next += 1;
        }
        self.renumber(|index| data.number(index), |index| outside.number(index));
        self.data = data.visited.iter().map(|&index| self.data[index as usize].clone()).collect();
        let symbol = |&index: &u32| self.outside[index as usize].clone();
        self.outside = outside.visited.iter().map(symbol).collect();
    }

    fn renumber(&mut self, data: impl Fn(u32) -> u32, outside: impl Fn(u32) -> u32) {
        let pieces = self.data.iter_mut().map(|data| &mut data.contents);
        for contents in self.functions.iter_mut().chain(pieces) {
            for reference in &mut contents.references {
                match &mut reference.to {
                    Referent::Data(index) => *index = data(*index),
                    Referent::Outside(index) => *index = outside(*index),
                    Referent::Entry(_) | Referent::Inside(_) | Referent::Nowhere => {}
                }
            }
        }
        for index in self.unreferenced.iter_mut().flat_map(|(_, indices)| indices) {
            *index = data(*index);
        }
    }
}

#[cfg(test)]
impl References {
    /// Those of functions that refer to nothing.
    pub(super) fn collect(code: impl Iterator<Item = Digest>) -> Self {
        let contents = |digest: Digest| Contents {
            body: Body::new(digest.as_bytes()),
            references: Vec::new(),
        };
        Self { functions: code.map(contents).collect(), ..Self::default() }
    }
}

/// Indices in the order in which they were first met.
#[derive(Default)]
struct Order {
    visited: Vec<u32>,
    numbers: HashMap<u32, u32>,
}

impl Order {
    fn visit(&mut self, index: u32) {
        let next = number(self.visited.len());
        if *self.numbers.entry(index).or_insert(next) == next {
            self.visited.push(index);
        }
    }

    fn number(&self, index: u32) -> u32 {
        self.numbers.get(&index).copied().unwrap_or(index)
    }
}

/// A place in a list as the number by which others refer to it.
pub(super) fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

impl From<(Body, Vec<Reference>)> for Contents {
    fn from((body, references): (Body, Vec<Reference>)) -> Self {
        Self { body, references }
    }
}

impl From<Contents> for (Body, Vec<Reference>) {
    fn from(contents: Contents) -> Self {
        (contents.body, contents.references)
    }
}

impl From<(Contents, Option<Name>, Option<u64>)> for Data {
    fn from((contents, name, variable): (Contents, Option<Name>, Option<u64>)) -> Self {
        Self { contents, name, variable }
    }
}

impl From<Data> for (Contents, Option<Name>, Option<u64>) {
    fn from(data: Data) -> Self {
        (data.contents, data.name, data.variable)
    }
}

impl TryFrom<(u8, u32, i64)> for Reference {
    type Error = String;

    fn try_from((kind, index, distance): (u8, u32, i64)) -> Result<Self, String> {
        let to = match kind {
            0 => Referent::Entry(index),
            1 => Referent::Inside(index),
            2 => Referent::Data(index),
            3 => Referent::Outside(index),
            4 => Referent::Nowhere,
            _ => return Err(format!("there is no reference of kind {kind}")),
        };
        Ok(Self { to, distance })
    }
}

impl From<Reference> for (u8, u32, i64) {
    fn from(Reference { to, distance }: Reference) -> Self {
        let (kind, index) = match to {
            Referent::Entry(index) => (0, index),
            Referent::Inside(index) => (1, index),
            Referent::Data(index) => (2, index),
            Referent::Outside(index) => (3, index),
            Referent::Nowhere => (4, 0),
        };
        (kind, index, distance)
    }
}

impl TryFrom<String> for Body {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16).map(Self)
    }
}

impl From<Body> for String {
    fn from(body: Body) -> Self {
        format!("{:032x}", body.0)
    }
}
