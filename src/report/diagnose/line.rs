//! The lines that answers are made of.

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A sentence, which may be wrapped.
    Prose(String),
    /// A plot or a table of several lines, which must not be wrapped.
    Block(String),
}
