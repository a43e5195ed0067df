//! A variant of a version: the same files, built and run with other settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings that distinguish a variant of a version from the plain version.
///
/// Two variants are the same if their names and their settings are: results from before a change of `bench.toml` are
/// those of another variant.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Variant {
    /// Its name in `bench.toml`.
    pub name: String,
    /// Its settings in words, such as `lto = "fat", codegen-units = 1`; with hashes instead of values that may be
    /// secrets.
    pub settings: String,
}

impl Variant {
    /// True if `name` can be the name of a variant: letters, digits, `_` and `-`, so that it can stand in a revision
    /// and in the name of a directory.
    pub fn is_name(name: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        !name.is_empty() && name.len() <= 50 && !name.starts_with('-') && name.chars().all(is_plain)
    }
}
