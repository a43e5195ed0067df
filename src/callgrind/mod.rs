//! Where instructions went: pure functions from counts by function to the difference between two versions.
//!
//! [`parse`] reads what callgrind wrote, part by part; a [`Profile`] is the [`Sum`] of what
//! [measurements](fn@stretches) consist of;
//! [`explain`] pairs the functions of two profiles, and tells of each how much more or less it executed, and which
//! of those with other machine code are the reason.

mod attribution;
mod callgrind;
mod explanation;
mod graph;
mod matching;
mod sum;
#[cfg(test)]
mod testing;

pub use callgrind::{Calls, Defect, Dump, Part, Symbol, parse};
pub use explanation::{Callee, Executed, Explanation, FunctionDifference, explain};
pub use matching::{Code, Side};
pub use sum::{Function, Functions, Place, Profile, Stretches, Sum, stretches};
