//! The functions of all versions that are built together, each with room for its largest version, and the identities
//! that distinguish the functions of one version and stay the same in the others.

use std::collections::HashMap;

use crate::{
    builds::placeable::PlaceableFunction,
    elf::{Identified, Name, pair},
};

/// Room for a function that at least one of the versions has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The identity, from which its position is derived together with the seed.
    pub identity: String,
    /// The largest size in any version, in bytes.
    pub size: u64,
    /// The largest alignment that any version requires, in bytes.
    pub alignment: u64,
    /// The function in this version, if the version has it.
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

/// The slots of each version: the same in number, identity, size and alignment, in the same order.
pub fn slots(versions: &[&[PlaceableFunction]]) -> Vec<Vec<Slot>> {
    let mut functions: Vec<Function<'_>> = Vec::new();
    for (version, placeable) in versions.iter().enumerate() {
        let numbered = |(number, function)| Numbered { number, function };
        let known: Vec<_> =
            functions.iter().map(|one| one.first).enumerate().map(numbered).collect();
        let own: Vec<_> = placeable.iter().enumerate().map(numbered).collect();
        let paired = pair(&known, &own);
        for (known, own) in paired.pairs {
            functions[known.number].selves[version] = Some(own.function);
        }
        let identities = identities(placeable);
        let mut added = paired.only_head;
        added.sort_unstable_by_key(|one| one.number);
        for Numbered { number, function } in added {
            let mut selves = vec![None; versions.len()];
            selves[version] = Some(*function);
            let identity = identities[*number].clone();
            functions.push(Function { first: function, identity, selves });
        }
    }
    functions.sort_by(|one, other| one.identity.cmp(&other.identity));
    let of_version = |version| functions.iter().map(|function| function.slot(version)).collect();
    (0..versions.len()).map(of_version).collect()
}

/// A function with its form in each version; at least one version has it.
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

/// A function of a list, with its index.
struct Numbered<'m> {
    number: usize,
    function: &'m PlaceableFunction,
}

impl Identified for Numbered<'_> {
    fn name(&self) -> &Name {
        &self.function.name
    }

    fn code(&self) -> impl Ord {
        self.function.code
    }

    fn instance(&self) -> impl Ord {
        &self.function.instance
    }

    fn size(&self) -> u64 {
        self.function.size
    }
}

/// The identity of each function.
///
/// The identity is the name, if no other function has it. Among several with one name (instances of a generic
/// function, in symbols that leave the types to the hash), it is the symbol without the numbers of link-time
/// optimisation: versions compiled at one path agree in the hash, and an added or removed instance changes no other.
/// Among several with one such symbol, it is the machine code, and among those with equal code, the position in the
/// link.
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
    fn slot_fits_the_largest_version_and_exists_in_all() {
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
    fn slot_is_the_same_for_a_changed_symbol() {
        let (base, head) = ([function("_ZN1f17h1E", "f")], [function("_ZN1f17h2E", "f")]);
        let [of_base, of_head] = slots(&[&base, &head]).try_into().unwrap();
        assert_eq!(of_base[0].identity, of_head[0].identity);
        assert_eq!(of_head[0].own.as_ref().unwrap().symbol, "_ZN1f17h2E");
    }

    #[test]
    fn slots_are_independent_of_the_order_of_versions() {
        let (base, head) = ([sized("a", 10), sized("b", 70)], [sized("c", 5), sized("a", 30)]);
        let mut swapped = slots(&[&head, &base]);
        swapped.reverse();
        assert_eq!(slots(&[&base, &head]), swapped);
    }

    #[test]
    fn identity_of_a_unique_name_is_the_name() {
        let functions = [function("_ZN1f17h1E", "f"), function("g.7", "g")];
        assert_eq!(identities(&functions), ["f", "g"]);
    }

    #[test]
    fn identities_of_namesakes_use_symbol_code_and_position() {
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
