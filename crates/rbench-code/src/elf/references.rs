//! The references of a build's functions: to other functions, to data with its initial contents, and to symbols that
//! no input of the link defines.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::name::Name;

/// The references of functions, as a graph of numbered functions and data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct References {
    pub(super) functions: Vec<Contents>,
    /// The data that functions refer to, directly or indirectly, and code that belongs to no function of the set.
    pub(super) data: Vec<Data>,
    /// Symbols that no input defines.
    pub(super) outside: Vec<String>,
    /// Pieces that are executed or read without any reference to them, sorted by their section.
    pub(super) unreferenced: Vec<(String, Vec<u32>)>,
}

/// The contents of a function or of a piece of data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(Body, Vec<Reference>)", into = "(Body, Vec<Reference>)")]
pub(super) struct Contents {
    /// Its bytes with relocated fields masked, and the place and kind of each relocation.
    pub(super) body: Body,
    pub(super) references: Vec<Reference>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(Contents, Option<Name>, Option<u64>)")]
#[serde(into = "(Contents, Option<Name>, Option<u64>)")]
pub(super) struct Data {
    pub(super) contents: Contents,
    /// Its name for programmers, if it has one.
    pub(super) name: Option<Name>,
    /// For data that the program can write to, a digest of its symbol, or 0: then its identity matters, and not only
    /// its contents.
    pub(super) variable: Option<u64>,
}

/// The first half of a digest: enough to distinguish contents, in half of the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Body(u128);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "(u8, u32, i64)", into = "(u8, u32, i64)")]
pub(super) struct Reference {
    pub(super) to: Referent,
    /// The distance from the start of the target in bytes; in instructions it is relative to the end of the
    /// instruction.
    pub(super) distance: i64,
}

/// The target of a reference, as an index into a list of [`References`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Referent {
    Entry(u32),
    /// Another address in a function: a jump there bypasses its start.
    Inside(u32),
    Data(u32),
    Outside(u32),
    /// No target, because the object is damaged.
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
    /// Merges copies of equal read-only data, and numbers all data and outside symbols in the order of references from
    /// functions, so that equal functions have equal references.
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

    /// Replaces each piece of data by an equal earlier one; returns true if there was any.
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

    /// Numbers data and outside symbols in the order of references, and drops those without a reference.
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
    /// The references of functions that refer to nothing.
    pub(super) fn collect(code: impl Iterator<Item = Digest>) -> Self {
        let contents = |digest: Digest| Contents {
            body: Body::new(digest.as_bytes()),
            references: Vec::new(),
        };
        Self { functions: code.map(contents).collect(), ..Self::default() }
    }
}

/// Indices in the order of their first appearance.
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

/// An index as the number that references store.
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
