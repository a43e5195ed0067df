//! Exported results: JSON Lines, described in docs/exchange-format.md.

mod environment;
mod export;
mod import;
mod line;

pub use import::Imported;

/// What the first line says that the file is.
const FORMAT: &str = "rbench-results";

/// The version of the format. Raised when a line gets another meaning or a new field; older ones are
/// still read.
const SCHEMA_VERSION: u32 = 6;
