//! The demo: a small project with a history of five commits, and what comparing them shows.
//!
//! The story and its files are constants; the explanations are made of what was measured, and of
//! nothing else.

mod explanation;
mod layout_effect;
mod story;

pub use explanation::{Explanation, explain};
pub use layout_effect::LayoutEffect;
pub use story::{BASELINE, CHAPTERS, Chapter, Commit, Expected, PACKAGE, TARGET, harness};
