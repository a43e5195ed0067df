//! The functions of all versions that are built together, each with room for the largest of its selves, and what
//! tells those of one version apart and stays the same in the others.

use std::collections::HashMap;

use crate::{
    builds::placeable::PlaceableFunction,
    elf::{Identified, Name, pair},
};

/// The room of a function that at least one of the versions has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What its place depends on, beside the seed.
    pub identity: String,
    /// The size of the largest, in bytes.
    pub size: u64,
    /// The largest alignment that any requires, in bytes.
    pub alignment: u64,
    /// The function in this version, if it has it.
    pub own: Option<OwnSection>,
}

/// A function in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSection {
    /// Its symbol, exactly as the linker sees it.
    pub symbol: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The slots of each version: the same in number, identity, size and alignment, in one order.
pub fn slots(versions: &[&[PlaceableFunction]]) -> Vec<Vec<Slot>> {
    let mut functions: Vec<Function<'_>> = Vec::new();
    for (version, movables) in versions.iter().enumerate() {
        let numbered = |(number, movable)| Numbered { number, movable };
        let known: Vec<_> =
            functions.iter().map(|one| one.first).enumerate().map(numbered).collect();
        let own: Vec<_> = movables.iter().enumerate().map(numbered).collect();
        let paired = pair(&known, &own);
        for (known, own) in paired.pairs {
            functions[known.number].selves[version] = Some(own.movable);
        }
        let identities = identities(movables);
        let mut added = paired.only_head;
        added.sort_unstable_by_key(|one| one.number);
        for Numbered { number, movable } in added {
            let mut selves = vec![None; versions.len()];
            selves[version] = Some(*movable);
            let identity = identities[*number].clone();
            functions.push(Function { first: movable, identity, selves });
        }
    }
    functions.sort_by(|one, other| one.identity.cmp(&other.identity));
    let of_version = |version| functions.iter().map(|function| function.slot(version)).collect();
    (0..versions.len()).map(of_version).collect()
}

/// A function with its self in each version, of which at least one has it.
struct Function<'m> {
    first: &'m PlaceableFunction,
    identity: String,
    selves: Vec<Option<&'m PlaceableFunction>>,
}

impl Function<'_> {
    fn slot(&self, version: usize) -> Slot {
        let selves = self.selves.iter().flatten();
        Slot {
            identity: self.identity.clone(),
            size: selves.clone().map(|one| one.size).max().unwrap_or(0),
            alignment: selves.map(|one| one.alignment).max().unwrap_or(1),
            own: self.selves[version]
                .map(|own| OwnSection { symbol: own.symbol.clone(), size: own.size }),
        }
    }
}

/// A function of a list, with its place in it.
struct Numbered<'m> {
    number: usize,
    movable: &'m PlaceableFunction,
}

impl Identified for Numbered<'_> {
    fn name(&self) -> &Name {
        &self.movable.name
    }

    fn code(&self) -> impl Ord {
        self.movable.code
    }

    fn instance(&self) -> impl Ord {
        &self.movable.instance
    }

    fn size(&self) -> u64 {
        self.movable.size
    }
}

/// The identity of each function.
///
/// The name, if no other function has it. Of several with one name (instances of a generic function, in
/// symbols that leave the types to the hash), the symbol without the numbers of link-time optimisation:
/// versions compiled at one path agree in the hash, and an instance that comes or goes changes no other.
/// Of several with one such symbol, its machine code, and of those that are equal in this as well, the
/// place in the link.
pub fn identities(functions: &[PlaceableFunction]) -> Vec<String> {
    let mut names: HashMap<&str, u32> = HashMap::with_capacity(functions.len());
    let mut instances: HashMap<&str, u32> = HashMap::with_capacity(functions.len());
    for function in functions {
        *names.entry(function.name.as_str()).or_default() += 1;
        *instances.entry(&function.instance).or_default() += 1;
    }
    let mut met: HashMap<String, u32> = HashMap::new();
    let identity = |function: &PlaceableFunction| {
        if names[function.name.as_str()] == 1 {
            return function.name.as_str().to_owned();
        }
        if instances[&*function.instance] == 1 {
            return function.instance.clone();
        }
        let code = function.code.map_or(String::new(), |code| code.to_string());
        let of_code = format!("{} {code}", function.instance);
        let before = met.entry(of_code.clone()).or_default();
        *before += 1;
        format!("{of_code} {before}")
    };
    functions.iter().map(identity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{builds::layout::testing::function, elf::Digest};

    fn sized(name: &str, size: u64) -> PlaceableFunction {
        PlaceableFunction { size, ..function(name, name) }
    }

    fn own(symbol: &str, size: u64) -> OwnSection {
        OwnSection { symbol: symbol.to_owned(), size }
    }

    #[test]
    fn a_slot_has_room_for_the_larger_self_and_stays_where_a_version_lacks_it() {
        let (base, head) = ([sized("a", 10), sized("b", 70)], [sized("c", 5), sized("a", 30)]);
        let [of_base, of_head] = slots(&[&base, &head]).try_into().unwrap();
        let shape = |slots: &[Slot]| -> Vec<(String, u64)> {
            slots.iter().map(|slot| (slot.identity.clone(), slot.size)).collect()
        };
        assert_eq!(shape(&of_base), [("a".into(), 30), ("b".into(), 70), ("c".into(), 5)]);
        assert_eq!(shape(&of_head), shape(&of_base));
        let owns: Vec<_> = of_base.into_iter().map(|slot| slot.own).collect();
        assert_eq!(owns, [Some(own("a", 10)), Some(own("b", 70)), None]);
        let owns: Vec<_> = of_head.into_iter().map(|slot| slot.own).collect();
        assert_eq!(owns, [Some(own("a", 30)), None, Some(own("c", 5))]);
    }

    #[test]
    fn another_symbol_of_the_same_function_is_no_other_slot() {
        let (base, head) = ([function("_ZN1f17h1E", "f")], [function("_ZN1f17h2E", "f")]);
        let [of_base, of_head] = slots(&[&base, &head]).try_into().unwrap();
        assert_eq!(of_base[0].identity, of_head[0].identity);
        assert_eq!(of_head[0].own.as_ref().unwrap().symbol, "_ZN1f17h2E");
    }

    #[test]
    fn the_order_of_versions_changes_no_slot() {
        let (base, head) = ([sized("a", 10), sized("b", 70)], [sized("c", 5), sized("a", 30)]);
        let mut swapped = slots(&[&head, &base]);
        swapped.reverse();
        assert_eq!(slots(&[&base, &head]), swapped);
    }

    #[test]
    fn a_name_that_one_function_has_is_its_identity() {
        let functions = [function("_ZN1f17h1E", "f"), function("g.7", "g")];
        assert_eq!(identities(&functions), ["f", "g"]);
    }

    #[test]
    fn namesakes_are_told_apart_by_symbol_then_code_then_place() {
        let of_code = |symbol: &str, code: u8| PlaceableFunction {
            code: Some(Digest::compute(&[code])),
            ..function(symbol, "f")
        };
        let base =
            [of_code("f_a", 1), of_code("f_b.1", 2), of_code("f_b.2", 3), of_code("f_b.3", 3)];
        let head =
            [of_code("f_a", 1), of_code("f_b.7", 3), of_code("f_b.8", 2), of_code("f_b.9", 3)];
        let (base, head) = (identities(&base), identities(&head));
        assert_eq!(base[0], "f_a");
        assert_eq!([&head[2], &head[1], &head[3]], [&base[1], &base[2], &base[3]]);
    }
}
