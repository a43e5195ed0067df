//! What comparisons of code that did not change tell about the noise of a machine.
//!
//! `e` is the log ratio of one pair of executions, and `d` that of one pair of builds, the mean of its `e`.

mod floor;
mod order;
mod serial;
mod tails;
mod uniformity;

pub use floor::{pooled, smallest_detectable};
pub use order::OrderEffect;
pub use serial::Serial;
pub use tails::{FAR, far_from_median, scaled};
pub use uniformity::Uniformity;
