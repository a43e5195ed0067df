//! The words of the product as types: no IO, no clock, no environment.

mod metric;
mod version;

pub use metric::{Metric, Unit};
pub use version::Version;
