//! Exported results: JSON Lines, described in docs/exchange-format.md.

mod export;
mod import;
mod line;

pub use import::Imported;

/// The first line's identification of the format.
const FORMAT: &str = "rbench-results";

/// The version of the format; raised when a line gets another meaning or a new field.
const SCHEMA_VERSION: u32 = 1;
