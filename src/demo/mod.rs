//! The demo: a small project with five commits, and the explanations of their comparisons.
//!
//! The commits and their files are constants; the explanations use only measured values.

mod explanation;
mod layout_effect;
mod story;

pub use explanation::{Explanation, explain};
pub use layout_effect::LayoutEffect;
pub use story::{BASELINE, CHAPTERS, Commit, DemoStep, Expected, PACKAGE, TARGET, harness};
