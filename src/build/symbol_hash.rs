//! What tells the crates of a program apart in their symbols, without what another version of a package
//! changes for no reason of its own.
//!
//! Cargo's hash of a crate contains the version of its package and of everything that it depends on. rustc
//! puts it into every symbol and sorts by symbols, so a mere release would have its constants in another order.

use std::ffi::{OsStr, OsString};

use super::key::KeyMaker;

/// How the option with cargo's hash starts.
const METADATA: &str = "metadata=";

/// Options of code generation that are this hash, or name files: they do not tell crates apart.
const LEFT_OUT: [&str; 5] = [METADATA, "extra-filename=", "incremental=", "linker=", "link-arg"];

/// The arguments of a compiler call, with another hash in place of cargo's: of the package's name, and of what
/// distinguishes the crates that cargo makes of packages: the source file, the kind, the features, the
/// target, and how code is generated. Cargo gives the file from the root of the workspace, so that the hash
/// does not depend on where that is.
pub fn without_version(arguments: &[OsString], package: &OsStr) -> Vec<OsString> {
    let mut maker = KeyMaker::new("crate v1");
    maker.add("package", package.as_encoded_bytes());
    for (flag, value) in with_flags(arguments) {
        let value = value.as_encoded_bytes();
        let is_left_out = LEFT_OUT.iter().any(|option| value.starts_with(option.as_bytes()));
        match flag {
            "-C" if is_left_out => {}
            "-C" | "--crate-name" | "--crate-type" | "--cfg" | "--target" => {
                maker.add(flag, value);
            }
            _ if value == b"--test" || value.ends_with(b".rs") => {
                maker.add("", value);
            }
            _ => {}
        }
    }
    let hash = format!("{METADATA}{}", maker.key());
    let replaced = with_flags(arguments).map(|(flag, value)| {
        let is_hash = flag == "-C" && value.as_encoded_bytes().starts_with(METADATA.as_bytes());
        if is_hash { OsString::from(&hash) } else { value.clone() }
    });
    replaced.collect()
}

/// Each argument, with the one before it.
fn with_flags(arguments: &[OsString]) -> impl Iterator<Item = (&str, &OsString)> {
    let before = arguments.iter().map(|flag| flag.to_str().unwrap_or_default());
    std::iter::once("").chain(before).zip(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(line: &str) -> String {
        let arguments: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        let replaced = without_version(&arguments, OsStr::new("json"));
        assert_eq!(replaced.len(), arguments.len());
        let [hash] = replaced
            .iter()
            .filter_map(|argument| argument.to_str()?.strip_prefix(METADATA))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        assert_eq!(hash.len(), 32, "{replaced:?}");
        hash.to_owned()
    }

    const LIBRARY: &str = "--crate-name json --edition=2021 src/lib.rs --crate-type lib -C opt-level=3 \
        -C metadata=1234 -C extra-filename=-5678 --extern text=/t/libtext-9abc.rlib";

    #[test]
    fn another_version_or_lint_or_dependency_is_no_other_crate() {
        let hash = hashed(LIBRARY);
        for (old, new) in [
            ("1234", "4321"),
            ("5678", "8765"),
            ("9abc", "cba9"),
            ("--edition=2021", "--edition=2024 --warn=unused --check-cfg cfg(docsrs)"),
        ] {
            assert_eq!(hashed(&LIBRARY.replace(old, new)), hash, "{new}");
        }
    }

    #[test]
    fn all_crates_that_cargo_makes_of_a_package_have_hashes_of_their_own() {
        let hash = hashed(LIBRARY);
        for (old, new) in [
            ("--crate-name json", "--crate-name json_bench"),
            ("src/lib.rs", "benches/json.rs"),
            ("--crate-type lib", "--test"),
            ("--crate-type lib", "--crate-type lib --cfg feature=\"std\""),
            ("opt-level=3", "opt-level=0"),
            ("-C opt", "--target x86_64-unknown-linux-gnu -C opt"),
        ] {
            assert_ne!(hashed(&LIBRARY.replace(old, new)), hash, "{new}");
        }
    }
}
