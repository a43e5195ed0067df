//! Finds where instructions are executed: pure functions from counts by function to the difference between two
//! versions.
//!
//! [`parse`] reads callgrind's output part by part; a [`Profile`] is the [`Sum`] of the parts of
//! [measurements](fn@stretches); [`explain`] pairs the functions of two profiles, reports the difference of each, and
//! finds the functions with different machine code that cause it.

mod attribution;
mod explanation;
mod graph;
mod output;
mod sum;
#[cfg(test)]
pub(crate) mod testing;

pub use explanation::{Callee, Executed, Explanation, FunctionDifference, Side, explain};
pub use output::{Calls, Defect, Dump, Part, Symbol, parse};
pub use sum::{Functions, Profile, Stretches, Sum, stretches};

pub use crate::matching::{Code, Function, Place};
