//! What tells the functions of one version apart, and stays the same in other versions.

use std::collections::HashMap;

use super::Movable;

/// The identity of each function.
///
/// The name, if no other function has it. Of several with one name (instances of a generic function, in
/// symbols that leave the types to the hash), the symbol without the numbers of link-time optimisation:
/// versions compiled at one path agree in the hash, and an instance that comes or goes changes no other.
/// Of several with one such symbol, its machine code, and of those that are equal in this as well, the
/// place in the link.
pub fn identities(functions: &[Movable]) -> Vec<String> {
    let mut names: HashMap<&str, u32> = HashMap::with_capacity(functions.len());
    let mut instances: HashMap<&str, u32> = HashMap::with_capacity(functions.len());
    for function in functions {
        *names.entry(function.name.as_str()).or_default() += 1;
        *instances.entry(&function.instance).or_default() += 1;
    }
    let mut met: HashMap<String, u32> = HashMap::new();
    let identity = |function: &Movable| {
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
    use crate::{build::layout::testing::function, code::Digest};

    #[test]
    fn a_name_that_one_function_has_is_its_identity() {
        let functions = [function("_ZN1f17h1E", "f"), function("g.7", "g")];
        assert_eq!(identities(&functions), ["f", "g"]);
    }

    #[test]
    fn namesakes_are_told_apart_by_symbol_then_code_then_place() {
        let of_code = |symbol: &str, code: u8| Movable {
            code: Some(Digest::of(&[code])),
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
