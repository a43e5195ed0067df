//! Which functions only one of two versions of a function refers to: these show what was inlined.

use std::collections::BTreeSet;

use super::functions::FunctionSet;
use super::name::Name;
use super::references::To;

/// A function, by the set that it is in and its place there.
type Place<'s> = (&'s FunctionSet, u32);

/// The functions that only the second refers to, in the order of names. `partners` has the second set's partner
/// of each function of the first.
pub(super) fn callees_gained(
    base: Place<'_>,
    head: Place<'_>,
    partners: &[Option<u32>],
) -> Vec<Name> {
    let partner = |index: u32| partners.get(index as usize).copied().flatten();
    let known: BTreeSet<u32> = functions(base).filter_map(partner).collect();
    let outside: BTreeSet<&str> = outside(base).collect();
    names(head, |index| known.contains(&index), |symbol| outside.contains(symbol))
}

/// The functions that only the first refers to, in the order of names.
pub(super) fn callees_lost(
    base: Place<'_>,
    head: Place<'_>,
    partners: &[Option<u32>],
) -> Vec<Name> {
    let partner = |index: u32| partners.get(index as usize).copied().flatten();
    let known: BTreeSet<u32> = functions(head).collect();
    let outside: BTreeSet<&str> = outside(head).collect();
    names(
        base,
        |index| partner(index).is_some_and(|partner| known.contains(&partner)),
        |symbol| outside.contains(symbol),
    )
}

/// The names of what a function refers to, other than itself and what is known.
fn names(
    place: Place<'_>,
    is_known: impl Fn(u32) -> bool,
    is_known_outside: impl Fn(&str) -> bool,
) -> Vec<Name> {
    let (set, own) = place;
    let inside = functions(place).filter(|&index| index != own && !is_known(index));
    let inside = inside.filter_map(|index| Some(set.functions().get(index as usize)?.name.clone()));
    let outside = outside(place).filter(|symbol| !is_known_outside(symbol)).map(Name::of);
    let names: BTreeSet<Name> = inside.chain(outside).collect();
    names.into_iter().collect()
}

/// The functions of the set that a function refers to, by their places.
fn functions(place: Place<'_>) -> impl Iterator<Item = u32> {
    references(place).filter_map(|to| match to {
        To::Entry(index) | To::Inside(index) => Some(index),
        To::Data(_) | To::Outside(_) | To::Nowhere => None,
    })
}

/// The symbols that no input defines and that a function refers to: those of functions of shared libraries,
/// and a few of their variables.
fn outside((set, index): Place<'_>) -> impl Iterator<Item = &str> {
    references((set, index)).filter_map(|to| match to {
        To::Outside(index) => set.references().symbol(index).filter(|symbol| !symbol.is_empty()),
        To::Entry(_) | To::Inside(_) | To::Data(_) | To::Nowhere => None,
    })
}

fn references((set, index): Place<'_>) -> impl Iterator<Item = To> {
    let function = set.references().functions.get(index as usize);
    function.into_iter().flat_map(|function| &function.references).map(|reference| reference.to)
}
