//! Results as text, to move them between machines: JSON lines.
//!
//! The first line is the header; then come experiments, each followed by its builds, executions and
//! failures; then the tuned iterations; the last line says how many lines there are before it, so that
//! a part is not taken for the whole. Measurements are the metric's values per iteration; times are
//! nanoseconds, points in time nanoseconds since 1970-01-01 UTC. An experiment has an identity that it
//! keeps in every store.

mod export;
mod import;
mod line;

pub use import::Imported;

/// What the first line says that the file is.
const FORMAT: &str = "rbench-results";

/// The version of the format. Raised when a line gets another meaning or a new field; older ones are
/// still read.
const SCHEMA_VERSION: u32 = 1;
